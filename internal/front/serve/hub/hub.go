// Package hub keeps live sessions that front ends attach to and leave again. A session
// goes on while nobody watches; who comes later gets the events from any number on, in
// order, and what must be known to join.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/text/order"
)

// Options say what a hub keeps.
type Options struct {
	// Sessions opens the sessions below. Find names the recorded session that OpenOptions
	// mean, which is to be resumed.
	Sessions protocol.Sessions
	Find     func(ctx context.Context, o protocol.OpenOptions) (protocol.SessionID, error)
	// Idle is how long a session without front ends, turns, questions and commands in the
	// background stays open; 0 means for ever.
	Idle time.Duration
	// Limit bounds the events kept of each session, in bytes; 0 means 4 MiB.
	Limit int
}

// Hub holds live sessions. It is a protocol.Sessions whose sessions are faces: closing one
// leaves the session as it is. It may be used by several goroutines.
type Hub struct {
	o Options

	mu     sync.Mutex
	live   map[protocol.SessionID]*live
	closed bool
	// opening has the recorded sessions that somebody is opening, so that none is opened
	// twice; a channel is closed when that is over. opens counts all that are being opened.
	opening map[protocol.SessionID]chan struct{}
	opens   sync.WaitGroup // added to under mu, while closed is false
}

var _ protocol.Sessions = (*Hub)(nil)

// ErrEnded says that a hub opens nothing any more.
var ErrEnded = errors.New("the server is about to end")

// New returns an empty hub.
func New(o Options) *Hub {
	o.Limit = cmp.Or(o.Limit, 4<<20)
	return &Hub{o: o, live: map[protocol.SessionID]*live{}, opening: map[protocol.SessionID]chan struct{}{}}
}

// Open opens a session and attaches to it, from its first event. A session that is live
// already is joined, with the settings that o asks for.
func (h *Hub) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	f, err := h.OpenAt(ctx, o)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenAt is Open with the face itself. Who opens another session does not wait for it.
func (h *Hub) OpenAt(ctx context.Context, o protocol.OpenOptions) (*Face, error) {
	if o.Resume != "" || o.Last {
		id, err := h.o.Find(ctx, o)
		if err != nil {
			return nil, err
		}
		o.Resume, o.Last, o.AnyCwd = string(id), false, false
	}
	f, done, err := h.claim(ctx, o)
	if f != nil || err != nil {
		return f, err
	}
	defer done()
	if o.Client != nil { // the session outlives the editor with its buffers and terminals
		o.Client = &protocol.ClientServices{Name: o.Client.Name, Texts: o.Client.Texts}
	}
	under, err := h.o.Sessions.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	l := newLive(under, o, h.o)
	f = l.attach(0, false)
	h.mu.Lock()
	h.live[under.ID()] = l
	h.mu.Unlock()
	go func() {
		l.run()
		h.mu.Lock()
		delete(h.live, under.ID())
		h.mu.Unlock()
		close(l.gone)
	}()
	return f, nil
}

// claim makes the caller the one who opens the session that o resumes, until done is
// called. Where the session is live, also because another caller has just opened it, the
// caller is attached to it instead.
func (h *Hub) claim(ctx context.Context, o protocol.OpenOptions) (f *Face, done func(), err error) {
	id := protocol.SessionID(o.Resume)
	for {
		if f, err := h.rejoin(ctx, id, o.Settings); f != nil || err != nil {
			return f, nil, err
		}
		done, other, err := h.begin(id)
		if other == nil {
			return nil, done, err
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// begin notes that a session is being opened, until done is called. Other is closed when
// somebody else has opened it, or could not.
func (h *Hub) begin(id protocol.SessionID) (done func(), other chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := make(chan struct{})
	switch {
	case h.closed:
		return nil, nil, ErrEnded
	case h.live[id] != nil: // since a moment ago
		close(over)
		return nil, over, nil
	case h.opening[id] != nil:
		return nil, h.opening[id], nil
	}
	h.opens.Add(1)
	if id != "" {
		h.opening[id] = over
	}
	return func() {
		h.mu.Lock()
		delete(h.opening, id)
		h.mu.Unlock()
		close(over)
		h.opens.Done()
	}, nil, nil
}

// rejoin attaches to a session that is live, and returns nothing if it is not.
func (h *Hub) rejoin(ctx context.Context, id protocol.SessionID, set protocol.Settings) (*Face, error) {
	f, err := h.Join(id)
	if err != nil {
		return nil, nil
	}
	set.Cwd, set.Edits = "", "" // where it works is settled, and what those are asked who watch
	if set != (protocol.Settings{}) {
		if err := f.Submit(ctx, protocol.Submission{Op: protocol.Configure{Settings: set}}); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Attach attaches to a live session, behind the event with the number since. The error
// wraps protocol.ErrNoSession.
func (h *Hub) Attach(id protocol.SessionID, since uint64) (*Face, error) {
	return h.attach(id, since, false)
}

// Join attaches to a live session at its running turn: the first events are the latest
// word on each thing, then come those of the turn. Turns before are in the transcript. Who
// leaves before the event Face.Last must join anew.
func (h *Hub) Join(id protocol.SessionID) (*Face, error) { return h.attach(id, 0, true) }

func (h *Hub) attach(id protocol.SessionID, since uint64, join bool) (*Face, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live[id]
	if l == nil {
		return nil, fmt.Errorf("%w %q is live here", protocol.ErrNoSession, id)
	}
	return l.attach(since, join), nil
}

// Submit hands an Op to a live session.
func (h *Hub) Submit(ctx context.Context, id protocol.SessionID, s protocol.Submission) error {
	h.mu.Lock()
	l := h.live[id]
	h.mu.Unlock()
	if l == nil {
		return fmt.Errorf("%w %q is live here", protocol.ErrNoSession, id)
	}
	return l.under.Submit(ctx, s)
}

// End closes a live session for all its front ends, and waits for it.
func (h *Hub) End(id protocol.SessionID) error {
	h.mu.Lock()
	l := h.live[id]
	h.mu.Unlock()
	if l == nil {
		return fmt.Errorf("%w %q is live here", protocol.ErrNoSession, id)
	}
	l.end()
	<-l.gone
	return nil
}

// Close ends all sessions and waits for them. Nothing is opened afterwards.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.opens.Wait() // what is being opened is here then
	h.mu.Lock()
	var all []*live
	for _, l := range h.live {
		all = append(all, l)
	}
	h.mu.Unlock()
	for _, l := range all {
		go l.end()
	}
	for _, l := range all {
		<-l.gone
	}
}

// State says what a session does: "idle", "running" or "waiting" for an answer.
type State string

// The states of a live session.
const (
	Idle    State = "idle"
	Running State = "running"
	Waiting State = "waiting"
)

// Info is one line of a list of live sessions.
type Info struct {
	ID        protocol.SessionID
	Title     string
	Settings  protocol.Settings
	State     State
	Turn      protocol.TurnID // the running one
	Questions int
	Processes int
	Faces     int
	Events    uint64 // the number of the newest event
	Opened    time.Time
}

// List lists the live sessions, the oldest first.
func (h *Hub) List() []Info {
	h.mu.Lock()
	var list []Info
	for _, l := range h.live {
		list = append(list, l.info())
	}
	h.mu.Unlock()
	order.By(list, func(a, b Info) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return list
}
