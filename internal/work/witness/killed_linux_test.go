package witness_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kerf/internal/testkit/long"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	worktree "kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// enters opens the workspace of a bench, so that reports can be entered into its ledger.
func (b *bench) enters() *txn.Workspace {
	b.Helper()
	tr, err := worktree.Open(worktree.Options{Roots: []string{b.root}, Cwd: b.root})
	if err != nil {
		b.Fatal(err)
	}
	w, err := txn.Open(txn.Options{Tree: tr, Store: b.store, Ledger: b.ledger, Dir: b.home})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := w.Close(); err != nil {
			b.Error(err)
		}
	})
	return w
}

// again makes a new witness, as a new Kerf does.
func (b *bench) again() {
	b.Helper()
	var err error
	if b.w, err = witness.New(witness.Options{Dir: b.home, Roots: []string{b.root}, Ledger: b.ledger, Store: b.store}); err != nil {
		b.Fatal(err)
	}
}

// texts are contents by their sums: an entry of the ledger has the sums alone.
type texts map[delta.Sum][]byte

// learn takes in the contents of a report, and completes those that it has no bytes of.
func (x texts) learn(r witness.Report) {
	for _, p := range r.Parts {
		for _, c := range p.Set {
			for _, i := range []*delta.Image{c.Pre, c.Post} {
				switch {
				case i == nil:
				case i.Data != nil:
					x[i.Sum] = i.Data
				default:
					i.Data = x[i.Sum]
				}
			}
		}
	}
}

// What was entered of a command before its Kerf was killed and what is recovered of it
// make up all that it did, whenever it was collected last: also what it had begun by then
// and did not come to the end of.
func TestWhatIsCollectedBeforeAKillAndAfterItAddsUp(t *testing.T) {
	checks(t, 5000)
	s := newStage(t)
	w := s.enters()
	ctx := context.Background()
	recovered, plays := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		plays++
		s.set()
		before := snap(s, s.root)
		p := play{Lists: [][]deed{someDeeds(t, 20)}}
		// A name is often touched again and again, and there are moments to look in between.
		for i := len(p.Lists[0]) - 1; i > 0; i-- {
			if rapid.IntRange(0, 3).Draw(t, "pause") == 0 {
				p.Lists[0] = slices.Insert(p.Lists[0], i, deed{Do: "sleep", N: 3})
			}
		}
		waits := rapid.SliceOfN(rapid.IntRange(0, 4000), 1, 4).Draw(t, "waits")
		torn := rapid.Bool().Draw(t, "torn") // the last look is not entered any more
		x, cmd, out := s.begin(p)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		time.Sleep(3 * time.Millisecond)
		var reports []witness.Report
		known := texts{}
		for i, n := range waits {
			time.Sleep(time.Duration(n) * time.Microsecond)
			err := x.Collect(func(r witness.Report) {
				known.learn(r)
				if torn && i == len(waits)-1 {
					return
				}
				if _, err := enter.Report(ctx, w, txn.Origin{Session: "s", Call: "c"}, r); err != nil {
					t.Fatal(err)
				}
				reports = append(reports, r)
			})
			if err != nil && !strings.Contains(err.Error(), "no such command") {
				t.Fatalf("collect: %v", err)
			}
		}
		if err := s.w.Close(); err != nil { // as when it is killed: nobody collects
			t.Fatal(err)
		}
		<-ended
		for _, stop := range s.boxes {
			stop()
		}
		s.boxes = nil
		_, err := witness.Recover(ctx, witness.Options{Dir: s.home, Roots: []string{s.root}, Ledger: s.ledger, Store: s.store},
			func(_ ledger.Entry, r witness.Report) error {
				recovered++
				known.learn(r)
				reports = append(reports, r)
				_, err := enter.Report(ctx, w, txn.Origin{Session: "s", Call: "c"}, r)
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		s.again()
		var f faults
		adds(&f, s.root, before, snap(s, s.root), reports, out.String())
		certain(&f, reports, out.String())
		if len(f) > 0 {
			t.Fatalf("%s\n%+v\nwaits %v, torn %v", f[0], p.Lists[0], waits, torn)
		}
	})
	t.Logf("%d of %d were recovered", recovered, plays)
	if recovered == 0 && !long.Asked() {
		t.Error("nothing was ever recovered")
	}
}

// faults collects what is wrong in place of ending the test.
type faults []string

// Fatalf notes the first fault of a play.
func (f *faults) Fatalf(format string, args ...any) {
	if len(*f) == 0 {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}
