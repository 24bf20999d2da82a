//go:build unix

package txn

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestSEC_E1_CrashBeforeACopy puts a copy in the place of the tree after each crash, as who
// restores a backup does. Its files have other inodes, so recovery tells them by what they hold.
func TestSEC_E1_CrashBeforeACopy(t *testing.T) {
	long.Slow(t)
	t.Parallel()
	atEachCrash(t, func() (*fixture, delta.Set) { return scene(t, 1) }, func(c remains) {
		if out, err := exec.Command("cp", "-a", c.root, c.root+".copy").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := errors.Join(os.Rename(c.root, c.root+".old"), os.Rename(c.root+".copy", c.root)); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, c.fixture, c.old, c.next, c.call)
	})
}

// TestSameTextOfAnotherStays: after the crash somebody saves, under names that the commit was
// about to make, files with the very text that the commit would have put there. They are theirs.
func TestSameTextOfAnotherStays(t *testing.T) {
	t.Parallel()
	begin := func() (*fixture, delta.Set) {
		f := newFixture(t)
		return f, delta.Set{f.change("one", "the first"), f.change("two", "the second")}
	}
	atEachCrash(t, begin, func(c remains) {
		for _, ch := range c.set {
			c.write("theirs", string(ch.Post.Data)) // beside what is there, so its inode is another one
			if err := os.Rename(c.path("theirs"), ch.Path); err != nil {
				t.Fatal(err)
			}
		}
		c.open(false, nil) // recovers
		if d := cmp.Diff(c.next, c.snapshot()); d != "" {
			t.Errorf("%s: -want +got\n%s", c.call, d)
		}
	})
}

// TestModesOfMadeDirectories: what a commit makes has the modes that were asked for when
// everything is in it, and the entry tells of it as made, not as changed.
func TestModesOfMadeDirectories(t *testing.T) {
	if !ordinary.Run(t) {
		return
	}
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
