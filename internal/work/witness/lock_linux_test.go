package witness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"kerf/internal/testkit/long"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal/claim"
)

// Sessions begin and end while others do, and while others look for what was left behind:
// each gets its directory, and has it until it ends.
func TestSessionsBeginWhileOthersEnd(t *testing.T) {
	long.Slow(t)
	o := Options{Dir: t.TempDir()}
	enter := func(ledger.Entry, Report) error { return nil }
	over := make(chan struct{})
	var lookers, sessions sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := Recover(context.Background(), o, enter); err != nil {
					t.Errorf("recover: %v", err)
					return
				}
			}
		})
	}
	for s := range 4 {
		sessions.Go(func() {
			for n := range 200 {
				dir := filepath.Join(o.Dir, folder, fmt.Sprintf("%d-%d", s, n))
				lock, err := claim.Take(dir)
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				if err = os.Mkdir(filepath.Join(dir, "1"), 0o700); err != nil {
					t.Errorf("a session that lives lost its directory: %v", err)
				}
				if err = claim.SameFile(lock, filepath.Join(dir, claim.Name)); err != nil {
					t.Errorf("a session that lives lost its lock: %v", err)
				}
				if err = os.Remove(filepath.Join(dir, "1")); err != nil {
					t.Errorf("a session that lives lost its journal: %v", err)
				}
				if err = claim.Release(dir, lock); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sessions.Wait()
	close(over)
	lookers.Wait()
}
