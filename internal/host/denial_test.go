package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/protocol"
	"kerf/internal/work/sandbox"
)

// TestDenialAsksToLeaveTheSandbox: what the sandbox refused may run without it when
// the user says so, once, and with what the first run came to kept when not.
func TestDenialAsksToLeaveTheSandbox(t *testing.T) {
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	c := calling(run("touch .kerf/made"), run("touch .kerf/made")) // protected, so refused inside
	h := scripted(t, c)
	file := filepath.Join(h.Config.Cwd, ".kerf", "made")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	l := open(t, h, protocol.OpenOptions{Settings: protocol.Settings{Approval: protocol.PolicyOnFailure,
		Sandbox: protocol.SandboxWorkspace}})
	a := l.asked()
	if !a.Command.Unsandboxed || a.Command.Command != "touch .kerf/made" ||
		!strings.Contains(a.Reason, "the sandbox blocked") {
		t.Fatalf("asked %+v %+v", a, a.Command)
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Deny, Words: "stay inside"})
	a = l.question()
	if got := output(c); !strings.Contains(got, "exit code 1") || !strings.Contains(got, "stay inside") {
		t.Errorf("the model was told %q", got)
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatal("it ran without the sandbox though the user said no")
	}
	l.submit(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	l.until(is[protocol.TurnCompleted])
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
