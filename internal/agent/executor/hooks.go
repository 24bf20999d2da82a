package executor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"kerf/internal/agent/hooks"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/turn"
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
		p, err := proc.Start(ctx, proc.Spec{Argv: []string{shell, "-c", "exec 2>&3 3>&-\n" + h.Command}, Dir: cmp.Or(h.Dir, dir), Env: h.Environ(env),
			Stdin: true,
			Cap:   maxHookOutput, ExtraFiles: []*os.File{w}})
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
		out := hooks.Output{TimedOut: !p.Within(ctx, h.Timeout)}
		p.Kill()
		reading.Wait()
		text, _ := p.Output()
		out.Stdout, out.Stderr = text, stderr.Bytes()
		out.Code, _, _ = p.ExitCode()
		return out, nil
	}
}

// hookName is the name that other agents gave a tool; it is what hooks are told.
var hookName = map[string]string{
	"exec_command": "Bash", "apply_patch": "apply_patch", "edit_file": "Edit", "write_file": "Write", "read_file": "Read",
	"glob": "Glob", "grep": "Grep", "list_dir": "LS", "update_plan": "TodoWrite",
	"web_fetch": "WebFetch",
}

// hookNames are the names under which hooks know a tool, which may be called by an
// alias: the one they are told, and all that a matcher may name.
func hookNames(name string) (shown string, all []string) {
	if t, ok := tools.Lookup(name); ok && hookName[t.Spec().Name] != "" {
		name = t.Spec().Name
	}
	shown = cmp.Or(hookName[name], name)
	switch name {
	case "exec_command":
		return shown, []string{shown, name, "shell"}
	case "apply_patch":
		return shown, []string{shown, "Edit", "Write", "MultiEdit"}
	case "edit_file":
		return shown, []string{shown, "MultiEdit", name}
	case shown:
		return shown, []string{shown}
	}
	return shown, []string{shown, name}
}

// hookCall is what all hooks about a call are told.
func (h *Executor) hookCall(e hooks.Event, c tool.Call, a tool.Action, s protocol.Settings,
	turn protocol.TurnID) hooks.Call {
	name, names := hookNames(c.Name)
	call := h.o.Hooks.Call(e, s, turn)
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
	} else if name == "apply_patch" {
		for _, key := range []string{"input", "patch"} { // it takes either
			if text, ok := args[key].(string); ok {
				args["command"] = text
			}
		}
	}
	call.Input = args
	return call
}

// before lets hooks look at a call that was judged. They may refuse it, have the
// user asked, or answer in the user's place; they never widen what the policy
// refuses or where a command runs.
func (h *Executor) before(ctx context.Context, e turn.Prepare, a tool.Action,
	p turn.Prepared) (turn.Prepared, remarks) {
	var say remarks
	if p.Outcome != nil && p.Outcome.Declined || !h.o.Hooks.Wants(hooks.PreToolUse) &&
		!h.o.Hooks.Wants(hooks.PermissionRequest) {
		return p, say
	}
	p, by, reason := fired(ctx, h, e, a, p, &say)
	if by != "" {
		p = declined(p, blocked(by, reason, a))
	}
	return p, say
}

// fired is what hooks make of a judged call; of one that they refuse it tells which event's did, and why.
func fired(ctx context.Context, h *Executor, e turn.Prepare, a tool.Action, p turn.Prepared,
	say *remarks) (_ turn.Prepared, by hooks.Event, reason string) {
	r := h.o.Hooks.Fire(ctx, h.hookCall(hooks.PreToolUse, e.Call, a, e.Settings, e.Turn))
	say.add(r)
	switch {
	case r.Decision == "deny" || r.Halt:
		return p, hooks.PreToolUse, r.ReasonOr(noReason)
	case r.Decision == "ask" && p.Verdict == turn.Allow:
		q := h.question(a, r.ReasonOr(""))
		if q == nil || p.Outcome != nil || e.Settings.Mode().Approval() == protocol.PolicyNever {
			return p, hooks.PreToolUse, r.ReasonOr("it asks for approval") + " (and nobody can be asked here)"
		}
		p.Verdict, p.Approval = turn.Ask, q
	case p.Outcome != nil:
		return p, "", ""
	case r.Decision == "allow":
		p = permitted(p, a)
	}
	if p.Verdict != turn.Ask {
		return p, "", ""
	}
	r = h.o.Hooks.Fire(ctx, h.hookCall(hooks.PermissionRequest, e.Call, a, e.Settings, e.Turn))
	say.add(r)
	switch r.Decision {
	case "deny":
		return p, hooks.PermissionRequest, r.ReasonOr(noReason)
	case "allow":
		p = permitted(p, a)
	}
	return p, "", ""
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

// question is that of a hook, which may give a reason.
func (h *Executor) question(a tool.Action, reason string) *protocol.Approval {
	q := &protocol.Approval{}
	switch a := a.(type) {
	case tool.Command:
		q.Command = &protocol.CommandApproval{Command: a.Line, Cwd: a.Dir}
	case tool.Change:
		q = h.askedChange(a.Set, "")
	default:
		return nil
	}
	q.Reason, q.Says, q.SaidBy = "a hook asks for your approval", reason, "Hook"
	return q
}

// declined is p refused. What the call read already is shown to nobody.
func declined(p turn.Prepared, text string) turn.Prepared {
	body := p.Body
	if p.Outcome != nil {
		body = p.Outcome.Body
		if c, ok := body.(protocol.ToolCall); ok {
			body = protocol.ToolCall{Call: c.Call, Server: c.Server, Tool: c.Tool, Args: c.Args, Error: text}
		}
	}
	return turn.Prepared{Call: p.Call, Outcome: &turn.Outcome{Text: text, Declined: true, Body: body}}
}

// noReason stands for the reason of a hook that gives none.
const noReason = "no reason given"

func blocked(event hooks.Event, reason string, a tool.Action) string {
	what := "Call"
	line := ""
	if c, ok := a.(tool.Command); ok {
		what, line = "Command", ". Command: "+c.Line
	}
	return fmt.Sprintf("%s blocked by %s hook: %s%s", what, event, reason, line)
}

// after lets hooks look at what a call came to, and speak to the model.
func (h *Executor) after(ctx context.Context, c tool.Call, a tool.Action, s protocol.Settings, id protocol.TurnID,
	o turn.Outcome) turn.Outcome {
	event := hooks.PostToolUse
	if !o.Success && h.o.Hooks.Wants(hooks.PostToolUseFailure) {
		event = hooks.PostToolUseFailure
	}
	if !h.o.Hooks.Wants(event) || ctx.Err() != nil {
		return o
	}
	call := h.hookCall(event, c, a, s, id)
	call.Response = map[string]any{"output": o.Text, "success": o.Success}
	change, _ := a.(tool.Change)
	call.Changed(change.Set)
	r := h.o.Hooks.Fire(ctx, call)
	if r.Decision == "deny" || r.Halt {
		o.Text += "\n\nA " + string(event) + " hook objects: " + r.ReasonOr("no reason given")
	}
	remarks{r.Context, r.Warnings}.on(&o)
	return o
}
