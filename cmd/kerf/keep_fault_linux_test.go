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
	copied           bool // the try works on a copy
}

// triedChanges is what the try does: edits, new and removed files and directories, a link, a mode.
const triedChanges = `sed -i s/two/2/ a b/c; rm -r gone; mkdir -p new/deep empty; echo new > new/deep/file
ln -s a link; chmod 755 tool; mv old moved; rm -r dir; echo file > dir; rm file; mkdir file; echo in > file/in
chmod 711 .`

// triedMeanwhile is what the user does then.
const triedMeanwhile = `echo three >> b/c; echo mine > mine; chmod 700 new2`

func newTriedHouse(t *testing.T, kerf string, copied bool) *triedHouse {
	t.Helper()
	h := &triedHouse{t, kerf, filepath.Join(t.TempDir(), "house"), filepath.Join(t.TempDir(), "made"), copied}
	h.fill()
	if copied {
		return h
	}
	h.copyTo(h.base, h.made)
	t.Cleanup(func() { h.remove(h.base); h.remove(h.made) })
	return h
}

// closedWork names the work directories of overlays below the working directory. The kernel lets nobody but root look
// into them.
const closedWork = `list=$(find . -type d -name work ! -perm -700 -prune)`

func (h *triedHouse) sh(script string, args ...string) {
	h.Helper()
	if out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput(); err != nil {
		h.Fatalf("%v: %s", err, out)
	}
}

// remove removes a directory with what is closed in there.
func (h *triedHouse) remove(dir string) {
	h.Helper()
	h.sh(`cd "$1"; `+closedWork+`; [ -z "$list" ] || chmod 700 $list; rm -rf "$1"`, dir)
}

// copyTo copies a directory with what is closed in there.
func (h *triedHouse) copyTo(from, to string) {
	h.Helper()
	h.sh(`cd "$1"; `+closedWork+`; [ -z "$list" ] || chmod 700 $list; cp -a . "$2"
		[ -z "$list" ] || { chmod 0 $list; cd "$2"; chmod 0 $list; }`, from, to)
}

// fill makes the directory and the try.
func (h *triedHouse) fill() {
	h.Helper()
	for name, text := range map[string]string{"a": "one\ntwo\n", "b/c": "two\nx\nx\nx\n", "gone/x": "x\n", "gone/y/z": "z\n",
		"tool": "t\n", "old": "old\n", "dir/in": "in\n", "file": "file\n", "stays": "stays\n", "new2/x": "x\n"} {
		putFile(h.T, filepath.Join(h.base, "w", name), text, 0o644)
	}
	if h.copied {
		putFile(h.T, filepath.Join(h.base, "home", "config.toml"), "[tries]\nway = \"copy\"\n", 0o600)
	}
	out, err := h.command("guard", "--try", "--", "bash", "-c", triedChanges).CombinedOutput()
	if strings.Contains(string(out), "not possible here") {
		h.Skipf("%s", out)
	}
	if err != nil {
		h.Fatalf("%v: %s", err, out)
	}
	meanwhile := exec.Command("bash", "-c", triedMeanwhile)
	meanwhile.Dir = filepath.Join(h.base, "w")
	if out, err := meanwhile.CombinedOutput(); err != nil {
		h.Fatalf("%v: %s", err, out)
	}
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
	h.remove(h.base)
	if h.copied { // such a try is known by its inodes
		h.fill()
	} else {
		h.copyTo(h.made, h.base)
	}
}

// tree is what the directory holds, with the modes of directories.
func (h *triedHouse) tree() map[string]string {
	h.Helper()
	dir := filepath.Join(h.base, "w")
	got := treeOf(h.T, dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			got[strings.TrimPrefix(path, dir)] = info.Mode().String()
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return got
}

func (h *triedHouse) watched(p faults.Plan, args ...string) ([]faults.Call, string, error) {
	h.Helper()
	var b bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &b, &b
	p.Below = []string{h.base}
	calls, err := faults.Run(cmd, p)
	if errors.Is(err, faults.ErrUnavailable) {
		h.Skip(err)
	}
	return calls, b.String(), err
}

// do runs a command that must work.
func (h *triedHouse) do(what string, args ...string) string {
	h.Helper()
	out, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.Fatalf("%s: %v: %v: %s", what, args, err, out)
	}
	return string(out)
}

// TestKeepIsKilledAtSomeCalls kills `kerf keep` before each of its calls that change a file:
// of a try on an overlay and on a copy, of the whole of it and of a part, and `kerf discard`.
// After the recovery, which any Kerf begins with, the directory is as it was and the try
// waits, or the directory is as the try had it. To keep the try once more, or what is left
// of it, comes to the same.
func TestKeepIsKilledAtSomeCalls(t *testing.T) {
	kerf := builtProgram(t)
	keep, part, discard := []string{"keep", "1"}, []string{"keep", "1", "--", "b", "dir", "new"}, []string{"discard", "1", "-y"}
	for name, c := range map[string]struct {
		copied bool
		args   []string
		points int
	}{
		"overlay": {false, keep, 15}, "copy": {true, keep, 6},
		"part": {false, part, 6}, "part of a copy": {true, part, 3},
		"discard": {false, discard, 3}, "discard a copy": {true, discard, 3},
	} {
		t.Run(name, func(t *testing.T) { newTriedHouse(t, kerf, c.copied).killed(c.args, c.points) })
	}
}

func (h *triedHouse) killed(args []string, points int) {
	old := h.tree()
	calls, out, err := h.watched(faults.Plan{}, args...)
	if err != nil {
		h.Fatalf("%v: %s", err, out)
	}
	next, end := h.tree(), h.tree()
	discards := args[0] == "discard"
	if maps.Equal(old, next) != discards {
		h.Fatalf("%v changed: %v", args, !discards)
	}
	if len(args) > 2 && !discards {
		h.do("the rest", "keep", "1")
		end = h.tree()
	}
	olds, news, tried := 0, 0, 0
	for _, k := range moments(len(calls), points) {
		h.again()
		done, out, err := h.watched(faults.Plan{At: k, Kill: true}, args...)
		what := fmt.Sprintf("killed at call %d of %d (%s)", k, len(calls), last(done))
		if err == nil && len(done) >= k {
			h.Fatalf("%s: it was not killed: %s", what, out)
		}
		h.do(what, "recover")
		got := h.tree()
		waits := strings.Contains(h.do(what, "tries"), "waiting")
		switch {
		case maps.Equal(got, next) && !discards:
			news++
		case !maps.Equal(got, old):
			h.Fatalf("%s: neither as it was nor kept (-was +got)\n%s\n(-kept +got)\n%s", what, cmp.Diff(old, got), cmp.Diff(next, got))
		case !waits && !discards:
			h.Fatalf("%s: nothing was kept, and there is no try any more", what)
		case waits:
			olds++
		default:
			news++
		}
		if waits {
			h.do(what, "tries", "diff", "1")
			h.do(what, "keep", "1")
		}
		if d := cmp.Diff(end, h.tree()); d != "" && !discards {
			h.Fatalf("%s: kept again (-kept +got)\n%s", what, d)
		}
		tried++
	}
	h.Logf("%d of %d calls tried: %d as it was, %d kept or gone", tried, len(calls), olds, news)
	if olds == 0 || news == 0 {
		h.Error("only one of the two outcomes came up")
	}
}
