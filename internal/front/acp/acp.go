// Package acp lets editors drive Kerf over the Agent Client Protocol: JSON-RPC
// on two streams, one line a message.
//
// Each session of the editor is a session of Kerf. Its events become updates, its
// approvals permission requests. Where the editor offers its buffers and
// terminals, sessions work through them.
package acp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/front/frames"
	"kerf/internal/protocol"
)

// Options say what is served.
type Options struct {
	Sessions protocol.Sessions
	// Store lists and reads sessions. Query may be nil; what needs it is then not
	// offered.
	Store   protocol.SessionStore
	Query   protocol.WorkspaceQuery
	Version string
	// AddDirs are added to the directories of each session.
	AddDirs []string
	// SignIn tells how the user gives Kerf a key.
	SignIn string
	// Check reports whether the configured provider can be used, without asking it.
	Check func() error
}

// frameLimit bounds one message of the editor, in bytes. The library reads lines
// of at most 10 MiB and ends the connection at a longer one.
const frameLimit = 10<<20 - 1

// listens tells the notifications that are heard here.
func listens(method string) bool { return method == "session/cancel" || method == "$/cancel_request" }

// Serve serves one editor until in ends or ctx is done.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	a := &agent{o: o, sessions: map[sdk.SessionId]*session{}}
	whole, messages := io.Pipe()
	both := frames.NewWriter(out)
	defer whole.Close()
	a.conn = sdk.NewAgentSideConnection(a, both, whole)
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // stderr is the user's
	// The connection reads nothing before it is set up. This ends with in, or with
	// the first message after the connection.
	go func() {
		_ = messages.CloseWithError(frames.Filter{In: bufio.NewReader(in), Out: both, Limit: frameLimit,
			Listens: listens}.Copy(messages))
	}()
	defer a.close()
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
	}
	return nil
}

// agent answers the editor's requests.
type agent struct {
	o    Options
	conn *sdk.AgentSideConnection

	mu       sync.Mutex
	client   sdk.ClientCapabilities
	name     string
	sessions map[sdk.SessionId]*session
}

var (
	_ sdk.Agent       = (*agent)(nil)
	_ sdk.AgentLoader = (*agent)(nil)
)

// Initialize tells what Kerf can do.
func (a *agent) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	a.mu.Lock()
	a.client = r.ClientCapabilities
	if r.ClientInfo != nil {
		a.name = r.ClientInfo.Name
	}
	a.mu.Unlock()
	can := sdk.AgentCapabilities{
		LoadSession:        true,
		PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
		McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
		SessionCapabilities: sdk.SessionCapabilities{List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			Close: &sdk.SessionCloseCapabilities{}, Fork: &sdk.SessionForkCapabilities{}},
	}
	return sdk.InitializeResponse{ProtocolVersion: sdk.ProtocolVersionNumber, AgentCapabilities: can,
		AuthMethods: a.authMethods(),
		AgentInfo:   &sdk.Implementation{Name: "kerf", Title: sdk.Ptr("Kerf"), Version: a.o.Version}}, nil
}

func (a *agent) authMethods() []sdk.AuthMethod {
	return []sdk.AuthMethod{{Agent: &sdk.AuthMethodAgent{Id: "kerf-login", Name: "Sign in with Kerf",
		Description: &a.o.SignIn}}}
}

// Authenticate looks whether there is a key by now; Kerf takes none from editors.
func (a *agent) Authenticate(_ context.Context, r sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	if r.MethodId != "kerf-login" {
		return sdk.AuthenticateResponse{}, invalid("methodId %q is not offered", r.MethodId)
	}
	if a.o.Check != nil {
		if err := a.o.Check(); err != nil {
			return sdk.AuthenticateResponse{}, requestError(err)
		}
	}
	return sdk.AuthenticateResponse{}, nil
}

// NewSession opens a session in a directory.
func (a *agent) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	s, err := a.open(ctx, place{r.Cwd, r.AdditionalDirectories, servers(r.McpServers)}, protocol.OpenOptions{}, nil)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	return sdk.NewSessionResponse{SessionId: s.id, Modes: s.modes(), Models: a.models(ctx)}, nil
}

// LoadSession opens an old session and tells what was said in it.
func (a *agent) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	turns, err := a.o.Store.Transcript(ctx, string(r.SessionId), 0)
	if err != nil {
		return sdk.LoadSessionResponse{}, requestError(err)
	}
	s, err := a.open(ctx, place{r.Cwd, r.AdditionalDirectories, servers(r.McpServers)},
		protocol.OpenOptions{Resume: string(r.SessionId)}, func(s *session) error {
			return s.replay(ctx, protocol.Before(s.under, turns))
		})
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	return sdk.LoadSessionResponse{Modes: s.modes(), Models: a.models(ctx)}, nil
}

// ResumeSession opens an old session without telling what was said.
func (a *agent) ResumeSession(ctx context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, err := a.open(ctx, place{r.Cwd, r.AdditionalDirectories, servers(r.McpServers)},
		protocol.OpenOptions{Resume: string(r.SessionId)}, nil)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	return sdk.ResumeSessionResponse{Modes: s.modes(), Models: a.models(ctx)}, nil
}

// UnstableForkSession starts a new session with the history of an old one.
func (a *agent) UnstableForkSession(ctx context.Context,
	r sdk.UnstableForkSessionRequest) (sdk.UnstableForkSessionResponse, error) {
	s, err := a.open(ctx, place{r.Cwd, r.AdditionalDirectories, forkServers(r.McpServers)},
		protocol.OpenOptions{Fork: string(r.SessionId)}, nil)
	if err != nil {
		return sdk.UnstableForkSessionResponse{}, err
	}
	return sdk.UnstableForkSessionResponse{SessionId: s.id, Modes: s.modes()}, nil
}

// pageSize is how many sessions one answer lists.
const pageSize = 100

// ListSessions lists sessions, newest first. A cursor is the id of the last one
// of the page before, which need not exist any more.
func (a *agent) ListSessions(ctx context.Context, r sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	f := protocol.Filter{Limit: pageSize + 1}
	if r.Cwd != nil {
		f.Cwd = *r.Cwd
	}
	if r.Cursor != nil {
		if f.Cursor = *r.Cursor; len(f.Cursor) != len("0190a0b0-0000-7000-8000-000000000001") {
			return sdk.ListSessionsResponse{}, invalid("the cursor is not one that " +
				"session/list returned")
		}
	}
	list, err := a.o.Store.List(ctx, f)
	if err != nil {
		return sdk.ListSessionsResponse{}, requestError(err)
	}
	res := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	if len(list) > pageSize {
		list = list[:pageSize]
		res.NextCursor = sdk.Ptr(string(list[pageSize-1].ID))
	}
	for _, info := range list {
		res.Sessions = append(res.Sessions, sdk.SessionInfo{SessionId: sdk.SessionId(info.ID), Cwd: info.Cwd,
			Title: sdk.Ptr(info.Title), UpdatedAt: sdk.Ptr(info.Updated.UTC().Format(time.RFC3339))})
	}
	return res, nil
}

// CloseSession ends a session; its record stays.
func (a *agent) CloseSession(_ context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	a.mu.Lock()
	s := a.sessions[r.SessionId]
	delete(a.sessions, r.SessionId)
	a.mu.Unlock()
	if s != nil {
		s.close()
	}
	return sdk.CloseSessionResponse{}, nil
}

// Cancel interrupts what a session does.
func (a *agent) Cancel(ctx context.Context, r sdk.CancelNotification) error {
	if s := a.find(r.SessionId); s != nil && s.cancelling.CompareAndSwap(false, true) {
		go func() { // a flood of them must not hold up what comes behind
			defer s.cancelling.Store(false)
			s.cancel(context.WithoutCancel(ctx))
		}()
	}
	return nil
}

// Prompt runs one turn and returns when it is over.
func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	s := a.find(r.SessionId)
	if s == nil {
		return sdk.PromptResponse{}, unknownSession(r.SessionId)
	}
	return s.prompt(ctx, r.Prompt)
}

// SetSessionMode changes what a session asks about.
func (a *agent) SetSessionMode(ctx context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s := a.find(r.SessionId)
	if s == nil {
		return sdk.SetSessionModeResponse{}, unknownSession(r.SessionId)
	}
	return sdk.SetSessionModeResponse{}, s.setMode(ctx, r.ModeId)
}

// UnstableSetSessionModel changes the model of turns to come.
func (a *agent) UnstableSetSessionModel(ctx context.Context,
	r sdk.UnstableSetSessionModelRequest) (sdk.UnstableSetSessionModelResponse, error) {
	s := a.find(r.SessionId)
	if s == nil {
		return sdk.UnstableSetSessionModelResponse{}, unknownSession(r.SessionId)
	}
	err := s.configure(ctx, protocol.Settings{Model: string(r.ModelId)})
	return sdk.UnstableSetSessionModelResponse{}, err
}

// SetSessionConfigOption: Kerf offers modes and models, no further options.
func (a *agent) SetSessionConfigOption(context.Context,
	sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, invalid("no such option")
}

// place is where a session works and what it may use.
type place struct {
	cwd  string
	more []string
	mcp  []protocol.MCPServer
}

// open opens a session. Before is told before what happens in it; it may be nil.
func (a *agent) open(ctx context.Context, p place, o protocol.OpenOptions,
	before func(*session) error) (*session, error) {
	for _, dir := range append([]string{p.cwd}, p.more...) {
		if !filepath.IsAbs(dir) {
			return nil, invalid("%q is not an absolute path", dir)
		}
	}
	if o.Resume != "" {
		_, _ = a.CloseSession(ctx, sdk.CloseSessionRequest{SessionId: sdk.SessionId(o.Resume)})
	}
	a.mu.Lock()
	s := &session{agent: a, title: o.Resume != "" || o.Fork != ""}
	can, name := a.client, a.name
	a.mu.Unlock()
	o.AddDirs, o.MCP, o.Source = append(slices.Clone(a.o.AddDirs), p.more...), p.mcp, "acp"
	o.Settings = protocol.Settings{Cwd: p.cwd,
		Edits: protocol.EditsAsk} // the directory's own configuration decides the rest
	o.Client = s.hands(can, name)
	opened, err := a.o.Sessions.Open(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, requestError(err)
	}
	err = s.start(opened, func() error {
		if before == nil {
			return nil
		}
		return before(s)
	})
	if err != nil {
		s.close()
		return nil, err
	}
	a.mu.Lock()
	a.sessions[s.id] = s
	a.mu.Unlock()
	go s.announce()
	return s, nil
}

// gone reports whether the editor has left.
func (a *agent) gone() bool {
	select {
	case <-a.conn.Done():
		return true
	default:
		return false
	}
}

func (a *agent) find(id sdk.SessionId) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

func (a *agent) close() {
	a.mu.Lock()
	all := a.sessions
	a.sessions = nil
	a.mu.Unlock()
	for _, s := range all {
		s.close()
	}
}

// models lists the models, nil when they are not known.
func (a *agent) models(ctx context.Context) *sdk.SessionModelState {
	if a.o.Query == nil {
		return nil
	}
	list, err := a.o.Query.Models(ctx)
	if err != nil || len(list) == 0 {
		return nil
	}
	state := &sdk.SessionModelState{CurrentModelId: sdk.ModelId(list[0].Name)}
	for _, m := range list {
		state.AvailableModels = append(state.AvailableModels,
			sdk.ModelInfo{ModelId: sdk.ModelId(m.Name), Name: m.Name, Description: &m.Description})
	}
	return state
}
