package policy

import (
	"testing"

	"kerf/internal/protocol"
)

// TestResumedNeverWider tries all pairs of modes: what nobody asked for never allows more
// than what holds now, nor than what the session had.
func TestResumedNeverWider(t *testing.T) {
	sandboxes := []protocol.SandboxMode{protocol.SandboxReadOnly, protocol.SandboxWorkspace, protocol.SandboxFull}
	approvals := []protocol.ApprovalPolicy{protocol.PolicyPlan, protocol.PolicyUntrusted, protocol.PolicyOnRequest,
		protocol.PolicyOnFailure, protocol.PolicyAutoEdit, protocol.PolicyNever}
	for _, now := range sandboxes {
		for _, was := range sandboxes {
			for _, nowA := range approvals {
				for _, wasA := range approvals {
					n, w := protocol.Settings{Sandbox: now, Approval: nowA}, protocol.Settings{Sandbox: was, Approval: wasA}
					got, told := Resumed(n, protocol.Settings{}, w, false)
					if got.Sandbox.Rank() != min(now.Rank(), was.Rank()) || got.Approval.Rank() != min(nowA.Rank(), wasA.Rank()) {
						t.Errorf("now %v, was %v: got %v", n, w, got)
					}
					if (told != "") != (was.Rank() > now.Rank()) {
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
