package worker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"kerf/fleet/blob"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
)

// EventsPrefix is where the events of a task lie in the store, as JSON lines in numbered parts.
func EventsPrefix(id string) string { return "tasks/" + id + "/events/" }

// An eventLog keeps the events of a run in the store, soon after they happen.
type eventLog struct {
	store  *blob.Store
	prefix string
	mu     sync.Mutex
	lines  bytes.Buffer
	over   chan struct{}
	ended  chan struct{}
	full   chan struct{} // told when much is waiting
	part   int64
}

// How often events are written, and how much may wait, in bytes.
const (
	eventEvery = time.Second
	eventMost  = 1 << 20
)

func newEventLog(store *blob.Store, id string, place int) *eventLog {
	l := &eventLog{store: store, prefix: fmt.Sprintf("%s%04d-", EventsPrefix(id), place), over: make(chan struct{}),
		ended: make(chan struct{}), full: make(chan struct{}, 1), part: time.Now().UnixMilli()}
	go l.write()
	return l
}

// add takes an event. What an item says while it grows is left out: its end has all of it.
func (l *eventLog) add(e protocol.Event) {
	if _, grows := e.Msg.(protocol.ItemDelta); grows {
		return
	}
	line, err := wire.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.Write(line)
	l.lines.WriteByte('\n')
	if l.lines.Len() > eventMost {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
}

func (l *eventLog) write() {
	defer close(l.ended)
	for last := false; !last; {
		select {
		case <-time.After(eventEvery):
		case <-l.full:
		case <-l.over:
			last = true
		}
		l.flush()
	}
}

// flush writes what waits. What the store does not take now is written with the next part,
// within bounds.
func (l *eventLog) flush() {
	l.mu.Lock()
	data := bytes.Clone(l.lines.Bytes())
	l.lines.Reset()
	l.mu.Unlock()
	if len(data) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	l.part++
	err := l.store.Keep(ctx, fmt.Sprintf("%s%016d", l.prefix, l.part), data)
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(data)+l.lines.Len() < 16*eventMost {
		rest := bytes.Clone(l.lines.Bytes())
		l.lines.Reset()
		l.lines.Write(data)
		l.lines.Write(rest)
	}
}

func (l *eventLog) close() {
	close(l.over)
	<-l.ended
}
