package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/cmd/kerf/internal/records"
	"kerf/internal/front/acp"
	"kerf/internal/host"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
)

// editor is an editor that remembers what it was told and answers permission
// requests with an option of its choice.
type editor struct {
	choose func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind // empty cancels

	mu      sync.Mutex
	updates []sdk.SessionUpdate
	asked   []sdk.RequestPermissionRequest
	files   map[string]string // buffers, nil when it offers none
	heard   chan struct{}     // a value for every update
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	e.updates = append(e.updates, n.Update)
	e.mu.Unlock()
	select {
	case e.heard <- struct{}{}:
	default:
	}
	return nil
}

func (e *editor) RequestPermission(_ context.Context,
	r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	e.mu.Unlock()
	want := e.choose(r)
	for _, o := range r.Options {
		if o.Kind == want {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

func (e *editor) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text, ok := e.files[r.Path]; ok {
		return sdk.ReadTextFileResponse{Content: text}, nil
	}
	b, err := os.ReadFile(r.Path)
	return sdk.ReadTextFileResponse{Content: string(b)}, err
}

func (e *editor) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files[r.Path] = r.Content
	return sdk.WriteTextFileResponse{}, os.WriteFile(r.Path, []byte(r.Content), 0o600)
}

var errNoTerminal = errors.New("no terminals here")

func (e *editor) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, errNoTerminal
}

func (e *editor) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, errNoTerminal
}

func (e *editor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, errNoTerminal
}

func (e *editor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, errNoTerminal
}

func (e *editor) WaitForTerminalExit(context.Context,
	sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, errNoTerminal
}

// said is all text of the agent's messages.
func (e *editor) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, u := range e.updates {
		if u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil {
			b.WriteString(u.AgentMessageChunk.Content.Text.Text)
		}
	}
	return b.String()
}

// wait waits until an update is there that ok accepts.
func (e *editor) wait(t *testing.T, ok func(sdk.SessionUpdate) bool) {
	t.Helper()
	for {
		e.mu.Lock()
		found := slices.ContainsFunc(e.updates, ok)
		e.mu.Unlock()
		if found {
			return
		}
		select {
		case <-e.heard:
		case <-t.Context().Done():
			t.Fatal("the update did not come")
		}
	}
}

// edits starts a Kerf that the editor drives.
func (s served) edits(t *testing.T, e *editor) *sdk.ClientSideConnection {
	t.Helper()
	conn, _ := s.editsOn(t, s.opener, e, e)
	return conn
}

// editsOn is edits with sessions of others; as is what answers Kerf. The editor dies with leave.
func (s served) editsOn(t *testing.T, sessions protocol.Sessions, e *editor,
	as sdk.Client) (conn *sdk.ClientSideConnection, leave func()) {
	t.Helper()
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	e.heard = make(chan struct{}, 1)
	if e.choose == nil {
		e.choose = func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind { return sdk.PermissionOptionKindAllowOnce }
	}
	o := acp.Options{Sessions: sessions, Store: s.host.Sessions(), Check: s.host.Ready, Version: host.Version,
		SignIn: "kerf login"}
	ended := make(chan error, 1)
	go func() { ended <- acp.Serve(context.Background(), o, toAgent, fromAgent) }()
	conn = sdk.NewClientSideConnection(as, fromEditor, toEditor)
	leave = sync.OnceFunc(func() {
		_ = fromEditor.Close()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	t.Cleanup(leave)
	r := sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}
	if e.files != nil {
		r.ClientCapabilities.Fs = sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	}
	hello, err := conn.Initialize(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if hello.AgentInfo == nil || hello.AgentInfo.Name != "kerf" || len(hello.AuthMethods) == 0 {
		t.Errorf("initialize answered %+v", hello)
	}
	return conn, leave
}

func (s served) newSession(t *testing.T, conn *sdk.ClientSideConnection) sdk.SessionId {
	t.Helper()
	res, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range res.Modes.AvailableModes {
		ids = append(ids, string(m.Id))
	}
	if got := strings.Join(ids, " "); got != "ask auto-edit plan full" || res.Modes.CurrentModeId != "ask" {
		t.Errorf("modes are %q, the current one %s", got, res.Modes.CurrentModeId)
	}
	return res.SessionId
}

func say(t *testing.T, conn *sdk.ClientSideConnection, id sdk.SessionId, text string) sdk.PromptResponse {
	t.Helper()
	res, err := conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
	if err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return res
}

const editing = `{"version":1,"title":"edits","rounds":[
{"items":[{"call":"update_plan","args":{"plan":[{"step":"change it","status":"in_progress"}]},"id":"c0"},
          {"call":"read_file","args":{"file_path":"f.txt"},"id":"c1"}]},
{"items":[{"call":"edit_file","args":{"file_path":"f.txt","old_string":"b","new_string":"B"},"id":"c2"}]},
{"items":[{"message":"It is done."}]}]}`

func TestACPEditIsAskedShownAndMade(t *testing.T) {
	for name, test := range map[string]struct {
		kind   sdk.PermissionOptionKind
		file   string
		status sdk.ToolCallStatus
	}{
		"allowed":  {sdk.PermissionOptionKindAllowOnce, "a\nB\nc\n", sdk.ToolCallStatusCompleted},
		"rejected": {sdk.PermissionOptionKindRejectOnce, "a\nb\nc\n", sdk.ToolCallStatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t, editing, map[string]string{"f.txt": "a\nb\nc\n"})
			e := &editor{choose: func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind { return test.kind }}
			conn := s.edits(t, e)
			id := s.newSession(t, conn)
			if res := say(t, conn, id, "change f.txt"); res.StopReason != sdk.StopReasonEndTurn || res.Usage == nil {
				t.Errorf("the turn ended with %+v", res)
			}
			if got := s.read(t, "f.txt"); got != test.file {
				t.Errorf("f.txt is %q", got)
			}
			if len(e.asked) != 1 {
				t.Fatalf("asked %d times", len(e.asked))
			}
			diff := e.asked[0].ToolCall.Content[0].Diff
			if diff == nil || diff.OldText == nil || *diff.OldText != "a\nb\nc\n" || diff.NewText != "a\nB\nc\n" {
				t.Errorf("the question shows %+v", e.asked[0].ToolCall.Content)
			}
			if at := e.asked[0].ToolCall.Locations; len(at) != 1 || at[0].Line == nil || *at[0].Line != 2 ||
				at[0].Path != filepath.Join(s.dir, "f.txt") {
				t.Errorf("the question is about %+v", at)
			}
			e.wait(t, func(u sdk.SessionUpdate) bool {
				return u.ToolCallUpdate != nil && u.ToolCallUpdate.ToolCallId == "c2" && u.ToolCallUpdate.Status != nil &&
					*u.ToolCallUpdate.Status == test.status
			})
			e.wait(t, func(u sdk.SessionUpdate) bool { return u.Plan != nil && u.Plan.Entries[0].Content == "change it" })
			e.wait(t, func(u sdk.SessionUpdate) bool {
				return u.AvailableCommandsUpdate != nil && len(u.AvailableCommandsUpdate.AvailableCommands) > 2
			})
			e.wait(t, func(u sdk.SessionUpdate) bool {
				return u.SessionInfoUpdate != nil && *u.SessionInfoUpdate.Title == "change f.txt"
			})
			if !strings.Contains(e.said(), "It is done.") {
				t.Errorf("the agent said %q", e.said())
			}
		})
	}
}

const sleeping = `{"version":1,"title":"sleeps","rounds":[
{"items":[{"call":"exec_command","args":{"cmd":"echo begun; sleep 600"},"id":"c1"}]},
{"items":[{"message":"after"}]}]}`

func TestACPCancelEndsARunningCommand(t *testing.T) {
	s := serving(t, sleeping, nil)
	e := &editor{}
	conn := s.edits(t, e)
	id := s.newSession(t, conn)
	over := make(chan sdk.PromptResponse, 1)
	go func() {
		res, err := conn.Prompt(t.Context(),
			sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("sleep")}})
		if err != nil {
			t.Error(err)
		}
		over <- res
	}()
	e.wait(t, func(u sdk.SessionUpdate) bool {
		return u.ToolCallUpdate != nil && len(u.ToolCallUpdate.Content) > 0 && u.ToolCallUpdate.Content[0].Content != nil &&
			strings.Contains(u.ToolCallUpdate.Content[0].Content.Content.Text.Text, "begun")
	})
	if err := conn.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.StopReason != sdk.StopReasonCancelled {
		t.Errorf("the turn ended with %s", res.StopReason)
	}
	if res := say(t, conn, id, "go on"); res.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("the next turn ended with %s", res.StopReason)
	}
}

func TestACPRefusesWhatItCannotDo(t *testing.T) {
	s := serving(t, editing, nil)
	conn := s.edits(t, &editor{})
	code := func(err error) int {
		var r *sdk.RequestError
		if !errors.As(err, &r) {
			t.Fatalf("%v is no error of the protocol", err)
		}
		return r.Code
	}
	_, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "not/absolute", McpServers: []sdk.McpServer{}})
	if got := code(err); got != -32602 {
		t.Errorf("a relative directory gave %d", got)
	}
	_, err = conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: "none", Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}})
	if got := code(err); got != -32002 || !strings.Contains(err.Error(), "session/new") {
		t.Errorf("an unknown session gave %d, %v", got, err)
	}
	id := s.newSession(t, conn)
	_, err = conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "root"})
	if got := code(err); got != -32602 {
		t.Errorf("an unknown mode gave %d", got)
	}
}

func TestACPWorksThroughTheEditorsBuffers(t *testing.T) {
	s := serving(t, editing, map[string]string{"f.txt": "a\nb\nc\n"})
	path := filepath.Join(s.dir, "f.txt")
	e := &editor{files: map[string]string{path: "unsaved\na\nb\nc\n"}}
	conn := s.edits(t, e)
	id := s.newSession(t, conn)
	say(t, conn, id, "change f.txt")
	if want := "unsaved\na\nB\nc\n"; e.files[path] != want || s.read(t, "f.txt") != want {
		t.Errorf("the buffer is %q, the file %q", e.files[path], s.read(t, "f.txt"))
	}
	log, err := records.ReadLog(s.host, changes.Filter{Limit: 10})
	if err != nil || len(log) == 0 || len(log[0].Changes) != 1 || filepath.Base(string(log[0].Changes[0].Path)) != "f.txt" ||
		!log[0].Exact {
		t.Errorf("the ledger tells %+v, %v", log, err)
	}
	say(t, conn, id, "/undo")
	if got := s.read(t, "f.txt"); got != "unsaved\na\nb\nc\n" {
		t.Errorf("after undo the file is %q", got)
	}
}

const overreaching = `{"version":1,"title":"edits","rounds":[
{"items":[{"call":"write_file","args":{"file_path":".git/hooks/pre-commit","content":"evil\n"}},
          {"call":"write_file","args":{"file_path":".git/config","content":"evil\n"}},
          {"call":"write_file","args":{"file_path":"fixed.txt","content":"evil\n"}},
          {"call":"write_file","args":{"file_path":"link","content":"evil\n"}},
          {"call":"write_file","args":{"file_path":"f.txt","content":"good\n"}}]},
{"items":[{"message":"It is done."}]}]}`

// TestSEC_P3_TheEditorWritesNoMoreThanTheFileTools: what the boundary closes is not written
// by way of the editor either, although the user said yes.
func TestSEC_P3_TheEditorWritesNoMoreThanTheFileTools(t *testing.T) {
	s := servingWith(t, "sandbox_mode = \"workspace-write\"\ndefault_permissions = \"mine\"\n"+
		"permissions = { mine = { filesystem = { \"fixed.txt\" = \"read\" } } }\n", overreaching,
		map[string]string{"fixed.txt": "as it was\n"})
	if out, err := exec.Command("git", "init", "-q", s.dir).CombinedOutput(); err != nil {
		t.Skipf("%v %s", err, out)
	}
	config := s.read(t, ".git/config")
	if err := os.Symlink(".git/config", filepath.Join(s.dir, "link")); err != nil {
		t.Skip(err)
	}
	e := &editor{files: map[string]string{}}
	conn := s.edits(t, e)
	id := s.newSession(t, conn)
	say(t, conn, id, "write them")
	if s.read(t, ".git/config") != config || s.read(t, "fixed.txt") != "as it was\n" {
		t.Error("what is closed was written")
	}
	if _, err := os.Lstat(filepath.Join(s.dir, ".git/hooks/pre-commit")); err == nil {
		t.Error("a hook was made")
	}
	if want := map[string]string{filepath.Join(s.dir, "f.txt"): "good\n"}; !maps.Equal(e.files, want) {
		t.Errorf("the editor wrote %v", e.files)
	}
}

func TestACPSessionsWorkWhereTheEditorSays(t *testing.T) {
	s := serving(t, editing, map[string]string{"f.txt": "not this\n"})
	other := t.TempDir()
	write(t, filepath.Join(other, "f.txt"), "a\nb\nc\n")
	write(t, filepath.Join(other, "AGENTS.md"), "Rules of the other place.\n")
	conn := s.edits(t, &editor{})
	res, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: other, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	say(t, conn, res.SessionId, "change f.txt")
	if got, err := os.ReadFile(filepath.Join(other, "f.txt")); string(got) != "a\nB\nc\n" || err != nil {
		t.Errorf("the file of the other directory is %q, %v", got, err)
	}
	if got := s.read(t, "f.txt"); got != "not this\n" {
		t.Errorf("the file where the agent was started is %q", got)
	}
	for cwd, want := range map[string]int{other: 1, s.dir: 0} {
		list, err := conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &cwd})
		if err != nil || len(list.Sessions) != want {
			t.Errorf("%d sessions are listed for %s, want %d: %v", len(list.Sessions), cwd, want, err)
		}
	}
	if _, err := conn.NewSession(t.Context(),
		sdk.NewSessionRequest{Cwd: filepath.Join(other, "none"), McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("a directory that is not there was taken")
	}
}

func TestACPWithoutAKeyAsksForASignIn(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("CODEX_API_KEY", "")
	s := serving(t, "", nil)
	conn := s.edits(t, &editor{})
	_, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{}})
	var refused *sdk.RequestError
	if !errors.As(err, &refused) || refused.Code != -32000 {
		t.Errorf("session/new gave %v", err)
	}
	if _, err = conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "kerf-login"}); !errors.As(err,
		&refused) || refused.Code != -32000 {
		t.Errorf("authenticate without a key gave %v", err)
	}
	if _, err = conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "other"}); !errors.As(err, &refused) ||
		refused.Code != -32602 {
		t.Errorf("another method gave %v", err)
	}
}
