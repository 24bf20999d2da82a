package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"kerf/internal/agent/hooks"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
)

// maxHookOutput bounds what is kept of what a hook prints on either stream.
const maxHookOutput = 1 << 20

// RunHook runs the command of a hook with the user's shell, outside the sandbox:
// it is the user's own program. It gets the environment of commands, and ends with
// all it started when its time is up.
func RunHook(shell, dir string, env []string) hooks.Runner {
	return func(ctx context.Context, h hooks.Handler, stdin []byte) (hooks.Output, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return hooks.Output{}, err
		}
		defer r.Close()
		p, err := proc.Start(ctx, proc.Spec{Argv: []string{shell, "-c", "exec 2>&3 3>&-\n" + h.Command}, Dir: dir, Env: env, Stdin: true,
			Cap: maxHookOutput, ExtraFiles: []*os.File{w}})
		w.Close()
		if err != nil {
			return hooks.Output{}, err
		}
		var stderr bytes.Buffer
		var reading sync.WaitGroup
		reading.Go(func() { // ends when the program and all it started have closed their end
			_, _ = io.Copy(&stderr, io.LimitReader(r, maxHookOutput))
			_, _ = io.Copy(io.Discard, r)
		})
		reading.Go(func() { // ends when the program has read all, or is gone
			_, _ = p.Write(string(stdin))
			_ = p.CloseInput()
		})
		out := hooks.Output{TimedOut: !wait(ctx, p, h.Timeout)}
		p.Kill()
		reading.Wait()
		text, _ := p.Output()
		out.Stdout, out.Stderr = text, stderr.Bytes()
		code, signal, _ := p.ExitCode()
		if out.Code = code; signal != "" && code == 0 {
			out.Code = 128
		}
		return out, nil
	}
}

// hookNames are the names under which hooks know a tool: its own, and those that
// other agents gave it.
func hookNames(name string) (shown string, all []string) {
	switch name {
	case "exec_command", "Bash", "run_shell_command", "container.exec", "shell", "local_shell":
		return "Bash", []string{"Bash", "exec_command", "shell"}
	case "apply_patch", "ApplyPatch":
		return "apply_patch", []string{"apply_patch", "Edit", "Write", "MultiEdit"}
	case "edit_file", "Edit", "MultiEdit", "replace", "edit_code":
		return "Edit", []string{"Edit", "MultiEdit", "edit_file"}
	case "write_file", "Write":
		return "Write", []string{"Write", "write_file"}
	case "read_file", "Read", "read_code":
		return "Read", []string{"Read", "read_file"}
	case "glob", "Glob":
		return "Glob", []string{"Glob", "glob"}
	case "grep", "Grep":
		return "Grep", []string{"Grep", "grep"}
	case "list_dir", "LS":
		return "LS", []string{"LS", "list_dir"}
	case "update_plan", "TodoWrite":
		return "TodoWrite", []string{"TodoWrite", "update_plan"}
	}
	return name, []string{name}
}

// hookCall is what all hooks about a call are told.
func (h *Hands) hookCall(e hooks.Event, c tool.Call, a tool.Action, s protocol.Settings, turn protocol.TurnID) hooks.Call {
	name, names := hookNames(c.Name)
	call := h.hookBase(e, s, turn)
	call.Names, call.Tool, call.CallID = names, name, string(c.ID)
	var args map[string]any
	if json.Unmarshal(c.Args, &args) != nil {
		args = map[string]any{}
	}
	if cmd, ok := a.(tool.Command); ok {
		args["command"] = cmd.Line
		if cmd.Reason != "" {
			args["description"] = cmd.Reason
		}
	} else if text, ok := args["input"].(string); ok && name == "apply_patch" {
		args["command"] = text
	}
	call.Input = args
	return call
}

func (h *Hands) hookBase(e hooks.Event, s protocol.Settings, turn protocol.TurnID) hooks.Call {
	mode := "default"
	switch s.Approval {
	case protocol.PolicyNever:
		mode = "bypassPermissions"
	case protocol.PolicyAutoEdit:
		mode = "acceptEdits"
	case protocol.PolicyPlan:
		mode = "plan"
	}
	return hooks.Call{Event: e, Session: h.o.Origin.Session, Transcript: h.o.Transcript, Cwd: h.o.Cwd, Model: s.Model, PermissionMode: mode, Turn: string(turn)}
}

// before lets hooks look at a call that was judged. They may refuse it, have the
// user asked, or answer in the user's place; they never widen what the policy
// refuses or where a command runs.
func (h *Hands) before(ctx context.Context, e turn.Prepare, a tool.Action, p turn.Prepared) (turn.Prepared, remarks) {
	var say remarks
	if p.Outcome != nil && p.Outcome.Declined || !h.o.Hooks.Wants(hooks.PreToolUse) && !h.o.Hooks.Wants(hooks.PermissionRequest) {
		return p, say
	}
	r := h.o.Hooks.Fire(ctx, h.hookCall(hooks.PreToolUse, e.Call, a, e.Settings, e.Turn))
	say.add(r)
	switch {
	case r.Decision == "deny" || r.Halt:
		return declined(p, blocked("PreToolUse", r.Reason, a)), say
	case r.Decision == "ask" && p.Verdict == turn.Allow:
		q := h.question(a, orReason(r.Reason, "a hook wants it asked"))
		if q == nil || p.Outcome != nil || e.Settings.Approval == protocol.PolicyNever {
			return declined(p, blocked("PreToolUse", orReason(r.Reason, "it wants this asked")+" (and it cannot be asked here)", a)), say
		}
		p.Verdict, p.Approval = turn.Ask, q
	case p.Outcome != nil:
		return p, say
	case r.Decision == "allow":
		p = permitted(p, a)
	}
	if p.Verdict != turn.Ask {
		return p, say
	}
	r = h.o.Hooks.Fire(ctx, h.hookCall(hooks.PermissionRequest, e.Call, a, e.Settings, e.Turn))
	say.add(r)
	switch r.Decision {
	case "deny":
		return declined(p, blocked("PermissionRequest", r.Reason, a)), say
	case "allow":
		return permitted(p, a), say
	}
	return p, say
}

// remarks are what hooks said beside their decision.
type remarks struct{ context, warnings []string }

func (m *remarks) add(r hooks.Result) {
	m.context = append(m.context, r.Context...)
	m.warnings = append(m.warnings, r.Warnings...)
}

// on puts the remarks into an outcome.
func (m remarks) on(o *turn.Outcome) {
	o.Warnings = append(o.Warnings, m.warnings...)
	for _, text := range m.context {
		o.Text += "\n\n" + text
	}
}

// permitted is p without the question, but for the ones that are the user's alone:
// about leaving the sandbox, and about what takes a repository, a home or a disk
// with it.
func permitted(p turn.Prepared, a tool.Action) turn.Prepared {
	if q := p.Approval; q != nil && q.Command != nil && q.Command.Unsandboxed {
		return p
	}
	if c, ok := a.(tool.Command); ok && policy.Grievous(c.Line) {
		return p
	}
	p.Verdict, p.Approval = turn.Allow, nil
	return p
}

func (h *Hands) question(a tool.Action, reason string) *protocol.Approval {
	switch a := a.(type) {
	case tool.Command:
		return &protocol.Approval{Reason: reason, Command: &protocol.CommandApproval{Command: a.Line, Cwd: a.Dir}}
	case tool.Change:
		return h.askedChange(a.Set, reason)
	}
	return nil
}

func declined(p turn.Prepared, text string) turn.Prepared {
	body := p.Body
	if p.Outcome != nil {
		body = p.Outcome.Body
	}
	return turn.Prepared{Call: p.Call, Outcome: &turn.Outcome{Text: text, Declined: true, Body: body}}
}

func blocked(event, reason string, a tool.Action) string {
	what := "Call"
	line := ""
	if c, ok := a.(tool.Command); ok {
		what, line = "Command", ". Command: "+c.Line
	}
	return fmt.Sprintf("%s blocked by %s hook: %s%s", what, event, orReason(reason, "no reason given"), line)
}

func orReason(s, other string) string {
	if strings.TrimSpace(s) == "" {
		return other
	}
	return s
}

// after lets hooks look at what a call came to, and speak to the model.
func (h *Hands) after(ctx context.Context, c tool.Call, a tool.Action, s protocol.Settings, id protocol.TurnID, o turn.Outcome) turn.Outcome {
	if !h.o.Hooks.Wants(hooks.PostToolUse) || ctx.Err() != nil {
		return o
	}
	call := h.hookCall(hooks.PostToolUse, c, a, s, id)
	call.Response = map[string]any{"output": o.Text, "success": o.Success}
	r := h.o.Hooks.Fire(ctx, call)
	o.Warnings = append(o.Warnings, r.Warnings...)
	if r.Decision == "deny" || r.Halt {
		o.Text += "\n\nA PostToolUse hook objects: " + orReason(r.Reason, "no reason given")
	}
	for _, text := range r.Context {
		o.Text += "\n\n" + text
	}
	return o
}

// greet lets hooks see the start of the session and what the user says. They may
// refuse the input and tell the model more.
func (s *Session) greet(ctx context.Context, e turn.Gather, in *turn.Gathered) {
	h := s.o.Hands
	var r hooks.Result
	if h.o.Hooks.Wants(hooks.SessionStart) && !s.greeted.Swap(true) {
		c := h.hookBase(hooks.SessionStart, e.Settings, "")
		c.Source = "startup"
		if s.o.Resumed {
			c.Source = "resume"
		}
		c.Names = []string{c.Source}
		r = h.o.Hooks.Fire(ctx, c)
		s.remark(r, in)
	}
	if !h.o.Hooks.Wants(hooks.UserPromptSubmit) || len(e.Input) == 0 {
		return
	}
	c := h.hookBase(hooks.UserPromptSubmit, e.Settings, e.Turn)
	for _, p := range e.Input {
		c.Prompt = strings.TrimPrefix(c.Prompt+"\n"+p.Text, "\n")
	}
	r = h.o.Hooks.Fire(ctx, c)
	s.remark(r, in)
	if r.Decision == "deny" || r.Halt {
		in.Refused = "a UserPromptSubmit hook refused the prompt: " + orReason(r.Reason, "no reason given")
	}
}

// remark passes on what hooks said: to the model as an item, to the user as
// warnings.
func (s *Session) remark(r hooks.Result, in *turn.Gathered) {
	for _, text := range r.Context {
		in.Notices = append(in.Notices, model.UserText("<hook_context>\n"+text+"\n</hook_context>"))
	}
	for _, w := range r.Warnings {
		s.inputs <- message{told: protocol.Warning{Message: w}}
	}
}

// goOn lets hooks have a turn go on that the model is done with. It returns what
// the model is told, or nothing.
func (s *Session) goOn(ctx context.Context, e turn.Settle) string {
	h := s.o.Hands
	if !e.Done || !h.o.Hooks.Wants(hooks.Stop) {
		return ""
	}
	c := h.hookBase(hooks.Stop, e.Settings, e.Turn)
	c.LastMessage, c.StopActive = e.Last, e.WentOn > 0
	r := h.o.Hooks.Fire(ctx, c)
	for _, w := range r.Warnings {
		s.inputs <- message{told: protocol.Warning{Message: w}}
	}
	if r.Decision != "deny" || r.Halt {
		return ""
	}
	return "<hook_prompt>\n" + orReason(r.Reason, "go on") + "\n</hook_prompt>"
}
