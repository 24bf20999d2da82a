package policy

import (
	"testing"

	"kerf/internal/protocol"
)

// TestResumedNeverWider tries all pairs of modes: what nobody asked for never allows more
// than what holds now, nor than what the session had.
func TestResumedNeverWider(t *testing.T) {
	for now, nowRank := range sandboxes {
		for was, wasRank := range sandboxes {
			for nowA, nowARank := range approvals {
				for wasA, wasARank := range approvals {
					n, w := protocol.Settings{Sandbox: now, Approval: nowA}, protocol.Settings{Sandbox: was, Approval: wasA}
					got, told := Resumed(n, protocol.Settings{}, w)
					if sandboxes[got.Sandbox] != min(nowRank, wasRank) || approvals[got.Approval] != min(nowARank, wasARank) {
						t.Errorf("now %v, was %v: got %v", n, w, got)
					}
					if (told != "") != (wasRank > nowRank) {
						t.Errorf("now %v, was %v: told %q", n, w, told)
					}
					if got, _ := Resumed(n, protocol.Settings{Sandbox: now, Approval: nowA}, w); got != n {
						t.Errorf("asked for %v, was %v: got %v", n, w, got)
					}
					if got, told := Resumed(n, protocol.Settings{Edits: protocol.EditsAsk}, w); got != n || told != "" {
						t.Errorf("an editor, now %v, was %v: got %v", n, w, got)
					}
				}
			}
		}
	}
}

func TestResumedModel(t *testing.T) {
	now := protocol.Settings{Model: "b", Effort: "low"}
	was := protocol.Settings{Model: "a", Effort: "high"}
	if got, _ := Resumed(now, protocol.Settings{}, was); got != was {
		t.Errorf("got %v, want %v", got, was)
	}
	if got, _ := Resumed(now, now, was); got != now {
		t.Errorf("got %v, want %v", got, now)
	}
}
