package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// fourWays changes one file by each tool that changes files, and one by a command.
const fourWays = `{"version":1,"title":"changes","rounds":[
{"items":[{"call":"write_file","args":{"file_path":"w.txt","content":"new\n"},"id":"w"}]},
{"items":[{"call":"read_file","args":{"file_path":"e.txt"},"id":"r"}]},
{"items":[{"call":"edit_file","args":{"file_path":"e.txt","old_string":"old","new_string":"new"},"id":"e"}]},
{"items":[{"call":"apply_patch","args":{"input":"*** Begin Patch\n*** Add File: p.txt\n+new\n*** End Patch\n"},"id":"p"}]},
{"items":[{"call":"exec_command","args":{"cmd":"echo new > c.txt"},"id":"c"}]},
{"items":[{"message":"done"}]}]}`

// TestACPModesDecideWhatIsAsked holds every mode against every configured sandbox and
// approval policy, the tools that change files and each decision. What is expected is
// said here by hand, not by the function that Kerf asks.
func TestACPModesDecideWhatIsAsked(t *testing.T) {
	t.Parallel()
	decisions := map[string]sdk.PermissionOptionKind{"allow": sdk.PermissionOptionKindAllowOnce,
		"reject": sdk.PermissionOptionKindRejectOnce, "cancel": ""}
	for _, sandbox := range []string{"", "read-only", "workspace-write", "danger-full-access"} {
		for _, approval := range []string{"", "untrusted", "never", "plan"} {
			for _, mode := range []string{"begun", "ask", "auto-edit", "plan", "full"} {
				for decision, kind := range decisions {
					if decision == "cancel" && approval != "" {
						continue // a cancelled question is a no, whatever led to it
					}
					name := strings.Join([]string{"sandbox=" + sandbox, "approval=" + approval, mode, decision}, ",")
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						holdMode(t, sandbox, approval, mode, kind)
					})
				}
			}
		}
	}
}

// holdMode plays the changes in one session and looks at what was asked and changed.
func holdMode(t *testing.T, sandbox, approval, mode string, answer sdk.PermissionOptionKind) {
	var config string
	if sandbox != "" {
		config += "sandbox_mode = \"" + sandbox + "\"\n"
	}
	if approval != "" {
		config += "approval_policy = \"" + approval + "\"\n"
	}
	s := servingWith(t, config, fourWays, map[string]string{"e.txt": "old\n"})
	e := &editor{choose: func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind { return answer }}
	conn := s.edits(t, e)
	res, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	effective := mode
	if mode == "begun" {
		if effective = "ask"; approval == "plan" {
			effective = "plan"
		}
	} else if _, err := conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: res.SessionId,
		ModeId: sdk.SessionModeId(mode)}); err != nil {
		t.Fatal(err)
	}
	if mode == "begun" && string(res.Modes.CurrentModeId) != effective {
		t.Errorf("the session begins in mode %s, not %s", res.Modes.CurrentModeId, effective)
	}
	say(t, conn, res.SessionId, "change them")

	readOnly := sandbox == "" || sandbox == "read-only"
	asked, changed := true, answer == sdk.PermissionOptionKindAllowOnce
	switch {
	case effective == "full", effective == "auto-edit" && !readOnly:
		asked, changed = false, true
	case effective == "plan", effective == "auto-edit" && approval == "never":
		asked, changed = false, false
	}
	e.mu.Lock()
	var about []string
	for _, a := range e.asked {
		about = append(about, string(a.ToolCall.ToolCallId))
	}
	e.mu.Unlock()
	calls := []string{"w", "e", "p"}
	for n, name := range []string{"w.txt", "e.txt", "p.txt"} {
		if got := slices.Contains(about, calls[n]); got != asked {
			t.Errorf("%s: asked is %v, want %v; questions %v", name, got, asked, about)
		}
		b, _ := os.ReadFile(filepath.Join(s.dir, name))
		if got := string(b) == "new\n"; got != changed {
			t.Errorf("%s: changed is %v, want %v", name, got, changed)
		}
	}
	_, err = os.Stat(filepath.Join(s.dir, "c.txt"))
	if err == nil && effective != "full" && (readOnly || effective == "plan") &&
		(answer != sdk.PermissionOptionKindAllowOnce || !slices.Contains(about, "c")) {
		t.Errorf("a command wrote unasked in a session that may only read")
	}
}

// TestACPEditsCarryTheirTexts: what was changed unasked is shown as whole texts, at its
// first changed line.
func TestACPEditsCarryTheirTexts(t *testing.T) {
	t.Parallel()
	s := servingWith(t, "sandbox_mode = \"workspace-write\"\n", fourWays, map[string]string{"e.txt": "a\nold\n"})
	e := &editor{}
	conn := s.edits(t, e)
	id := s.newSession(t, conn)
	if _, err := conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "auto-edit"}); err != nil {
		t.Fatal(err)
	}
	say(t, conn, id, "change them")
	for call, want := range map[string]struct {
		file string
		old  *string
		text string
		line int
	}{
		"w": {"w.txt", nil, "new\n", 1}, "p": {"p.txt", nil, "new\n", 1},
		"e": {"e.txt", sdk.Ptr("a\nold\n"), "a\nnew\n", 2},
	} {
		e.wait(t, func(u sdk.SessionUpdate) bool {
			c := u.ToolCallUpdate
			if c == nil || string(c.ToolCallId) != call || c.Status == nil || *c.Status != sdk.ToolCallStatusCompleted {
				return false
			}
			path := filepath.Join(s.dir, want.file)
			if len(c.Content) != 1 || c.Content[0].Diff == nil || len(c.Locations) != 1 || c.Locations[0].Line == nil {
				t.Errorf("%s: content %+v, locations %+v", call, c.Content, c.Locations)
				return true
			}
			d, at := c.Content[0].Diff, c.Locations[0]
			if d.Path != path || d.NewText != want.text || (d.OldText == nil) != (want.old == nil) ||
				d.OldText != nil && *d.OldText != *want.old || at.Path != path || *at.Line != want.line {
				t.Errorf("%s: %+v at %s:%d", call, d, at.Path, *at.Line)
			}
			return true
		})
	}
}

// TestACPCancelWithAQuestionOpen: the turn ends as cancelled, nothing is changed, and an
// answer that comes too late does nothing.
func TestACPCancelWithAQuestionOpen(t *testing.T) {
	t.Parallel()
	s := servingWith(t, "sandbox_mode = \"workspace-write\"\n", fourWays, map[string]string{"e.txt": "old\n"})
	open, late := make(chan struct{}), make(chan struct{})
	e := &editor{choose: func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind {
		close(open)
		<-late
		return sdk.PermissionOptionKindAllowOnce
	}}
	conn := s.edits(t, e)
	id := s.newSession(t, conn)
	over := make(chan sdk.PromptResponse, 1)
	go func() {
		res, err := conn.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}})
		if err != nil {
			t.Error(err)
		}
		over <- res
	}()
	<-open
	if err := conn.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.StopReason != sdk.StopReasonCancelled {
		t.Errorf("the turn ended with %s", res.StopReason)
	}
	close(late)
	if _, err := conn.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "w.txt")); err == nil {
		t.Error("the file was written after the turn was cancelled")
	}
}

// TestACPSaysWhyASessionDoesNotOpen: the reason stands in the message, the code tells
// what kind it is.
func TestACPSaysWhyASessionDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := servingWith(t, "", fourWays, map[string]string{"e.txt": "old\n"})
	conn := s.edits(t, &editor{})
	id := s.newSession(t, conn)
	other := s.edits(t, &editor{}) // another editor, another process for the lock
	load := func(id sdk.SessionId) *sdk.RequestError {
		_, err := other.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: s.dir,
			McpServers: []sdk.McpServer{}})
		var r *sdk.RequestError
		if !errors.As(err, &r) {
			t.Fatalf("%v is no error of the protocol", err)
		}
		return r
	}
	if r := load(id); r.Code != -32602 || !strings.Contains(r.Message, "open in another process") {
		t.Errorf("a session that is in use gave %d %q", r.Code, r.Message)
	}
	if r := load("0190a0b0-0000-7000-8000-000000000009"); r.Code != -32002 || !strings.Contains(r.Message, "no session") {
		t.Errorf("an unknown session gave %d %q", r.Code, r.Message)
	}
}
