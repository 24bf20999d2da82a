// Package footprint bounds a command as a whole where no cgroup does it: its processes are
// looked at while it runs.
package footprint

import (
	"sync"
	"sync/atomic"
	"time"
)

// The processes are looked at every interval, and less often when that takes long.
const (
	interval = 100 * time.Millisecond
	share    = 20 // a look may take one part in so many of the time
)

// Limits bound a command as a whole. Zero means no limit.
type Limits struct {
	// Memory is in bytes. What several processes share counts once. What lies in memory
	// files that none of them has mapped, and what lies in swap, does not count.
	Memory uint64
	// Tasks is how many processes and threads there may be at once.
	Tasks uint64
}

// Watch looks after one command. A nil Watch looks after none.
type Watch struct {
	limits Limits
	over   atomic.Pointer[string]
	quit   chan struct{}
	end    sync.Once
	wg     sync.WaitGroup
}

// Start begins to look at a process and all it has started, and calls exceeded once, on a
// goroutine of its own, when they are beyond a limit together.
func Start(leader int, limits Limits, exceeded func()) *Watch {
	w := &Watch{limits: limits, quit: make(chan struct{})}
	w.wg.Go(func() { w.look(leader, exceeded) }) // ends with End
	return w
}

func (w *Watch) look(leader int, exceeded func()) {
	wait := interval
	for {
		select {
		case <-w.quit:
			return
		case <-time.After(wait):
		}
		began := time.Now()
		if what := w.limits.exceeded(leader); what != "" {
			w.over.Store(&what)
			exceeded()
			return
		}
		wait = max(interval, share*time.Since(began))
	}
}

// exceeded says of what there is too much. While the whole machine has less, nobody needs
// to be counted.
func (l Limits) exceeded(leader int) string {
	memory, tasks := l.Memory > 0 && taken() > l.Memory, l.Tasks > 0 && running() > l.Tasks
	if !memory && !tasks {
		return ""
	}
	used := Count(leader)
	switch {
	case memory && used.Memory > l.Memory:
		return Memory
	case tasks && used.Tasks > l.Tasks:
		return Tasks
	}
	return ""
}

// What there can be too much of.
const (
	Memory = "memory"
	Tasks  = "processes"
)

// End stops looking, and says of what there was too much, Memory or Tasks; "" of nothing.
// It may be called again.
func (w *Watch) End() string {
	if w == nil {
		return ""
	}
	w.end.Do(func() { close(w.quit) })
	w.wg.Wait()
	if what := w.over.Load(); what != nil {
		return *what
	}
	return ""
}
