package command

import (
	"context"
	"testing"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// A host is asked about once when the answer is for the session, never where
// nobody is to be asked, and again after an answer for once.
func TestHostsAreAskedAboutOnce(t *testing.T) {
	asked, by := 0, protocol.ByUser
	m := RunOptions{Settings: protocol.Settings{Approval: protocol.PolicyOnRequest}}
	say := func(d protocol.Decision) RunOptions {
		m.Questions = NewQuestions(t.Context(), func(_ context.Context, a protocol.Approval) turn.Reply {
			asked++
			if a.Network == nil || a.Network.Command != "fetch" || a.Network.Port != 443 {
				t.Errorf("the question is %+v", a)
			}
			return turn.Reply{Answer: protocol.Answer{Decision: d}, By: by}
		})
		return m
	}
	var h hosts
	cmd := tool.Command{Line: "fetch"}
	for i, c := range []struct {
		host  string
		say   protocol.Decision
		want  bool
		asked int
	}{
		{"a.test", protocol.Deny, false, 1}, {"a.test", protocol.Once, true, 2}, {"a.test", protocol.ForSession, true, 3}, {"a.test", protocol.Deny, true, 3}, {"b.test", protocol.Deny, false, 4},
	} {
		if got := h.mayReach(cmd, say(c.say), c.host, 443); got != c.want || asked != c.asked {
			t.Errorf("%d: got %v, asked %d times", i, got, asked)
		}
	}
	never := say(protocol.Once)
	never.Settings.Approval = protocol.PolicyNever
	confined := say(protocol.ForSession)
	confined.Confined = true
	if h.mayReach(cmd, confined, "e.test", 443) {
		t.Error("who is asked is not the user")
	}
	if h.mayReach(cmd, never, "c.test", 443) || h.mayReach(cmd, RunOptions{}, "c.test", 443) ||
		asked != 4 {
		t.Error("somebody was asked who must not be")
	}
	by = protocol.ByNobody // in a headless session the core says no
	for range 2 {
		if h.mayReach(cmd, say(protocol.Deny), "d.test", 443) {
			t.Error("a host is reached though nobody answers")
		}
	}
	if asked != 5 {
		t.Errorf("nobody answers: asked %d times, want 5", asked)
	}
}
