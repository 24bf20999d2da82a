// Package growth tells whether the work that something takes grows with its input alone, whatever the machine and
// what else runs on it.
package growth

import "time"

// Linear reports whether n takes no more than 30 times as long as an eighth of it, each the best of three: memory that
// is touched first and collected costs now and then more than what is measured.
func Linear(n int, took func(n int) time.Duration) bool {
	part := min(took(n/8), took(n/8), took(n/8))
	for range 3 {
		if took(n) <= 30*part+50*time.Millisecond {
			return true
		}
	}
	return false
}

// Took is the time of processor that this process, with all its goroutines, spends while f runs; on Windows the time
// that passes.
func Took(f func()) time.Duration {
	before := spent()
	f()
	return spent() - before
}
