// Package mcpclient connects to MCP servers and calls their tools.
//
// Servers start beside each other and in the background: nothing waits for one
// that is slow or broken, its tools join when it is ready. A server that dies is
// started again, a few times and ever later. What servers say is foreign: names
// are made safe, texts bounded, and the definition of each tool is kept so that a
// change of it can be seen.
package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Server says how one server is reached: by a program or at an address.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     []string // the whole environment of the program
	Dir     string
	Unfit   error // why the program cannot be started; nil if it can
	URL     string
	Headers map[string]string
	// Bearer is sent as authorization; Store keeps OAuth tokens instead. Both may
	// be empty.
	Bearer string
	Store  TokenStore
	Client OAuthClient

	StartupTimeout, ToolTimeout time.Duration // 0 means 30 s and 120 s
	// Enabled, when not empty, names the only tools that are offered; Disabled
	// tools never are. Both are names of the server.
	Enabled, Disabled []string
}

// Options make a Manager.
type Options struct {
	Servers []Server
	// Name and Version introduce Kerf to servers. Roots are absolute directories.
	Name, Version string
	Roots         []string
	// Elicit puts a question of a server to the user; nil means nobody can be
	// asked, and servers are told so.
	Elicit func(ctx context.Context, q Elicitation) (Reply, error)
	// Changed is called when the state or the tools of a server changed, from any
	// goroutine; nil is fine.
	Changed func()
	// Progress hears how calls come on; nil is fine.
	Progress func(server, message string)
}

// Elicitation is a question of a server.
type Elicitation struct {
	Server, Message, URL string
	Schema               json.RawMessage // of the content wanted, or nil
}

// Reply answers one: Action is "accept", "decline" or "cancel".
type Reply struct {
	Action  string
	Content map[string]any
}

// Tool is one tool of a server that is ready.
type Tool struct {
	Server string
	Name   string // as the server calls it
	// Qualified is the name for models: mcp__server__tool, unique, at most 64
	// letters, digits, _ and -.
	Qualified   string
	Description string
	Schema      json.RawMessage
	// Definition is all that the server says of the tool, indented; it changes
	// whenever the tool does.
	Definition string
	// ReadOnly and Destructive are what the server claims.
	ReadOnly, Destructive bool
}

// Status tells how a server is. State is "starting", "ready" or "failed"; one that
// failed and is started again has failed until it is ready. Error is one line.
type Status struct {
	Name, State, Error string
	Tools              []string // qualified names
	Left               int      // tools that did not fit
	Prompts            []string
	Resources          []string // URIs, for completion; not all of many
}

// MaxTools is how many tools are kept in all.
const MaxTools = 2000

// forksAtOnce is how many programs are being started at a time. Starting is short,
// but ten at once take the processor from the first request.
const forksAtOnce = 1

// ErrUnknownTool says that no server has a tool of a name.
var ErrUnknownTool = errors.New("no MCP server has this tool")

// Manager holds the connections of one session. Its methods may be called by
// several goroutines.
type Manager struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	servers []*connection // in the order of their names
	forks   chan struct{} // full while as many programs as may are being started

	mu    sync.Mutex
	tools []Tool // of the servers that are ready
	left  map[string]int
}

// Start begins to connect to all servers and returns at once.
func Start(o Options) *Manager {
	m := &Manager{o: o, left: map[string]int{}, forks: make(chan struct{}, forksAtOnce)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	for _, s := range o.Servers {
		s.StartupTimeout, s.ToolTimeout = cmp.Or(s.StartupTimeout, 30*time.Second), cmp.Or(s.ToolTimeout, 120*time.Second)
		m.servers = append(m.servers, newConnection(m, s))
	}
	slices.SortFunc(m.servers, func(a, b *connection) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range m.servers {
		m.tasks.Go(c.live)
	}
	return m
}

// Close ends all connections and the programs behind them, and waits for them.
func (m *Manager) Close() {
	m.cancel()
	m.tasks.Wait()
}

// Tools lists the tools of the servers that are ready, by server and name.
func (m *Manager) Tools() []Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.tools)
}

// Lookup finds a tool by its qualified name.
func (m *Manager) Lookup(qualified string) (Tool, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.tools, func(t Tool) bool { return t.Qualified == qualified })
	if i < 0 {
		return Tool{}, false
	}
	return m.tools[i], true
}

// Status tells how the servers are, by name.
func (m *Manager) Status() []Status {
	var list []Status
	for _, c := range m.servers {
		s := c.status()
		m.mu.Lock()
		s.Left = m.left[c.Name]
		for _, t := range m.tools {
			if t.Server == c.Name {
				s.Tools = append(s.Tools, t.Qualified)
			}
		}
		m.mu.Unlock()
		list = append(list, s)
	}
	return list
}

// Settle waits until no server is starting any more, or ctx is done.
func (m *Manager) Settle(ctx context.Context) {
	for _, c := range m.servers {
		select {
		case <-c.settled:
		case <-ctx.Done():
			return
		}
	}
}

// Call calls a tool. A failure of the server names it; a failure of the tool is
// in the result.
func (m *Manager) Call(ctx context.Context, qualified string, args json.RawMessage) (Result, error) {
	t, ok := m.Lookup(qualified)
	if !ok {
		return Result{}, m.Missing(qualified)
	}
	c := m.server(t.Server)
	session, err := c.ready(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("MCP server %s: %w", c.Name, err)
	}
	return c.call(ctx, session, t.Name, args)
}

// Missing explains why there is no tool of a name: its server may have failed.
func (m *Manager) Missing(qualified string) error {
	for _, c := range m.servers {
		if prefix := prefixOf(c.Name); len(qualified) > len(prefix) && qualified[:len(prefix)] == prefix {
			switch s := c.status(); s.State {
			case failed:
				return fmt.Errorf("MCP server %s is not available: %s", c.Name, s.Error)
			case starting:
				return fmt.Errorf("MCP server %s is still starting; try again later", c.Name)
			}
		}
	}
	return fmt.Errorf("%w: %s", ErrUnknownTool, qualified)
}

func (m *Manager) server(name string) *connection {
	for _, c := range m.servers {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// named finds a server for the resource tools.
func (m *Manager) named(name string) (*connection, error) {
	if c := m.server(name); c != nil {
		return c, nil
	}
	var names []string
	for _, c := range m.servers {
		names = append(names, c.Name)
	}
	return nil, fmt.Errorf("there is no MCP server %q; the servers are: %v", name, names)
}

// gather makes the list of tools anew after those of a server changed.
func (m *Manager) gather() {
	var all []Tool
	left := map[string]int{}
	taken := map[string]bool{}
	for _, c := range m.servers {
		for _, t := range c.offered() {
			if len(all) == MaxTools {
				left[c.Name]++
				continue
			}
			t.Qualified = unique(qualify(c.Name, t.Name), c.Name, t.Name, taken)
			all = append(all, t)
		}
	}
	m.mu.Lock()
	m.tools, m.left = all, left
	m.mu.Unlock()
	if m.o.Changed != nil {
		m.o.Changed()
	}
}
