package executor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/worktree"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/mcpclient"
)

func allow(d protocol.Decision) func(protocol.Approval) protocol.Answer {
	return func(protocol.Approval) protocol.Answer { return protocol.Answer{Decision: d} }
}

// hooked is a bench with hooks that answer to events with the given JSON; what they were told is kept.
func hooked(t *testing.T, answers map[hooks.Event]string) (*bench, *[]string) {
	t.Helper()
	var told []string
	run := func(_ context.Context, h hooks.Handler, in []byte) (hooks.Output, error) {
		told = append(told, string(h.Event)+" "+string(in))
		return hooks.Output{Stdout: []byte(answers[h.Event])}, nil
	}
	var list []hooks.Handler
	for e := range answers {
		list = append(list, hooks.Handler{Event: e, Timeout: time.Minute})
	}
	set, err := hooks.New(list, run)
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, func(o *Options) { o.Hooks = set }), &told
}

func pre(decision, reason string) string {
	return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + decision + `","permissionDecisionReason":"` + reason + `"}}`
}

// TestHooksJudgeCalls: they may refuse a call, have the user asked, or answer for her; what they say reaches
// the model. They are told calls by the names that hooks know.
func TestHooksJudgeCalls(t *testing.T) {
	b, told := hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("deny", "not today")})
	o := b.call("exec_command", map[string]any{"cmd": "touch f"})
	if !o.Declined || !strings.Contains(o.Text, "Command blocked by PreToolUse hook: not today. Command: touch f") || b.text("f") != "(none)" {
		t.Errorf("refused: %+v", o)
	}
	if text := strings.Join(*told, "\n"); !strings.Contains(text, `"tool_name":"Bash"`) || !strings.Contains(text, `"command":"touch f"`) {
		t.Errorf("told %s", text)
	}
	b.write("r", "to be read\n")
	o = b.call("read_file", map[string]any{"file_path": "r"})
	body, _ := o.Body.(protocol.ToolCall)
	if !o.Declined || !strings.Contains(o.Text, "Call blocked by PreToolUse hook: not today") || body.Output != "" || body.Error != o.Text {
		t.Errorf("a read that is refused: %+v", o)
	}

	b, _ = hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("ask", "think again")})
	b.want(b.call("exec_command", map[string]any{"cmd": "touch f"}), false, "nobody can be asked here") // the policy asks nobody
	b.set.Approval = protocol.PolicyOnRequest
	for _, d := range []protocol.Decision{protocol.Deny, protocol.Once} {
		asked := 0
		b.ask = func(a protocol.Approval) protocol.Answer {
			if asked++; a.Says != "think again" || a.SaidBy != "Hook" || a.Reason != "a hook asks for your approval" {
				t.Errorf("asked %+v", a)
			}
			return protocol.Answer{Decision: d}
		}
		for name, args := range map[string]map[string]any{"exec_command": {"cmd": "touch f"}, "write_file": {"file_path": "g", "content": "x"}} {
			if o := b.call(name, args); o.Success != d.Allows() {
				t.Errorf("%s, %s: %+v", name, d, o)
			}
		}
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	}

	b, _ = hooked(t, map[hooks.Event]string{hooks.PreToolUse: pre("allow", "")})
	b.set.Approval = protocol.PolicyUntrusted
	b.ask = func(a protocol.Approval) protocol.Answer {
		t.Errorf("asked %+v", a)
		return protocol.Answer{Decision: protocol.Deny}
	}
	b.want(b.call("exec_command", map[string]any{"cmd": "touch f"}), true)
	asked := false
	b.ask = func(protocol.Approval) protocol.Answer { asked = true; return protocol.Answer{Decision: protocol.Deny} }
	if b.call("exec_command", map[string]any{"cmd": "rm -rf ."}); !asked || b.text("f") != "" {
		t.Error("a hook allowed what takes all with it")
	}

	b, told = hooked(t, map[hooks.Event]string{
		hooks.PermissionRequest: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`,
		hooks.PostToolUse:       `{"decision":"block","reason":"run gofmt"}`, hooks.PostToolUseFailure: `{"hookSpecificOutput":{"hookEventName":"PostToolUseFailure","additionalContext":"it happens"}}`})
	b.set.Approval = protocol.PolicyUntrusted
	b.want(b.call("write_file", map[string]any{"file_path": "g", "content": "x\n"}), true, "A PostToolUse hook objects: run gofmt")
	b.want(b.call("exec_command", map[string]any{"cmd": "mkdir g"}), false, "it happens")
	if text := strings.Join(*told, "\n"); !strings.Contains(text, `"tool_name":"Write"`) || !strings.Contains(text, `"success":true`) ||
		!strings.Contains(text, "PostToolUseFailure") {
		t.Errorf("told %s", text)
	}

	b, _ = hooked(t, map[hooks.Event]string{hooks.PermissionRequest: `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"never"}}}`})
	b.set.Approval = protocol.PolicyUntrusted
	if o := b.call("exec_command", map[string]any{"cmd": "touch f"}); !o.Declined || !strings.Contains(o.Text, "blocked by PermissionRequest hook: never") {
		t.Errorf("refused: %+v", o)
	}
	for name, want := range map[string]string{"exec_command": "Bash", "apply_patch": "apply_patch", "edit_file": "Edit", "replace": "Edit", "mcp__a__b": "mcp__a__b", "glob": "Glob"} {
		if shown, all := hookNames(name); shown != want || !slices.Contains(all, want) {
			t.Errorf("%s is told as %s, %q", name, shown, all)
		}
	}
}

// TestRunHook: a hook is a program of the user's. What it prints is kept apart and bounded, and it ends with
// its time.
func TestRunHook(t *testing.T) {
	dir := t.TempDir()
	run := RunHook("/bin/sh", dir, []string{"PATH=" + os.Getenv("PATH"), "MINE=yes"})
	out, err := run(t.Context(), hooks.Handler{Command: "read line; echo \"got $line in $(pwd) $MINE\"; echo trouble >&2; exit 3", Timeout: time.Minute}, []byte("input\n"))
	real, _ := filepath.EvalSymlinks(dir)
	if err != nil || out.Code != 3 || string(out.Stderr) != "trouble\n" || string(out.Stdout) != "got input in "+real+" yes\n" || out.TimedOut {
		t.Errorf("%+v %q %q, %v", out, out.Stdout, out.Stderr, err)
	}
	if out, err = run(t.Context(), hooks.Handler{Command: "kill -9 $$", Timeout: time.Minute}, nil); err != nil || out.Code != 128+9 {
		t.Errorf("killed: %+v, %v", out, err)
	}
	if out, err = run(t.Context(), hooks.Handler{Command: "true", Timeout: time.Minute}, nil); err != nil || out.Code != 0 {
		t.Errorf("ended well: %+v, %v", out, err)
	}
	if out, err = run(t.Context(), hooks.Handler{Command: "sleep 1000 & sleep 1000", Timeout: 50 * time.Millisecond}, nil); err != nil || !out.TimedOut {
		t.Errorf("too long: %+v, %v", out, err)
	}
	if _, err = RunHook("/no/such/shell", dir, nil)(t.Context(), hooks.Handler{Command: "true", Timeout: time.Minute}, nil); err == nil {
		t.Error("a shell that there is not ran it")
	}
}

// TestGoalIsChecked: by a command that counts only while its own files are what they were.
func TestGoalIsChecked(t *testing.T) {
	b := newBench(t, nil)
	b.write("check.sh", "echo hush-hush; printf hush; test -e done\n")
	goal := protocol.Goal{Text: "make it", Check: "sh check.sh"}
	b.Gather(t.Context(), turn.Gather{Turn: "t1", Goal: &goal}, nil)
	shown := "" // to its end, although that could be the beginning of a secret
	check := func() turn.Checked {
		live := b.live()
		live.Show = func(text string) { shown += text }
		return b.Check(t.Context(), turn.Check{Turn: "t1", Call: "k", Settings: b.set, Goal: goal}, live)
	}
	if c := check(); shown != "[redacted]\nhush" || c.Passed || c.Call != "k" || strings.Contains(c.Outcome.Text, "hush-hush") {
		t.Errorf("before: %+v", c)
	}
	b.want(b.call("write_file", map[string]any{"file_path": "done", "content": "x"}), true)
	if c := check(); !c.Passed {
		t.Errorf("reached: %+v", c)
	}
	b.want(b.call("exec_command", map[string]any{"cmd": "rm done; echo true > check.sh"}), true)
	if c := check(); c.Passed || !strings.Contains(c.Outcome.Text, "check.sh") {
		t.Errorf("its check was changed: %+v", c)
	}
}

// TestSubAgentsAreDelegatedTo: what the session makes of it is the outcome, and its refusals are told as such.
func TestSubAgentsAreDelegatedTo(t *testing.T) {
	b := newBench(t, nil)
	do := func(l func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error)) turn.Outcome {
		return b.Do(t.Context(), "c", tool.Delegate{Operation: "spawn", Message: "look"}, RunOptions{Settings: b.set, Delegate: l})
	}
	b.want(do(nil), false, "no sub-agents here")
	o := do(func(_ context.Context, d tool.Delegate, s protocol.Settings) (team.Result, error) {
		if d.Message != "look" || s != b.set {
			t.Errorf("%+v, %+v", d, s)
		}
		return team.Result{Text: "started", Agents: []protocol.Agent{{ID: "a"}}}, nil
	})
	b.want(o, true, "started")
	if body := o.Body.(protocol.SubAgent); body.Operation != "spawn" || body.Prompt != "look" || len(body.Agents) != 1 {
		t.Errorf("%+v", body)
	}
	o = do(func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error) {
		return team.Result{}, tool.Refuse(tool.Denied, "as many as there may be")
	})
	b.want(o, false, "DENIED", "as many as there may be")
	if body := o.Body.(protocol.SubAgent); body.Error != "as many as there may be" {
		t.Errorf("%+v", body)
	}
	o = do(func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error) {
		return team.Result{}, errors.New("lost")
	})
	b.want(o, false, "lost")
	if body := o.Body.(protocol.SubAgent); body.Error != "lost" {
		t.Errorf("%+v", body)
	}
}

// TestSubAgentsShareTheTurn: what a sub-agent does in the same tree is part of its parent's turn, and none of
// the family takes it for a stranger's.
func TestSubAgentsShareTheTurn(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	b.want(b.call("read_file", map[string]any{"file_path": "f"}), true)
	b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	o := b.o
	o.Parent, o.Origin.Session, o.Origin.Client = b.Executor, "sub", "sub"
	child := *b
	child.Executor = New(o)
	child.want(child.call("write_file", map[string]any{"file_path": "g", "content": "by the child\n"}), true)
	child.want(child.call("exec_command", map[string]any{"cmd": "echo two > f"}), true)
	list, err := b.o.Work.Ledger.Read(0)
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Session != "s" || e.Turn != "t1" || !strings.HasPrefix(e.Call, "sub/") {
			t.Errorf("entered as %s %s %s", e.Session, e.Turn, e.Call)
		}
	}
	if c := b.call("exec_command", map[string]any{"cmd": "touch h"}); len(c.Changes) != 1 {
		t.Errorf("the parent's command changed %+v", c.Changes)
	}
	if u := child.Undo(t.Context(), turn.Undo{Op: protocol.Undo{}}, nil).Report; u.Problem != "" || b.text("g") == "(none)" && b.text("f") == "one\n" {
		t.Errorf("the child took back all: %+v", u)
	}
	child.Close()
	if n := len(b.record.children); n != 0 {
		t.Errorf("%d children that are gone are still told", n)
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !strings.Contains(in.Diff.Diff+in.Diff.Outside, "h") {
		t.Errorf("the turn's diff is %+v", in.Diff)
	}
}

// TestRewindTakesFilesBack: those of a turn and of all behind it; the model is told.
func TestRewindTakesFilesBack(t *testing.T) {
	b := newBench(t, nil)
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		raw, _ := json.Marshal(map[string]any{"file_path": "f", "content": text})
		id := protocol.TurnID([]string{"t1", "t2", "t3"}[i])
		b.Gather(t.Context(), turn.Gather{Turn: id}, nil)
		p := b.Prepare(t.Context(), turn.Prepare{Turn: id, Settings: b.set, Call: tool.Call{ID: protocol.CallID(text), Name: "write_file", Args: raw}})
		if in, ok := b.Run(t.Context(), turn.Run{Call: protocol.CallID(text), Proposal: p.Proposal}, b.live()).(turn.Finished); !ok || !in.Outcome.Success {
			t.Fatalf("%+v", in)
		}
		b.Settle(t.Context(), turn.Settle{Turn: id})
	}
	u := b.Undo(t.Context(), turn.Undo{ID: "u", Turns: []protocol.TurnID{"t3", "t2"}}, nil)
	if u.ID != "u" || u.Report.Problem != "" || b.text("f") != "one\n" || len(u.Changes) == 0 {
		t.Errorf("%+v, f is %q", u, b.text("f"))
	}
	if g := b.Gather(t.Context(), turn.Gather{Turn: "t4"}, nil); len(g.Notices) == 0 {
		t.Error("the model is not told")
	}
	if u = b.Undo(t.Context(), turn.Undo{Turns: []protocol.TurnID{"t9"}}, nil); u.Report.Problem != "" {
		t.Errorf("a turn that changed nothing is no problem: %+v", u.Report)
	}
	if u = b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{Turn: "t1", DryRun: true}}, nil); b.text("f") != "one\n" || !u.Report.DryRun || u.Report.Diff == "" {
		t.Errorf("a dry run: %+v, f is %q", u.Report, b.text("f"))
	}
	if u = b.Undo(t.Context(), turn.Undo{Op: protocol.Undo{Turn: "t1", Paths: []string{"f"}}}, nil); u.Report.Problem != "" || b.text("f") != "(none)" {
		t.Errorf("by its name: %+v, f is %q", u.Report, b.text("f"))
	}
}

// TestAnUndoOfTheModelIsAskedAbout as any change is.
func TestAnUndoOfTheModelIsAskedAbout(t *testing.T) {
	b := newBench(t, nil)
	b.want(b.call("write_file", map[string]any{"file_path": "f", "content": "one\n"}), true)
	b.set.Approval = protocol.PolicyUntrusted
	b.ask = func(a protocol.Approval) protocol.Answer {
		if a.Change == nil || !strings.Contains(a.Change.Diff, "-one") {
			t.Errorf("asked %+v", a)
		}
		return protocol.Answer{Decision: protocol.Deny}
	}
	if o := b.call("undo", map[string]any{}); !o.Declined || b.text("f") != "one\n" {
		t.Errorf("%+v", o)
	}
	b.set.Approval = protocol.PolicyPlan
	if o := b.call("undo", map[string]any{}); !o.Declined || b.text("f") != "one\n" {
		t.Errorf("while planning: %+v", o)
	}
	for name, args := range map[string]map[string]any{"write_file": {"file_path": "f", "content": "x"}, "exec_command": {"cmd": "touch g"}} {
		if o := b.call(name, args); !o.Declined || !strings.Contains(o.Text, "DENIED") || b.text("f") != "one\n" || b.text("g") != "(none)" {
			t.Errorf("%s while planning: %+v", name, o)
		}
	}
	b.set.Approval, b.ask = protocol.PolicyUntrusted, allow(protocol.Once)
	b.want(b.call("undo", map[string]any{}), true, "undone")
	b.want(b.call("undo", map[string]any{"call": "nothing"}), false)
}

// TestTheUserEditsAChange: what she writes in the place of the proposal is shown again and then written; taking
// all of it back writes nothing.
func TestTheUserEditsAChange(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Client = &protocol.ClientServices{Texts: true} })
	b.set.Approval = protocol.PolicyUntrusted
	b.write("f", "one\n")
	b.call("read_file", map[string]any{"file_path": "f"})
	edited, asked := "mine\n", 0
	b.ask = func(a protocol.Approval) protocol.Answer {
		if asked++; asked == 1 {
			return protocol.Answer{Decision: protocol.Once, Edited: map[string]string{a.Change.Files[0].Path: edited}}
		}
		if !strings.Contains(a.Reason, "you edited the change") || !strings.Contains(a.Change.Diff, "+mine") {
			t.Errorf("asked %+v", a)
		}
		return protocol.Answer{Decision: protocol.Once}
	}
	o := b.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"})
	b.want(o, true, "mine")
	if body := o.Body.(protocol.FileChange); asked != 2 || b.text("f") != "mine\n" || len(body.Files) != 1 || *body.Files[0].New != "mine\n" {
		t.Errorf("asked %d times, f is %q, shown %+v", asked, b.text("f"), body)
	}
	edited, asked = "mine\n", 0
	if o = b.call("edit_file", map[string]any{"file_path": "f", "old_string": "mine", "new_string": "three"}); !o.Declined || b.text("f") != "mine\n" ||
		!strings.Contains(o.Text, "nothing was written") {
		t.Errorf("set back: %+v", o)
	}
	b.ask = func(protocol.Approval) protocol.Answer {
		return protocol.Answer{Decision: protocol.Once, Edited: map[string]string{"/elsewhere": "x"}}
	}
	b.want(b.call("edit_file", map[string]any{"file_path": "f", "old_string": "mine", "new_string": "three"}), false, "/elsewhere")
}

// TestAnAllowedCommandIsTheOneThatRuns: where it would start something else by then, it is asked about again.
func TestAnAllowedCommandIsTheOneThatRuns(t *testing.T) {
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyUntrusted
	b.write("tool.sh", "echo good\n")
	asked := 0
	b.ask = func(a protocol.Approval) protocol.Answer {
		if asked++; asked == 1 {
			b.write("tool.sh", "echo evil\n")
		} else if !strings.Contains(a.Reason, "since you were asked; the command would now run that") {
			t.Errorf("asked %+v", a)
		}
		return protocol.Answer{Decision: map[bool]protocol.Decision{true: protocol.Once, false: protocol.Deny}[asked == 1]}
	}
	if o := b.call("exec_command", map[string]any{"cmd": "sh ./tool.sh"}); asked != 2 || strings.Contains(o.Text, "evil") {
		t.Errorf("asked %d times: %+v", asked, o)
	}
}

// TestAllowedForLonger: a rule is written where the user keeps them. Where that fails it holds for the session,
// and she is told.
func TestAllowedForLonger(t *testing.T) {
	for _, c := range []struct {
		add  func(string) error
		want string
	}{{nil, "the rule holds for this session only: this session keeps no rules"}, {func(string) error { return errors.New("disk full") }, "disk full"},
		{func(string) error { return nil }, ""}} {
		b := newBench(t, func(o *Options) { o.AddRule = c.add })
		b.set.Approval = protocol.PolicyUntrusted
		b.ask = func(a protocol.Approval) protocol.Answer {
			if a.Command.Rule == "" {
				t.Errorf("no rule is offered: %+v", a.Command)
			}
			return protocol.Answer{Decision: protocol.Always}
		}
		o := b.call("exec_command", map[string]any{"cmd": "mkdir d"})
		if b.want(o, true); c.want == "" && len(o.Warnings) != 0 || c.want != "" && (len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], c.want)) {
			t.Errorf("warned %q", o.Warnings)
		}
		b.ask = func(a protocol.Approval) protocol.Answer { t.Errorf("asked again: %+v", a); return protocol.Answer{} }
		b.call("exec_command", map[string]any{"cmd": "mkdir d"})
	}
}

// TestQuestionsOfTheModel: each answer is under its name; a stop ends them, and where nobody can answer the
// model decides.
func TestQuestionsOfTheModel(t *testing.T) {
	b := newBench(t, nil)
	q := tool.UserQuestion{Keys: []string{"a", "b"}, Questions: []protocol.Question{{Message: "first"}, {Message: "second"}}}
	ask := func(replies ...turn.Reply) turn.Outcome {
		return b.Do(t.Context(), "c", q, RunOptions{Settings: b.set, Ask: func(_ context.Context, a protocol.Approval) turn.Reply {
			r := replies[0]
			if replies = replies[1:]; a.Question == nil || a.Call != "c" {
				t.Errorf("asked %+v", a)
			}
			return r
		}})
	}
	says := func(d protocol.Decision, content, words string) turn.Reply {
		return turn.Reply{Answer: protocol.Answer{Decision: d, Content: json.RawMessage(content), Words: words}}
	}
	b.want(ask(says(protocol.Once, `["x","y"]`, ""), says(protocol.Deny, "", "no idea")), true,
		`{"answers":{"a":{"answers":["x","y"]},"b":{"declined":true,"words":"no idea"}}}`)
	b.want(ask(says(protocol.Once, `"x"`, ""), says(protocol.Once, "not JSON", "")), true, `"a":{"answers":["x"]}`, `"b":{"answers":["not JSON"]}`)
	b.want(ask(says(protocol.Abort, "", "")), false, "aborted by the user")
	b.want(ask(says(protocol.Void, "", "")), false, "aborted by the user")
	o := ask(turn.Reply{By: protocol.ByNobody, Answer: protocol.Answer{Decision: protocol.Deny}})
	if b.want(o, false, "nobody to answer"); !o.Declined {
		t.Errorf("%+v", o)
	}
	b.want(b.Do(t.Context(), "c", q, RunOptions{Settings: b.set}), false)
}

// server is an MCP server with one tool, whose description the test may change.
func server(t *testing.T) (url string, describe func(string)) {
	t.Helper()
	s := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "db", Version: "1"}, nil)
	describe = func(text string) {
		s.AddTool(&mcpsdk.Tool{Name: "drop", Description: text, InputSchema: json.RawMessage(`{"type":"object","properties":{"table":{"type":"string"}}}`)},
			func(_ context.Context, r *mcpsdk.CallToolRequest) (*mcpsdk.CallToolResult, error) {
				return &mcpsdk.CallToolResult{Content: []mcpsdk.Content{&mcpsdk.TextContent{Text: "dropped " + string(r.Params.Arguments) + " hush-hush"}}}, nil
			})
	}
	describe("drops a table")
	srv := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return s }, nil))
	t.Cleanup(srv.Close)
	return srv.URL, describe
}

// TestToolsOfServers are offered, asked about and called; what they answer is told without secrets. A tool that
// changed since it was allowed is asked about again, with what changed.
func TestToolsOfServers(t *testing.T) {
	url, describe := server(t)
	b := newBench(t, nil)
	b.set.Approval = protocol.PolicyOnRequest
	b.set.Sandbox = protocol.SandboxWorkspace
	b.Serve(mcp.Options{Servers: []mcpclient.Server{{Name: "db", URL: url, StartupTimeout: time.Minute, ToolTimeout: time.Minute}}},
		mcp.Front{Ask: b.live().Ask, Tell: func(protocol.Msg) {}})
	if err := b.Settled(t.Context(), []string{"db"}); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(b.Offered(), func(s tool.Spec) bool { return s.Name == "mcp__db__drop" }) {
		t.Fatalf("offered %+v", b.Offered())
	}
	asked := 0
	decision := protocol.Deny
	b.ask = func(a protocol.Approval) protocol.Answer {
		if asked++; a.Tool == nil || a.Tool.Server != "db" || a.Tool.Tool != "drop" || !strings.Contains(a.Tool.Args, "users") {
			t.Errorf("asked %+v", a)
		}
		if strings.Contains(a.Tool.Changed, "+") != (asked > 2) {
			t.Errorf("question %d tells of the change %q", asked, a.Tool.Changed)
		}
		return protocol.Answer{Decision: decision}
	}
	args := map[string]any{"table": "users"}
	if o := b.call("mcp__db__drop", args); !o.Declined {
		t.Errorf("%+v", o)
	}
	decision = protocol.ForSession
	o := b.call("mcp__db__drop", args)
	b.want(o, true, "dropped", "users", "[redacted]")
	if body := o.Body.(protocol.ToolCall); body.Server != "db" || strings.Contains(body.Output, "hush-hush") {
		t.Errorf("%+v", body)
	}
	if b.want(b.call("mcp__db__drop", args), true); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	describe("drops a table, and tells everybody")
	for limit := time.Now().Add(time.Minute); asked < 3 && time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		b.call("mcp__db__drop", args) // until Kerf has heard of it
	}
	if asked != 3 {
		t.Errorf("a tool that changed was asked about %d times", asked-2)
	}
	b.set.Approval = protocol.PolicyPlan
	if o := b.call("mcp__db__drop", args); !o.Declined || !strings.Contains(o.Text, "DENIED") {
		t.Errorf("while planning: %+v", o)
	}
}

// TestWorkTreesAreMerged: file by file with what changed here meanwhile. What does not fit stays where it is, and
// nothing is merged that the user does not allow.
func TestWorkTreesAreMerged(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	b := newBench(t, nil)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	b.write("f", "1\n2\n3\n4\n5\n6\n7\n")
	git("init", "-q")
	git("add", "f")
	git("commit", "-qm", "one")
	b.Gather(t.Context(), turn.Gather{Turn: "t1"}, nil)
	merge := func(change func(dir string), ask func(context.Context, protocol.Approval) turn.Reply) (string, string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "tree")
		w, err := worktree.New(t.Context(), b.dir, dir, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		change(dir)
		return b.MergeTree(t.Context(), w, team.Spawn{Name: "agent-1", Settings: b.set}, ask), dir
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said, dir := merge(func(string) {}, nil); !strings.Contains(said, "it changed nothing") {
		t.Errorf("said %q", said)
	} else if _, err := os.Stat(dir); err == nil {
		t.Error("a work tree without changes stays")
	}
	said, dir := merge(func(dir string) {
		put(filepath.Join(dir, "f"), "1\n2\n3\n4\n5\n6\nseven\n")
		put(filepath.Join(dir, "g"), "new\n")
		b.write("f", "1\n2\n3\n4\nfive\n6\n7\n")
	}, nil)
	if b.text("f") != "1\n2\n3\n4\nfive\n6\nseven\n" || b.text("g") != "new\n" || !strings.Contains(said, "merged 2 files: f, g") ||
		!strings.Contains(said, "merged with newer changes") {
		t.Errorf("said %q, f is %q", said, b.text("f"))
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a merged work tree stays")
	}
	said, dir = merge(func(dir string) {
		put(filepath.Join(dir, "f"), "theirs\n2\n3\n4\nfive\n6\nseven\n")
		b.write("f", "ours\n2\n3\n4\nfive\n6\nseven\n")
	}, nil)
	if !strings.Contains(said, "conflict") || !strings.Contains(said, dir) || !strings.Contains(said, "+theirs") || b.text("f") != "ours\n2\n3\n4\nfive\n6\nseven\n" {
		t.Errorf("said %q, f is %q", said, b.text("f"))
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err != nil {
		t.Error("a work tree that does not fit is gone")
	}
	below := func(dir string) {
		b.write("n", "a file\n")
		if err := os.Mkdir(filepath.Join(dir, "n"), 0o755); err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(dir, "n", "x"), "below\n")
	}
	said, dir = merge(func(dir string) {
		below(dir)
		put(filepath.Join(dir, "o"), "beside\n")
	}, nil)
	if b.text("o") != "beside\n" || b.text("n") != "a file\n" || !strings.HasPrefix(said, "merged 1 files: o; conflict:\nn/x: n is a file") ||
		!strings.Contains(said, "are in "+dir) {
		t.Errorf("where one file fails: %q", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "n", "x")); err != nil {
		t.Error("what was not merged is gone:", err)
	}
	if err := os.Remove(filepath.Join(b.dir, "n")); err != nil {
		t.Fatal(err)
	}
	if said, dir = merge(below, nil); !strings.HasPrefix(said, "conflict:\n") || !strings.Contains(said, "are in "+dir) {
		t.Errorf("where the only file fails: %q", said)
	}
	b.set.Approval = protocol.PolicyUntrusted
	for _, d := range []protocol.Decision{protocol.Deny, protocol.Once} {
		said, _ = merge(func(dir string) { put(filepath.Join(dir, "h"), "new\n") }, func(_ context.Context, a protocol.Approval) turn.Reply {
			if a.Change == nil || !strings.Contains(a.Reason, "the work of sub-agent agent-1 is to be merged") {
				t.Errorf("asked %+v", a)
			}
			return turn.Reply{Answer: protocol.Answer{Decision: d, Words: "later"}}
		})
		if merged := b.text("h") == "new\n"; merged != d.Allows() || !d.Allows() && !strings.Contains(said, "not merged: the user did not allow it (later)") {
			t.Errorf("%s: said %q", d, said)
		}
	}
	b.set.Approval = protocol.PolicyPlan
	if said, _ = merge(func(dir string) { put(filepath.Join(dir, "i"), "new\n") }, nil); !strings.HasPrefix(said, "not merged: ") || b.text("i") != "(none)" {
		t.Errorf("while planning: %q", said)
	}
	in := b.Settle(t.Context(), turn.Settle{Turn: "t1"})
	if in.Diff == nil || !strings.Contains(in.Diff.Diff, "+seven") || len(in.Changes) == 0 {
		t.Errorf("the turn has %+v, %d changes", in.Diff, len(in.Changes))
	}
}

// TestWhatRunsBesideOthers: reads, and commands that only look.
func TestWhatRunsBesideOthers(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       bool
	}{{"read_file", `{"file_path":"f"}`, true}, {"grep", `{"pattern":"x"}`, true}, {"write_file", `{"file_path":"f","content":"x"}`, false},
		{"exec_command", `{"cmd":"ls -l"}`, true}, {"exec_command", `{"cmd":"make"}`, false}, {"no_such_tool", `{}`, true}} {
		if got := Parallel(tool.Call{Name: c.name, Args: json.RawMessage(c.args)}); got != c.want {
			t.Errorf("%s %s: %v", c.name, c.args, got)
		}
	}
}

// TestAnExecutorMovesWithWhatItSaw: to other roots, for clients that bring a model of their own.
func TestAnExecutorMovesWithWhatItSaw(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "one\n")
	o := b.call("read_file", map[string]any{"file_path": "f"})
	b.Shown(o.Observed)
	path, err := b.Resolve("f")
	if err != nil || path != filepath.Join(b.dir, "f") {
		t.Errorf("%s, %v", path, err)
	}
	moved := *b
	moved.Executor = b.Move(b.o)
	moved.want(moved.call("edit_file", map[string]any{"file_path": "f", "old_string": "one", "new_string": "two"}), true)
	moved.Close()
	if b.o.View != moved.o.View {
		t.Error("what was seen is forgotten")
	}
}
