package mcpserver

//lint:file-ignore SA1019 roots are deprecated from the newest revision on; older ones have them

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/protocol"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// engine is a file engine that remembers what it was asked.
type engine struct {
	mu     sync.Mutex
	told   []string
	refuse error
	answer protocol.EngineAnswer
}

func (e *engine) tell(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, fmt.Sprintf(format, args...))
}

// all is what it was asked since the last time.
func (e *engine) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	told := e.told
	e.told = nil
	return told
}

func (e *engine) Tools() []protocol.EngineTool {
	schema := json.RawMessage(`{"type":"object"}`)
	return []protocol.EngineTool{{Name: "look", Description: "looks", Input: schema, ReadOnly: true},
		{Name: "change", Description: "changes", Input: schema, Destructive: true}}
}

func (e *engine) Connect(_ context.Context, o protocol.EngineOptions) (protocol.EngineConn, error) {
	e.tell("connect %s %q", o.Client, o.Roots)
	return e, e.refuse
}

func (e *engine) Call(_ context.Context, name string, args json.RawMessage) protocol.EngineAnswer {
	e.tell("call %s %s", name, args)
	return e.answer
}

func (e *engine) SetRoots(_ context.Context, roots []string) error {
	e.tell("roots %q", roots)
	return e.refuse
}

func (e *engine) Close() error {
	e.tell("close")
	return nil
}

// sessions open sessions that do what a test says.
type sessions struct {
	mu     sync.Mutex
	opened []protocol.OpenOptions
	all    []*session
	refuse error
	// play is what a session does with what is submitted. It runs by itself for each.
	play func(s *session, op protocol.Op) error
}

func (s *sessions) Open(_ context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, o)
	if s.refuse != nil {
		return nil, s.refuse
	}
	one := &session{id: protocol.SessionID(fmt.Sprintf("s%d", len(s.opened))), of: s, events: make(chan protocol.Event, 100),
		closed: make(chan struct{})}
	s.all = append(s.all, one)
	return one, nil
}

// last are the options of the session that was opened last.
func (s *sessions) last() protocol.OpenOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[len(s.opened)-1]
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// session number n, from 1.
func (s *sessions) session(n int) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[n-1]
}

type session struct {
	id     protocol.SessionID
	of     *sessions
	closed chan struct{}
	events chan protocol.Event

	mu   sync.Mutex
	over bool
	ops  []protocol.Op
}

func (s *session) ID() protocol.SessionID        { return s.id }
func (s *session) Events() <-chan protocol.Event { return s.events }

func (s *session) Submit(_ context.Context, sub protocol.Submission) error {
	s.mu.Lock()
	s.ops = append(s.ops, sub.Op)
	s.mu.Unlock()
	return s.of.play(s, sub.Op)
}

// took are the submissions so far.
func (s *session) took() []protocol.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

func (s *session) tell(all ...protocol.Msg) {
	for _, m := range all {
		s.tellOf("", m)
	}
}

func (s *session) tellOf(agent protocol.SessionID, m protocol.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.events <- protocol.Event{Agent: agent, Msg: m}
	}
}

func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.events)
		close(s.closed)
	}
}

func (s *session) Close() error {
	s.end()
	return nil
}

// say answers each turn with the words that it was given.
func say(s *session, op protocol.Op) error {
	if in, ok := op.(protocol.UserInput); ok {
		s.tell(protocol.TurnCompleted{LastMessage: "you said " + in.Items[0].Text})
	}
	return nil
}

// served is a server over two pipes with one client.
type served struct {
	t        *testing.T
	engine   *engine
	sessions *sessions
	client   *mcp.ClientSession
	conn     *mcp.Client
	ended    chan error
}

const (
	connected = "2025-11-25" // a revision with connections
	rootA     = "file:///a"
)

// serve starts a server, and a client of the revision.
func serve(t *testing.T, revision string, o *mcp.ClientOptions, roots ...string) *served {
	t.Helper()
	s := &served{t: t, engine: &engine{answer: protocol.EngineAnswer{Text: "fine", Object: json.RawMessage(`{"success":true}`)}},
		sessions: &sessions{play: say}, ended: make(chan error, 1)}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	opts := Options{Engine: s.engine, Sessions: s.sessions, Version: "1.2", Open: protocol.OpenOptions{AddDirs: []string{"/more"},
		Settings: protocol.Settings{Model: "m", Cwd: "/w", Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyUntrusted}}}
	go func() { s.ended <- Stdio(context.Background(), opts, in, out) }()
	s.conn = mcp.NewClient(&mcp.Implementation{Name: "a client", Version: "1"}, o)
	for _, uri := range roots {
		s.conn.AddRoots(&mcp.Root{URI: uri})
	}
	client, err := s.conn.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	t.Cleanup(s.close)
	return s
}

// close ends the client and waits for the server.
func (s *served) close() {
	_ = s.client.Close()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("the server ended with %v", err)
		}
		s.ended <- nil
	case <-time.After(patience):
		s.t.Error("the server goes on without its client")
	}
}

// call calls a tool.
func (s *served) call(name string, args any) *mcp.CallToolResult {
	s.t.Helper()
	r, err := s.client.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	return r
}

// agent calls a tool of the agent, and returns the session's id, what it said, and whether it failed.
func (s *served) agent(name string, args map[string]any) string {
	s.t.Helper()
	return told(s.t, s.call(name, args))
}

// told is an agent's result in one line: the session, a mark where it failed, and what it said.
func told(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	var object struct{ ThreadID, Content string }
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil || json.Unmarshal(raw, &object) != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if text := textOf(r); text != object.Content {
		t.Errorf("the text is %q, the object says %q", text, object.Content)
	}
	if r.IsError {
		return object.ThreadID + "! " + object.Content
	}
	return object.ThreadID + ": " + object.Content
}

func textOf(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

var errTest = errors.New("it is broken")
