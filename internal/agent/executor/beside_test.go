package executor

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/executor/worktree"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
	"kerf/internal/work/workspace"
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
	o := b.call("exec_command", map[string]any{"cmd": "touch f", "login": true})
	if b.want(o, false, "INVALID_ARGUMENTS", "login shells are switched off here", "Leave login out"); b.text("f") != "(none)" {
		t.Error("it ran")
	}
	b.want(b.call("exec_command", map[string]any{"cmd": "touch f"}), true)
	b.Executor = b.with(func(o *Options) { o.Shell.Login = true })
	p := b.Prepare(t.Context(), turn.Prepare{Turn: "t1", Settings: b.set,
		Call: tool.Call{ID: "c", Name: "exec_command", Args: json.RawMessage(`{"cmd":"touch f","login":true}`)}})
	if p.Outcome != nil || p.Proposal == nil { // it is not run: profiles are the user's
		t.Errorf("where they are allowed: %+v", p.Outcome)
	}
}

// failing is a bench whose commits work on a tree that asks before it changes the disk.
func failing(t *testing.T, before func(op, path string) error) *bench {
	t.Helper()
	return newBenchIn(t, func(o *Options, ws *workspace.Workspace) {
		tr, err := tree.Open(tree.Options{Roots: ws.Roots, Boundary: ws.Boundary, Before: before})
		if err != nil {
			t.Fatal(err)
		}
		to := ws.Txn.Options
		to.Tree = tr
		if o.Work, err = txn.Open(to); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.Work.Close() })
	})
}

// TestATemporaryFileThatIsLeft is told to the user and to the model, of whatever left it.
func TestATemporaryFileThatIsLeft(t *testing.T) {
	tried := map[string]bool{}
	b := failing(t, func(op, path string) error {
		if op != "unlink" || !strings.Contains(path, ".kerf-") || tried[path] {
			return nil
		}
		tried[path] = true // the next commit removes it
		return errors.New("not permitted")
	})
	b.write("f", "one\n")
	for _, c := range []struct {
		name string
		args map[string]any
	}{{"edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"}}, {"undo", map[string]any{}}} {
		o := b.call(c.name, c.args)
		b.want(o, true, "\nwarning TEMPORARY_FILE_LEFT: a temporary file of Kerf's own is left: ", "run: kerf recover")
		if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], "a temporary file of Kerf's own is left: ") || strings.Count(o.Text, "TEMPORARY_FILE_LEFT") != 1 {
			t.Errorf("%s: warned %q, told %s", c.name, o.Warnings, o.Text)
		}
	}
	b.want(b.call("write_file", map[string]any{"file_path": "g", "content": "x\n"}), true)
	in := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{Paths: []string{"g"}}}, nil)
	if in.Report.Problem != "" || len(in.Changes) != 1 || len(in.Warnings) != 1 || !strings.HasPrefix(in.Warnings[0], "a temporary file of Kerf's own is left: ") {
		t.Errorf("the user's undo: %+v", in)
	}
	path := filepath.ToSlash(filepath.Join(b.dir, "f"))
	pre, err := b.o.Tree.Read(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := delta.Set{{Path: path, Pre: pre, Post: delta.NewFile([]byte("two\n"), pre.Mode)}}
	said, err := b.commitMerge(t.Context(), &worktree.Tree{}, worktree.Plan{Set: set}, team.Spawn{Name: "agent-1", Settings: b.set})
	if err != nil || len(said) != 2 || said[0] != "merged 1 files: f" || !strings.HasPrefix(said[1], "a temporary file of Kerf's own is left: ") {
		t.Errorf("a merge: %q, %v", said, err)
	}
	stale := delta.Change{Path: path, Pre: pre, Post: delta.NewFile([]byte("three\n"), pre.Mode)}
	made := delta.Change{Path: path + ".new", Post: delta.NewFile([]byte("new\n"), pre.Mode)}
	merge := func(set ...delta.Change) {
		said, err = b.commitMerge(t.Context(), &worktree.Tree{}, worktree.Plan{Set: set}, team.Spawn{Name: "agent-1", Settings: b.set})
	}
	if merge(stale, made); err == nil || !strings.Contains(err.Error(), "changed at the very moment") || len(said) != 1 || said[0] != "merged 1 files: f.new" {
		t.Errorf("a merge of which one file fails: %q, %v", said, err)
	}
	if merge(stale); err == nil || len(said) != 0 {
		t.Errorf("a merge of which every file fails: %q, %v", said, err)
	}
}
