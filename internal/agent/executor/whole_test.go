//go:build !windows

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/executor/unrecorded"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/work/mcpclient"
	"kerf/internal/work/workspace"
)

var update = flag.Bool("update", false, "write what is told into testdata/whole")

// teller is a bench that keeps the whole of what is told: to the user, to the model, to the rollout and to the ledger.
type teller struct {
	*bench
	log      strings.Builder
	kept     map[string]string // diffs, by their names
	seq      int64             // of the last entry that was told
	answer   []protocol.Answer // to the next questions; once where there is none
	delegate func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error)
}

func newTeller(t *testing.T, more func(*Options)) *teller {
	l := &teller{kept: map[string]string{}}
	l.bench = newBenchIn(t, func(o *Options, ws *workspace.Workspace) {
		o.Unrecorded = &unrecorded.Guard{Room: ws.Room}
		o.SaveDiff = func(d []byte) (string, error) {
			name := fmt.Sprintf("d%d", len(l.kept)+1)
			l.kept[name] = string(d)
			return name, nil
		}
		if more != nil {
			more(o)
		}
	})
	l.ask = func(a protocol.Approval) protocol.Answer {
		l.tell("asked", a)
		return l.reply()
	}
	return l
}

// reply is the answer to a question that was told.
func (l *teller) reply() protocol.Answer {
	answer := protocol.Answer{Decision: protocol.Once}
	if len(l.answer) > 0 {
		answer, l.answer = l.answer[0], l.answer[1:]
	}
	fmt.Fprintf(&l.log, "answered %s %s\n", answer.Decision, answer.Content)
	return answer
}

var (
	sums   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	places = regexp.MustCompile(`workspaces/[0-9a-f]+/`)
	spent  = regexp.MustCompile(`[0-9.]+ ?(ms|seconds?|s)\b`)
)

// tell writes a value down: its fields that hold something, one a line.
func (l *teller) tell(what string, v any) {
	var b strings.Builder
	whole(&b, "  ", reflect.ValueOf(v))
	fmt.Fprintf(&l.log, "%s:%s\n", what, b.String())
}

// all is what was told, without what differs from run to run.
func (l *teller) all() string {
	text := strings.ReplaceAll(l.log.String(), filepath.Dir(l.dir), "/BASE")
	text = sums.ReplaceAllStringFunc(text, func(s string) string { return "sum-" + s[:6] })
	text = strings.ReplaceAll(text, "/usr/bin/", "/bin/")
	text = places.ReplaceAllString(text, "workspaces/ID/")
	return spent.ReplaceAllString(text, "TIME")
}

// whole writes all of a value that is not zero and not a time.
func whole(b *strings.Builder, in string, v reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			b.WriteString(" nil")
			return
		}
		if v.Kind() == reflect.Interface {
			fmt.Fprintf(b, " %s", v.Elem().Type())
		}
		v = v.Elem()
	}
	if s, ok := v.Interface().(fmt.Stringer); ok && v.Kind() != reflect.Struct {
		fmt.Fprintf(b, " %s", s)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || v.Field(i).IsZero() || f.Name == "Millis" || f.Type == reflect.TypeFor[time.Time]() || f.Name == "Prev" || f.Name == "ID" {
				continue
			}
			fmt.Fprintf(b, "\n%s%s", in, f.Name)
			if strings.HasPrefix(f.Name, "Mode") && v.Field(i).CanUint() {
				fmt.Fprintf(b, " %o", v.Field(i).Uint()&^0o022) // what the umask takes away differs
				continue
			}
			whole(b, in+"  ", v.Field(i))
		}
	case reflect.Array: // a sum
		fmt.Fprintf(b, " %x", v.Interface())
	case reflect.Slice:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			fmt.Fprintf(b, " %s", raw)
			return
		}
		if raw, ok := v.Interface().([]byte); ok {
			fmt.Fprintf(b, " %q", raw)
			return
		}
		for i := range v.Len() {
			fmt.Fprintf(b, "\n%s-", in)
			whole(b, in+"  ", v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			fmt.Fprintf(b, "\n%s%v", in, k)
			whole(b, in+"  ", v.MapIndex(k))
		}
	case reflect.String:
		text := strings.TrimSuffix(v.String(), "\n")
		if !strings.Contains(text, "\n") {
			fmt.Fprintf(b, " %q", v.String())
			return
		}
		for line := range strings.SplitSeq(text, "\n") {
			fmt.Fprintf(b, "\n%s| %s", in, line)
		}
	default:
		fmt.Fprintf(b, " %v", v)
	}
}

// do prepares a call, runs it where it may run, and tells all that comes of it.
func (l *teller) do(name string, args any) turn.Outcome {
	return l.doAnd(name, args, nil)
}

// doAnd does something between the question and the run.
func (l *teller) doAnd(name string, args any, between func()) turn.Outcome {
	l.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		l.t.Fatal(err)
	}
	l.n++
	c := tool.Call{ID: protocol.CallID(fmt.Sprint("c", l.n)), Name: name, Args: raw}
	fmt.Fprintf(&l.log, "\n== %s %s %s\n", c.ID, name, raw)
	p := l.Prepare(l.t.Context(), turn.Prepare{Turn: "t1", Settings: l.set, Call: c})
	shown := p
	shown.Proposal = nil
	l.tell("prepared", shown)
	if p.Outcome != nil {
		l.entries()
		l.o.View.Record(historyCall(*p.Outcome)) // as a session does
		return *p.Outcome
	}
	if between != nil {
		between()
	}
	live := l.live()
	live.Show = func(s string) { l.tell("shown", s) }
	live.Warn = func(s string) { l.tell("warned", s) }
	live.Delegate = l.delegate
	run := turn.Run{Call: c.ID, Proposal: p.Proposal}
	ask := p.Approval
	if p.Verdict != turn.Ask {
		ask = nil
	}
	for {
		if ask != nil {
			run.Answer = l.reply()
			if run.Decision = run.Answer.Decision; !run.Decision.Allows() {
				return turn.Outcome{}
			}
		}
		switch in := l.Run(l.t.Context(), run, live).(type) {
		case turn.Finished:
			l.tell("outcome", in.Outcome)
			l.entries()
			l.o.View.Record(historyCall(in.Outcome))
			return in.Outcome
		case turn.AskAgain:
			shown := in
			shown.Proposal = nil
			l.tell("asks again", shown)
			run.Proposal, run.Try, ask = in.Proposal, run.Try+1, &in.Approval
		}
	}
}

// entries tells the new ones of the ledger.
func (l *teller) entries() {
	list, err := l.o.Work.Ledger.Read(0)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range list {
		if e.Seq > l.seq {
			l.seq = e.Seq
			l.tell("entered", e)
		}
	}
}

// settle ends the turn.
func (l *teller) settle() {
	l.tell("settled", l.Settle(l.t.Context(), turn.Settle{Turn: "t1"}))
	l.entries()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for k := range l.kept {
			if !yield(k) {
				return
			}
		}
	}) {
		l.tell("kept "+name, l.kept[name])
	}
	l.tell("model is told", l.Gather(l.t.Context(), turn.Gather{Turn: "t2"}, nil))
}

type object = map[string]any

// TestTheWholeOfWhatIsToldOfACall compares, for each kind of call, with each answer that it may get, all that is shown, told
// to the model, kept and entered with what testdata/whole holds. Read a difference as a change of behaviour.
func TestTheWholeOfWhatIsToldOfACall(t *testing.T) {
	untrusted := func(l *teller) { l.set.Approval = protocol.PolicyUntrusted }
	answers := func(l *teller, all ...protocol.Decision) {
		for _, d := range all {
			l.answer = append(l.answer, protocol.Answer{Decision: d})
		}
	}
	everyCall := func(l *teller) {
		l.write("f", "one\ntwo\n")
		l.do("read_file", object{"file_path": "f"})
		l.do("edit_file", object{"file_path": "f", "old_string": "two", "new_string": "2"})
		l.do("write_file", object{"file_path": "d/g", "content": "new\n"})
		l.do("write_file", object{"file_path": "AGENTS.md", "content": "obey\n"})
		l.do("apply_patch", object{"patch": "*** Begin Patch\n*** Update File: f\n*** Move to: h\n@@\n-one\n+1\n*** Delete File: d/g\n*** Add File: i\n+i\n*** End Patch\n"})
		l.do("exec_command", object{"cmd": "echo hush-hush; echo x > j; rm h"})
		l.write("j", "x\n")
		l.do("undo", object{})
		l.do("update_plan", object{"plan": []object{{"step": "look", "status": "in_progress"}}})
		l.do("write_stdin", object{"session_id": 77, "chars": "x"})
		l.do("request_user_input", object{"questions": []object{{"id": "q", "header": "h", "question": "Which?", "options": []object{{"label": "a", "description": "A"}, {"label": "b", "description": "B"}}}}})
		l.do("nosuch", object{})
		l.do("edit_file", 7)
		l.settle()
	}
	for name, story := range map[string]func(*testing.T) *teller{
		"never-asks": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			everyCall(l)
			return l
		},
		"asks-and-once": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			untrusted(l)
			everyCall(l)
			return l
		},
		"asks-and-deny": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			untrusted(l)
			answers(l, slices.Repeat([]protocol.Decision{protocol.Deny}, 20)...)
			everyCall(l)
			return l
		},
		"asks-and-for-the-session": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			untrusted(l)
			answers(l, slices.Repeat([]protocol.Decision{protocol.ForSession}, 20)...)
			for range 2 {
				l.do("write_file", object{"file_path": "f", "content": "x\n"})
				l.do("write_file", object{"file_path": "AGENTS.md", "content": "obey\n"})
				l.do("exec_command", object{"cmd": "go fmt ./d"})
				l.do("exec_command", object{"cmd": "echo $HOME > c"})
				l.do("undo", object{})
				l.write("f", "y\n")
			}
			return l
		},
		"asks-and-always": func(t *testing.T) *teller {
			var l *teller
			l = newTeller(t, func(o *Options) {
				o.AddRule = func(line string) error {
					fmt.Fprintf(&l.log, "rule %q\n", line)
					if strings.HasPrefix(line, "mkdir") {
						return errors.New("the file of rules is full")
					}
					return nil
				}
			})
			untrusted(l)
			answers(l, slices.Repeat([]protocol.Decision{protocol.Always}, 20)...)
			for range 2 {
				l.do("exec_command", object{"cmd": "touch a"})
				l.do("exec_command", object{"cmd": "mkdir b"})
				l.do("exec_command", object{"cmd": "echo $HOME > c"})
				l.do("write_file", object{"file_path": "d", "content": "x\n"})
			}
			return l
		},
		"always-without-rules": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			untrusted(l)
			answers(l, protocol.Always)
			l.do("exec_command", object{"cmd": "touch a"})
			l.do("exec_command", object{"cmd": "touch b"})
			return l
		},
		"plan": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.set.Approval = protocol.PolicyPlan
			everyCall(l)
			return l
		},
		"read-only": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.set.Sandbox = protocol.SandboxReadOnly
			l.do("write_file", object{"file_path": "f", "content": "x\n"})
			l.set.Approval = protocol.PolicyOnRequest
			l.do("write_file", object{"file_path": "f", "content": "x\n"})
			return l
		},
		"only-some-tools": func(t *testing.T) *teller {
			l := newTeller(t, func(o *Options) { o.Only = []string{"read_file"} })
			everyCall(l)
			return l
		},
		"hooks-speak": func(t *testing.T) *teller {
			run := func(_ context.Context, h hooks.Handler, in []byte) (hooks.Output, error) {
				return hooks.Output{Stdout: []byte(`{"systemMessage":"a warning of ` + string(h.Event) + `","hookSpecificOutput":{"hookEventName":"` + string(h.Event) +
					`","additionalContext":"a remark of ` + string(h.Event) + `"}}`)}, nil
			}
			var list []hooks.Handler
			for _, e := range []hooks.Event{hooks.PreToolUse, hooks.PermissionRequest, hooks.PostToolUse, hooks.PostToolUseFailure} {
				list = append(list, hooks.Handler{Event: e, Timeout: time.Minute})
			}
			set, err := hooks.New(list, run)
			if err != nil {
				t.Fatal(err)
			}
			l := newTeller(t, func(o *Options) { o.Hooks = set })
			untrusted(l)
			everyCall(l)
			return l
		},
		"hooks-allow-what-leaves-the-sandbox": func(t *testing.T) *teller {
			set, err := hooks.New([]hooks.Handler{{Event: hooks.PreToolUse, Timeout: time.Minute}},
				func(context.Context, hooks.Handler, []byte) (hooks.Output, error) {
					return hooks.Output{Stdout: []byte(pre("allow", "fine"))}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			l := newTeller(t, func(o *Options) { o.Hooks = set })
			l.set.Approval, l.set.Sandbox = protocol.PolicyOnRequest, protocol.SandboxWorkspace
			answers(l, protocol.Deny)
			l.do("exec_command", object{"cmd": "mkdir x", "sandbox_permissions": "require_escalated", "justification": "it lies there"})
			return l
		},
		"files-move-meanwhile": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			untrusted(l)
			l.write("f", "one\ntwo\n")
			l.do("read_file", object{"file_path": "f"})
			edit := object{"file_path": "f", "old_string": "two", "new_string": "2"}
			l.doAnd("edit_file", edit, func() { l.write("f", "zero\none\ntwo\n") })
			l.write("f", "two\n")
			l.doAnd("edit_file", edit, func() { l.write("f", "none\n") })
			l.do("edit_file", object{"file_path": "f", "old_string": "none", "new_string": "some"})
			l.doAnd("write_file", object{"file_path": "g", "content": "x\n"}, func() { l.write("g", "mine\n") })
			l.settle()
			return l
		},
		"the-user-edits": func(t *testing.T) *teller {
			l := newTeller(t, func(o *Options) { o.Client = &protocol.ClientServices{Texts: true} })
			untrusted(l)
			l.write("f", "one\ntwo\n")
			l.do("read_file", object{"file_path": "f"})
			edit := object{"file_path": "f", "old_string": "two", "new_string": "2"}
			path := filepath.Join(l.dir, "f")
			for _, text := range []string{"one\nmine\n", "one\nmine\n"} {
				l.answer = []protocol.Answer{{Decision: protocol.Once, Edited: map[string]string{path: text}}}
				l.do("edit_file", edit)
				l.write("f", "one\ntwo\n")
				l.do("read_file", object{"file_path": "f"})
			}
			l.answer = []protocol.Answer{{Decision: protocol.Once, Edited: map[string]string{path: "one\ntwo\n"}}}
			l.do("edit_file", edit)
			l.answer = []protocol.Answer{{Decision: protocol.Once, Edited: map[string]string{"/elsewhere": "x"}}}
			l.do("edit_file", edit)
			l.settle()
			return l
		},
		"the-ledger-is-full": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.write("f", "one\ntwo\n")
			l.write("g", "x\n")
			l.do("read_file", object{"file_path": "f"})
			l.do("exec_command", object{"cmd": "touch a"})
			l.fullLedger(true)
			l.do("edit_file", object{"file_path": "f", "old_string": "two", "new_string": "2"})
			l.do("edit_file", object{"file_path": "g", "old_string": "x", "new_string": "y"}) // which nobody has read
			l.do("exec_command", object{"cmd": "touch b"})
			l.do("undo", object{})
			l.fullLedger(false)
			l.settle()
			return l
		},
		"others-write-beside": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.write("f", "one\ntwo\n")
			l.do("exec_command", object{"cmd": "touch a"})
			l.write("f", "by hand\ntwo\n")
			l.do("edit_file", object{"file_path": "f", "old_string": "two", "new_string": "2"})
			l.write("f", "by hand again\n2\n")
			l.do("exec_command", object{"cmd": "echo three >> f"})
			l.settle()
			return l
		},
		"the-model-undoes": func(t *testing.T) *teller {
			l := newTeller(t, func(o *Options) { o.Client = &protocol.ClientServices{Texts: true} })
			l.do("write_file", object{"file_path": "f", "content": "one\n"})
			l.do("write_file", object{"file_path": "g", "content": "two\n"})
			for _, p := range []protocol.ApprovalPolicy{protocol.PolicyNever, protocol.PolicyUntrusted} {
				l.set.Approval = p
				l.do("undo", object{})
				l.do("undo", object{"redo": true})
				l.do("undo", object{"call": "c1"})
				l.do("undo", object{"call": "c1", "redo": true})
			}
			l.do("undo", object{"call": "nothing"})
			l.write("f", "mine\n")
			l.do("undo", object{"call": "c1"})
			l.settle()
			return l
		},
		"the-user-undoes": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.do("write_file", object{"file_path": "f", "content": "one\n"})
			l.do("exec_command", object{"cmd": "echo two > g"})
			l.settle()
			undo := func(e turn.Undo) {
				l.tell("undone", l.Undo(t.Context(), e, func(_ context.Context, a protocol.Approval) turn.Reply { return turn.Reply{Answer: l.ask(a)} }))
				l.entries()
			}
			undo(turn.Undo{ID: "u1", Op: protocol.Undo{Turn: "t1", DryRun: true}})
			answers(l, protocol.Abort)
			undo(turn.Undo{ID: "u2", Op: protocol.Undo{Turn: "t1"}})
			answers(l, protocol.Deny)
			undo(turn.Undo{ID: "u3", Op: protocol.Undo{Turn: "t1"}})
			undo(turn.Undo{ID: "u4", Op: protocol.Undo{Turn: "t1", Redo: true}})
			undo(turn.Undo{ID: "u5", Turns: []protocol.TurnID{"t1"}})
			undo(turn.Undo{ID: "u6", Turns: []protocol.TurnID{"t9"}})
			undo(turn.Undo{ID: "u7", Op: protocol.Undo{Turn: "t9"}})
			l.settle()
			return l
		},
		"questions-of-the-model": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			ask := object{"questions": []object{{"id": "q", "header": "h", "question": "Which?", "options": []object{{"label": "a", "description": "A"}, {"label": "b", "description": "B"}}},
				{"id": "r", "header": "i", "question": "What?", "options": []object{{"label": "c", "description": "C"}, {"label": "d", "description": "D"}}}}}
			l.answer = []protocol.Answer{{Decision: protocol.Once, Content: json.RawMessage(`"a"`)}, {Decision: protocol.Once, Content: json.RawMessage(`["c","d"]`)}}
			l.do("request_user_input", ask)
			l.answer = []protocol.Answer{{Decision: protocol.Deny, Words: "not now"}, {Decision: protocol.Once, Content: json.RawMessage(`no JSON`)}}
			l.do("request_user_input", ask)
			answers(l, protocol.Abort)
			l.do("request_user_input", ask)
			answers(l, protocol.Void)
			l.do("request_user_input", ask)
			return l
		},
		"sub-agents": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			l.delegate = func(_ context.Context, d tool.Delegate, s protocol.Settings) (team.Result, error) {
				l.tell("delegated", d)
				if d.Operation == "wait" {
					return team.Result{}, tool.Refuse(tool.Denied, "nobody to wait for")
				}
				return team.Result{Text: "started", Agents: []protocol.Agent{{Name: "a", State: "running"}}}, nil
			}
			l.do("spawn_agent", object{"message": "look"})
			l.do("wait_agent", object{"targets": []string{"a"}})
			return l
		},
		"servers": func(t *testing.T) *teller {
			url, _ := server(t)
			l := newTeller(t, nil)
			l.Serve(mcp.Options{Servers: []mcpclient.Server{{Name: "db", URL: url, StartupTimeout: time.Minute, ToolTimeout: time.Minute}}},
				mcp.Front{Ask: l.live().Ask, Tell: func(protocol.Msg) {}})
			if err := l.Settled(t.Context(), []string{"db"}); err != nil {
				t.Fatal(err)
			}
			drop := object{"table": "users"}
			for _, p := range []protocol.ApprovalPolicy{protocol.PolicyNever, protocol.PolicyPlan, protocol.PolicyOnRequest} {
				l.set.Approval = p
				l.do("mcp__db__drop", drop)
			}
			answers(l, protocol.ForSession)
			l.do("mcp__db__drop", drop)
			l.do("mcp__db__drop", drop)
			return l
		},
		"a-command-of-the-user": func(t *testing.T) *teller {
			l := newTeller(t, nil)
			for n, line := range []string{"echo hush-hush; echo x > f", " exit 3 "} {
				d := l.Shell(t.Context(), turn.RunShell{Turn: "t1", Call: protocol.CallID(fmt.Sprint("u", n)), Settings: l.set, Command: line}, l.live())
				l.tell("done", d)
				l.entries()
			}
			l.settle()
			return l
		},
		"rules": func(t *testing.T) *teller {
			list, err := policy.ParseRules("r", []byte("touch -> allow unsandboxed\nmkdir -> forbid\nchmod -> prompt\n"))
			if err != nil {
				t.Fatal(err)
			}
			l := newTeller(t, func(o *Options) { o.Rules = list })
			for _, s := range []protocol.SandboxMode{protocol.SandboxFull, protocol.SandboxReadOnly} {
				l.set.Sandbox = s
				for _, p := range []protocol.ApprovalPolicy{protocol.PolicyNever, protocol.PolicyOnRequest, protocol.PolicyOnFailure, protocol.PolicyUntrusted} {
					l.set.Approval = p
					for _, cmd := range []string{"touch a", "mkdir b", "chmod 600 a", "rm -rf $HOME"} {
						raw, _ := json.Marshal(object{"cmd": cmd})
						p := l.Prepare(t.Context(), turn.Prepare{Turn: "t1", Settings: l.set, Call: tool.Call{ID: "c", Name: "exec_command", Args: raw}})
						p.Proposal = nil
						l.tell(fmt.Sprintf("%s, %s, %s", s, l.set.Approval, cmd), p)
					}
				}
			}
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "/home/user") // whoever runs it
			l := story(t)
			file := filepath.Join("testdata", "whole", name+".txt")
			got := l.all()
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
