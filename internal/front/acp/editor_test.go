package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/protocol"
)

// editor is an editor that drives Kerf over two pipes. The sessions behind it are played by the test.
type editor struct {
	t    *testing.T
	conn *sdk.ClientSideConnection

	mu      sync.Mutex
	told    []string // updates, as JSON, in their order
	asked   chan sdk.RequestPermissionRequest
	answer  func(sdk.RequestPermissionRequest) (sdk.RequestPermissionOutcome, error)
	files   map[string]string
	exited  *int
	started []sdk.CreateTerminalRequest

	opened chan *played // each session that is opened
	refuse error        // what opening answers
	past   []protocol.PastTurn
	ended  chan struct{}
	leave  func()
}

// played is a session that does what the test says.
type played struct {
	o      protocol.OpenOptions
	id     protocol.SessionID
	ops    chan protocol.Submission
	events chan protocol.Event
	once   sync.Once
	closed chan struct{}
}

func (p *played) ID() protocol.SessionID { return p.id }

func (p *played) Submit(ctx context.Context, s protocol.Submission) error {
	select {
	case p.ops <- s:
		return nil
	case <-p.closed:
		return errors.New("the session has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *played) Events() <-chan protocol.Event { return p.events }

func (p *played) Close() error {
	p.once.Do(func() { close(p.closed); close(p.events) })
	return nil
}

// tell sends events of a submission.
func (p *played) tell(submission string, list ...protocol.Msg) {
	for _, m := range list {
		p.events <- protocol.Event{Submission: submission, Msg: m}
	}
}

// Open opens the sessions of the editor.
func (e *editor) Open(_ context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	if e.refuse != nil {
		return nil, e.refuse
	}
	id := protocol.SessionID("new")
	if o.Resume != "" {
		id = protocol.SessionID(o.Resume)
	} else if o.Fork != "" {
		id = protocol.SessionID(o.Fork + "-fork")
	}
	p := &played{o: o, id: id, ops: make(chan protocol.Submission, 10), events: make(chan protocol.Event, 1), closed: make(chan struct{})}
	p.tell("", protocol.SessionStarted{Session: id, Settings: protocol.Settings{Cwd: o.Settings.Cwd, Model: "m",
		Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}})
	e.opened <- p
	return p, nil
}

// store reads the sessions of before.
type store struct {
	protocol.SessionStore
	e *editor
}

func (s store) Transcript(_ context.Context, id string, _ int) ([]protocol.PastTurn, error) {
	if id == "gone" {
		return nil, protocol.ErrNoSession
	}
	return s.e.past, nil
}

func (s store) List(_ context.Context, f protocol.Filter) ([]protocol.SessionInfo, error) {
	return []protocol.SessionInfo{{ID: "old", Cwd: f.Cwd, Title: "a title", Updated: time.Unix(0, 0)}}, nil
}

// query knows two models.
type query struct{ protocol.WorkspaceQuery }

func (query) Models(context.Context) ([]protocol.ModelInfo, error) {
	return []protocol.ModelInfo{{Name: "m", Description: "the one"}, {Name: "n"}}, nil
}

func newEditor(t *testing.T, more func(*Options)) *editor {
	t.Helper()
	e := &editor{t: t, files: map[string]string{}, opened: make(chan *played, 10), asked: make(chan sdk.RequestPermissionRequest, 10),
		ended: make(chan struct{})}
	o := Options{Sessions: e, Store: store{e: e}, Query: query{}, Version: "1", SignIn: "kerf login", AddDirs: []string{"/more"}}
	if more != nil {
		more(&o)
	}
	in, toKerf := io.Pipe()
	fromKerf, out := io.Pipe()
	e.leave = func() { toKerf.Close(); fromKerf.Close() }
	go func() {
		defer close(e.ended)
		if err := Serve(context.Background(), o, in, out); err != nil {
			t.Error(err)
		}
	}()
	e.conn = sdk.NewClientSideConnection(e, toKerf, fromKerf)
	e.conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { e.leave(); <-e.ended })
	_, err := e.conn.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo: &sdk.Implementation{Name: "an editor"}, ClientCapabilities: sdk.ClientCapabilities{Terminal: true,
			Fs: sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// session opens one in /w.
func (e *editor) session() *played {
	e.t.Helper()
	if _, err := e.conn.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: "/w", McpServers: []sdk.McpServer{}}); err != nil {
		e.t.Fatal(err)
	}
	return <-e.opened
}

// prompt sends a prompt, whose answer comes on the channel, and returns what Kerf makes of it.
func (e *editor) prompt(p *played, blocks ...sdk.ContentBlock) (protocol.Submission, <-chan ended) {
	e.t.Helper()
	over := e.say(p, blocks...)
	return p.next(e.t), over
}

type ended struct {
	reason sdk.StopReason
	err    error
}

func (e *editor) say(p *played, blocks ...sdk.ContentBlock) <-chan ended {
	over := make(chan ended, 1)
	go func() {
		r, err := e.conn.Prompt(context.Background(), sdk.PromptRequest{SessionId: sdk.SessionId(p.id), Prompt: blocks})
		over <- ended{r.StopReason, err}
	}()
	return over
}

// next is the next submission.
func (p *played) next(t *testing.T) protocol.Submission {
	t.Helper()
	select {
	case s := <-p.ops:
		return s
	case <-time.After(time.Minute):
		t.Fatal("nothing was submitted")
	}
	return protocol.Submission{}
}

// ends waits for the answer to a prompt.
func (e *editor) ends(over <-chan ended, want sdk.StopReason) {
	e.t.Helper()
	select {
	case o := <-over:
		if o.err != nil || o.reason != want {
			e.t.Errorf("the prompt ended with %q, %v, not %q", o.reason, o.err, want)
		}
	case <-time.After(time.Minute):
		e.t.Fatal("the prompt has no answer")
	}
}

// hears waits for an update with all parts.
func (e *editor) hears(parts ...string) {
	e.t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		e.mu.Lock()
		for _, u := range e.told {
			has := true
			for _, p := range parts {
				has = has && strings.Contains(u, p)
			}
			if has {
				e.mu.Unlock()
				return
			}
		}
		e.mu.Unlock()
	}
	e.t.Fatalf("no update has %q:\n%s", parts, strings.Join(e.told, "\n"))
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	b, err := json.Marshal(n.Update)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.told = append(e.told, string(b))
	e.mu.Unlock()
	return nil
}

func (e *editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.asked <- r
	if e.answer == nil {
		<-ctx.Done()
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	o, err := e.answer(r)
	return sdk.RequestPermissionResponse{Outcome: o}, err
}

func (e *editor) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return sdk.ReadTextFileResponse{Content: e.files[r.Path]}, nil
}

func (e *editor) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files[r.Path] = r.Content
	return sdk.WriteTextFileResponse{}, nil
}

func (e *editor) CreateTerminal(_ context.Context, r sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	e.started = append(e.started, r)
	if r.Command == "none" {
		return sdk.CreateTerminalResponse{}, errors.New("no terminal")
	}
	return sdk.CreateTerminalResponse{TerminalId: "term-1"}, nil
}

func (e *editor) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, nil
}

func (e *editor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{Output: "printed", Truncated: true}, nil
}

func (e *editor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, nil
}

func (e *editor) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{ExitCode: e.exited}, nil
}
