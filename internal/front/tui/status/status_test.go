package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/protocol"
)

func session() (*Session, *conversation.Conversation) {
	s := &Session{Home: "/home/u", Branch: "main",
		Price: func(model string, u protocol.Usage) (float64, bool) { return 0.05, model == "m" }}
	s.Event(protocol.SessionStarted{Session: "id",
		Settings: protocol.Settings{Model: "m", Effort: "high", Cwd: "/home/u/p",
			Approval: protocol.PolicyOnRequest, Sandbox: protocol.SandboxWorkspace}})
	c := conversation.New(conversation.Options{Format: func() conversation.Format { return conversation.Format{Width: 80} },
		Now: time.Now, Cost: s.Cost})
	return s, c
}

func TestLine(t *testing.T) {
	s, c := session()
	c.Event(protocol.Event{Msg: protocol.TokensUsed{Last: protocol.Usage{Input: 50},
		Total: protocol.Usage{Input: 2000, Cached: 1000}, Window: 100}})
	s.Event(protocol.TitleChanged{Title: "My\nwork"})
	s.Event(protocol.Agents{Agents: []protocol.Agent{{ID: "a", Name: "scout", State: "running"},
		{ID: "bbbbbbbbbbbb", State: "done"}}})
	x := Shown{Conversation: c, Vi: "NORMAL", Agent: "scout", Questions: 2}
	want := "  NORMAL · agent scout · workspace-write, on-request · m high · 50% context left · $0.050 · ~/p · main · " +
		"2.0k tokens (50% cached) · 1 agent · 2 questions · My ⏎ work"
	if d := cmp.Diff(want, s.Line(x, 300).Text()); d != "" {
		t.Error(d)
	}
	for width := 5; width < 200; width++ {
		if got := s.Line(x, width); got.Width() > width {
			t.Errorf("%q is wider than %d", got.Text(), width)
		}
	}
	if got := s.AgentName("a") + " " + s.AgentName("bbbbbbbbbbbb") + " " + s.AgentName("cc"); got != "scout bbbbbbbb cc" {
		t.Error(got)
	}
}

// TestTheUserChoosesTheItems: the line tells what was chosen, in that order, and what must not be missed.
func TestTheUserChoosesTheItems(t *testing.T) {
	s, c := session()
	s.ID = "id-1"
	s.Event(protocol.Servers{Servers: []protocol.Server{{Name: "a", State: "ready"}, {Name: "b", State: "failed"}}})
	x := Shown{Conversation: c, Vi: "INSERT", Questions: 2}
	for set, want := range map[string]string{
		"branch model":                        "  INSERT · 2 questions · main · m high",
		"current-dir git-branch branch":       "  INSERT · 2 questions · ~/p · main",
		"model-with-reasoning session-id":     "  INSERT · 2 questions · m high · id-1",
		"servers permissions agents commands": "  INSERT · 2 questions · MCP 1/2 · workspace-write, on-request",
	} {
		var err error
		if s.Items, err = Items(strings.Fields(set)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, s.Line(x, 300).Text()); d != "" {
			t.Errorf("%s: %s", set, d)
		}
	}
	if _, err := Items([]string{"model", "weather"}); err == nil || !strings.Contains(err.Error(), `"weather"`) {
		t.Errorf("an unknown item: %v", err)
	}
	if names, err := Items(nil); names != nil || err != nil {
		t.Errorf("no choice: %v, %v", names, err)
	}
}

func TestWindowTitle(t *testing.T) {
	s, c := session()
	x := Shown{Conversation: c}
	if got := s.WindowTitle(x); got != "p – kerf" {
		t.Error(got)
	}
	c.Event(protocol.Event{Msg: protocol.TurnStarted{}})
	s.Event(protocol.TitleChanged{Title: "T\x1b]0;x"})
	if got := s.WindowTitle(x); got != "● T<U+001B>]0;x – kerf" {
		t.Error(got)
	}
	x.Questions = 1
	if got := s.WindowTitle(x); !strings.HasPrefix(got, "? ") {
		t.Error(got)
	}
}

func TestPermissions(t *testing.T) {
	s := &Session{}
	for want, x := range map[string]protocol.Settings{"": {}, "plan": {Approval: protocol.PolicyPlan},
		"full access, asks nothing": {Sandbox: protocol.SandboxFull, Approval: protocol.PolicyNever},
		"full access, untrusted":    {Sandbox: protocol.SandboxFull, Approval: protocol.PolicyUntrusted},
		"read-only, never":          {Sandbox: protocol.SandboxReadOnly, Approval: protocol.PolicyNever}} {
		s.Settings = x
		if got, _ := s.Permissions(); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestShortHome(t *testing.T) {
	s := &Session{Home: "/home/u"}
	for path, want := range map[string]string{"/home/u": "~", "/home/u/a/b": "~/a/b", "/home/v": "/home/v"} {
		if got := s.ShortHome(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := (&Session{}).ShortHome("/home/u"); got != "/home/u" {
		t.Errorf("without a home: %q", got)
	}
}

func TestPagesSayWhatIsNotKnown(t *testing.T) {
	s, c := session()
	if got := s.UsageRows(c, 60)[0].Text(); got != "Tokens          none used yet" {
		t.Error(got)
	}
	s.Event(protocol.RateLimits{Values: map[string]string{"b": "2", "a": "1"}})
	var names []string
	for _, l := range s.Rows(c, "1.0", 60) {
		names = append(names, strings.Fields(l.Text())[0])
	}
	if d := cmp.Diff([]string{"Version", "Session", "Directory", "Branch", "Model", "May", "Tokens", "a", "b"},
		names); d != "" {
		t.Error(d)
	}
}
