package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

// everyWay does one thing with each kind of tool: w, e and p change a file; d is a command
// that only reads, c one that writes into the workspace, o one that wants to leave the
// sandbox to write OUTSIDE; m is a tool of an MCP server.
const everyWay = `{"version":1,"title":"changes","rounds":[
{"items":[{"call":"write_file","args":{"file_path":"w.txt","content":"new\n"},"id":"w"}]},
{"items":[{"call":"read_file","args":{"file_path":"e.txt"},"id":"r"}]},
{"items":[{"call":"edit_file","args":{"file_path":"e.txt","old_string":"old","new_string":"new"},"id":"e"}]},
{"items":[{"call":"apply_patch","id":"p",
  "args":{"input":"*** Begin Patch\n*** Add File: p.txt\n+new\n*** End Patch\n"}}]},
{"items":[{"call":"exec_command","args":{"cmd":"cat read.txt"},"id":"d"}]},
{"items":[{"call":"exec_command","args":{"cmd":"echo new > c.txt"},"id":"c"}]},
{"items":[{"call":"exec_command","args":{"cmd":"echo new > OUTSIDE/o.txt","sandbox_permissions":"require_escalated",
  "justification":"it lies elsewhere"},"id":"o"}]},
{"items":[{"call":"mcp__r__x","args":{},"id":"m"}]},
{"items":[{"message":"done"}]}]}`

// ways are the calls of everyWay, in their order.
const ways = "wepdcom"

// expected says by hand what becomes of the calls of everyWay, not by the function that Kerf
// asks: which are asked about, and which do what they are meant to do when every question is
// answered with a yes, or with a no.
func expected(sandbox, approval, mode string, yes bool) (asked, done string) {
	readOnly, full := sandbox == "" || sandbox == "read-only", sandbox == "danger-full-access"
	if mode == "begun" {
		mode = "ask"
		if approval == "plan" {
			mode = "plan"
		}
	}
	if approval == "plan" || approval == "" {
		approval = "on-request"
	}
	for _, way := range ways {
		var asks, does bool // does: where it is not asked
		switch {
		case way == 'd', mode == "full":
			does = true
		case mode == "plan": // nothing but reading
		case way == 'c':
			asks, does = approval == "untrusted", !readOnly
		case way == 'o' && full: // there is no sandbox to leave
			asks, does = approval == "untrusted", true
		case way == 'm' && full && approval == "never": // nothing is asked and nothing confined
			does = true
		case way == 'o', way == 'm': // never asks nobody, so it is refused
			asks = approval != "never"
		case mode == "ask":
			asks = true
		case readOnly: // auto-edit
			asks = approval != "never"
		default:
			does = true
		}
		if asks {
			asked += string(way)
			if does = yes; yes && way == 'c' && readOnly { // the sandbox kept it from writing, so Kerf asks again
				asked += string(way)
			}
		}
		if does {
			done += string(way)
		}
	}
	return asked, done
}

// TestACPModesDecideWhatIsAsked holds every mode against every configured sandbox and
// approval policy, every kind of tool and each decision.
func TestACPModesDecideWhatIsAsked(t *testing.T) {
	t.Parallel()
	decisions := map[string]sdk.PermissionOptionKind{"allow": sdk.PermissionOptionKindAllowOnce,
		"reject": sdk.PermissionOptionKindRejectOnce, "cancel": ""}
	r, url := remote(t)
	offer(r, "x", "Does x.", "the tool ran", nil)
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
						holdMode(t, url, sandbox, approval, mode, kind)
					})
				}
			}
		}
	}
}

// serverOfEveryWay is the part of config.toml that has the server of everyWay.
func serverOfEveryWay(url string) string {
	return fmt.Sprintf("[mcp_servers.r]\nurl = %q\nrequired = true\n", url)
}

// holdMode plays everyWay in one session and looks at what was asked and done.
func holdMode(t *testing.T, url, sandbox, approval, mode string, answer sdk.PermissionOptionKind) {
	var config string
	if sandbox != "" {
		config += "sandbox_mode = \"" + sandbox + "\"\n"
	}
	if approval != "" {
		config += "approval_policy = \"" + approval + "\"\n"
	}
	outside := t.TempDir()
	s := servingWith(t, config, strings.ReplaceAll(everyWay, "OUTSIDE", outside),
		map[string]string{"e.txt": "old\n", "read.txt": "was read\n"}).configure(t, serverOfEveryWay(url))
	e := &editor{choose: func(sdk.RequestPermissionRequest) sdk.PermissionOptionKind { return answer }}
	conn := s.edits(t, e)
	res, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: s.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	if mode == "begun" {
		want := sdk.SessionModeId("ask")
		if approval == "plan" {
			want = "plan"
		}
		if res.Modes.CurrentModeId != want {
			t.Errorf("the session begins in mode %s, not %s", res.Modes.CurrentModeId, want)
		}
	} else if _, err := conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: res.SessionId,
		ModeId: sdk.SessionModeId(mode)}); err != nil {
		t.Fatal(err)
	}
	say(t, conn, res.SessionId, "do all of it")
	if d := cmp.Diff(inWords(expected(sandbox, approval, mode, answer == sdk.PermissionOptionKindAllowOnce)),
		inWords(e.asks(), s.done(outside, e))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func inWords(asked, done string) string { return "asked " + asked + ", done " + done }

// asks are the calls that the editor was asked about.
func (e *editor) asks() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids strings.Builder
	for _, a := range e.asked {
		ids.WriteString(string(a.ToolCall.ToolCallId))
	}
	return ids.String()
}

// done are the calls of everyWay that did what they are meant to do.
func (s served) done(outside string, e *editor) string {
	var done strings.Builder
	for _, way := range ways {
		does := false
		switch way {
		case 'd':
			does = e.shown("d", "was read")
		case 'm':
			does = e.shown("m", "the tool ran")
		default:
			dir := s.dir
			if way == 'o' {
				dir = outside
			}
			b, _ := os.ReadFile(filepath.Join(dir, string(way)+".txt"))
			does = string(b) == "new\n"
		}
		if does {
			done.WriteRune(way)
		}
	}
	return done.String()
}

// shown reports whether an update of a call has a text.
func (e *editor) shown(call, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.updates, func(u sdk.SessionUpdate) bool {
		c := u.ToolCallUpdate
		return c != nil && string(c.ToolCallId) == call && slices.ContainsFunc(c.Content, func(c sdk.ToolCallContent) bool {
			return c.Content != nil && c.Content.Content.Text != nil && strings.Contains(c.Content.Content.Text.Text, text)
		})
	})
}

// TestACPEditsCarryTheirTexts: what was changed unasked is shown as whole texts, at its
// first changed line.
func TestACPEditsCarryTheirTexts(t *testing.T) {
	t.Parallel()
	s := servingWith(t, "sandbox_mode = \"workspace-write\"\n", everyWay, map[string]string{"e.txt": "a\nold\n"})
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
	s := servingWith(t, "sandbox_mode = \"workspace-write\"\n", everyWay, map[string]string{"e.txt": "old\n"})
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
	s := servingWith(t, "", everyWay, nil)
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
