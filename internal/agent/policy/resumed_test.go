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
					got, told := Resumed(n, protocol.Settings{}, w, false)
					if sandboxes[got.Sandbox] != min(nowRank, wasRank) || approvals[got.Approval] != min(nowARank, wasARank) {
						t.Errorf("now %v, was %v: got %v", n, w, got)
					}
					if (told != "") != (wasRank > nowRank) {
						t.Errorf("now %v, was %v: told %q", n, w, told)
					}
					if got, _ := Resumed(n, protocol.Settings{Sandbox: now, Approval: nowA}, w, false); got != n {
						t.Errorf("asked for %v, was %v: got %v", n, w, got)
					}
					if got, told := Resumed(n, protocol.Settings{Edits: protocol.EditsAsk}, w, false); got != n || told != "" {
						t.Errorf("an editor, now %v, was %v: got %v", n, w, got)
					}
				}
			}
		}
	}
}

// TestResumedUndecided: where nothing is decided, the sandbox that the user named for the session
// holds, but never none.
func TestResumedUndecided(t *testing.T) {
	now := protocol.Settings{Sandbox: protocol.SandboxReadOnly}
	for was, want := range map[protocol.SandboxMode]protocol.SandboxMode{protocol.SandboxReadOnly: protocol.SandboxReadOnly,
		protocol.SandboxWorkspace: protocol.SandboxWorkspace, protocol.SandboxFull: protocol.SandboxReadOnly} {
		got, told := Resumed(now, protocol.Settings{}, protocol.Settings{Sandbox: was}, true)
		if got.Sandbox != want || (told != "") != (was == protocol.SandboxFull) {
			t.Errorf("was %s: got %s, told %q", was, got.Sandbox, told)
		}
		asked := protocol.Settings{Sandbox: protocol.SandboxReadOnly}
		if got, _ := Resumed(now, asked, protocol.Settings{Sandbox: was}, true); got != now {
			t.Errorf("asked for read-only, was %s: got %s", was, got.Sandbox)
		}
	}
}

func TestResumedModel(t *testing.T) {
	now := protocol.Settings{Model: "b", Effort: "low"}
	was := protocol.Settings{Model: "a", Effort: "high"}
	if got, _ := Resumed(now, protocol.Settings{}, was, false); got != was {
		t.Errorf("got %v, want %v", got, was)
	}
	if got, _ := Resumed(now, now, was, true); got != now {
		t.Errorf("got %v, want %v", got, now)
	}
}
