package witness_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// TestALinkedFileThatIsMovedAfterACut: a command changed a file with two names, what it did is entered, and
// then it moves the file by the name at which it changed it last. Its Kerf is killed. Nobody else was there.
func TestALinkedFileThatIsMovedAfterACut(t *testing.T) {
	long.Slow(t)
	s := newStage(t)
	w := s.enters()
	s.set()
	before := snap(s, s.root)
	x, cmd, out := s.begin(play{Lists: [][]deed{{{Do: "truncate", A: "d/h", N: 20}, {Do: "sleep", N: 500},
		{Do: "rename", A: "d/h", B: "d/d/a"}, {Do: "symlink", A: "d/h", B: "a"}}}})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for size := int64(0); size != 20; time.Sleep(100 * time.Microsecond) {
		st, err := os.Lstat(filepath.Join(s.root, "h"))
		if err != nil {
			t.Fatal(err)
		}
		size = st.Size()
	}
	var reports []witness.Report
	known := texts{}
	ctx := context.Background()
	add := func(r witness.Report) error {
		known.learn(r)
		reports = append(reports, r)
		_, err := enter.Report(ctx, w, txn.Origin{Session: "s", Call: "c"}, r)
		return err
	}
	var err error
	if cerr := x.Collect(func(r witness.Report) { err = add(r) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if err := s.w.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	for _, stop := range s.boxes {
		stop()
	}
	s.boxes = nil
	_, err = witness.Recover(ctx, witness.Options{Dir: s.home, Roots: []string{s.root}, Ledger: s.ledger, Store: s.store},
		func(_ ledger.Entry, r witness.Report) error { return add(r) })
	if err != nil {
		t.Fatal(err)
	}
	s.again()
	adds(t, s.root, before, snap(s, s.root), reports, out.String())
	if got := told(reports); strings.Contains(got, "unproven") || strings.Contains(got, "note") || len(reports) != 2 {
		t.Errorf("nobody else was there:\n%s", got)
	}
}
