package scan

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// forest plants n files in directories of a hundred.
func forest(b *testing.B, n int) *world {
	w := newWorld(b, Options{Caps: Caps{Files: 2 * n}})
	for i := range n {
		if i%100 == 0 {
			w.must(os.MkdirAll(w.at(fmt.Sprintf("%d/%d", i/5000, i/100)), 0o755))
		}
		w.must(os.WriteFile(w.at(fmt.Sprintf("%d/%d/%d", i/5000, i/100, i)), fmt.Appendf(nil, "file %d\n", i), 0o644))
	}
	return w
}

func BenchmarkNothingChanged(b *testing.B) {
	w := forest(b, 50)
	w.aged()
	last := w.snap()
	for b.Loop() {
		next := w.snap()
		if set, _ := w.diff(last, next); len(set) != 0 {
			b.Fatal("changes")
		}
		last = next
	}
}

// BenchmarkLarge changes ten of 100,000 files in a repository and compares the
// look at them with git's.
func BenchmarkLarge(b *testing.B) {
	const n = 100_000
	w := forest(b, n)
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-qm", "x")
	w.settle()
	round := 0
	change := func() {
		round++
		for i := range 10 {
			f := i * 9973
			w.must(os.WriteFile(w.at(fmt.Sprintf("%d/%d/%d", f/5000, f/100, f)), fmt.Appendf(nil, "round %d\n", round), 0o644))
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			w.open(Options{Caps: Caps{Files: 2 * n}})
			w.snap()
		}
	})
	last := w.snap()
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			change()
			b.StartTimer()
			next := w.snap()
			if set, _ := w.diff(last, next); len(set) != 10 {
				b.Fatal(len(set))
			}
			last = next
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			change()
			b.StartTimer()
			cmd := exec.Command("git", "--no-optional-locks", "status", "--porcelain")
			cmd.Dir = w.dir
			if _, err := cmd.Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
