package session

import (
	"sync"

	"kerf/internal/protocol"
)

// outbox holds the events a front end has not taken yet, so that a slow one never
// stops the loop. Deltas of one item merge when the box is full; nothing else is
// ever dropped.
type outbox struct {
	mu     sync.Mutex
	wake   chan struct{}
	queue  []protocol.Event
	more   []byte // the text of the last event where deltas merged into it
	closed bool
	gone   chan struct{} // closed when nobody will take events any more
	once   sync.Once
}

// mergeAbove is the length from which deltas merge.
const mergeAbove = 64

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

func (o *outbox) put(e protocol.Event) {
	o.mu.Lock()
	if !o.merge(e) {
		o.settle()
		o.queue = append(o.queue, e)
	}
	o.mu.Unlock()
	o.notify()
}

// merge joins a delta to the last event if that is a delta of the same item.
func (o *outbox) merge(e protocol.Event) bool {
	d, ok := e.Msg.(protocol.ItemDelta)
	if !ok || len(o.queue) < mergeAbove {
		return false
	}
	last := &o.queue[len(o.queue)-1]
	before, ok := last.Msg.(protocol.ItemDelta)
	if !ok || before.Item != d.Item || last.Agent != e.Agent {
		return false
	}
	if o.more == nil {
		o.more = []byte(before.Text)
	}
	o.more = append(o.more, d.Text...)
	return true
}

// settle gives the last event the text of what merged into it: once, since it may be the
// hundred thousandth part of a text.
func (o *outbox) settle() {
	if o.more == nil {
		return
	}
	last := &o.queue[len(o.queue)-1]
	d := last.Msg.(protocol.ItemDelta)
	d.Text = string(o.more)
	last.Msg, o.more = d, nil
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// close ends the pump once the queue is empty.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.notify()
}

// abandon lets the pump throw away what nobody takes.
func (o *outbox) abandon() { o.once.Do(func() { close(o.gone) }) }

// pump sends the events to out and closes it after the last one.
func (o *outbox) pump(out chan<- protocol.Event) {
	defer close(out)
	for {
		o.mu.Lock()
		o.settle()
		batch, closed := o.queue, o.closed
		o.queue = nil
		o.mu.Unlock()
		for _, e := range batch {
			select {
			case out <- e:
			case <-o.gone:
				select { // a front end that is still there takes what is left
				case out <- e:
				default:
				}
			}
		}
		if len(batch) == 0 {
			if closed {
				return
			}
			<-o.wake
		}
	}
}
