package executor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/work/boundary"
	"kerf/internal/work/ledger"
	"kerf/internal/work/proc"
	"kerf/internal/work/search"
	"kerf/internal/work/txn"
	"kerf/internal/work/workspace"
)

// countingTree counts the reads of files.
type countingTree struct {
	files.Tree
	reads map[string]int // by the name of the file
}

func (t *countingTree) Read(path string, limit int64) (*delta.Image, error) {
	t.reads[filepath.Base(path)]++
	return t.Tree.Read(path, limit)
}

// bench is an executor over a workspace of its own, outside the sandbox.
type bench struct {
	*Executor
	t    *testing.T
	dir  string
	tree *countingTree
	ask  func(protocol.Approval) protocol.Answer
	set  protocol.Settings
	n    int
}

func newBench(t *testing.T, more func(*Options)) *bench {
	t.Helper()
	return newBenchIn(t, func(o *Options, _ *workspace.Workspace) {
		if more != nil {
			more(o)
		}
	})
}

// newBenchIn is newBench for those that use the workspace.
func newBenchIn(t *testing.T, more func(*Options, *workspace.Workspace)) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "w")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(workspace.Options{Home: filepath.Join(base, "home"), Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, tree: &countingTree{Tree: ws.Tree, reads: map[string]int{}},
		set: protocol.Settings{Cwd: dir, Sandbox: protocol.SandboxFull, Approval: protocol.PolicyNever}}
	o := Options{Cwd: dir, Base: dir, Tree: b.tree, Work: ws.Txn, Images: ws.Store.Get, Keep: ws.Store.Put,
		Scanner: ws.Scanner,
		Search:  search.New(search.Options{Roots: []string{dir}}), Origin: txn.Origin{Session: "s", Client: "test"},
		Sandbox: func(m protocol.SandboxMode) boundary.Policy {
			return boundary.Policy{Mode: string(m), Roots: []string{dir}}
		},
		Env:          func(bool) []string { return proc.Environment(os.Environ(), proc.EnvPolicy{Inherit: "all"}) },
		OutputTokens: 10_000,
		Redact:       func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hush-hush", "[redacted]")) }}
	more(&o, ws)
	b.Executor = New(o)
	t.Cleanup(func() { b.Close(); _ = ws.Close() })
	return b
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) text(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		return "(none)"
	}
	return string(data)
}

// call prepares and runs one call, and answers what is asked.
func (b *bench) call(name string, args map[string]any) turn.Outcome {
	b.t.Helper()
	b.n++
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	c := tool.Call{ID: protocol.CallID("c" + string(rune('a'+b.n))), Name: name, Args: raw}
	ctx := b.t.Context()
	p := b.Prepare(ctx, turn.Prepare{Turn: "t1", Settings: b.set, Call: c})
	if p.Outcome != nil {
		return *p.Outcome
	}
	run := turn.Run{Call: c.ID, Proposal: p.Proposal}
	ask := p.Approval
	if p.Verdict != turn.Ask {
		ask = nil
	}
	for {
		if ask != nil {
			run.Answer = b.ask(*ask)
			if run.Decision = run.Answer.Decision; !run.Decision.Allows() {
				return turn.Outcome{Text: "rejected", Declined: true}
			}
		}
		switch in := b.Run(ctx, run, b.live()).(type) {
		case turn.Finished:
			return in.Outcome
		case turn.AskAgain:
			run.Proposal, run.Try, ask = in.Proposal, run.Try+1, &in.Approval
		}
	}
}

func (b *bench) live() Live {
	return Live{Show: func(string) {}, Ask: func(_ context.Context,
		a protocol.Approval) turn.Reply {
		return turn.Reply{Answer: b.ask(a)}
	}}
}

func (b *bench) want(o turn.Outcome, ok bool, parts ...string) {
	b.t.Helper()
	if o.Success != ok {
		b.t.Errorf("success %v, want %v: %s", o.Success, ok, o.Text)
	}
	for _, p := range parts {
		if !strings.Contains(o.Text, p) {
			b.t.Errorf("%q is not in %q", p, o.Text)
		}
	}
}

// TestEditIsReadAndWritten: a change is proposed from one read of the file, committed,
// undone, redone and part of the turn's diff.
func TestEditIsReadAndWritten(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\ntwo\nthree\n")
	b.want(b.call("read_file", map[string]any{"file_path": "f"}), true, "two")
	clear(b.tree.reads)
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "two", "new_string": "2"})
	b.want(o, true, "newVersion")
	if b.tree.reads["f"] != 1 {
		t.Errorf("the file was read %d times for an edit that nobody was asked about", b.tree.reads["f"])
	}
	if len(o.Changes) != 1 || b.text("f") != "one\n2\nthree\n" {
		t.Errorf("%d changes, file %q", len(o.Changes), b.text("f"))
	}
	b.want(b.call("undo", map[string]any{}), true, "undone")
	if b.text("f") != "one\ntwo\nthree\n" {
		t.Errorf("undone: %q", b.text("f"))
	}
	b.want(b.call("undo", map[string]any{"redo": true}), true, "redone")
	b.want(b.call("write_file", map[string]any{"file_path": "g", "content": "new\n"}), true)
	b.want(b.call("list_dir", map[string]any{"path": b.dir}), true, "g")
	b.want(b.call("grep", map[string]any{"pattern": "new"}), true, "g")
	b.want(b.call("glob", map[string]any{"pattern": "*"}), true, "f")
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !strings.Contains(in.Diff.Diff, "+2") || in.Diff.Files != 2 {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
	u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{}}, nil)
	if u.Report.Problem != "" || b.text("g") != "(none)" {
		t.Errorf("%+v, g is %q", u.Report, b.text("g"))
	}
	if g := b.Gather(t.Context(), turn.Gather{Turn: "t2"}, nil); len(g.Notices) == 0 {
		t.Error("the model is not told of the undo")
	}
}

// TestUndoAsksAboutWhatNobodySaw: what nobody saw being changed stays unless the user
// says that it goes, too. Where there is nobody to ask, it stays and is named.
func TestUndoAsksAboutWhatNobodySaw(t *testing.T) {
	for _, says := range []protocol.Decision{"", protocol.Deny, protocol.Once} {
		b := newBench(t, nil)
		b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "ours\n"}), true)
		list, err := b.o.Work.Ledger.Read(0)
		if err != nil || len(list) == 0 {
			t.Fatal(err)
		}
		b.write("g", "whose?\n")
		img := delta.NewFile([]byte("whose?\n"), 0o644)
		e := ledger.Entry{Session: list[0].Session, Turn: list[0].Turn, Call: list[0].Call, Cause: ledger.CauseCommand,
			Certainty: ledger.Unproven, Exact: true,
			Changes: ledger.ChangesOf(delta.Set{{Path: filepath.ToSlash(filepath.Join(b.dir, "g")), Post: img}})}
		if err := b.o.Work.Ledger.Append(&e); err != nil {
			t.Fatal(err)
		}
		var asked []string
		ask := func(_ context.Context, a protocol.Approval) turn.Reply {
			asked = append(asked, a.Reason)
			if c := a.Change; len(c.Changes) != 1 || !strings.HasSuffix(c.Changes[0].Path, "/g") || !c.Unseen ||
				!strings.Contains(c.Diff, "-whose?") || strings.Contains(c.Diff, "ours") {
				t.Errorf("shown %+v", c)
			}
			return turn.Reply{Answer: protocol.Answer{Decision: says}}
		}
		if says == "" {
			ask = nil
		}
		u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{}}, ask).Report
		if u.Problem != "" || b.text("f") != "(none)" {
			t.Errorf("%q: %+v, f is %q", says, u, b.text("f"))
		}
		left := slices.ContainsFunc(u.Files, func(f protocol.UndoFile) bool { return f.Outcome == "left" })
		if stays := b.text("g") != "(none)"; stays != (says != protocol.Once) || left != stays {
			t.Errorf("%q: g is %q, told %+v", says, b.text("g"), u.Files)
		}
		if ask != nil && (len(asked) != 1 || !strings.Contains(asked[0], "nobody saw who changed g;")) {
			t.Errorf("%q: asked %q", says, asked)
		}
	}
}

// TestChangeIsAskedAbout: a change that the user must allow is shown as a diff; what the
// user edits is asked again, and a file that moves meanwhile is proposed anew.
func TestChangeIsAskedAbout(t *testing.T) {
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyUntrusted
	b.write("f", "one\ntwo\n")
	b.call("read_file", map[string]any{"file_path": "f"})
	asked := 0
	b.ask = func(a protocol.Approval) protocol.Answer {
		asked++
		if a.Change == nil || !strings.Contains(a.Change.Diff, "-two") {
			t.Errorf("asked %+v", a)
		}
		if asked == 1 { // somebody adds a line meanwhile
			b.write("f", "zero\none\ntwo\n")
		}
		return protocol.Answer{Decision: protocol.Once}
	}
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "two", "new_string": "2"}), true)
	if b.text("f") != "zero\none\n2\n" || asked != 2 {
		t.Errorf("asked %d times, file %q", asked, b.text("f"))
	}
	b.ask = func(protocol.Approval) protocol.Answer { return protocol.Answer{Decision: protocol.Deny} }
	if o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "2", "new_string": "3"}); !o.Declined {
		t.Errorf("%+v", o)
	}
	b.ask = func(protocol.Approval) protocol.Answer { return protocol.Answer{Decision: protocol.ForSession} }
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "2", "new_string": "3"}), true)
	b.ask = func(a protocol.Approval) protocol.Answer { t.Errorf("asked again: %+v", a); return protocol.Answer{} }
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "3", "new_string": "4"}), true)
}

// TestCommandsAreScanned: what a command changes is found, what it prints is bounded and
// redacted, and one that takes long runs on.
func TestCommandsAreScanned(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	b.want(b.call("exec_command", map[string]any{"cmd": "true"}), true, "exit code 0")
	o := b.call("exec_command", map[string]any{"cmd": "echo two > f; echo hush-hush"})
	b.want(o, true, "[redacted]")
	if len(o.Changes) != 1 || o.Changes[0].Cause != "command" {
		t.Errorf("changes: %+v", o.Changes)
	}
	b.want(b.call("exec_command", map[string]any{"cmd": "exit 3"}), false, "exit code 3")
	b.want(b.call("exec_command", map[string]any{"cmd": "true", "workdir": "nowhere"}), false, "is not a directory. Leave workdir out")
	left := b.call("exec_command", map[string]any{"cmd": "echo begun; sleep 30", "yield_time_ms": 300})
	b.want(left, true, "still running with session ID")
	if body := left.Body.(protocol.Command); body.Process == 0 || body.ExitCode != nil {
		t.Errorf("a command that runs on is shown as %+v", body)
	}
	ended := make(chan int, 1)
	b.OnEnd(func(id int) { ended <- id })
	list, _ := b.Processes()
	if len(list) != 1 || list[0].Output != "begun\n" || list[0].Outcome != "" {
		t.Fatalf("running: %+v", list)
	}
	b.want(b.call("write_stdin", map[string]any{"session_id": list[0].ID, "yield_time_ms": 250}), true)
	b.want(b.call("write_stdin", map[string]any{"session_id": 99}), false, "no process")
	if err := b.Kill(list[0].ID); err != nil || b.Kill(99) == nil || <-ended != list[0].ID {
		t.Errorf("killed: %v", err)
	}
	running, over := b.Processes()
	if len(running) != 0 || len(over) != 1 || over[0].Output != "begun\n" || !over[0].Failed || over[0].Outcome == "" {
		t.Errorf("killed: %+v, %+v", running, over)
	}
	done := b.Shell(t.Context(), turn.RunShell{Turn: "t1", Call: "u1", Settings: b.set, Command: "echo mine > g"},
		b.live())
	if !done.Outcome.Success || len(done.Outcome.Changes) != 1 {
		t.Errorf("%+v", done.Outcome)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done = b.Shell(ctx, turn.RunShell{Turn: "t1", Call: "u2", Settings: b.set, Command: "sleep 30"}, b.live())
	b.want(done.Outcome, false, "aborted")
}

// TestCommandsAreAskedAbout asks about commands and remembers what was allowed.
func TestCommandsAreAskedAbout(t *testing.T) {
	var added []string
	b := newBench(t, func(o *Options) {
		o.AddRule = func(line string) error { added = append(added, line); return nil }
	})
	b.set.Approval = protocol.PolicyUntrusted
	b.write("f", "x\n")
	for _, d := range []protocol.Decision{protocol.Deny, protocol.Once, protocol.Always, protocol.ForSession} {
		asked := 0
		b.ask = func(a protocol.Approval) protocol.Answer {
			asked++
			if a.Command == nil {
				t.Errorf("asked %+v", a)
			}
			return protocol.Answer{Decision: d}
		}
		line := map[protocol.Decision]string{protocol.ForSession: "cp f g", protocol.Always: "touch x"}[d]
		if line == "" {
			line = "mkdir -p d"
		}
		if o := b.call("exec_command", map[string]any{"cmd": line}); o.Success != d.Allows() || asked != 1 {
			t.Errorf("%s: asked %d times: %s", d, asked, o.Text)
		}
	}
	b.ask = func(a protocol.Approval) protocol.Answer { return protocol.Answer{Decision: protocol.Deny} }
	b.want(b.call("exec_command", map[string]any{"cmd": "rm -rf *.o ~/x $Y"}), false)
	if len(added) > 1 {
		t.Errorf("rules were added: %q", added)
	}
}

// TestRefusals: unknown tools, tools outside a role, and files outside the roots.
func TestRefusals(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Only = []string{"read_file", "edit_file", "write_file", "nope", "mcp__a__b", "request_user_input"}
	})
	b.want(b.call("exec_command", map[string]any{"cmd": "true"}), false, "not among your tools")
	b.want(b.call("nope", nil), false, "no tool")
	b.want(b.call("mcp__a__b", nil), false, "no MCP server")
	b.want(b.call("write_file", map[string]any{"file_path": "/elsewhere/x", "content": "x"}), false, "OUTSIDE_WORKSPACE")
	b.want(b.call("read_file", map[string]any{"file_path": "."}), false, "directory")
	b.ask = func(a protocol.Approval) protocol.Answer {
		return protocol.Answer{Decision: protocol.Once, Content: json.RawMessage(`["yes"]`)}
	}
	b.call("request_user_input", map[string]any{"questions": []any{map[string]any{"id": "q", "header": "h",
		"question": "well?", "options": []any{map[string]any{"label": "yes", "description": "d"},
			map[string]any{"label": "no", "description": "d"}}}}})
}

// TestChangesOfOthersAreTold: a file that changed since the model saw it is told of once.
func TestChangesOfOthersAreTold(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	o := b.call("read_file", map[string]any{"file_path": "f"})
	b.o.View.Record(historyCall(o))
	b.write("f", "two\n")
	g := b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	if len(g.Notices) != 1 || !strings.Contains(g.Notices[0].Content[0].Text, "+two") {
		t.Errorf("told: %+v", g.Notices)
	}
	if g = b.Gather(t.Context(), turn.Gather{Turn: "t2"}, nil); len(g.Notices) != 0 {
		t.Errorf("told again: %+v", g.Notices)
	}
}

func historyCall(o turn.Outcome) history.ToolCall {
	return history.ToolCall{Turn: "t0", Observed: o.Observed}
}
