package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kerf/internal/front/serve/message"
	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
)

// Session is a session that lives in the server. When the connection breaks, it is
// made again and goes on at the event it had.
type Session struct {
	client Client
	id     protocol.SessionID
	joined message.AttachResult
	events chan protocol.Event
	ctx    context.Context
	stop   context.CancelFunc
	over   chan struct{} // closed when no event follows

	mu   sync.Mutex
	line *line
	last uint64 // the newest event that was taken
}

var (
	_ protocol.Session = (*Session)(nil)
	_ protocol.Joined  = (*Session)(nil)
)

func newSession(c Client, l *line, res message.AttachResult) *Session {
	s := &Session{client: c, id: res.Session, joined: res, events: make(chan protocol.Event), over: make(chan struct{}), line: l}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// ID is that of the session.
func (s *Session) ID() protocol.SessionID { return s.id }

// Running is the turn that ran when the session was joined, or nothing.
func (s *Session) Running() protocol.TurnID { return s.joined.Running }

// Events is closed after SessionEnded, and after Close.
func (s *Session) Events() <-chan protocol.Event { return s.events }

// Submit hands an Op to the session. It does not wait for the server.
func (s *Session) Submit(ctx context.Context, sub protocol.Submission) error {
	select {
	case <-s.over:
		return fmt.Errorf("session %s has ended, or was left", s.id)
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	s.mu.Lock()
	l := s.line
	s.mu.Unlock()
	return l.send(nil, message.Submit, message.SubmitParams{Session: s.id, ID: sub.ID, Op: sub.Op})
}

// Close leaves the session, which goes on in the server.
func (s *Session) Close() error {
	s.stop()
	s.mu.Lock()
	_ = s.line.c.Close()
	s.mu.Unlock()
	<-s.over
	return nil
}

// run takes the events until there are no more.
func (s *Session) run() {
	defer close(s.over)
	defer close(s.events)
	defer s.stop()
	for {
		if s.take() || s.ctx.Err() != nil {
			return
		}
		if err := s.again(); err != nil {
			s.lost(err)
			return
		}
	}
}

// take passes events on until the connection breaks. It reports whether the session is over.
func (s *Session) take() bool {
	for {
		f, err := s.line.read()
		if err != nil {
			return false
		}
		switch f.Method {
		case message.Left:
			return true
		case message.Event:
			var p message.EventParams
			if wire.Unmarshal(f.Params, &p) != nil || p.Event.Seq <= s.last {
				continue // of a newer server, or known
			}
			select {
			case s.events <- p.Event:
				s.last = p.Event.Seq
			case <-s.ctx.Done():
				return true
			}
		}
	}
}

// again connects anew.
func (s *Session) again() error {
	var err error
	for wait := 50 * time.Millisecond; wait < 4*time.Second; wait *= 2 {
		var l *line
		if l, err = s.client.dial(s.ctx, false); Gone(err) {
			return err // and the session with it
		}
		if err == nil {
			var res message.AttachResult
			if err = l.call(s.ctx, message.Attach, message.AttachParams{Session: s.id, Since: s.last,
				Life: s.joined.Life}, &res); err == nil {
				s.mu.Lock()
				s.line = l
				s.mu.Unlock()
				return nil
			}
			_ = l.c.Close()
			if errors.Is(err, protocol.ErrNoSession) || errors.Is(err, message.ErrAnew) {
				return err
			}
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return err
}

// lost tells that the server is gone.
func (s *Session) lost(err error) {
	now := time.Now()
	for i, m := range []protocol.Msg{protocol.Warning{Message: fmt.Sprintf("the session is not live any more (%v); it is "+
		"recorded: kerf resume %s goes on with it", err, s.id)}, protocol.SessionEnded{}} {
		select {
		case s.events <- protocol.Event{Seq: s.last + 1 + uint64(i), Time: now, Msg: m}:
		case <-s.ctx.Done():
			return
		}
	}
}
