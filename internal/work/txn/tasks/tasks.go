// Package tasks runs pieces of work beside each other.
package tasks

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Run runs the tasks, so many at a time, each once and in their order, and returns the first error. After one no
// other task is begun.
func Run(tasks []func() error, atOnce int) error {
	var next atomic.Int64
	var failed atomic.Bool
	work := func() error {
		for i := next.Add(1) - 1; i < int64(len(tasks)) && !failed.Load(); i = next.Add(1) - 1 {
			if err := tasks[i](); err != nil {
				failed.Store(true)
				return err
			}
		}
		return nil
	}
	if atOnce == 1 || len(tasks) == 1 {
		return work()
	}
	var g errgroup.Group
	for range min(atOnce, len(tasks)) {
		g.Go(work)
	}
	return g.Wait()
}
