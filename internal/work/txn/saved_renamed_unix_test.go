//go:build unix

package txn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// Somebody saves r in the last moment, Kerf is killed once names are exchanged, and then a program writes r by rename, such
// as sed -i. What was saved is in the temporary file alone.
func TestSavedInTheLastMomentThenWrittenByRename(t *testing.T) {
	for n := range 4 {
		f := newFixture(t)
		f.write("r", "before")
		best, others := n&1 != 0, n>>1
		set := aloneOrNot(f, false, others)
		exchanged := false
		w := f.open(true, lastMoment(f, func(op, path string) error {
			if b, _ := os.ReadFile(f.path("r")); string(b) == "after" {
				exchanged = true
				panic(crashed{})
			}
			return nil
		}))
		if dead := survive(func() { _, _ = w.Commit(context.Background(), set, CommitOptions{BestEffort: best}) }); !dead || !exchanged {
			t.Fatal("not killed")
		}
		byRename(t, f, "r", "after, formatted")
		f.open(true, nil)
		sum, there := delta.SumOf([]byte(saved)), false
		for _, v := range f.snapshot() {
			there = there || strings.Contains(v, saved)
		}
		if !there && !f.w.Store.Has(sum) {
			t.Errorf("best %t, others %d: what the user saved is nowhere: %v %+v", best, others, f.snapshot(), f.entries())
		}
	}
}

// Kerf is killed when a was written, and somebody writes on in it, by rename. In place this is told as a conflict and has an
// entry (TestSEC_E1_SavedAfterTheCrashStays).
func TestWrittenOnByRenameAfterTheCrash(t *testing.T) {
	for n := range 4 {
		set, unrecorded := []string{"a", "b"}[:1+n&1], n > 1
		f := newFixture(t)
		f.write("a", "old a\n", "b", "old b\n")
		var s delta.Set
		for _, n := range set {
			s = append(s, f.change(n, "new "+n+"\n"))
		}
		killed := false
		w := f.open(true, func(op, path string) error {
			if b, _ := os.ReadFile(f.path("a")); string(b) == "new a\n" {
				killed = true
				panic(crashed{})
			}
			return nil
		})
		survive(func() { _, _ = w.Commit(context.Background(), s, CommitOptions{}) })
		if !killed {
			t.Fatal("not killed")
		}
		if unrecorded { // as kerf undo and kerf redo do where nothing can be recorded: their journal is another one
			other, err := openAt(f.root, filepath.Join(filepath.Dir(f.home), "scratch"), true, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Commit(context.Background(), delta.Set{f.change("a", "new a\ntheirs\n")}, CommitOptions{
				Cause: ledger.CauseUndo}); err != nil {
				t.Fatal(err)
			}
			_, _ = other.Close(), other.Ledger.Close()
		} else {
			byRename(t, f, "a", "new a\ntheirs\n")
		}
		r := f.open(true, nil).Settled
		if len(f.entries()) == 0 || len(r.Conflicts)+r.Kept == 0 {
			t.Errorf("%v, unrecorded undo %t: a holds %q; the recovery says %+v, entries: %+v", set, unrecorded, f.snapshot()["a"], r, f.entries())
		}
	}
}
