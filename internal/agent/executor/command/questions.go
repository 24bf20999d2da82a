package command

import (
	"context"
	"sync"
	"time"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
)

// Questions are what the user is asked about one command while it runs. The command is
// held meanwhile, so that time does not count as time that its call waited. They may
// outlive the call. They may be used by several goroutines.
type Questions struct {
	ask    func(context.Context, protocol.Approval) turn.Reply
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards what follows
	open    int
	since   time.Time     // when the first of the open ones was asked
	held    time.Duration // while earlier ones were open
	changed chan struct{} // closed when one opens or closes
}

// NewQuestions returns the questions of a command, which ask puts to the user; nil when
// there is nobody to ask, which ask being nil stands for.
func NewQuestions(ctx context.Context, ask func(context.Context, protocol.Approval) turn.Reply) *Questions {
	if ask == nil {
		return nil
	}
	q := &Questions{ask: ask, changed: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return q
}

// Ask asks, and waits for the answer. After Close it is that the question was withdrawn.
func (q *Questions) Ask(a protocol.Approval) turn.Reply {
	q.count(1)
	defer q.count(-1)
	return q.ask(q.ctx, a)
}

// Close withdraws the questions that are open: the command is over.
func (q *Questions) Close() {
	if q != nil {
		q.cancel()
	}
}

func (q *Questions) count(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case n > 0 && q.open == 0:
		q.since = time.Now()
	case n < 0 && q.open == 1:
		q.held += time.Since(q.since)
	}
	q.open += n
	close(q.changed)
	q.changed = make(chan struct{})
}

// left is how much of a time that began at some moment is left, without what passed
// while a question was open. running is false while one is. changed is closed when that
// changes.
func (q *Questions) left(began time.Time, limit, held time.Duration) (left time.Duration, running bool, changed <-chan struct{}) {
	if q == nil {
		return limit - time.Since(began), true, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return limit - time.Since(began) + q.held - held, q.open == 0, q.changed
}

// heldSoFar is how long the command was held for questions that are answered.
func (q *Questions) heldSoFar() time.Duration {
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

// Within waits until a process ends, and reports whether it did. It ends sooner when its
// time is up, which does not pass while a question is open, or when ctx is done.
func (q *Questions) Within(ctx context.Context, p *proc.Process, limit time.Duration) bool {
	began, held := time.Now(), q.heldSoFar()
	for {
		left, running, changed := q.left(began, limit, held)
		if running && left <= 0 {
			return p.Within(ctx, 0)
		}
		var up <-chan time.Time
		if running {
			up = time.After(left)
		}
		select {
		case <-p.Done():
			return true
		case <-ctx.Done():
			return false
		case <-up:
		case <-changed:
		}
	}
}
