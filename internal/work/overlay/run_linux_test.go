package overlay_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kerf/internal/work/overlay"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == overlay.Flag {
		os.Exit(overlay.Hold())
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
