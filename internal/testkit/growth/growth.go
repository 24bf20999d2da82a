// Package growth tells whether the work that something takes grows with its input alone, whatever the machine and
// what else runs on it.
package growth

import "time"

// Linear reports whether n takes no more than 30 times as long as an eighth of it, of which the best of three is taken.
func Linear(n int, took func(n int) time.Duration) bool {
	part := min(took(n/8), took(n/8), took(n/8))
	return took(n) <= 30*part+50*time.Millisecond
}

// Took is the time of processor that this process, with all its goroutines, spends while f runs; on Windows the time
// that passes.
func Took(f func()) time.Duration {
	before := spent()
	f()
	return spent() - before
}
