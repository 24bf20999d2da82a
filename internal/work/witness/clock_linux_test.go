package witness_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/journal"
)

// TestClockThatWasSetBack: Kerf and its helper end in the middle of a command, and what is in a file now has a
// time that a clock told which was set back since. It is not the command's work for that.
func TestClockThatWasSetBack(t *testing.T) {
	root := t.TempDir()
	edited := filepath.Join(root, "edited")
	for back, want := range map[time.Duration]string{0: ledger.Proven, time.Hour: ledger.Unproven} {
		home := t.TempDir()
		l, err := ledger.Open(home)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s, err := store.Open(filepath.Join(home, "store"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := ledger.Entry{Cause: ledger.CauseBegan, Journal: "s/1"}
		if err := l.Append(&began); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(home, "witness", "s", "1")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := journal.Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		held := journal.State{Kind: journal.File, Mode: 0o644, Links: 1, How: journal.Inline, Data: []byte("old"),
			Sig: journal.Sig{Ino: 1, Size: 3}}
		if err := w.Write(&journal.Record{Kind: journal.Began, Number: began.Seq, To: root},
			&journal.Record{Kind: journal.Touch, Number: 1, Path: edited, Before: held}); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := os.WriteFile(edited, []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		told := time.Now().Add(back)
		if err := os.Chtimes(filepath.Join(dir, journal.Name), told, told); err != nil {
			t.Fatal(err)
		}
		o := witness.Options{Dir: home, Roots: []string{root}, Ledger: l, Store: s}
		got := ""
		n, err := witness.Recover(context.Background(), o, func(_ ledger.Entry, r witness.Report) error {
			for _, p := range r.Parts {
				for _, ch := range p.Set {
					if ch.Path == edited {
						got = p.Certainty
					}
				}
			}
			return nil
		})
		if n != 1 || err != nil || got != want {
			t.Errorf("by %s: %q, not %q; %d, %v", back, got, want, n, err)
		}
	}
}
