package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/sandbox"
	"kerf/internal/work/workspace"
)

// witnessed is a bench whose commands run in the sandbox and are seen by the witness.
func witnessed(t *testing.T, more func(*Options)) *bench {
	t.Helper()
	if err := sandbox.Probe(t.Context()); err != nil {
		t.Skip("no sandbox works here: ", err)
	}
	b := newBenchIn(t, func(o *Options, ws *workspace.Workspace) {
		if ws.Witness == nil {
			t.Fatal(ws.Unwitnessed)
		}
		o.Witness, o.Unrecorded = ws.Witness, &unrecorded.Guard{Room: ws.Room}
		if more != nil {
			more(o)
		}
	})
	b.set.Sandbox = protocol.SandboxWorkspace
	return b
}

// TestWitnessedCommands: what they change is known to be theirs, also where they run on, and what others do
// meanwhile is not.
func TestWitnessedCommands(t *testing.T) {
	b := witnessed(t, nil)
	b.write("f", "one\n")
	o := b.call("exec_command", map[string]any{"cmd": "echo two > f; rm -f none; echo new > g"})
	b.want(o, true, "exit code 0")
	if len(o.Changes) != 2 || o.Changes[0].Certainty != protocol.Proven || !o.Changes[0].Exact || o.Changes[0].Cause != "command" {
		t.Errorf("changes: %+v", o.Changes)
	}
	if body := o.Body.(protocol.Command); len(body.Changes) != 2 {
		t.Errorf("shown: %+v", body.Changes)
	}
	on := b.call("exec_command", map[string]any{"cmd": "echo a > a; while [ ! -e go ]; do sleep 0.01; done; echo b > b; echo ended", "yield_time_ms": 300})
	b.want(on, true, "still running")
	process := on.Body.(protocol.Command).Process
	b.write("mine", "by hand\n")
	b.write("go", "")
	var seen []string
	for _, c := range on.Changes {
		seen = append(seen, filepath.Base(string(c.Path))+" "+string(c.Certainty))
	}
	for range 200 {
		p := b.call("write_stdin", map[string]any{"session_id": process, "yield_time_ms": 250})
		for _, c := range p.Changes {
			seen = append(seen, filepath.Base(string(c.Path))+" "+string(c.Certainty))
		}
		if strings.Contains(p.Text, "exit code") || !p.Success {
			break
		}
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	for _, c := range in.Changes { // those that were entered while nobody asked
		seen = append(seen, filepath.Base(string(c.Path))+" "+string(c.Certainty))
	}
	got := strings.Join(seen, ",")
	if !strings.Contains(got, "a proven") || !strings.Contains(got, "b proven") || strings.Contains(got, "mine proven") {
		t.Errorf("told %s", got)
	}
	if in.Diff == nil || !in.Diff.Exact || !strings.Contains(in.Diff.Diff, "+two") || !strings.Contains(in.Diff.Diff, "+b") || strings.Contains(in.Diff.Diff, "by hand") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
	u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{}}, nil)
	if u.Report.Problem != "" || b.text("f") != "one\n" || b.text("b") != "(none)" || b.text("mine") != "by hand\n" {
		t.Errorf("%+v: f %q, b %q, mine %q", u.Report, b.text("f"), b.text("b"), b.text("mine"))
	}
}

// TestKillingAWitnessedCommand: what it did until then is in the turn.
func TestKillingAWitnessedCommand(t *testing.T) {
	b := witnessed(t, nil)
	on := b.call("exec_command", map[string]any{"cmd": "echo a > a; sleep 1000", "yield_time_ms": 300})
	b.want(on, true, "still running")
	for b.text("a") != "a\n" {
		time.Sleep(time.Millisecond)
	}
	if err := b.Kill(on.Body.(protocol.Command).Process); err != nil {
		t.Fatal(err)
	}
	if in := b.Settle(t.Context(), turn.Settle{Turn: "t1"}); in.Diff == nil || !in.Diff.Exact || !strings.Contains(in.Diff.Diff, "+a") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestACommandThatCannotBeRecorded: the changes of one that ran are told, and that they are in no ledger;
// its call fails.
func TestACommandThatCannotBeRecorded(t *testing.T) {
	b := witnessed(t, nil)
	b.write("f", "one\n")
	b.o.Work.Ledger.Hook = func(op, _ string) error {
		if op == "write" {
			return errors.New("no space left")
		}
		return nil
	}
	o := b.call("exec_command", map[string]any{"cmd": "echo two > f"})
	b.want(o, false, "not all that the command changed was recorded", "no space left")
	b.o.Work.Ledger.Hook = nil
	if in := b.Settle(t.Context(), turn.Settle{Turn: "t1"}); in.Diff == nil || in.Diff.Exact {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "f")); err != nil {
		t.Error(err)
	}
}

// TestACommandLeavesTheSandboxByARule: unasked, and by its answer where it is asked about; no other command does.
func TestACommandLeavesTheSandboxByARule(t *testing.T) {
	b := witnessed(t, func(o *Options) {
		list, err := policy.ParseRules("r", []byte("touch -> allow unsandboxed\n"))
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = list
	})
	b.set.Approval = protocol.PolicyOnRequest
	outside := filepath.Join(filepath.Dir(b.dir), "outside")
	asked := 0
	b.ask = func(a protocol.Approval) protocol.Answer {
		if asked++; a.Command == nil || !a.Command.Unsandboxed {
			t.Errorf("asked %+v", a)
		}
		return protocol.Answer{Decision: protocol.Once}
	}
	b.call("exec_command", map[string]any{"cmd": "mkdir " + outside})
	if _, err := os.Stat(outside); err == nil || asked != 0 {
		t.Errorf("made from inside: %v, asked %d times", err, asked)
	}
	args := map[string]any{"cmd": "touch " + outside, "sandbox_permissions": "require_escalated", "justification": "it lies there"}
	b.want(b.call("exec_command", args), true)
	if _, err := os.Stat(outside); err != nil || asked != 0 {
		t.Errorf("by the rule: %v, asked %d times", err, asked)
	}
	args["cmd"] = "mkdir " + outside + ".d"
	b.want(b.call("exec_command", args), true)
	if _, err := os.Stat(outside + ".d"); err != nil || asked != 1 {
		t.Errorf("by the answer: %v, asked %d times", err, asked)
	}
}
