package running

import (
	"path/filepath"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
)

// TestWhatASessionDoes grows a record and asks after each step.
func TestWhatASessionDoes(t *testing.T) {
	home := t.TempDir()
	s := sessions.Open(sessions.Options{Home: home, Dir: filepath.Join(home, "sessions"), Cwd: "/w",
		Redact: func(b []byte) []byte { return b }})
	l, err := s.Create(rollout.Metadata{Cwd: "/w", Model: "m"}, false)
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, name, args string) history.ToolStarted {
		return history.ToolStarted{Turn: "t1", Call: protocol.CallID(id), Name: name, Args: []byte(args)}
	}
	for _, step := range []struct {
		name  string
		adds  history.Record
		state State
		what  string
	}{
		{"begun", history.SessionMeta{ID: l.ID, Cwd: "/w"}, Idle, ""},
		{"a turn", history.TurnContext{Turn: "t1"}, Asking, ""},
		{"a command", call("c1", "exec_command", `{"cmd":"make test"}`), Working, "make test"},
		{"another tool", call("c2", "grep", `{"pattern":"x"}`), Working, "grep"},
		{"a question", history.QuestionAsked{Turn: "t1", Question: "q1", Call: "c1", Asked: "make test"}, Waiting, "make test"},
		{"the other tool ends", history.ToolCall{Turn: "t1", Call: "c2", Name: "grep", Args: []byte(`{}`)}, Waiting, "make test"},
		{"an answer", history.Approval{Turn: "t1", Question: "q1", Call: "c1", Decision: protocol.Once}, Working, "make test"},
		{"the command ends", history.ToolCall{Turn: "t1", Call: "c1", Name: "exec_command", Args: []byte(`{}`)}, Asking, ""},
		{"the end", history.EventRecord{Turn: "t1", What: history.TurnCompleted}, Idle, ""},
		{"a question of a server", history.QuestionAsked{Question: "q2", Asked: "name?"}, Waiting, "name?"},
		{"withdrawn", history.Approval{Question: "q2", Decision: protocol.Void}, Idle, ""},
	} {
		if err := l.Writer.Append(rollout.Entry{Type: step.adds.Type(), Body: step.adds}); err != nil {
			t.Fatal(err)
		}
		list, err := List(t.Context(), s, "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", step.name, list, err)
		}
		if got := list[0]; got.State != step.state || got.What != step.what || got.Since.IsZero() {
			t.Errorf("%s: %s %q since %v, want %s %q", step.name, got.State, got.What, got.Since, step.state, step.what)
		}
	}
	if list, err := List(t.Context(), s, "/elsewhere"); err != nil || len(list) > 0 {
		t.Errorf("in another directory: %+v, %v", list, err)
	}
	l.Close()
	if list, err := List(t.Context(), s, ""); err != nil || len(list) > 0 {
		t.Errorf("closed: %+v, %v", list, err)
	}
}
