package executor

import (
	"errors"
	"strings"
	"testing"

	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// TestWhatWasLeftOutOfTheArgumentsIsTold of calls that are answered at once, and of those that run. Hooks are told the
// arguments under the names that the tool has for them.
func TestWhatWasLeftOutOfTheArgumentsIsTold(t *testing.T) {
	b, told := hooked(t, map[hooks.Event]string{hooks.PreToolUse: "{}"})
	b.Executor = b.with(func(o *Options) {
		o.Manner = func(string) tool.Manner { return tool.Manner{Lenient: true} }
	})
	b.write("f", "one\n")
	for name, args := range map[string]map[string]any{"read_file": {"path": "f", "colour": "red"},
		"write_file": {"path": "g", "content": "x\n", "colour": "red"}} {
		b.want(b.call(name, args), true, "\n(the argument colour is unknown here and had no effect)")
	}
	if text := strings.Join(*told, "\n"); strings.Count(text, `"file_path":"`) != 2 || strings.Contains(text, "colour") {
		t.Errorf("hooks are told %s", text)
	}
}

// with is an executor with other options in the place of that of b.
func (b *bench) with(more func(*Options)) *Executor {
	o := b.o
	more(&o)
	h := New(o)
	b.t.Cleanup(h.Close)
	return h
}

// blindTree cannot look at files any more once it has an error.
type blindTree struct {
	files.Tree
	err error
}

func (t *blindTree) ReadEntry(path string, limit int64) (*delta.Image, error) {
	if t.err != nil {
		return nil, t.err
	}
	return t.Tree.ReadEntry(path, limit)
}

// TestAWriteWhoseEndNobodyCanLookAt makes the diff of its turn uncertain, which names the file and why.
func TestAWriteWhoseEndNobodyCanLookAt(t *testing.T) {
	var blind *blindTree
	b := newBench(t, func(o *Options) {
		blind = &blindTree{Tree: o.Tree}
		o.Tree = blind
		o.Client = &protocol.ClientServices{Files: lostEditor{errors.New("the connection was lost")}}
	})
	b.write("f", "one\n")
	b.want(b.call("read_file", map[string]any{"file_path": "f"}), true)
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"}), false)
	blind.err = errors.New("the disk is gone")
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if d := in.Diff; d == nil || d.Exact || len(d.NotCovered) != 1 || !strings.HasSuffix(d.NotCovered[0], "/w/f (the disk is gone)") ||
		d.Note != "not certain: "+d.NotCovered[0] {
		t.Errorf("the turn's diff is %+v", d)
	}
}

// TestAChangeThatNoLongerFits when the user allows it is refused with what would help, as it would have been before.
func TestAChangeThatNoLongerFits(t *testing.T) {
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyUntrusted
	b.write("f", "one\n")
	b.ask = func(protocol.Approval) protocol.Answer {
		b.write("f", "by hand\n")
		return protocol.Answer{Decision: protocol.Once}
	}
	o := b.call("apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Update File: f\n@@\n-one\n+two\n*** End Patch\n"})
	b.want(o, false, "PATCH_FAILED", "the lines are not in the file")
	if body, ok := o.Body.(protocol.ToolCall); !ok || body.Tool != "apply_patch" || body.Error != o.Text || !strings.Contains(string(body.Args), "*** Update File: f") {
		t.Errorf("shown %+v", o.Body)
	}
}

// TestACallThatAHookRefusesIsShownAsThatCall, whether it would have run or was answered already.
func TestACallThatAHookRefusesIsShownAsThatCall(t *testing.T) {
	b, _ := hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("deny", "not today")})
	b.write("f", "one\n")
	if body, ok := b.call("read_file", map[string]any{"file_path": "f"}).Body.(protocol.ToolCall); !ok || body.Tool != "read_file" {
		t.Errorf("a read: shown %+v", body)
	}
	if body, ok := b.call("exec_command", map[string]any{"cmd": "touch g"}).Body.(protocol.Command); !ok || body.Command != "touch g" {
		t.Errorf("a command: shown %+v", body)
	}
	if body, ok := b.call("write_file", map[string]any{"file_path": "g", "content": "x\n"}).Body.(protocol.FileChange); !ok || len(body.Changes) != 1 {
		t.Errorf("a change: shown %+v", body)
	}
}

// TestLoginShellsAreThoseThatTheUserAllows.
func TestLoginShellsAreThoseThatTheUserAllows(t *testing.T) {
	b := newBench(t, nil)
	login := map[string]any{"cmd": "touch f", "login": true}
	o := b.call("exec_command", login)
	if b.want(o, false, "INVALID_ARGUMENTS", "login shells are switched off here", "Leave login out"); b.text("f") != "(none)" {
		t.Error("it ran")
	}
	b.want(b.call("exec_command", map[string]any{"cmd": "touch f"}), true)
	b.Executor = b.with(func(o *Options) { o.Shell.Login = true })
	b.want(b.call("exec_command", login), true)
}
