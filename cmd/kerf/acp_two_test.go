package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"kerf/internal/front/serve/hub"
	"kerf/internal/protocol"
)

// undecided is an editor whose user does not answer; requests end when Kerf takes them back.
type undecided struct {
	*editor
	asked, withdrawn chan string
}

func (u *undecided) RequestPermission(ctx context.Context,
	r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	u.asked <- string(r.ToolCall.ToolCallId)
	<-ctx.Done()
	u.withdrawn <- string(r.ToolCall.ToolCallId)
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

// told is what the editor was told: messages of users as >text, of the model, modes as =mode.
func (e *editor) told() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, u := range e.updates {
		switch {
		case u.UserMessageChunk != nil:
			b.WriteString(">" + u.UserMessageChunk.Content.Text.Text + " ")
		case u.AgentMessageChunk != nil:
			b.WriteString(u.AgentMessageChunk.Content.Text.Text + " ")
		case u.CurrentModeUpdate != nil:
			b.WriteString("=" + string(u.CurrentModeUpdate.CurrentModeId) + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// forget drops what it was told so far.
func (e *editor) forget() {
	e.mu.Lock()
	e.updates = nil
	e.mu.Unlock()
}

// running waits for the update that tells of a command.
func (e *editor) running(t *testing.T) {
	t.Helper()
	e.wait(t, func(u sdk.SessionUpdate) bool { return u.ToolCall != nil && u.ToolCall.Kind == sdk.ToolKindExecute })
}

const twoEditors = `{"version":1,"title":"two","rounds":[
{"items":[{"call":"write_file","args":{"file_path":"a.txt","content":"a\n"},"id":"w"}]},
{"items":[{"message":"wrote"}]},
{"items":[{"call":"exec_command","args":{"cmd":"until test -e go; do sleep 0.02; done"},"id":"x"}]},
{"items":[{"message":"second"}]},
{"items":[{"message":"third"}]},
{"items":[{"call":"write_file","args":{"file_path":"b.txt","content":"b\n"},"id":"w2"}]},
{"items":[{"message":"free"}]},
{"items":[{"call":"exec_command","args":{"cmd":"until test -e on; do sleep 0.02; done"},"id":"y"}]},
{"items":[{"message":"last"}]}]}`

// TestACPTwoEditorsOnOneSession: both see all that happens, in the same order; each prompt
// ends with its own turn; the first answer to a question counts and the other editor is told;
// a mode that one sets holds for both; one may die.
func TestACPTwoEditorsOnOneSession(t *testing.T) {
	s := servingWith(t, "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n", twoEditors, nil)
	h := hub.New(hub.Options{Sessions: s.opener, Find: func(_ context.Context,
		o protocol.OpenOptions) (protocol.SessionID, error) {
		return protocol.SessionID(o.Resume), nil
	}})
	defer h.Close()
	ea, eb := &editor{}, &editor{}
	ua := &undecided{ea, make(chan string, 9), make(chan string, 9)}
	a, kill := s.editsOn(t, h, ea, ua)
	b, _ := s.editsOn(t, h, eb, eb)
	id := s.newSession(t, a)

	// A's prompt has a question; B comes in the middle, is asked, and answers.
	first := prompting(t, a, id, "one")
	<-ua.asked
	loaded, err := b.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil || loaded.Modes.CurrentModeId != "ask" {
		t.Fatalf("%+v, %v", loaded, err)
	}
	if r := <-first; r.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("the first prompt ended with %s", r.StopReason)
	}
	if got := <-ua.withdrawn; got != "w" || s.read(t, "a.txt") != "a\n" {
		t.Errorf("withdrawn: %q", got)
	}
	expect(t, ea, "wrote")
	expect(t, eb, ">one wrote")

	// A's prompt comes while B's turn runs: it waits for a turn of its own.
	second := prompting(t, b, id, "two")
	ea.running(t)
	third := prompting(t, a, id, "three")
	waits(t, h, id)
	write(t, filepath.Join(s.dir, "go"), "")
	if r := <-second; r.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("the second prompt ended with %s", r.StopReason)
	}
	if r := <-third; r.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("the third prompt ended with %s", r.StopReason)
	}
	expect(t, ea, ">two second third")
	expect(t, eb, "second >three third")

	// B sets a mode.
	if _, err := b.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "auto-edit"}); err != nil {
		t.Fatal(err)
	}
	expect(t, ea, "=auto-edit")
	say(t, b, id, "four")
	expect(t, ea, ">four free")
	expect(t, eb, "=auto-edit free")
	if len(ua.asked) != 0 {
		t.Error("a change was asked about in mode auto-edit")
	}

	// B's prompt waits and is cancelled: A's turn goes on, although A dies.
	ea.forget()
	_ = prompting(t, a, id, "five")
	eb.running(t)
	sixth := prompting(t, b, id, "six")
	waits(t, h, id)
	if err := b.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if r := <-sixth; r.StopReason != sdk.StopReasonCancelled {
		t.Errorf("the sixth prompt ended with %s", r.StopReason)
	}
	kill()
	write(t, filepath.Join(s.dir, "on"), "")
	expect(t, eb, ">five last")
	if list := h.List(); len(list) != 1 || list[0].Faces != 1 {
		t.Errorf("live: %+v", list)
	}
}

// waits waits until a prompt stands behind the running turn.
func waits(t *testing.T, h *hub.Hub, id sdk.SessionId) {
	t.Helper()
	f, err := h.Join(protocol.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e := range f.Events() {
		if q, ok := e.Msg.(protocol.QueueChanged); ok && len(q.Waiting) > 0 {
			return
		}
	}
	t.Fatal("the session ended")
}

// TestACPPromptsWithoutATurnEnd: there is nothing to compact yet.
func TestACPPromptsWithoutATurnEnd(t *testing.T) {
	s := serving(t, editing, nil)
	e := &editor{}
	conn := s.edits(t, e)
	if r := say(t, conn, s.newSession(t, conn), "/compact"); r.StopReason != sdk.StopReasonEndTurn {
		t.Errorf("it ended with %s", r.StopReason)
	}
}

// prompting sends a prompt; what becomes of it comes later.
func prompting(t *testing.T, conn *sdk.ClientSideConnection, id sdk.SessionId, text string) <-chan sdk.PromptResponse {
	t.Helper()
	done := make(chan sdk.PromptResponse, 1)
	go func() {
		r, err := conn.Prompt(context.WithoutCancel(t.Context()), sdk.PromptRequest{SessionId: id,
			Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		if err != nil {
			t.Logf("prompt %q: %v", text, err)
		}
		done <- r
	}()
	return done
}

// expect waits until the editor was told this and nothing else, and forgets it.
func expect(t *testing.T, e *editor, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); e.told() != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("told %q, want %q", e.told(), want)
		}
	}
	e.forget()
}
