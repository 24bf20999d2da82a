package overlay_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kerf/internal/work/overlay"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == overlay.Flag {
		os.Exit(overlay.Hold())
	}
	if len(os.Args) == 2 && os.Args[1] == "taken" {
		taken()
		return
	}
	os.Exit(m.Run())
}

// TestNamesAreBytes: directories, arguments and variables that are no UTF-8 arrive as they
// are.
func TestNamesAreBytes(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := overlay.Spec{Dir: filepath.Join(base, "w\xff"), Env: []string{"PATH=" + os.Getenv("PATH"), "A=\xfe"}}
	s.Layers = []overlay.Layer{{Lower: s.Dir, Upper: filepath.Join(base, "u"), Work: filepath.Join(base, "k")}}
	for _, dir := range []string{s.Layers[0].Lower, s.Layers[0].Upper, s.Layers[0].Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.Argv = []string{"/bin/bash", "-c", `echo "$A" > "$1"`, "bash", "a\xfd"}
	code, err := overlay.Run(t.Context(), s, nil, nil, os.Stderr)
	if errors.Is(err, overlay.ErrImpossible) {
		t.Skip(err)
	}
	text, readErr := os.ReadFile(filepath.Join(s.Layers[0].Upper, "a\xfd"))
	if code != 0 || err != nil || readErr != nil || string(text) != "\xfe\n" {
		t.Errorf("exit code %d, %v, %v: %q", code, err, readErr, text)
	}
}

// TestLayersAreShownReadOnly: who is shown the layers can look at them, and write nowhere;
// who takes them gives them to nobody.
func TestLayersAreShownReadOnly(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := overlay.Layer{Lower: filepath.Join(base, "w \""), Upper: filepath.Join(base, "u"), Work: filepath.Join(base, "k")}
	for _, dir := range []string{l.Lower, l.Upper, l.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(l.Work, "work"), 0o700) }) // the kernel's own
	if err := os.WriteFile(filepath.Join(l.Lower, "a"), []byte("below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(base, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `echo mine > a; cat /proc/self/fd/3/a /proc/self/fd/4/a
for f in a new; do for d in 3 4; do echo past > /proc/self/fd/$d/$f && echo written; done; done
rm -f /proc/self/fd/3/a; mv /proc/self/fd/3/a /proc/self/fd/3/b; chmod 600 /proc/self/fd/3/a
echo "$KERF_LAYERS"
exec "$0" taken`
	code, err := overlay.Run(t.Context(), overlay.Spec{Layers: []overlay.Layer{l}, Dir: l.Lower, Shown: true,
		Argv: []string{"/bin/bash", "-c", script, self}, Env: os.Environ()}, nil, out, nil)
	if errors.Is(err, overlay.ErrImpossible) {
		t.Skip(err)
	}
	text, readErr := os.ReadFile(out.Name())
	want := fmt.Sprintf("below\nmine\n%q\n[{%q 3 4}]\nnot there\nnot there\n\n", l.Lower, l.Lower)
	if code != 0 || err != nil || readErr != nil || string(text) != want {
		t.Errorf("exit code %d, %v, %v: %s\nwant %s", code, err, readErr, text, want)
	}
	info, err := os.Stat(filepath.Join(l.Lower, "a"))
	if below, _ := os.ReadFile(filepath.Join(l.Lower, "a")); err != nil || string(below) != "below\n" || info.Mode() != 0o644 {
		t.Errorf("%v, %v: %q", err, info, below)
	}
}

// taken takes the layers, and says what it and what it starts have of them.
func taken() {
	shown, env := overlay.Take(os.Environ())
	for i := range shown {
		fmt.Printf("[{%q %d %d}]\n", shown[i].Root, shown[i].Lower, shown[i].Upper)
	}
	for _, env := range [][]string{nil, env} {
		cmd := exec.Command("/bin/bash", "-c", `test -e /proc/self/fd/3/a || echo not there"$KERF_LAYERS"`)
		cmd.Env, cmd.Stdout = env, os.Stdout
		_ = cmd.Run()
	}
	fmt.Println()
}
