package tries_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"kerf/internal/work/tries"
)

// TestNumbersAreNotGivenAgain: a number that somebody remembers is never that of another try,
// also when tries are made at the same time, and when the list of numbers is damaged.
func TestNumbersAreNotGivenAgain(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir := filepath.Join(base, "home"), filepath.Join(base, "w")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var had []int
	round := func() {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				try, err := tries.New(home, []string{dir}, "")
				if err == nil {
					err = try.Remove()
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				had = append(had, try.ID)
			})
		}
		all.Wait()
	}
	round()
	round()
	f, err := os.OpenFile(filepath.Join(home, "tries", "given"), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("no number\n\x00\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	round()
	slices.Sort(had)
	if got := len(slices.Compact(slices.Clone(had))); got != 12 {
		t.Errorf("%d numbers for 12 tries: %v", got, had)
	}
}
