//go:build unix

package txn

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/text/delta"
)

// Kerf is killed before it makes files. Their owner makes one of them, then the tree is replaced by a copy of it, such as
// from a backup or on a new disk.
func TestMadeByTheUserThenCopied(t *testing.T) {
	for _, names := range [][]string{{"__init__.py"}, {"__init__.py", "b"}} {
		f := newFixture(t)
		var set delta.Set
		for _, n := range names {
			set = append(set, f.change(n, ""))
		}
		killed := false
		w := f.open(true, func(op, path string) error {
			if op == "rename" && path == f.path("__init__.py") {
				killed = true
				panic(crashed{})
			}
			return nil
		})
		survive(func() { _, _ = w.Commit(context.Background(), set, CommitOptions{}) })
		if !killed {
			t.Fatal("not killed")
		}
		f.write("__init__.py", "") // touch
		if out, err := exec.Command("cp", "-a", f.root, f.root+".copy").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := errors.Join(os.Rename(f.root, f.root+".old"), os.Rename(f.root+".copy", f.root)); err != nil {
			t.Fatal(err)
		}
		r := f.open(true, nil).Settled
		if _, err := os.Stat(f.path("__init__.py")); err != nil {
			t.Errorf("%v: what the user made is gone: %v; %+v", names, err, r)
		}
		for _, e := range f.entries() {
			t.Errorf("%v: what the user made is entered as made by %s, exact %t: %+v", names, e.Cause, e.Exact, e.Changes)
		}
	}
}

// A temporary file cannot be removed for long. Meanwhile commands are recorded. What was committed stays.
func TestWhatWasCommittedLongAgoIsNotTakenBack(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before", "b", "before")
	broken := true
	w := f.open(false, func(op, path string) error {
		if broken && op == "unlink" && strings.HasPrefix(path, f.root) {
			return syscall.EIO
		}
		return nil
	})
	if out, err := w.Commit(context.Background(), delta.Set{f.change("a", "after"), f.change("b", "after")}, CommitOptions{}); err != nil || len(out.Left) == 0 {
		t.Fatal(out, err)
	}
	for range 4096 + 1 {
		if _, err := w.Record(context.Background(), nil, CommitOptions{Cause: "command"}); err != nil {
			t.Fatal(err)
		}
	}
	broken = false
	r := f.open(false, nil).Settled
	if b, _ := os.ReadFile(f.path("a")); string(b) != "after" {
		t.Errorf("a holds %q, %+v; the ledger says that it was changed", b, r)
	}
}

// Somebody makes a directory just before a commit makes it. The entry does not tell that the commit made it, and no failure takes it
// away.
func TestDirectoryMadeByTheUserMeanwhile(t *testing.T) {
	for _, fails := range []bool{false, true} {
		f := newFixture(t)
		made := false
		w := f.open(true, func(op, path string) error {
			if op == "mkdir" && path == f.path("d") && !made {
				made = true
				return os.Mkdir(f.path("d"), 0o755)
			}
			if fails && op == "rename" && path == f.path("d/a") {
				return syscall.EIO
			}
			return nil
		})
		_, err := w.Commit(context.Background(), delta.Set{f.change("d/a", "a"), f.change("d/b", "b")}, CommitOptions{})
		if !made || (err != nil) != fails {
			t.Fatal(made, err)
		}
		if _, err := os.Stat(f.path("d")); err != nil {
			t.Errorf("fails %t: the user's directory is gone: %v", fails, err)
		}
		for _, e := range f.entries() {
			if len(e.Dirs) > 0 {
				t.Errorf("fails %t: entered as made by %s, exact %t: %v", fails, e.Cause, e.Exact, e.Dirs)
			}
		}
	}
}

// A best-effort commit fails at a file that it was to make, and leaves another one half written, so that its journal stays.
// Kerf is killed; the user makes the first file; the tree is replaced by a copy. The recovery (mend) takes it for its own.
func TestMendInACopiedTree(t *testing.T) {
	f, w, broken := twoNames(t, map[string][]int{"q": {2, 3, 4, 5}}, func(op, path string) error {
		if op == "rename" && filepath.Base(path) == "new" {
			return syscall.EIO
		}
		return nil
	}, "q")
	f.write("c", "before")
	set := delta.Set{f.change("new", ""), f.change("q", longPost), f.change("c", "after")}
	out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if out.Exact || !w.journal.Pending() {
		t.Fatal(out, err)
	}
	*broken = false
	f.write("new", "")
	if out, err := exec.Command("cp", "-a", f.root, f.root+".copy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(os.Rename(f.root, f.root+".old"), os.Rename(f.root+".copy", f.root)); err != nil {
		t.Fatal(err)
	}
	r := f.open(true, nil).Settled
	if _, err := os.Stat(f.path("new")); err != nil {
		t.Errorf("what the user made is gone: %v; %+v; %v", err, r, f.snapshot())
	}
}
