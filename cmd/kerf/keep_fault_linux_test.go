package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/faults"
)

// triedHouse is a directory with a try of it that waits, and both as they were made.
type triedHouse struct {
	*testing.T
	kerf, base, made string
}

// triedChanges is what the try does: edits, new and removed files and directories, a link, a mode.
const triedChanges = `sed -i s/two/2/ a b/c; rm -r gone; mkdir -p new/deep empty; echo new > new/deep/file
ln -s a link; chmod 755 tool; mv old moved; rm -r dir; echo file > dir; rm file; mkdir file; echo in > file/in`

func newTriedHouse(t *testing.T) *triedHouse {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	h := &triedHouse{t, filepath.Join(t.TempDir(), "kerf"), filepath.Join(t.TempDir(), "house"),
		filepath.Join(t.TempDir(), "made")}
	if out, err := exec.Command("go", "build", "-o", h.kerf, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	for name, text := range map[string]string{"a": "one\ntwo\n", "b/c": "two\n", "gone/x": "x\n", "gone/y/z": "z\n", "tool": "t\n",
		"old": "old\n", "dir/in": "in\n", "file": "file\n", "stays": "stays\n"} {
		putFile(t, filepath.Join(h.base, "w", name), text, 0o644)
	}
	out, err := h.command("guard", "--try", "--", "bash", "-c", triedChanges).CombinedOutput()
	if strings.Contains(string(out), "not possible here") {
		t.Skipf("%s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("cp", "-a", h.base, h.made).CombinedOutput(); err != nil {
		t.Skipf("cp -a: %v: %s", err, out)
	}
	return h
}

func (h *triedHouse) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.kerf, args...)
	cmd.Dir = filepath.Join(h.base, "w")
	cmd.Env = append(os.Environ(), "KERF_HOME="+filepath.Join(h.base, "home"), "HOME="+h.base)
	return cmd
}

// again makes all as it was when the try had ended.
func (h *triedHouse) again() {
	h.Helper()
	// Others than root cannot look into the work directory of an overlay as it is.
	script := `chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1" && cp -a "$2" "$1"`
	if out, err := exec.Command("sh", "-c", script, "sh", h.base, h.made).CombinedOutput(); err != nil {
		h.Fatalf("%v: %s", err, out)
	}
}

// tree is what the directory holds, directories among it.
func (h *triedHouse) tree() map[string]string {
	h.Helper()
	dir := filepath.Join(h.base, "w")
	got := treeOf(h.T, dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			got[strings.TrimPrefix(path, dir)] = "directory"
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return got
}

func (h *triedHouse) keep(p faults.Plan) ([]faults.Call, string, error) {
	h.Helper()
	var b bytes.Buffer
	cmd := h.command("keep", "1")
	cmd.Stdout, cmd.Stderr = &b, &b
	p.Below = []string{h.base}
	calls, err := faults.Run(cmd, p)
	if errors.Is(err, faults.ErrUnavailable) {
		h.Skip(err)
	}
	return calls, b.String(), err
}

// TestKeepIsKilledAtEveryCall kills `kerf keep` before each of its calls that change a file.
// After the recovery, which any Kerf begins with, the directory is as it was and the try
// waits, or the directory is as the try had it. To keep the try once more, or what is left
// of it, comes to the same.
func TestKeepIsKilledAtEveryCall(t *testing.T) {
	h := newTriedHouse(t)
	old := h.tree()
	calls, out, err := h.keep(faults.Plan{})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	next := h.tree()
	if maps.Equal(old, next) {
		t.Fatal("the try changed nothing")
	}
	olds, news, points := 0, 0, 0
	for k := 1; k <= len(calls); k += step(len(calls), 30) {
		h.again()
		done, out, err := h.keep(faults.Plan{At: k, Kill: true})
		what := fmt.Sprintf("killed at call %d of %d (%s)", k, len(calls), last(done))
		if err == nil && len(done) >= k {
			t.Fatalf("%s: it was not killed: %s", what, out)
		}
		if out, err := h.command("recover").CombinedOutput(); err != nil {
			t.Fatalf("%s: recover: %v: %s", what, err, out)
		}
		got := h.tree()
		tries, err := h.command("tries").Output()
		if err != nil {
			t.Fatalf("%s: tries: %v", what, err)
		}
		waits := strings.Contains(string(tries), "waiting")
		switch {
		case maps.Equal(got, next):
			news++
		case !maps.Equal(got, old):
			t.Fatalf("%s: neither as it was nor kept (-was +got)\n%s\n(-kept +got)\n%s", what, cmp.Diff(old, got), cmp.Diff(next, got))
		case !waits:
			t.Fatalf("%s: nothing was kept, and there is no try any more: %s", what, tries)
		default:
			olds++
		}
		if waits {
			if out, err := h.command("keep", "1").CombinedOutput(); err != nil {
				t.Fatalf("%s: kept again: %v: %s", what, err, out)
			}
		}
		if d := cmp.Diff(next, h.tree()); d != "" {
			t.Fatalf("%s: kept again (-kept +got)\n%s", what, d)
		}
		points++
	}
	t.Logf("%d of %d calls tried: %d as it was, %d kept", points, len(calls), olds, news)
	if olds == 0 || news == 0 {
		t.Error("only one of the two outcomes came up")
	}
}
