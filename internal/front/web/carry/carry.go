// Package carry sends events to browsers, as server-sent events.
//
// A browser allows six connections to one server, and each stream of events holds one. So
// that any number of tabs can follow sessions, a browser opens one stream, and the streams
// of its tabs go over that one: each has a number, under which the browser knows it.
package carry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Out takes events. What was sent may wait until Flush.
type Out interface {
	Send(event string, data any) error
	Flush() error
	// Beat says that the stream lives; it should be called each Interval.
	Beat() error
}

// Interval is how often a stream without events says that it lives.
const Interval = 15 * time.Second

// most is how many streams one connection carries.
const most = 500

// Errors of Carry.
var (
	ErrGone = errors.New("this connection is not open any more")
	ErrFull = errors.New("too many tabs follow sessions")
)

// Stream is a connection that has one stream of events. Its methods may be called by several
// goroutines.
type Stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush func() error
}

// New begins the answer to a request for events.
func New(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	return &Stream{w: w, flush: http.NewResponseController(w).Flush}
}

// Send is [Out].
func (s *Stream) Send(event string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, b)
	return err
}

// Flush is [Out].
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// Beat is [Out]. It sends what browsers skip.
func (s *Stream) Beat() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write([]byte(": \n\n")); err != nil {
		return err
	}
	return s.flush()
}

// Carriers are the open connections that carry streams. The zero value has none.
type Carriers struct {
	mu  sync.Mutex
	all map[string]*carrier
}

// carrier is one connection. Each of its streams is a goroutine that Serve waits for.
type carrier struct {
	out *Stream
	ctx context.Context // ends with the connection
	g   sync.WaitGroup  // added to under mu, while closed is false

	mu      sync.Mutex
	closed  bool
	streams map[int]context.CancelFunc
}

// Serve answers a request with a connection that carries streams, until the browser ends it.
// Its first event, "carrier", names it.
func (c *Carriers) Serve(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithCancel(r.Context())
	x := &carrier{out: New(w), ctx: ctx, streams: map[int]context.CancelFunc{}}
	id := rand.Text() // nobody else can name it
	c.put(id, x)
	defer x.g.Wait()
	defer c.drop(id, x)
	defer stop()
	if x.out.Send("carrier", id) != nil || x.out.Flush() != nil {
		return
	}
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if x.out.Beat() != nil {
				return // the browser is gone
			}
		}
	}
}

func (c *Carriers) put(id string, x *carrier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*carrier{}
	}
	c.all[id] = x
}

func (c *Carriers) drop(id string, x *carrier) {
	c.mu.Lock()
	delete(c.all, id)
	c.mu.Unlock()
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
}

func (c *Carriers) of(id string) *carrier {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[id]
}

// Carry sends a stream over a connection, under a number that must be new, until send
// returns. The context of send ends when the browser leaves the stream or the connection.
func (c *Carriers) Carry(id string, n int, send func(context.Context, Out)) error {
	x := c.of(id)
	if x == nil {
		return ErrGone
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return ErrGone
	case len(x.streams) >= most:
		return ErrFull
	case x.streams[n] != nil:
		return fmt.Errorf("stream %d is carried already", n)
	}
	ctx, stop := context.WithCancel(x.ctx)
	x.streams[n] = stop
	x.g.Go(func() {
		defer x.left(n)
		send(ctx, numbered{x.out, n})
	})
	return nil
}

// Leave ends a stream, if there is one with this number.
func (c *Carriers) Leave(id string, n int) {
	if x := c.of(id); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if stop := x.streams[n]; stop != nil {
			stop()
		}
	}
}

func (x *carrier) left(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.streams[n]()
	delete(x.streams, n)
}

// numbered is one of the streams of a connection.
type numbered struct {
	*Stream
	n int
}

// Send is [Out].
func (s numbered) Send(event string, data any) error {
	return s.Stream.Send("told", map[string]any{"n": s.n, "event": event, "data": data})
}

// Beat is [Out]: the connection itself does it.
func (numbered) Beat() error { return nil }
