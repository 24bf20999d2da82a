package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging are deprecated from 2026-07-28 on; older revisions are spoken, too

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/text/order"
	"kerf/internal/text/visible"
)

// The states of a server.
const (
	starting = "starting"
	ready    = "ready"
	failed   = "failed"
)

// restarts is how often in a row a server that dies is started again; the pauses
// double from the first one. A server that was well for a minute has its tries
// back.
const (
	restarts   = 4
	firstPause = 100 * time.Millisecond
	wellAfter  = time.Minute
)

// errSlow says that a server did not start in its time.
var errSlow = errors.New("did not start")

// connection is one server.
type connection struct {
	Server
	m       *Manager
	settled chan struct{} // closed when the first attempt is over
	stream  *messages     // of a program; live's own
	older   bool          // a program that is spoken to in an older revision; live's own

	mu      sync.Mutex
	state   string
	err     error // of the last attempt that failed, until the server is ready
	session *mcp.ClientSession
	tools   []*mcp.Tool
	prompts []*mcp.Prompt
	// resources are the URIs of the first resources.
	resources []string
	stale     bool          // the server said that its tools changed
	listing   bool          // and they are being listed
	turned    chan struct{} // closed and made anew whenever state changes
	retry     chan struct{} // a value makes a failed server start again
}

func newConnection(m *Manager, s Server) *connection {
	return &connection{Server: s, m: m, settled: make(chan struct{}), state: starting,
		turned: make(chan struct{}), retry: make(chan struct{}, 1)}
}

// live keeps the server running until the manager is closed.
func (c *connection) live() {
	settle := sync.OnceFunc(func() { close(c.settled) })
	defer settle()
	tries := 0
	for c.m.ctx.Err() == nil {
		began := time.Now()
		session, close, err := c.connect()
		hopeless := errors.Is(err, errSlow) || errors.Is(err, errUnauthorized) || c.Unfit != nil
		if err == nil {
			settle()
			err = c.watch(session)
			if words := close(); words != "" && !errors.Is(err, errLong) {
				err = errors.New(words)
			}
			if time.Since(began) > wellAfter {
				tries = 0
			}
		}
		if c.m.ctx.Err() != nil {
			return
		}
		permanent := hopeless || tries >= restarts
		c.turn(failed, err, nil)
		settle() // who waited sees why
		if !c.pause(permanent, firstPause<<tries) {
			return
		}
		if permanent {
			tries = 0
		}
		tries++
	}
}

// pause waits before the next attempt: a while, or until somebody asks for the
// server again. It reports whether there is to be one.
func (c *connection) pause(permanent bool, d time.Duration) bool {
	var after <-chan time.Time
	if !permanent {
		t := time.NewTimer(d)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
	case <-c.retry:
	case <-c.m.ctx.Done():
		return false
	}
	return true
}

// connect starts the server, greets it and asks for its tools.
func (c *connection) connect() (*mcp.ClientSession, func() string, error) {
	c.turn(starting, nil, nil)
	ctx, cancel := context.WithTimeoutCause(c.m.ctx, c.StartupTimeout,
		fmt.Errorf("it %w within %s (startup_timeout_sec)", errSlow, c.StartupTimeout))
	defer cancel()
	session, end, err := c.dial(ctx)
	if err == nil {
		if err = c.list(ctx, session); err != nil {
			_ = session.Close()
			err = c.told(err, end())
		}
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && c.m.ctx.Err() == nil && !errors.Is(err, cause) {
			err = cause
		}
		return nil, nil, err
	}
	return session, func() string {
		_ = session.Close()
		return end()
	}, nil
}

// watch waits until the server is gone or the manager is closed.
func (c *connection) watch(session *mcp.ClientSession) error {
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }()
	select {
	case err := <-gone:
		if c.stream != nil && c.stream.ended() != nil {
			return c.stream.ended()
		}
		if err == nil {
			err = errors.New("it ended the connection")
		}
		return err
	case <-c.m.ctx.Done():
		return c.m.ctx.Err()
	}
}

// list asks for the tools and says that the server is ready.
func (c *connection) list(ctx context.Context, session *mcp.ClientSession) error {
	var tools []*mcp.Tool
	if session.InitializeResult().Capabilities.Tools != nil {
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if tools = append(tools, t); len(tools) > maxListed {
				return fmt.Errorf("it lists more than %d tools", maxListed)
			}
		}
	}
	prompts, resources := promptsOf(ctx, session), resourcesOf(ctx, session)
	c.turn(ready, nil, session)
	c.mu.Lock()
	c.tools, c.prompts, c.resources = tools, prompts, resources
	c.mu.Unlock()
	c.m.gather()
	return nil
}

// maxListed bounds the tools a server may list; few of them are offered.
const maxListed = 10_000

// changed has the tools listed anew. However often a server says so, one list is asked for
// at a time.
func (c *connection) changed(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	if c.listing {
		return
	}
	c.listing = true
	go func() { // ends when nothing changed meanwhile, or soon after the manager is closed
		for c.isStale() {
			c.relist(session)
		}
	}()
}

// isStale takes back that the tools changed; without a change nobody lists them any more.
func (c *connection) isStale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.stale && c.m.ctx.Err() == nil
	c.stale, c.listing = false, was
	return was
}

// relist follows a server whose tools changed.
func (c *connection) relist(session *mcp.ClientSession) {
	ctx, cancel := context.WithTimeout(c.m.ctx, c.StartupTimeout)
	defer cancel()
	_ = c.list(ctx, session) // the old tools stay when it does not answer
}

func (c *connection) turn(state string, err error, session *mcp.ClientSession) {
	c.mu.Lock()
	c.state, c.session = state, session
	if state != starting {
		c.err = err
	}
	if state == failed {
		c.tools = nil
	}
	close(c.turned)
	c.turned = make(chan struct{})
	c.mu.Unlock()
	if state == failed {
		c.m.gather()
	}
}

// ready returns the session, waiting for a server that is starting; one that has
// failed is started again first.
func (c *connection) ready(ctx context.Context) (*mcp.ClientSession, error) {
	asked := false
	for {
		c.mu.Lock()
		state, err, session, turned := c.state, c.err, c.session, c.turned
		c.mu.Unlock()
		switch {
		case state == ready:
			return session, nil
		case state == failed && asked:
			return nil, err
		case state == failed:
			asked = true
			select {
			case c.retry <- struct{}{}:
			default:
			}
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// isReady reports whether the server has been greeted and its tools are known.
func (c *connection) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state == ready
}

func (c *connection) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Name: c.Name, State: c.state}
	if c.err != nil { // also while it is started again
		s.State, s.Error = failed, oneLine(c.err.Error())
	}
	for _, p := range c.prompts {
		s.Prompts = append(s.Prompts, p.Name)
	}
	s.Resources = c.resources
	return s
}

// errorLimit bounds what is told of a failure, in bytes.
const errorLimit = 400

// oneLine makes one bounded line of a foreign text.
func oneLine(s string) string { return visible.OneLine(s, errorLimit) }

// offered are the server's tools that the user lets through.
func (c *connection) offered() []Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != ready {
		return nil
	}
	var list []Tool
	for _, t := range c.tools {
		if len(c.Enabled) > 0 && !slices.Contains(c.Enabled, t.Name) || slices.Contains(c.Disabled, t.Name) {
			continue
		}
		list = append(list, toolOf(c.Name, t))
	}
	order.Stably(list, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// client makes the MCP client that speaks to this server.
func (c *connection) client() *mcp.Client {
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}},
		ToolListChangedHandler: func(_ context.Context, r *mcp.ToolListChangedRequest) {
			c.changed(r.Session)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if c.m.o.Progress != nil && r.Params.Message != "" {
				c.m.o.Progress(c.Name, oneLine(r.Params.Message))
			}
		},
	}
	if c.m.o.Elicit != nil {
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{},
			URL: &mcp.URLElicitationCapabilities{}}
		o.ElicitationHandler = c.elicit
	}
	client := mcp.NewClient(&mcp.Implementation{Name: c.m.o.Name, Version: c.m.o.Version}, o)
	for _, r := range c.m.o.Roots {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(r)}
		client.AddRoots(&mcp.Root{URI: u.String(), Name: filepath.Base(r)})
	}
	return client
}

// elicit puts a server's question to the user.
func (c *connection) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	q := Elicitation{Server: c.Name, Message: r.Params.Message, URL: r.Params.URL}
	if r.Params.RequestedSchema != nil {
		b, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		q.Schema = b
	}
	reply, err := c.m.o.Elicit(ctx, q)
	if err != nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	return &mcp.ElicitResult{Action: reply.Action, Content: reply.Content}, nil
}
