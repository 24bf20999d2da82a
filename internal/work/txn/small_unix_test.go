//go:build unix

package txn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
)

// What did not get to its new name keeps the old one, also where each file is committed for itself.
func TestAMoveThatDoesNotArriveLeavesItsSource(t *testing.T) {
	f := newFixture(t)
	f.write("src", "text", "c", "before")
	w := f.open(true, func(op, path string) error {
		if op == "rename" && path == f.path("dst") {
			return syscall.EIO
		}
		return nil
	})
	set := append(f.move("src", "dst"), f.change("c", "after"))
	out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if err != nil || len(out.Committed) != 1 || len(out.Failed) != 2 || !out.Exact {
		t.Errorf("%+v %v", out, err)
	}
	if got := f.snapshot(); got["src"] != "-rw-r--r-- text" || got["dst"] != "" || got["c"] != "-rw-r--r-- after" {
		t.Error(got)
	}
}

// killedAfter commits set and is killed at the first call after what is done.
func killedAfter(f *fixture, set delta.Set, done func() bool) {
	f.t.Helper()
	killed := false
	w := f.open(true, func(string, string) error {
		if done() {
			killed = true
			panic(crashed{})
		}
		return nil
	})
	survive(func() { _, _ = w.Commit(context.Background(), set, CommitOptions{}) })
	if !killed {
		f.t.Fatal("not killed")
	}
}

// A file that was replaced before a kill is entered as that, also if its temporary file was removed by hand.
func TestAReplacedFileIsKeptWithoutWhatItReplaced(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	killedAfter(f, delta.Set{f.change("a", "after")}, func() bool { b, _ := os.ReadFile(f.path("a")); return string(b) == "after" })
	left, _ := filepath.Glob(f.path(".kerf-*"))
	if len(left) != 1 {
		t.Fatal(left)
	}
	if err := os.Remove(left[0]); err != nil {
		t.Fatal(err)
	}
	r := f.open(true, nil).Settled
	if e := f.entries(); r.Kept != 1 || len(r.Conflicts) > 0 || len(e) != 1 || !e[0].Exact {
		t.Errorf("%+v %+v", r, e)
	}
}

// A file that was removed before a kill stays removed, and has an exact entry.
func TestARemovedFileStaysRemoved(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	killedAfter(f, delta.Set{f.change("a")}, func() bool { _, err := os.Stat(f.path("a")); return err != nil })
	r := f.open(true, nil).Settled
	if e := f.entries(); r.Kept != 1 || len(f.snapshot()) != 0 || len(e) != 1 || !e[0].Exact || e[0].Changes[0].Post != nil {
		t.Errorf("%+v %+v %v", r, e, f.snapshot())
	}
}

// No root goes, nor what is to be there in the end.
func TestRootsAreNotPruned(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before", "d/x", "1")
	o := CommitOptions{Prune: []string{f.path("d"), filepath.ToSlash(f.root)}, Make: []ledger.Dir{{Path: ledger.Path(f.path("d")), Mode: 0o755}}}
	out, err := f.w.Commit(context.Background(), delta.Set{f.change("a"), f.change("d/x")}, o)
	if err != nil || len(out.Failed) > 0 || len(out.Entry.Gone)+len(out.Entry.Dirs) > 0 {
		t.Errorf("%+v %v", out, err)
	}
	if st, err := os.Stat(f.path("d")); err != nil || !st.IsDir() {
		t.Error(st, err)
	}
}

// A directory that is asked for twice gets the mode that one of the two names.
func TestADirectoryGetsTheModeThatIsKnown(t *testing.T) {
	for _, known := range []int{0, 1} {
		f := newFixture(t)
		dirs := []ledger.Dir{{Path: ledger.Path(f.path("d")), Mode: ledger.AnyMode}, {Path: ledger.Path(f.path("d")), Mode: ledger.AnyMode}}
		dirs[known].Mode = 0o750
		if _, err := f.w.Commit(context.Background(), delta.Set{{Path: f.path("d/a"), Post: delta.NewFile([]byte("a"), 0o644)}},
			CommitOptions{Make: dirs}); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(f.path("d")); err != nil || st.Mode().Perm() != 0o750 {
			t.Error(known, st, err)
		}
	}
}

// A directory that cannot get its mode does not keep another one from it, where each is committed for itself.
func TestModesAreGivenEachForItself(t *testing.T) {
	f := newFixture(t)
	f.write("d1/a", "", "d2/a", "", "d3/a", "")
	o := CommitOptions{BestEffort: true}
	for _, d := range []string{"d1", "d2", "d3"} {
		if err := os.Chmod(f.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Chmod = append(o.Chmod, ledger.DirMode{Path: ledger.Path(f.path(d)), Pre: 0o755, Post: 0o700})
	}
	w := f.open(true, func(op, path string) error {
		if op == "chmod" && strings.TrimSuffix(path, "/") == f.path("d2") {
			return syscall.EIO
		}
		return nil
	})
	out, err := w.Commit(context.Background(), delta.Set{f.change("d3/a", "new")}, o)
	if err != nil || len(out.Failed) != 1 {
		t.Errorf("%+v %v", out, err)
	}
	for d, want := range map[string]os.FileMode{"d1": 0o700, "d2": 0o755, "d3": 0o700} {
		if st, err := os.Stat(f.path(d)); err != nil || st.Mode().Perm() != want {
			t.Error(d, st, err)
		}
	}
}

// Where modes are given back, a file of another user that may not be written is replaced: its directory may be.
func TestAFileThatMayNotBeWrittenIsGivenBack(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
	for _, cause := range []string{ledger.CauseTool, ledger.CauseUndo} {
		f := newFixture(t)
		f.write("a", "before")
		if err := os.Chown(f.path("a"), 12345, 12345); err != nil {
			t.Skip(err)
		}
		_, err := f.w.Commit(context.Background(), delta.Set{f.change("a", "after")}, CommitOptions{Cause: cause})
		if (err == nil) != (cause == ledger.CauseUndo) {
			t.Errorf("%s: %v", cause, err)
		}
	}
}

// What was taken back of one file is settled when the workspace is closed: the next process would not know.
func TestOneFileThatWasTakenBackIsSettledAtTheEnd(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	broken := false
	w := f.open(true, func(op, path string) error {
		if broken && strings.HasSuffix(path, "journal.jsonl") {
			return syscall.EIO
		}
		return nil
	})
	w.Ledger.Hook = func(string, string) error { broken = true; return syscall.EIO }
	out, err := w.Commit(context.Background(), delta.Set{f.change("a", "after")}, CommitOptions{})
	if err == nil || len(out.Committed) > 0 || !w.journal.Pending() || len(w.back) != 1 {
		t.Fatalf("%+v %v, %d taken back", out, err, len(w.back))
	}
	broken, w.Ledger.Hook = false, nil
	if err := w.Close(); err != nil || w.journal.Pending() {
		t.Errorf("%v, pending: %t", err, w.journal.Pending())
	}
}

// A link that goes leads nowhere: what the set puts at names below it comes into the directory that takes its place.
func TestALinkThatGoesIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	f.write("d/x", "before")
	f.link("d", "l")
	set := delta.Set{{Path: f.path("l"), Pre: delta.NewSymlink("d")}, {Path: f.path("l/x"), Post: delta.NewFile([]byte("new"), 0o644)}}
	out, err := f.w.Commit(context.Background(), set, CommitOptions{})
	if err != nil || len(out.Committed) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	if got := f.snapshot(); got["d/x"] != "-rw-r--r-- before" || got["l/x"] != "-rw-r--r-- new" {
		t.Error(got)
	}
}

// What a half written file became since is entered by recovery, or recovery says why not, and knows it the next time.
func TestWhatCannotBeEnteredIsSaid(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before", "c", "before")
	if err := os.Link(f.path("a"), f.path("b")); err != nil {
		t.Skip(err)
	}
	writes, broken, full := 0, true, false
	w := f.open(true, func(op, path string) error {
		if broken && op == "write" && (path == f.path("a") || path == f.path("b")) {
			if writes++; writes > 1 {
				return syscall.EIO
			}
		}
		if full && strings.HasPrefix(path, filepath.Join(f.home, "ledger")) {
			return syscall.ENOSPC
		}
		return nil
	})
	out, err := w.Commit(context.Background(), delta.Set{f.change("a", "AFTER"), f.change("c", "after")}, CommitOptions{BestEffort: true})
	if err != nil || len(out.Committed) != 1 || !w.journal.Pending() {
		t.Fatalf("%+v %v", out, err)
	}
	broken, full = false, true
	if err := os.WriteFile(f.path("a"), []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Recover(context.Background()); !errors.Is(err, syscall.ENOSPC) || !w.journal.Pending() {
		t.Errorf("%+v %v", r, err)
	}
	full = false
	r, err := w.Recover(context.Background())
	if e := f.entries(); err != nil || w.journal.Pending() || len(e) != 2 || e[1].Exact {
		t.Errorf("%+v %v %+v", r, err, e)
	}
}

// What is left over is told with its name and its reason.
func TestStraysAreNamed(t *testing.T) {
	var err error = strays{{"/w/.kerf-x.tmp", syscall.EIO}}
	if want := "clean up /w/.kerf-x.tmp: " + syscall.EIO.Error(); err.Error() != want || !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A file may lie at the top of a file system.
func TestTheTopOfAFileSystem(t *testing.T) {
	whole, err := tree.Open(tree.Options{Roots: []string{"/"}})
	if err != nil {
		t.Fatal(err)
	}
	err = in(whole, "/etc", func(d *tree.Dir, name string) error {
		_, err := d.Sig(name)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
