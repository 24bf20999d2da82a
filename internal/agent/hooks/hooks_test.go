package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnswers(t *testing.T) {
	tests := []struct {
		name  string
		event Event
		out   Output
		err   error
		want  Result
	}{
		{"nothing said", PreToolUse, Output{}, nil, Result{}},
		{"exit 2 denies with stderr", PreToolUse, Output{Code: 2, Stderr: []byte("no rm\n")}, nil, Result{Decision: "deny", Reason: "no rm"}},
		{"exit 1 is a warning", PreToolUse, Output{Code: 1, Stderr: []byte("oops\nmore")}, nil, Result{Warnings: []string{"hook PreToolUse (x): exit code 1: oops"}}},
		{"permissionDecision", PreToolUse, Output{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"why"}}`)}, nil,
			Result{Decision: "deny", Reason: "why"}},
		{"ask", PreToolUse, Output{Stdout: []byte(`{"hookSpecificOutput":{"permissionDecision":"ask"}}`)}, nil, Result{Decision: "ask"}},
		{"behaviour", PermissionRequest, Output{Stdout: []byte(`{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`)}, nil, Result{Decision: "allow"}},
		{"block", Stop, Output{Stdout: []byte(`{"decision":"block","reason":"run the tests"}`)}, nil, Result{Decision: "deny", Reason: "run the tests"}},
		{"continue false", PostToolUse, Output{Stdout: []byte(`{"continue":false,"stopReason":"enough"}`)}, nil, Result{Halt: true, Reason: "enough"}},
		{"plain text is context", UserPromptSubmit, Output{Stdout: []byte("It is Monday.\n")}, nil, Result{Context: []string{"It is Monday."}}},
		{"plain text elsewhere is nothing", PostToolUse, Output{Stdout: []byte("formatted")}, nil, Result{}},
		{"additional context", SessionStart,
			Output{Stdout: []byte(`{"hookSpecificOutput":{"additionalContext":"c"},"systemMessage":"hello\u001b[2J"}`)}, nil,
			Result{Context: []string{"c"}, Warnings: []string{"hello<U+001B>[2J"}}},
		{"broken JSON", PreToolUse, Output{Stdout: []byte(`{"a":`)}, nil, Result{Warnings: []string{"hook PreToolUse (x): its output is not the JSON of a hook: unexpected end of JSON input"}}},
		{"unknown decision", PreToolUse, Output{Stdout: []byte(`{"decision":"maybe"}`)}, nil, Result{Warnings: []string{`hook PreToolUse (x): expected the decision allow, ask, deny or block, found "maybe"`}}},
		{"time limit", PreToolUse, Output{TimedOut: true}, nil, Result{Warnings: []string{"hook PreToolUse (x): ended after its time limit of 3s"}}},
		{"cannot run", PreToolUse, Output{}, errors.New("no such shell"), Result{Warnings: []string{"hook PreToolUse (x): no such shell"}}},
	}
	for _, tt := range tests {
		s, err := New([]Handler{{Event: tt.event, Command: "x\ny", Timeout: 3 * time.Second}},
			func(context.Context, Handler, []byte) (Output, error) { return tt.out, tt.err })
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, s.Fire(t.Context(), Call{Event: tt.event})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestRequiredHooksFailClosed: what a required hook was to look at does not happen
// when it fails in any way; at other events, and where it is not required, a failure
// is a warning. Nothing that fails ever allows.
func TestRequiredHooksFailClosed(t *testing.T) {
	faults := []Output{{Code: 1}, {Code: 127}, {TimedOut: true}, {Stdout: []byte(`{"a":`)},
		{Stdout: []byte(`{"decision":"maybe"}`)}}
	for _, e := range Events() {
		for _, required := range []bool{false, true} {
			for i, out := range append(faults, Output{}) {
				var err error
				if i == len(faults) {
					err = errors.New("no such shell")
				}
				s, _ := New([]Handler{{Event: e, Command: "x", Required: required}},
					func(context.Context, Handler, []byte) (Output, error) { return out, err })
				got := s.Fire(t.Context(), Call{Event: e})
				want := ""
				if required && (e == PreToolUse || e == PermissionRequest || e == UserPromptSubmit) {
					want = "deny"
				}
				if got.Decision != want || len(got.Warnings) != 1 {
					t.Errorf("%s, required %v, fault %d: %+v, want decision %q and one warning", e, required, i, got, want)
				}
			}
		}
	}
	// One that fails does not keep another's objection from counting, nor does
	// another's consent make up for a required one.
	s, _ := New([]Handler{{Event: PreToolUse, Command: "fails", Required: true}, {Event: PreToolUse, Command: "allows"}},
		func(_ context.Context, h Handler, _ []byte) (Output, error) {
			return Output{TimedOut: h.Command == "fails", Stdout: []byte(`{"decision":"allow"}`)}, nil
		})
	if got := s.Fire(t.Context(), Call{Event: PreToolUse}); got.Decision != "deny" {
		t.Errorf("a required hook failed beside one that allows: %+v", got)
	}
}

// TestStrictestWins runs hooks that disagree, in every order.
func TestStrictestWins(t *testing.T) {
	say := map[string]string{"a": "allow", "b": "ask", "c": "deny", "d": ""}
	for _, order := range []string{"abcd", "dcba", "cabd", "bacd"} {
		var handlers []Handler
		for _, c := range order {
			handlers = append(handlers, Handler{Event: PreToolUse, Command: string(c)})
		}
		s, _ := New(handlers, func(_ context.Context, h Handler, _ []byte) (Output, error) {
			return Output{Stdout: []byte(`{"decision":"` + say[h.Command] + `","reason":"` + h.Command + `"}`)}, nil
		})
		if r := s.Fire(t.Context(), Call{Event: PreToolUse}); r.Decision != "deny" || r.Reason != "c" {
			t.Errorf("%s: %+v", order, r)
		}
	}
}

func TestMatchersAndInput(t *testing.T) {
	var got []string
	run := func(_ context.Context, h Handler, stdin []byte) (Output, error) {
		got = append(got, h.Command+string(stdin))
		return Output{}, nil
	}
	s, err := New([]Handler{{Event: PreToolUse, Matcher: "Edit|Write", Command: "1"},
		{Event: PreToolUse, Matcher: "Bash", Command: "2"}, {Event: Stop, Command: "3"}}, run)
	if err != nil {
		t.Fatal(err)
	}
	s.Fire(t.Context(), Call{Event: PreToolUse, Names: []string{"exec_command", "Bash"}, Session: "s", Cwd: "/w",
		Model: "m", PermissionMode: "default", Turn: "t",
		Tool: "Bash", Input: map[string]any{"command": "ls"}, CallID: "c"})
	want := `2{"cwd":"/w","hook_event_name":"PreToolUse","model":"m","permission_mode":"default","session_id":"s","tool_input":{"command":"ls"},"tool_name":"Bash","tool_use_id":"c","transcript_path":null,"turn_id":"t"}`
	if d := cmp.Diff([]string{want}, got); d != "" {
		t.Error(d)
	}
	if !s.Wants(Stop) || s.Wants(SessionStart) {
		t.Error("Wants is wrong")
	}
	if _, err := New([]Handler{{Event: Stop, Matcher: "(", From: "f"}}, nil); err == nil ||
		!strings.HasPrefix(err.Error(), `f: hooks.Stop: matcher "("`) {
		t.Errorf("bad matcher: %v", err)
	}
}

// TestHostileOutputIsBounded feeds what would fill memory or the terminal.
func TestHostileOutputIsBounded(t *testing.T) {
	long := strings.Repeat("\x1b[2Jé\xff", 1<<20)
	quoted, _ := json.Marshal(long)
	for _, out := range []Output{{Code: 2, Stderr: []byte(long)}, {Code: 9, Stderr: []byte(long)}, {Stdout: []byte(long)},
		{Stdout: []byte(`{"decision":` + string(quoted) + `}`)},
		{Stdout: []byte(`{"systemMessage":` + string(quoted) + `}`)}} {
		s, _ := New([]Handler{{Event: UserPromptSubmit, Command: long}},
			func(context.Context, Handler, []byte) (Output, error) { return out, nil })
		r := s.Fire(t.Context(), Call{Event: UserPromptSubmit})
		for _, text := range append(append(r.Warnings, r.Context...), r.Reason) {
			if len(text) > 2*maxSaid {
				t.Errorf("%d bytes came through", len(text))
			}
		}
		for _, w := range r.Warnings {
			if strings.ContainsAny(w, "\x1b\n") {
				t.Errorf("a warning has control characters: %.80q", w)
			}
		}
	}
}
