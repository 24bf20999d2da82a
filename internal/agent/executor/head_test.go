package executor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// TestAHeadThatOthersMoved is a reason to ask, once it was answered no longer; it is asked about changes and commands,
// but not about those that only look, and not where nobody is to be asked.
func TestAHeadThatOthersMoved(t *testing.T) {
	b := newBench(t, nil)
	for name, text := range map[string]string{"config": "", "objects/x": "", "refs/heads/main": strings.Repeat("a", 40) + "\n",
		"refs/heads/other": strings.Repeat("b", 40) + "\n"} {
		if err := os.MkdirAll(filepath.Join(b.dir, ".git", filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		b.write(filepath.Join(".git", name), text)
	}
	to := func(branch string) { b.write(filepath.Join(".git", "HEAD"), "ref: refs/heads/"+branch+"\n") }
	to("main")
	b.want(b.call("exec_command", map[string]any{"cmd": "true"}), true)
	to("other")
	b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "x\n"}), true) // nobody is to be asked
	b.set.Approval = protocol.PolicyAutoEdit
	b.want(b.call("exec_command", map[string]any{"cmd": "cat f"}), true, "x")
	var asked []protocol.Approval
	answer := protocol.Deny
	b.ask = func(a protocol.Approval) protocol.Answer {
		asked = append(asked, a)
		return protocol.Answer{Decision: answer}
	}
	change := map[string]any{"file_path": "f", "content": "y\n"}
	b.want(b.call("write_file", change), false)
	b.want(b.call("exec_command", map[string]any{"cmd": "touch g"}), false)
	answer = protocol.Once
	b.want(b.call("write_file", change), true)
	b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "z\n"}), true)
	if len(asked) != 3 {
		t.Fatalf("asked %+v", asked)
	}
	for _, a := range asked {
		if !strings.Contains(a.Reason, "HEAD moved, and not by this session: it was main at aaaaaaaaa and is other at bbbbbbbbb") {
			t.Errorf("asked %+v", a)
		}
	}
	if a := asked[0]; a.Change == nil || !strings.Contains(a.Change.Diff, "-x\n+y\n") {
		t.Errorf("about a change: asked %+v", a)
	}
	if a := asked[1]; a.Command == nil || a.Command.Command != "touch g" || a.Command.Cwd != b.dir || a.Command.Unsandboxed {
		t.Errorf("about a command: asked %+v", a)
	}
}

// TestALookThatWasBrokenOff makes the turn's diff uncertain: what changed until then is not known.
func TestALookThatWasBrokenOff(t *testing.T) {
	b := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := b.Shell(ctx, turn.RunShell{Turn: "t1", Call: "u1", Settings: b.set, Command: "touch f"}, b.live()).Outcome
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if b.want(o, false); in.Diff == nil || in.Diff.Exact || !strings.Contains(in.Diff.Note, "not certain: the roots could not be scanned: ") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}
