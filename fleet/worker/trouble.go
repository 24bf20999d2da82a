package worker

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/temporal"

	"kerf/fleet/flow"
)

// trouble is what keeps a machine from working: its disk is full, kerf or a key is missing, the store does not
// answer. Such a worker is always free, so it would be given task after task that others could do; it takes none for
// a while instead, longer each time, until a task ends well. The zero value has none.
type trouble struct {
	mu    sync.Mutex
	n     int // times on end
	until time.Time
	now   func() time.Time // nil: time.Now
}

// How long a worker takes no task: after the first trouble, and at most.
const (
	awayFirst = 5 * time.Second
	awayMost  = time.Minute
)

func (t *trouble) clock() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}

// of takes up how an activity ended that nobody broke off. What any worker would meet is no trouble of this one;
// several tasks that meet the same count once.
func (t *trouble) of(err error, log *slog.Logger) {
	var own *temporal.ApplicationError
	if err == nil || errors.As(err, &own) && own.Type() == flow.Hopeless {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clock().Before(t.until) {
		return
	}
	wait := min(awayFirst<<min(t.n, 10), awayMost)
	t.n++
	t.until = t.clock().Add(wait)
	log.Warn("this worker takes no task for a while", "time", wait, "error", err)
}

// well is told when a task ended as it should.
func (t *trouble) well() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n, t.until = 0, time.Time{}
}

func (t *trouble) away() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock().Before(t.until)
}

// Troubles is how often on end this worker could not do what it was given.
func (w *Worker) Troubles() int {
	w.trouble.mu.Lock()
	defer w.trouble.mu.Unlock()
	return w.trouble.n
}
