package langserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/pathname"
	"kerf/internal/text/order"
	"kerf/internal/work/boundary"
)

// Options make a Pool.
type Options struct {
	Servers []Server
	// Roots are the directories of the workspace, without links.
	Roots []string
	// Policy is the sandbox of a server; end gives up what it needs, when the server has ended.
	Policy func(s Server) (p boundary.Policy, end func(), err error)
	// Env is the environment of commands.
	Env func() []string
	// List names the files of a server's project, absolute.
	List func(ctx context.Context, s Server, root string) []string
	// Warn tells the user something; nil tells nobody.
	Warn func(string)
}

// Pool has the servers of a session: at most one of each kind for each project. They are
// started when they are first asked for, each by a goroutine that ends with the start. All
// may be called by several goroutines.
type Pool struct {
	o      Options
	ctx    context.Context // of the pool: ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	all    map[key]*entry
	closed bool
}

type key struct{ name, root string }

// entry is a server, perhaps one that starts.
type entry struct {
	done    chan struct{} // closed when the start is over
	client  *Client       // nil when that failed
	err     error
	starts  int
	strikes int   // questions in a row that were not answered in time
	off     error // why it is not used any more
}

const (
	// maxStarts is how often a server is started.
	maxStarts = 3
	// maxStrikes is after how many late answers in a row a server is ended.
	maxStrikes = 3
	// startLimit is how long a start may take.
	startLimit = time.Minute
	// maxServers is how many run at the same time.
	maxServers = 6
)

// NewPool returns a pool. Nothing is started.
func NewPool(o Options) *Pool {
	p := &Pool{o: o, all: map[key]*entry{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// For finds the server of a file and its project; ok is false where there is none.
func (p *Pool) For(file string) (s Server, root string, ok bool) {
	for _, top := range p.o.Roots {
		rel, inside := pathname.Rel(top, file)
		if !inside {
			continue
		}
		for _, s := range p.o.Servers {
			if !s.fits(filepath.ToSlash(rel)) {
				continue
			}
			if root := s.project(top, file); root != "" {
				return s, root, true
			}
		}
	}
	return Server{}, "", false
}

// Touched finds the server of a file, also of one that says what a project is, such as a
// marker; ok is false where there is none.
func (p *Pool) Touched(file string) (s Server, root string, ok bool) {
	if s, root, ok = p.For(file); ok {
		return s, root, ok
	}
	for _, top := range p.o.Roots {
		if _, inside := pathname.Rel(top, file); !inside {
			continue
		}
		for _, s := range p.o.Servers {
			if !slices.ContainsFunc(s.Markers, func(m string) bool { return path.Base(m) == filepath.Base(file) }) {
				continue
			}
			if root := s.project(top, file); root != "" {
				return s, root, true
			}
		}
	}
	return Server{}, "", false
}

// Started reports whether the server of a project was started, and is still used.
func (p *Pool) Started(s Server, root string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.all[key{s.Name, root}]
	return e != nil && e.off == nil
}

// fits reports whether a server is for a file, whose path is relative to a root.
func (s Server) fits(rel string) bool {
	return slices.ContainsFunc(s.Globs, func(glob string) bool {
		name := rel
		if !strings.Contains(glob, "/") {
			name = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(glob, name)
	})
}

// project is the outermost directory above a file that has a top, else the nearest one that has
// a marker, or nothing.
func (s Server) project(top, file string) string {
	nearest, outermost := "", ""
	for dir := filepath.Dir(file); pathname.Inside(top, dir); dir = filepath.Dir(dir) {
		if nearest == "" && has(dir, s.Markers) {
			nearest = dir
		}
		if has(dir, s.Tops) {
			outermost = dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	switch {
	case outermost != "":
		return outermost
	case nearest == "" && s.Alone:
		return top
	}
	return nearest
}

// has reports whether one of the names is in a directory.
func has(dir string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// Of returns the running server of a file, as In does. Without one the error is ErrNone.
func (p *Pool) Of(ctx context.Context, file string) (*Client, error) {
	s, root, ok := p.For(file)
	if !ok {
		return nil, ErrNone
	}
	return p.In(ctx, s, root)
}

// In returns the running server of a project. It starts it, and waits for that until ctx is
// done; the start goes on then. The errors are ErrLate, and why there is no server.
func (p *Pool) In(ctx context.Context, s Server, root string) (*Client, error) {
	e := p.entry(s, root)
	if e == nil {
		return nil, errors.New("there are too many language servers")
	}
	select {
	case <-e.done: // also when ctx is done
	default:
		select {
		case <-e.done:
		case <-ctx.Done():
			p.Late(s.Name, root)
			return nil, ErrLate
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.client, e.err
}

// entry is that of a server, started if it is not running.
func (p *Pool) entry(s Server, root string) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{s.Name, root}
	e := p.all[k]
	if e == nil {
		if len(p.all) == maxServers {
			return nil
		}
		e = &entry{}
		p.all[k] = e
	}
	if p.closed {
		e.off = errors.New("the session is over")
	}
	if e.done != nil && !p.over(e) {
		return e
	}
	if e.off != nil || e.starts == maxStarts {
		p.giveUp(s, e)
		return e
	}
	if e.client != nil { // it is gone
		p.wg.Go(e.client.end)
	}
	e.starts++
	e.strikes, e.done, e.client, e.err = 0, make(chan struct{}), nil, nil
	p.wg.Go(func() { p.start(s, root, e, e.done) })
	return e
}

// over reports whether a server has to be started again.
func (p *Pool) over(e *entry) bool {
	select {
	case <-e.done:
	default:
		return false
	}
	if e.client == nil {
		return e.off == nil
	}
	return e.client.gone() || e.strikes >= maxStrikes
}

// giveUp ends the use of a server for the session. The lock is held.
func (p *Pool) giveUp(s Server, e *entry) {
	if e.off != nil {
		return
	}
	why := e.err
	if why == nil && e.client != nil {
		why = errors.New("it did not answer")
		gone := e.client.gone()
		e.client.end() // its last words are in then
		if words := e.client.run.words(); gone && words != "" {
			why = errors.New(words)
		}
	}
	e.off = fmt.Errorf("it is not used any more: it was started %d times; %w", e.starts, why)
	e.client, e.err = nil, e.off
	if e.done == nil {
		e.done = make(chan struct{})
		close(e.done)
	}
	if p.o.Warn != nil {
		p.o.Warn(fmt.Sprintf("language server %s: %v", s.Name, e.off))
	}
}

func (p *Pool) start(s Server, root string, e *entry, done chan struct{}) {
	ctx, cancel := context.WithTimeout(p.ctx, startLimit)
	defer cancel()
	before := p.o.List(ctx, s, root)
	seen, _ := look(ctx, nil, before)
	c, err := p.dial(ctx, s, root)
	if c != nil {
		c.seen = seen
	}
	p.mu.Lock()
	if p.closed && c != nil {
		p.wg.Go(c.end)
		c, err = nil, errors.New("the session is over")
	}
	e.client, e.err = c, err
	close(done)
	p.mu.Unlock()
}

func (p *Pool) dial(ctx context.Context, s Server, root string) (*Client, error) {
	policy, end, err := p.o.Policy(s)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, s, root, policy, slices.Concat(p.o.Env(), s.Env), end)
	if err != nil && c == nil {
		end()
	}
	return c, err
}

// Late notes that a server did not answer in time; after three in a row it is started anew.
// One that starts is given its time.
func (p *Pool) Late(name, root string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.all[key{name, root}]; e != nil && e.client != nil {
		e.strikes++
	}
}

// Hung notes that it did not answer in a very long time; it is started anew.
func (p *Pool) Hung(name, root string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.all[key{name, root}]; e != nil && e.client != nil {
		e.strikes = maxStrikes
	}
}

// Answered notes that it did.
func (p *Pool) Answered(name, root string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.all[key{name, root}]; e != nil {
		e.strikes = 0
	}
}

// Close ends all servers and waits for their end.
func (p *Pool) Close() {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	for _, e := range p.all {
		if e.client != nil {
			p.wg.Go(e.client.end)
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// Running are the servers that run, each with its project.
func (p *Pool) Running() (list []Running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, e := range p.all {
		if e.client != nil && !e.client.gone() {
			list = append(list, Running{e.client.server, k.root, e.client})
		}
	}
	order.By(list, func(a, b Running) int { return strings.Compare(a.Server.Name+a.Root, b.Server.Name+b.Root) })
	return list
}

// Running is a server that runs.
type Running struct {
	Server Server
	Root   string
	*Client
}
