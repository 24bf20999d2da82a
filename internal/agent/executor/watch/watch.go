// Package watch follows the commands of a session through the witness: what they change
// is in the ledger when their call returns, and while they run on.
package watch

import (
	"context"
	"slices"
	"sync"

	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
	"kerf/internal/work/witness/enter"
)

// Found is what was entered into the ledger of one command.
type Found struct {
	Entries []enter.Entered
	// Notes tell what is not known or cannot be taken back.
	Notes []string
}

// Options make a Watcher.
type Options struct {
	Witness *witness.Witness
	Work    *txn.Workspace
	// Later takes what commands changed after their call returned.
	Later func(Origin, Found)
	// Outlive says that something that a command started may go on when it has ended. That
	// is followed until the watcher is closed; then the witness goes on alone.
	Outlive bool
	// Dir is where the commands run; where its HEAD is goes into their entries.
	Dir string
}

// Origin says whose command it is.
type Origin = txn.Origin

// Watcher has the commands of one session. It may be used by several goroutines.
type Watcher struct {
	o Options

	mu      sync.Mutex       // guards what follows
	running map[int]*Command // by the number of their process
	stayed  []*Command       // that ended, and left something running
}

// New returns a watcher.
func New(o Options) *Watcher { return &Watcher{o: o, running: map[int]*Command{}} }

// Command is a command that is watched.
type Command struct {
	*witness.Watch
	w      *Watcher
	origin Origin
	losing *Losing
	head   *ledger.Head  // at its start
	quit   chan struct{} // closed when it is not followed any more
	idle   sync.WaitGroup
	once   sync.Once

	mu     sync.Mutex // guards what follows
	failed error      // since then what it does is in the witness's journal alone
}

// Begin prepares to watch a command. losing is asked before something is lost for good.
func (w *Watcher) Begin(o Origin, losing *Losing) (*Command, error) {
	head := enter.Head(w.o.Dir)
	e := ledger.Entry{Session: o.Session, Turn: o.Turn, Call: o.Call, Tool: o.Tool, Client: o.Client, Head: enter.From(head)}
	x, err := w.o.Witness.Begin(e, false, losing.may)
	if err != nil {
		return nil, err
	}
	c := &Command{Watch: x, w: w, origin: o, losing: losing, head: head, quit: make(chan struct{})}
	c.idle.Go(func() { _ = c.Follow(c.quit, c.look) }) // ends with rest
	return c, nil
}

// look enters what the command changed since the last time, between its calls.
func (c *Command) look() error {
	f, err := c.Collect(context.Background())
	if err == nil && len(f.Entries)+len(f.Notes) > 0 {
		c.w.o.Later(c.origin, f)
	}
	return err
}

// rest ends the following of the command.
func (c *Command) rest() {
	c.once.Do(func() { close(c.quit) })
	c.idle.Wait()
}

// Call is the call that started the command.
func (c *Command) Call() string { return c.origin.Call }

// Collect enters what the command changed since the last time. It goes on.
func (c *Command) Collect(ctx context.Context) (f Found, err error) {
	werr := c.Watch.Collect(func(r witness.Report) { f, err = c.enter(ctx, r) })
	if err == nil {
		err = werr
	}
	return f, err
}

// End enters what the command changed since the last time. It has ended.
func (c *Command) End(ctx context.Context) (f Found, err error) {
	if c.w.o.Outlive {
		return c.leave(ctx)
	}
	c.rest()
	werr := c.Watch.End(func(r witness.Report) bool {
		f, err = c.enter(ctx, r)
		return err == nil
	})
	if err == nil {
		err = werr
	}
	return f, err
}

// leave is End where something may go on.
func (c *Command) leave(ctx context.Context) (f Found, err error) {
	running, werr := c.Leave(func(r witness.Report) bool {
		f, err = c.enter(ctx, r)
		return err == nil
	})
	if err == nil {
		err = werr
	}
	if !running {
		c.rest()
		return f, err
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if !slices.Contains(c.w.stayed, c) {
		c.w.stayed = append(c.w.stayed, c)
	}
	return f, err
}

// enter puts a report into the ledger. After a failure the journal stays, and what it
// has is entered by recovery: a later part alone would tell another story.
func (c *Command) enter(ctx context.Context, r witness.Report) (Found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return Found{}, c.failed
	}
	o := c.origin
	if r.Ended {
		o.Head = enter.Moved(c.head, c.w.o.Dir)
	}
	list, err := enter.Report(ctx, c.w.o.Work, o, r)
	c.failed = err
	return Found{list, r.Unsure()}, err
}

// Keep looks after a command that runs on, by the number of its process.
func (w *Watcher) Keep(id int, c *Command) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[id] = c
}

// Collect enters what all commands that run on changed until now: something else is
// about to change files.
func (w *Watcher) Collect() {
	w.mu.Lock()
	list := make([]*Command, 0, len(w.running))
	for _, c := range w.running {
		list = append(list, c)
	}
	list = append(list, w.stayed...)
	w.mu.Unlock()
	for _, c := range list {
		_ = c.look() // its own call tells what failed
	}
}

// Get returns a command that runs on, or nil.
func (w *Watcher) Get(id int) *Command {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[id]
}

// Take returns a command that ran on and has ended now, or nil. The caller ends it.
func (w *Watcher) Take(id int) *Command {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.running[id]
	delete(w.running, id)
	return c
}

// Close ends all that is left; the processes are gone, or are followed by the witness alone.
func (w *Watcher) Close() {
	w.mu.Lock()
	ids := make([]int, 0, len(w.running))
	for id := range w.running {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	for _, id := range ids {
		if c := w.Take(id); c != nil {
			if f, err := c.End(context.Background()); err == nil {
				w.o.Later(c.origin, f)
			}
		}
	}
	w.mu.Lock()
	stayed := w.stayed
	w.mu.Unlock()
	for _, c := range stayed {
		if f, err := c.leave(context.Background()); err == nil {
			w.o.Later(c.origin, f)
		}
		c.rest()
	}
}
