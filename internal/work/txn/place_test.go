//go:build unix

package txn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestSEC_E1_CrashBeforeACopy puts a copy in the place of the tree after each crash, as who
// restores a backup does. Its files have other inodes, so recovery tells them by what they hold.
func TestSEC_E1_CrashBeforeACopy(t *testing.T) {
	t.Parallel()
	old, next, calls := afterwards(t, 1, false, nil, CommitOptions{})
	for k := 1; k <= calls; k++ {
		f, set := scene(t, 1)
		c := &fault{at: k, crash: true, err: errors.New("dead")}
		survive(func() {
			if w, err := openAt(f.root, f.home, false, c.hook); err == nil {
				_, _ = w.Commit(context.Background(), set, CommitOptions{})
			}
		})
		if out, err := exec.Command("cp", "-a", f.root, f.root+".copy").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := errors.Join(os.Rename(f.root, f.root+".old"), os.Rename(f.root+".copy", f.root)); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, f, old, next, fmt.Sprintf("call %d (%s)", k, c.calls[k-1]))
	}
}

// TestSameTextOfAnotherStays: after the crash somebody saves, under names that the commit was
// about to make, files with the very text that the commit would have put there. They are theirs.
func TestSameTextOfAnotherStays(t *testing.T) {
	t.Parallel()
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		return f, delta.Set{f.change("one", "the first"), f.change("two", "the second")}
	}
	f, set := begin()
	count := &fault{}
	if _, err := f.open(false, count.hook).Commit(context.Background(), set, CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	want := f.snapshot()
	for k := 1; k <= count.n; k++ {
		f, set := begin()
		c := &fault{at: k, crash: true, err: errors.New("dead")}
		survive(func() {
			if w, err := openAt(f.root, f.home, false, c.hook); err == nil {
				_, _ = w.Commit(context.Background(), set, CommitOptions{})
			}
		})
		for _, ch := range set {
			f.write("theirs", string(ch.Post.Data)) // beside what is there, so its inode is another one
			if err := os.Rename(f.path("theirs"), ch.Path); err != nil {
				t.Fatal(err)
			}
		}
		f.open(false, nil) // recovers
		if d := cmp.Diff(want, f.snapshot()); d != "" {
			t.Errorf("call %d (%s): -want +got\n%s", k, c.calls[k-1], d)
		}
	}
}

// TestModesOfMadeDirectories: what a commit makes has the modes that were asked for when
// everything is in it, and the entry tells of it as made, not as changed.
func TestModesOfMadeDirectories(t *testing.T) {
	f := newFixture(t)
	dirs := []ledger.Dir{{Path: ledger.Path(f.path("d")), Mode: 0o500}, {Path: ledger.Path(f.path("d/e")), Mode: 0o711}}
	t.Cleanup(func() { _ = os.Chmod(f.path("d"), 0o700) })
	w := f.open(true, nil)
	set := delta.Set{f.change("d/e/f/a", "text")}
	if _, err := w.Commit(context.Background(), set, CommitOptions{Make: dirs}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		st, err := os.Stat(string(dir.Path))
		if err != nil || uint32(st.Mode().Perm()) != dir.Mode {
			t.Errorf("%s: %v, not %o; %v", dir.Path, st.Mode(), dir.Mode, err)
		}
	}
	list, err := w.Ledger.Read(0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v: %+v", err, list)
	}
	if e := list[0]; len(e.Modes) != 0 || !cmp.Equal(e.Dirs, []ledger.Path{
		ledger.Path(f.path("d")), ledger.Path(f.path("d/e")), ledger.Path(f.path("d/e/f"))}) {
		t.Errorf("made %v, changed %v", e.Dirs, e.Modes)
	}
}
