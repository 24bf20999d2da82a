//go:build unix

package txn

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kerf/internal/text/delta"
)

// So it is where what they saved looks like a part of what the commit was to write: it stays.
func TestSavedBeforeAWriteInPlaceStays(t *testing.T) {
	for _, theirs := range []string{"one\ntwo\n", "one\ntwo\nthree\n"} {
		for n := range 4 {
			best, others, done := n&1 != 0, n>>1 != 0, false
			f := newFixture(t)
			f.write("h", "one\n", "c", "before")
			if err := os.Link(f.path("h"), f.path("h2")); err != nil {
				t.Skip(err)
			}
			w := f.open(true, func(op, path string) error {
				if !done && filepath.Base(path) == "journal.jsonl" {
					done = true
					f.write("h", theirs)
				}
				return nil
			})
			set := delta.Set{f.change("h", "one\ntwo\nthree\n")}
			if others {
				set = append(set, f.change("c", "after"))
			}
			_, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
			if b, _ := os.ReadFile(f.path("h")); !done || string(b) != theirs {
				t.Errorf("best %t, others %t: the user saved %q, h holds %q, the store has it: %t; %v; entries: %+v", best, others, theirs, b,
					w.Store.Has(delta.SumOf([]byte(theirs))), err, f.entries())
			}
		}
	}
}

// What was never begun, since another file of the commit failed, is not taken back either.
func TestWhatWasNeverBegunIsNotTakenBack(t *testing.T) {
	const theirs = "one\ntwo\n"
	for _, last := range []bool{false, true} {
		f := newFixture(t)
		f.write("h", "one\n", "c", "before")
		if err := os.Link(f.path("h"), f.path("h2")); err != nil {
			t.Skip(err)
		}
		failed := false
		w := f.open(true, func(op, path string) error {
			if op == "exchange" && path == f.path("c") && !failed {
				failed = true
				f.write("h", theirs)
				return syscall.EIO
			}
			return nil
		})
		set := delta.Set{f.change("c", "after"), f.change("h", "one\ntwo\nthree\n")}
		if last {
			slices.Reverse(set)
		}
		_, err := w.Commit(context.Background(), set, CommitOptions{})
		if b, _ := os.ReadFile(f.path("h")); !failed || err == nil || !last && string(b) != theirs {
			t.Errorf("last %t: h holds %q, %v", last, b, err)
		}
	}
}

// Somebody saves a file with two names, which is written in place, before the commit writes it. The commit writes nothing
// there, so nothing is committed, and no entry says that the tool changed it.
func TestWhatWasNotWrittenInPlaceIsNotClaimed(t *testing.T) {
	for n := range 4 {
		best, others := n&1 != 0, n>>1 != 0
		f := newFixture(t)
		f.write("h", "before", "c", "before")
		if err := os.Link(f.path("h"), f.path("h2")); err != nil {
			t.Skip(err)
		}
		done := false
		w := f.open(true, func(op, path string) error {
			if !done && filepath.Base(path) == "journal.jsonl" {
				done = true
				f.write("h", "theirs, and longer")
			}
			return nil
		})
		set := delta.Set{f.change("h", "ours!!")}
		if others {
			set = append(set, f.change("c", "after"))
		}
		out, err := w.Commit(context.Background(), set, CommitOptions{BestEffort: best})
		if b, _ := os.ReadFile(f.path("h")); !done || string(b) != "theirs, and longer" {
			t.Fatalf("%t, h holds %q", done, b)
		}
		for _, c := range out.Committed {
			if strings.HasPrefix(c.Path, f.path("h")) {
				t.Errorf("best %t, others %t: told as committed: %s, exact %t, %v", best, others, c.Path, out.Exact, err)
			}
		}
		for _, e := range f.entries() {
			for _, c := range e.Changes {
				if strings.HasPrefix(c.Path, f.path("h")) {
					t.Errorf("best %t, others %t: entered: %s %s by %s, exact %t, %s", best, others, c.Path, e.Known(), e.Cause, e.Exact, e.Certainty)
				}
			}
		}
	}
}

// Kerf is killed before it writes a file with two names in place. The user adds the first of the lines that Kerf was to
// add. Recovery takes that for a torn write.
func TestWrittenAfterTheCrashIsKeptThoughItLooksTorn(t *testing.T) {
	f := newFixture(t)
	f.write("h", "one\n")
	if err := os.Link(f.path("h"), f.path("h2")); err != nil {
		t.Skip(err)
	}
	killed := false
	w := f.open(true, func(op, path string) error {
		if op == "write" && path == f.path("h") {
			killed = true
			panic(crashed{})
		}
		return nil
	})
	survive(func() {
		_, _ = w.Commit(context.Background(), delta.Set{f.change("h", "one\ntwo\nthree\n")}, CommitOptions{})
	})
	if !killed {
		t.Fatal("not killed")
	}
	const theirs = "one\ntwo\n"
	f.write("h", theirs)
	r := f.open(true, nil).Settled
	if b, _ := os.ReadFile(f.path("h")); string(b) != theirs && !f.w.Store.Has(delta.SumOf([]byte(theirs))) {
		t.Errorf("the user wrote %q; it is nowhere, h holds %q; recovery: %+v; entries: %v", theirs, b, r, f.entries())
	}
}
