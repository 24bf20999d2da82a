package executor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/ledger"
	"kerf/internal/work/workspace"
)

// lostEditor is a client's editor that writes a file, and whose answer gets lost.
type lostEditor struct{ lost error }

func (lostEditor) ReadText(_ context.Context, path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func (e lostEditor) WriteText(_ context.Context, path, text string) error {
	return errors.Join(os.WriteFile(path, []byte(text), 0o644), e.lost)
}

// TestAWriteThatLandedUnseen: where the answer to a write is lost, the end of the turn finds what it left, also
// under the other names of the file, and enters it; an undo takes it back.
func TestAWriteThatLandedUnseen(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Client = &protocol.ClientServices{Files: lostEditor{errors.New("the connection was lost")}}
	})
	b.write("f", "one\n")
	if err := os.Link(filepath.Join(b.dir, "f"), filepath.Join(b.dir, "twin")); err != nil {
		t.Skip(err)
	}
	b.want(b.call("read_file", map[string]any{"file_path": "f"}), true)
	b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"})
	if b.want(o, false, "the connection was lost"); len(o.Changes) != 0 || b.text("twin") != "two\n" {
		t.Errorf("told of %+v; twin is %q", o.Changes, b.text("twin"))
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || in.Diff.Files != 2 || strings.Count(in.Diff.Diff, "-one\n+two\n") != 2 ||
		!strings.Contains(in.Diff.Diff, "a/f") || !strings.Contains(in.Diff.Diff, "a/twin") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
	list, err := b.o.Work.Ledger.Read(0)
	if err != nil || len(list) != 1 || len(list[0].Changes) != 2 || list[0].Cause != ledger.CauseTool {
		t.Errorf("the ledger has %+v, %v", list, err)
	}
	if u := b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{}}, nil).Report; u.Problem != "" || b.text("f") != "one\n" || b.text("twin") != "one\n" {
		t.Errorf("%+v: f is %q, twin %q", u, b.text("f"), b.text("twin"))
	}
}

// TestAWriteThatWasSeenIsNotInDoubt: what somebody else does to its file after it is not the turn's.
func TestAWriteThatWasSeenIsNotInDoubt(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"}), true)
	b.write("f", "by hand\n")
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !strings.Contains(in.Diff.Diff, "-one\n+two\n") || strings.Contains(in.Diff.Diff, "by hand") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestAnUndoOfTheModelIsPartOfItsTurn, if it was done: one that no longer fits by the time that the user allows it
// leaves nothing in the turn, which then is one that changed nothing.
func TestAnUndoOfTheModelIsPartOfItsTurn(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"}), true)
	b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	b.set.Approval = protocol.PolicyUntrusted
	b.ask = func(protocol.Approval) protocol.Answer {
		b.write("f", "by hand\n")
		return protocol.Answer{Decision: protocol.Once}
	}
	b.want(b.call("undo", map[string]any{}), false)
	if in := b.Settle(t.Context(), turn.Settle{Turn: "t2"}); in.Diff != nil || b.text("f") != "by hand\n" {
		t.Errorf("f is %q, the turn's diff %+v", b.text("f"), in.Diff)
	}
	if list, err := b.o.Work.Ledger.Read(0); err != nil || len(list) == 0 || list[len(list)-1].Cause != ledger.CauseNone || list[len(list)-1].Turn != "t2" {
		t.Errorf("the ledger ends with %+v, %v", list, err)
	}
	b.write("f", "two\n")
	b.ask = allow(protocol.Once)
	b.want(b.call("undo", map[string]any{}), true, "undone")
	if in := b.Settle(t.Context(), turn.Settle{Turn: "t3"}); in.Diff == nil || !strings.Contains(in.Diff.Diff, "-two\n+one\n") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestOneWhoEditsTwice: the model is told what was written in the place of its own proposal, not of what the user
// tried between; and nothing of that where nothing was edited, or nothing written.
func TestOneWhoEditsTwice(t *testing.T) {
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyUntrusted
	b.write("f", "one\n")
	path := filepath.ToSlash(filepath.Join(b.dir, "f"))
	answers := []map[string]string{{path: "tried\n"}, {path: "mine\n"}, nil}
	b.ask = func(protocol.Approval) protocol.Answer {
		a := protocol.Answer{Decision: protocol.Once, Edited: answers[0]}
		answers = answers[1:]
		return a
	}
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"})
	b.want(o, true, "The user changed the proposal before it was written", "-two", "+mine")
	if strings.Contains(o.Text, "tried") || b.text("f") != "mine\n" {
		t.Errorf("told %q, f is %q", o.Text, b.text("f"))
	}
	answers = []map[string]string{nil}
	o = b.call("edit_file", map[string]any{"file_path": "f", "old_string": "mine", "new_string": "three"})
	if b.want(o, true); strings.Contains(o.Text, "by the user") {
		t.Errorf("nobody edited it: told %q", o.Text)
	}
	if o = b.call("read_file", map[string]any{"file_path": "f"}); strings.Contains(o.Text, "by the user") {
		t.Errorf("a read: told %q", o.Text)
	}
	n := 0
	b.ask = func(protocol.Approval) protocol.Answer {
		if n++; n == 1 {
			return protocol.Answer{Decision: protocol.Once, Edited: map[string]string{path: "mine\n"}}
		}
		b.write("f", "by hand\n")
		return protocol.Answer{Decision: protocol.Once}
	}
	o = b.call("edit_file", map[string]any{"file_path": "f", "old_string": "three", "new_string": "four"})
	if b.want(o, false, "VERSION_MISMATCH"); strings.Contains(o.Text, "by the user") || b.text("f") != "by hand\n" {
		t.Errorf("nothing was written: told %q, f is %q", o.Text, b.text("f"))
	}
	if body := o.Body.(protocol.FileChange); body.Error != o.Text || len(body.Changes) != 1 || body.Changes[0].Path != path {
		t.Errorf("nothing was written: shown %+v", body)
	}
}

// TestWholeTextsAreForClientsThatShowThem.
func TestWholeTextsAreForClientsThatShowThem(t *testing.T) {
	for want, client := range []*protocol.ClientServices{{}, {Texts: true}, nil} {
		b := newBench(t, func(o *Options) { o.Client = client })
		for _, o := range []turn.Outcome{b.call("write_file", map[string]any{"file_path": "f", "content": "x\n"}), b.call("undo", map[string]any{})} {
			if body := o.Body.(protocol.FileChange); !o.Success || len(body.Files) != want%2 {
				t.Errorf("%+v is shown %+v", client, body.Files)
			}
		}
	}
}

// TestAnAnswerIsShownAsWhatItIs: output, or an error.
func TestAnAnswerIsShownAsWhatItIs(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	body := b.call("read_file", map[string]any{"file_path": "f"}).Body.(protocol.ToolCall)
	if !strings.Contains(body.Output, "one") || body.Error != "" {
		t.Errorf("a file that is there: %+v", body)
	}
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "two", "new_string": "three"})
	body, ok := o.Body.(protocol.ToolCall)
	if b.want(o, false); !ok || body.Output != "" || body.Error == "" || body.Error != o.Text {
		t.Errorf("an edit of what is not there: %+v, %s", o.Body, o.Text)
	}
}

// TestEachFileKeepsADiffOfItsOwn, of what became of it alone: one that went elsewhere is a removal there and a new
// file here.
func TestEachFileKeepsADiffOfItsOwn(t *testing.T) {
	kept := map[string]string{}
	b := newBench(t, func(o *Options) {
		o.SaveDiff = func(d []byte) (string, error) {
			name := "d" + string(rune('0'+len(kept)))
			kept[name] = string(d)
			return name, nil
		}
	})
	for patch, want := range map[string]map[string]string{
		"*** Update File: f\n*** Move to: h\n@@\n-one\n+1\n two\n":                {"f": "-one\n-two\n", "h": "+1\n+two\n"},
		"*** Update File: g\n@@\n-three\n+3\n*** Update File: i\n@@\n-four\n+4\n": {"g": "-three\n+3\n", "i": "-four\n+4\n"},
		"*** Update File: k\n@@\n-five\n+5\n":                                     {"k": "-five\n+5\n"},
	} {
		for name, text := range map[string]string{"f": "one\ntwo\n", "g": "three\n", "i": "four\n", "k": "five\n"} {
			b.write(name, text)
		}
		o := b.call("apply_patch", map[string]any{"patch": "*** Begin Patch\n" + patch + "*** End Patch\n"})
		if b.want(o, true); len(o.Changes) != len(want) {
			t.Errorf("%q: changed %+v", patch, o.Changes)
		}
		for _, c := range o.Changes {
			d, part := kept[c.DiffPath], want[filepath.Base(string(c.Path))]
			if part == "" || strings.Count(d, "diff --git") != 1 || !strings.HasSuffix(d, part) || strings.Contains(d, "rename") {
				t.Errorf("%q: %s keeps %q", patch, c.Path, d)
			}
		}
	}
}

// TestWhoWroteBesideACommand: what changed before a command is someone else's, unless an earlier one still runs:
// then it may be that one's.
func TestWhoWroteBesideACommand(t *testing.T) {
	b := newBench(t, nil)
	b.want(b.call("exec_command", map[string]any{"cmd": "touch a"}), true)
	cause := func(o turn.Outcome, name string) string {
		t.Helper()
		for _, c := range o.Changes {
			if filepath.Base(string(c.Path)) == name {
				return c.Cause + " " + string(c.Certainty)
			}
		}
		return "(none)"
	}
	b.write("mine", "by hand\n")
	if got := cause(b.call("exec_command", map[string]any{"cmd": "touch b"}), "mine"); !strings.HasPrefix(got, ledger.CauseOutside) {
		t.Errorf("while nothing else runs: %s", got)
	}
	on := b.call("exec_command", map[string]any{"cmd": "sleep 1000", "yield_time_ms": 250})
	b.want(on, true, "still running")
	b.write("whose", "?\n")
	if got := cause(b.call("exec_command", map[string]any{"cmd": "touch c"}), "whose"); got != ledger.CauseCommand+" "+string(protocol.Unproven) {
		t.Errorf("while another runs: %s", got)
	}
}

// TestWhatAScanFindsAndTheLedgerDoesNotTake is told with the turn; what it takes is not.
func TestWhatAScanFindsAndTheLedgerDoesNotTake(t *testing.T) {
	b := newBenchIn(t, func(o *Options, ws *workspace.Workspace) { o.Unrecorded = &unrecorded.Guard{Room: ws.Room} })
	b.call("exec_command", map[string]any{"cmd": "touch a"})
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || in.Unrecorded != "" || strings.Contains(in.Diff.Note, "could not be written") {
		t.Errorf("told %q, %+v", in.Unrecorded, in.Diff)
	}
	b.fullLedger(true)
	o := b.call("exec_command", map[string]any{"cmd": "touch b"})
	b.fullLedger(false)
	in = b.Settle(t.Context(), turn.Settle{Turn: "t2"})
	if len(o.Changes) != 1 || in.Diff == nil || in.Diff.Exact || !strings.Contains(in.Diff.Note, "the ledger could not be written: ") ||
		!strings.Contains(in.Unrecorded, "the changes of "+filepath.ToSlash(filepath.Join(b.dir, "b"))+": ") || !strings.Contains(in.Unrecorded, "no space left") {
		t.Errorf("told %q, %+v of %+v", in.Unrecorded, in.Diff, o.Changes)
	}
}

// fullLedger makes the ledger take no entry, or all again.
func (b *bench) fullLedger(full bool) {
	b.o.Work.Ledger.Hook = func(op, _ string) error {
		if full && op == "write" {
			return errors.New("no space left")
		}
		return nil
	}
}

// TestATurnThatOnlyMadeADirectoryUnrecorded is the last one all the same: an undo does not reach behind it.
func TestATurnThatOnlyMadeADirectoryUnrecorded(t *testing.T) {
	b := newBench(t, nil)
	run := func(id protocol.TurnID, cmd string) {
		t.Helper()
		raw, _ := json.Marshal(map[string]any{"cmd": cmd})
		b.Gather(t.Context(), turn.Gather{Turn: id}, nil)
		o := b.Shell(t.Context(), turn.RunShell{Turn: id, Call: protocol.CallID(raw), Settings: b.set, Command: cmd}, b.live()).Outcome
		b.want(o, true)
	}
	run("t1", "echo one > f")
	b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	b.fullLedger(true)
	run("t2", "mkdir d")
	b.fullLedger(false)
	b.Settle(t.Context(), turn.Settle{Turn: "t2"})
	list, err := b.o.Work.Ledger.Read(0)
	if err != nil || len(list) == 0 || list[len(list)-1].Turn != "t2" || list[len(list)-1].Cause != ledger.CauseNone {
		t.Errorf("the ledger ends with %+v, %v", list, err)
	}
}

// TestACallIsShownBeforeItRuns, and what a command printed without its secrets; a change that is asked about again is
// shown as it is now.
func TestACallIsShownBeforeItRuns(t *testing.T) {
	b := newBench(t, nil)
	prepare := func(name, args string) turn.Prepared {
		return b.Prepare(t.Context(), turn.Prepare{Turn: "t1", Settings: b.set, Call: tool.Call{ID: "c", Name: name, Args: json.RawMessage(args)}})
	}
	p := prepare("exec_command", `{"cmd":"echo hush-hush"}`)
	if body, ok := p.Body.(protocol.Command); !ok || body.Command != "echo hush-hush" || body.Cwd != b.dir || body.Call != "c" {
		t.Errorf("a command: %+v", p.Body)
	}
	in := b.Run(t.Context(), turn.Run{Call: "c", Proposal: p.Proposal}, b.live()).(turn.Finished)
	if body := in.Outcome.Body.(protocol.Command); body.Output != "[redacted]\n" {
		t.Errorf("it printed %q", body.Output)
	}
	b.set.Approval = protocol.PolicyUntrusted
	p = prepare("write_file", `{"file_path":"f","content":"x\n"}`)
	if body, ok := p.Body.(protocol.FileChange); !ok || len(body.Changes) != 1 || p.Approval == nil {
		t.Fatalf("a change: %+v, %+v", p.Body, p.Approval)
	}
	path := p.Approval.Change.Changes[0].Path
	b.ask = allow(protocol.Once)
	b.want(b.call("write_file", map[string]any{"file_path": "g", "content": "x\n"}), true)
	if body, ok := prepare("undo", `{}`).Body.(protocol.FileChange); !ok || body.Call != "c" || len(body.Changes) != 1 {
		t.Errorf("an undo: %+v", body)
	}
	again, ok := b.Run(t.Context(), turn.Run{Call: "c", Proposal: p.Proposal, Decision: protocol.Once,
		Answer: protocol.Answer{Decision: protocol.Once, Edited: map[string]string{path: "y\n"}}}, b.live()).(turn.AskAgain)
	if body, is := again.Body.(protocol.FileChange); !ok || !is || body.Call != "c" || len(body.Changes) != 1 || body.Changes[0].Path != path {
		t.Errorf("asked again with %+v", again.Body)
	}
}

// TestAllowedForTheSession: a command that a rule is offered for is allowed with other arguments, too; any other only
// as it stands.
func TestAllowedForTheSession(t *testing.T) {
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyUntrusted
	asked := 0
	b.ask = func(a protocol.Approval) protocol.Answer {
		asked++
		return protocol.Answer{Decision: protocol.ForSession}
	}
	for _, c := range []struct {
		cmd  string
		asks int
	}{{"go fmt ./d", 1}, {"go fmt ./e", 1}, {"echo $HOME > a", 2}, {"echo $HOME > a", 2}, {"echo $HOME > c", 3}} {
		if b.call("exec_command", map[string]any{"cmd": c.cmd}); asked != c.asks {
			t.Errorf("%s: asked %d times, want %d", c.cmd, asked, c.asks)
		}
	}
}

// TestWhatAnotherDidBeforeAChange is told with it and entered before it: the first state that the turn's diff starts
// from is not the turn's own.
func TestWhatAnotherDidBeforeAChange(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	b.want(b.call("exec_command", map[string]any{"cmd": "touch a"}), true)
	b.write("f", "by hand\n")
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "by hand", "new_string": "three"})
	if b.want(o, true); len(o.Changes) != 2 || o.Changes[0].Cause != ledger.CauseOutside || o.Changes[1].Cause != ledger.CauseTool ||
		o.Changes[0].After != o.Changes[1].Before || o.Changes[0].Before == o.Changes[0].After {
		t.Errorf("told of %+v", o.Changes)
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !strings.Contains(in.Diff.Diff, "-by hand\n+three\n") || !strings.Contains(in.Diff.Outside, "-one\n+by hand\n") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestAPlanIsShownAsAPlan, not as the output of a tool.
func TestAPlanIsShownAsAPlan(t *testing.T) {
	b := newBench(t, nil)
	o := b.call("update_plan", map[string]any{"plan": []map[string]any{{"step": "look", "status": "in_progress"}}})
	if b.want(o, true); o.Todo == nil || o.Body != nil {
		t.Errorf("shown %+v, %+v", o.Todo, o.Body)
	}
}

// TestResultsAreWrittenForTheModel that the session has; none is asked for where nobody says how.
func TestResultsAreWrittenForTheModel(t *testing.T) {
	var models []string
	b := newBench(t, func(o *Options) {
		o.Manner = func(model string) tool.Manner { models = append(models, model); return tool.Manner{} }
	})
	b.set.Model = "m"
	b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "x\n"}), true)
	if strings.Join(models, " ") != "m" {
		t.Errorf("asked for the manner of %q", models)
	}
}

// TestHooksAreToldWhyACommandRuns where the model says so.
func TestHooksAreToldWhyACommandRuns(t *testing.T) {
	b, told := hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("deny", "not today")})
	b.call("exec_command", map[string]any{"cmd": "touch f", "justification": "it lies there"})
	b.call("exec_command", map[string]any{"cmd": "touch f"})
	if l := *told; len(l) != 2 || !strings.Contains(l[0], `"description":"it lies there"`) || strings.Contains(l[1], "description") {
		t.Errorf("told %s", strings.Join(l, "\n"))
	}
}

// TestHooksAreToldACommandOnlyWhereThereIsOne: what a server's tool takes as its input is none.
func TestHooksAreToldACommandOnlyWhereThereIsOne(t *testing.T) {
	b, _ := hooked(t, nil)
	c := tool.Call{ID: "c", Name: "mcp__db__drop", Args: json.RawMessage(`{"input":"users"}`)}
	call := b.hookCall(hooks.PreToolUse, c, tool.Remote{}, b.set, "t1")
	if got, _ := json.Marshal(call.Input); string(got) != `{"input":"users"}` {
		t.Errorf("told %s", got)
	}
}

// TestHooksAreToldThePatch by either name that it has as an argument.
func TestHooksAreToldThePatch(t *testing.T) {
	b, told := hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("deny", "not today")})
	for _, key := range []string{"input", "patch"} {
		b.call("apply_patch", map[string]any{key: "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch\n"})
	}
	if l := *told; len(l) != 2 || !strings.Contains(l[0], `"command":"*** Begin Patch`) || !strings.Contains(l[1], `"command":"*** Begin Patch`) {
		t.Errorf("told %s", strings.Join(l, "\n"))
	}
}

// TestOutputOfOneByte is told as any other.
func TestOutputOfOneByte(t *testing.T) {
	b := newBench(t, nil)
	if body := b.call("exec_command", map[string]any{"cmd": "printf x"}).Body.(protocol.Command); body.Output != "x" {
		t.Errorf("shown %q", body.Output)
	}
}
