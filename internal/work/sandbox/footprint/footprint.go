// Package footprint bounds a command as a whole where no cgroup does it: its processes are
// looked at while it runs.
package footprint

import (
	"sync/atomic"
	"time"

	"kerf/internal/work/sandbox/repeat"
)

// interval is how often the processes are looked at.
const interval = 100 * time.Millisecond

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
	over atomic.Pointer[string]
	loop *repeat.Loop
}

// Start begins to look at a process and all it has started, and calls exceeded once, on a
// goroutine of its own, when they are beyond a limit together.
func Start(leader int, limits Limits, exceeded func()) *Watch {
	w := &Watch{}
	w.loop = repeat.Start(interval, func() bool {
		what := limits.exceeded(machine, leader)
		if what == "" {
			return true
		}
		w.over.Store(&what)
		exceeded()
		return false
	})
	return w
}

// exceeded says of what there is too much. While the whole machine has less, nobody needs
// to be counted.
func (l Limits) exceeded(k kernel, leader int) string {
	if l.Memory > 0 && k.taken() > l.Memory && k.count(leader).Memory > l.Memory {
		return Memory
	}
	if l.Tasks > 0 && k.running() > l.Tasks && k.count(leader).Tasks > l.Tasks {
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
	w.loop.End()
	if what := w.over.Load(); what != nil {
		return *what
	}
	return ""
}

// Count is what a process and its descendants hold.
func Count(leader int) Limits { return machine.count(leader) }
