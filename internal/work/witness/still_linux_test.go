package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
)

// A move that went on before a look and comes to its end in the middle of it is told
// wholly or not at all, and nothing is lost or in doubt by it.
func TestMovesThatEndDuringALookAreToldWhole(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	put := func(name string) *journal.Record {
		if err := os.WriteFile(path(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		c := newCollector(root, []string{root}, nil)
		defer c.close()
		st, err := c.look(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return &journal.Record{Kind: journal.Touch, Path: path(name), Before: st}
	}
	const rounds = 100
	others := map[int]*journal.Record{}
	whole := 0
	for round := range rounds {
		c := newCollector(root, []string{root}, nil)
		number := int64(0)
		take := func(r *journal.Record) {
			number++
			r.Number = number
			c.take(r)
		}
		for i := range 60 { // looked at before the move, in the middle, and after it
			switch {
			case i%20 == 10:
				take(&journal.Record{Kind: journal.Touch, Path: path(fmt.Sprint("to", i))})
				take(put(fmt.Sprint("from", i)))
			default:
				if others[i] == nil {
					others[i] = put(fmt.Sprint("other", i))
					others[i].Before.How, others[i].Before.Data = journal.Inline, []byte(fmt.Sprint("other", i))
				}
				r := *others[i]
				take(&r)
			}
		}
		moved := make(chan error, 1)
		go func() {
			time.Sleep(time.Duration(round%40) * 50 * time.Microsecond)
			var err error
			for _, i := range []int{10, 30, 50} {
				if err == nil {
					err = os.Rename(path(fmt.Sprint("from", i)), path(fmt.Sprint("to", i)))
				}
			}
			moved <- err
		}()
		r := c.report(func() {})
		if err := <-moved; err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, p := range r.Parts {
			if p.Certainty != ledger.Proven {
				t.Errorf("round %d: %s: %v", round, p.Certainty, p.Set)
			}
			told += len(p.Set)
		}
		if len(r.Unsure()) > 0 || told%2 != 0 {
			t.Errorf("round %d: %v %v", round, r.Parts, r.Unsure())
		}
		if told > 0 {
			whole++
		}
		c.close()
		for _, i := range []int{10, 30, 50} {
			_ = os.Remove(path(fmt.Sprint("to", i)))
		}
	}
	t.Logf("%d of %d looks met a move", whole, rounds)
}
