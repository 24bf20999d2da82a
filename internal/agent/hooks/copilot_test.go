package hooks

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCopilotsAnswers: a guard of Copilot refuses when it fails, but not when it takes too long; at
// most events it can only look.
func TestCopilotsAnswers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event Event
		out   Output
		want  Result
	}{
		{"deny", PreToolUse, Output{Stdout: []byte("{\"type\":\"progress\",\"message\":\"m\"}\n{\"permissionDecision\":\"deny\",\n\"permissionDecisionReason\":\"why\"}")},
			Result{Decision: "deny", Reason: "why"}},
		{"ask", PreToolUse, Output{Stdout: []byte(`{"permissionDecision":"ask"}`)}, Result{Decision: "ask"}},
		{"a crash", PreToolUse, Output{Code: 7}, Result{Decision: "deny", Reason: "a required hook failed: exit code 7:",
			Warnings: []string{"hook PreToolUse (x): exit code 7:"}}},
		{"a crash that says allow", PreToolUse, Output{Code: 7, Stdout: []byte(`{"permissionDecision":"allow"}`)},
			Result{Decision: "deny", Reason: "a required hook failed: exit code 7:", Warnings: []string{"hook PreToolUse (x): exit code 7:"}}},
		{"too long", PreToolUse, Output{TimedOut: true}, Result{Warnings: []string{"hook PreToolUse (x): ended after its time limit of 3s"}}},
		{"code 2", PreToolUse, Output{Code: 2, Stderr: []byte("no")}, Result{Decision: "deny", Reason: "no"}},
		{"code 2 of a prompt", UserPromptSubmit, Output{Code: 2, Stderr: []byte("no")},
			Result{Warnings: []string{"hook UserPromptSubmit (x): exit code 2: no"}}},
		{"a prompt", UserPromptSubmit, Output{Stdout: []byte(`{"decision":"block","modifiedPrompt":"other"}`)}, Result{}},
		{"plain text", SessionStart, Output{Stdout: []byte("hello")}, Result{}},
		{"context", SessionStart, Output{Stdout: []byte(`{"additionalContext":"c"}`)}, Result{Context: []string{"c"}}},
		{"a permission", PermissionRequest, Output{Stdout: []byte(`{"behavior":"deny","message":"m"}`)}, Result{Decision: "deny", Reason: "m"}},
		{"a stop", Stop, Output{Stdout: []byte(`{"decision":"block","reason":"more"}`)}, Result{Decision: "deny", Reason: "more"}},
	} {
		s, err := New([]Handler{{Event: tt.event, Command: "x", Timeout: 3 * time.Second, Form: Copilot, Told: "told",
			Required: tt.event == PreToolUse}}, func(context.Context, Handler, []byte) (Output, error) { return tt.out, nil })
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, s.Fire(t.Context(), Call{Event: tt.event})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestCopilotIsToldInItsOwnWords: names of fields and tools; under a usual name the usual ones.
func TestCopilotIsToldInItsOwnWords(t *testing.T) {
	call := Call{Event: PostToolUse, Session: "s", Cwd: "/w", Tool: "Read", Names: []string{"Read", "read_file"},
		Input: map[string]any{"file_path": "a"}, Response: map[string]any{"output": "text"}}
	for _, tt := range []struct {
		told, matcher string
		want          map[string]any
	}{
		{"postToolUse", "view", map[string]any{"sessionId": "s", "timestamp": 5000.0, "cwd": "/w", "toolName": "view",
			"toolArgs":   map[string]any{"file_path": "a", "path": "a"},
			"toolResult": map[string]any{"resultType": "success", "textResultForLlm": "text"}}},
		{"", "Read", map[string]any{"session_id": "s", "transcript_path": nil, "cwd": "/w", "hook_event_name": "PostToolUse",
			"model": "", "permission_mode": "", "timestamp": "1970-01-01T00:00:05Z", "tool_name": "Read",
			"tool_input": map[string]any{"file_path": "a"}, "tool_response": map[string]any{"output": "text"}}},
		{"postToolUse", "vie", nil}, {"postToolUse", "bash", nil},
	} {
		var got map[string]any
		s, err := New([]Handler{{Event: PostToolUse, Command: "x", Form: Copilot, Told: tt.told, Matcher: tt.matcher}},
			func(_ context.Context, _ Handler, stdin []byte) (Output, error) {
				return Output{}, json.Unmarshal(stdin, &got)
			})
		if err != nil {
			t.Fatal(err)
		}
		s.now = func() time.Time { return time.Unix(5, 0) }
		s.Fire(t.Context(), call)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.told, tt.matcher, d)
		}
	}
	h := Handler{Form: Copilot, Vars: map[string]string{"A": "$HOME/x"}}
	if got := h.Environ([]string{"HOME=/h"}); got[1] != "A=/h/x" {
		t.Errorf("variables of Copilot are not filled in: %q", got)
	}
	h.Form = Cursor
	if got := h.Environ([]string{"HOME=/h"}); got[1] != "A=$HOME/x" {
		t.Errorf("variables of others are: %q", got)
	}
}
