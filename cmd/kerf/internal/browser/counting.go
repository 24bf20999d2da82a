package browser

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/sessions"
)

// counting reads long records whose outline is not kept, one piece after the other, the session
// first that somebody asked for last. One goroutine does it, as long as there is something to read;
// close ends it and waits for it. The zero value is not ready: begin makes one.
type counting struct {
	ctx  context.Context
	stop context.CancelFunc
	g    sync.WaitGroup

	asked atomic.Int64 // when a page was asked for last, in nanoseconds

	mu    sync.Mutex
	pages []wanted
	runs  bool // records are read
	whole bool // what all sessions used is counted
	// failed is why the record of a session cannot be read, until that was told.
	failed map[protocol.SessionID]error
}

// wanted is a session whose record is to be read.
type wanted struct {
	id    protocol.SessionID
	pages sessions.Pages
}

func begin() *counting {
	c := &counting{failed: map[protocol.SessionID]error{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *counting) close() {
	c.stop()
	c.g.Wait()
}

// want has the record of a session read next. The error is why it could not be read before.
func (c *counting) want(id protocol.SessionID, p sessions.Pages) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed[id]
	delete(c.failed, id)
	if err != nil || c.ctx.Err() != nil {
		return err
	}
	c.drop(id)
	c.pages = append(c.pages, wanted{id, p})
	if !c.runs {
		c.runs = true
		c.g.Go(c.run)
	}
	return nil
}

// ever is a time that no count reaches.
const ever = 24 * time.Hour

// all counts what all sessions used whose records are not long, if that is not being done.
func (c *counting) all(d *data) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole || c.ctx.Err() != nil {
		return
	}
	c.whole = true
	c.g.Go(func() {
		_, _ = d.store.Usage(c.ctx, sessions.UsageOptions{Now: time.Now(), Known: &d.used,
			Soon: time.Now().Add(ever)}) // it is kept
		c.mu.Lock()
		c.whole = false
		c.mu.Unlock()
	})
}

// drop must be called with mu held.
func (c *counting) drop(id protocol.SessionID) {
	c.pages = slices.DeleteFunc(c.pages, func(w wanted) bool { return w.id == id })
}

// A page that is being made, and drawn by the browser, comes before what is read behind it. A read
// piece is followed by a pause, so that other programs have the processor, too.
const (
	drawn = time.Second
	pause = 10 * time.Millisecond
)

// rest waits a little, and longer where a page was asked for just now.
func (c *counting) rest() {
	t := max(pause, drawn-time.Since(time.Unix(0, c.asked.Load())))
	select {
	case <-c.ctx.Done():
	case <-time.After(min(t, drawn)): // the clock may have been set back
	}
}

func (c *counting) run() {
	for {
		c.rest()
		c.mu.Lock()
		n := len(c.pages)
		if c.runs = n > 0; !c.runs {
			c.mu.Unlock()
			return
		}
		next := c.pages[n-1]
		c.mu.Unlock()
		done, err := next.pages.CountSome(c.ctx)
		c.mu.Lock()
		if done || err != nil {
			c.drop(next.id)
		}
		if err != nil && c.ctx.Err() == nil {
			c.failed[next.id] = err
		}
		c.mu.Unlock()
	}
}
