package executor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestWhatTheSandboxKeptMayRunAgainOutside: the user is asked under the policies that promise so, once, and what both runs
// changed is told. Under the others the model is told alone.
func TestWhatTheSandboxKeptMayRunAgainOutside(t *testing.T) {
	for p, asks := range map[protocol.ApprovalPolicy]bool{protocol.PolicyOnFailure: true, protocol.PolicyUntrusted: true,
		protocol.PolicyOnRequest: false, protocol.PolicyNever: false, protocol.PolicyAutoEdit: false} {
		for _, d := range []protocol.Decision{protocol.Once, protocol.Deny} {
			b := witnessed(t, nil)
			b.set.Approval = p
			for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "", "objects": "", "refs": "", "hooks": ""} {
				path := filepath.Join(b.dir, ".git", name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if text == "" && name != "config" {
					_ = os.Mkdir(path, 0o755)
				} else {
					b.write(filepath.Join(".git", name), text)
				}
			}
			outside := filepath.Join(b.dir, ".git", "hooks", "post-commit") // which programs obey that run outside
			var questions []protocol.Approval
			b.ask = func(a protocol.Approval) protocol.Answer {
				if a.Command == nil || !a.Command.Unsandboxed {
					return protocol.Answer{Decision: protocol.Once}
				}
				questions = append(questions, a)
				return protocol.Answer{Decision: d}
			}
			o := b.call("exec_command", map[string]any{"cmd": "echo x >> f; echo y > .git/hooks/post-commit"})
			_, err := os.Stat(outside)
			if made := err == nil; made != (asks && d.Allows()) || asks != (len(questions) == 1) {
				t.Errorf("%s, %s: made %v, asked %+v", p, d, made, questions)
			}
			if asks && len(questions) == 1 && !strings.Contains(questions[0].Reason, "the sandbox blocked something it did; run it again without the sandbox?") {
				t.Errorf("%s: asked %+v", p, questions)
			}
			if asks && d.Allows() && (!o.Success || len(o.Changes) == 0 || filepath.Base(string(o.Changes[0].Path)) != "f" || b.text("f") != "x\nx\n") ||
				!asks && (o.Success || len(o.Changes) != 1) {
				t.Errorf("%s, %s: %+v", p, d, o)
			}
		}
	}
}

// TestWhatOthersWroteIsFoundAtTheEndOfATurn, in files that the turn changed; it is entered as theirs. An agent leaves that
// to the session that it works for.
func TestWhatOthersWroteIsFoundAtTheEndOfATurn(t *testing.T) {
	b := witnessed(t, nil)
	b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	o := b.o
	o.Parent, o.Origin.Session, o.Origin.Client = b.Executor, "sub", "sub"
	child := *b
	child.Executor = New(o)
	t.Cleanup(child.Close)
	b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "one\n"}), true)
	child.want(child.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "1"}), true)
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "1", "new_string": "one"}), true)
	child.want(child.call("write_file", map[string]any{"file_path": "alone", "content": "the agent's\n"}), true)
	b.write("f", "one\nby hand\n")
	b.write("alone", "the agent's\nby hand, too\n") // the session itself never wrote it
	b.write("g", "not of this turn\n")
	if in := child.Settle(t.Context(), turn.Settle{Turn: "s1"}); len(in.Changes) != 0 {
		t.Errorf("the agent found %+v", in.Changes)
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	var found []string
	for _, c := range in.Changes {
		found = append(found, c.Cause+" "+filepath.Base(string(c.Path)))
	}
	slices.Sort(found)
	if d := in.Diff; !slices.Equal(found, []string{"outside alone", "outside f"}) || d == nil || strings.Contains(d.Diff, "by hand") ||
		!strings.Contains(d.Outside, "+by hand\n") || !strings.Contains(d.Outside, "+by hand, too") ||
		!strings.Contains(d.Diff, "+one") || !strings.Contains(d.Diff, "+the agent's") {
		t.Errorf("found %+v, %+v", in.Changes, in.Diff)
	}
}
