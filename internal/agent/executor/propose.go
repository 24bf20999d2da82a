package executor

import (
	"context"
	"fmt"
	"strings"

	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// Propose asks the tool of c what it proposes.
func (h *Executor) Propose(ctx context.Context, c tool.Call) (tool.Action, error) {
	if a, err, is := h.servers.Propose(c); is {
		return a, err
	}
	t, ok := tools.Lookup(c.Name)
	if !ok {
		return nil, tool.Refuse(tool.UnknownTool, "there is no tool %q. The tools are: %s", c.Name,
			strings.Join(tools.Names(), ", "))
	}
	a, err := t.Prepare(ctx, h.files, c)
	if change, ok := a.(tool.Change); ok && err == nil {
		return h.files.Pin(h.o.Correct.Correct(ctx, change))
	}
	return a, err
}

// judge decides about an action: it is over, may run, or must be asked.
func (h *Executor) judge(c tool.Call, a tool.Action, s protocol.Settings) turn.Prepared {
	rules := h.rules(s)
	p := turn.Prepared{Call: c.ID}
	switch a := a.(type) {
	case tool.Answer:
		p.Outcome = h.answer(c, a)
	case tool.Change:
		h.judgeChange(&p, c, a, rules)
	case tool.Command:
		h.judgeCommand(&p, c, a, rules)
	case tool.Undo:
		h.judgeUndo(&p, c, a, rules)
	case tool.Remote:
		h.judgeRemote(&p, c, a, rules)
	case tool.Fetch:
		p = h.o.Pages.Prepare(c, a, rules, h.clean)
	case tool.Delegate:
		p.Body = protocol.SubAgent{Call: c.ID, Operation: a.Operation, Prompt: a.Message}
	case tool.WriteStdin, tool.UserQuestion:
		p.Body = protocol.ToolCall{Call: c.ID, Tool: tools.Name(c.Name), Args: c.Args}
	default:
		p.Outcome = &turn.Outcome{Text: fmt.Sprintf("%s: this kind of action is not supported here", c.Name)}
	}
	h.head.Pause(&p, a, s, func(reason string) *protocol.Approval {
		if change, ok := a.(tool.Change); ok {
			return h.askedChange(change.Set, reason)
		}
		return h.asked(a.(tool.Command), policy.Judgement{Reason: reason, Unsandboxed: p.Approval != nil})
	})
	return p
}

// answer is the outcome of a call that needs nothing done.
func (h *Executor) answer(c tool.Call, a tool.Answer) *turn.Outcome {
	o := &turn.Outcome{Text: a.Result.Text(), Images: a.Result.Images, Success: a.Result.Error == nil, Todo: a.Todo}
	for _, shown := range a.Observed {
		seen := h.files.Observe(string(shown.Path), shown.Image)
		seen.First, seen.Last, seen.Lines = shown.First, shown.Last, shown.Lines
		o.Observed = append(o.Observed, seen)
	}
	if a.Todo == nil {
		body := protocol.ToolCall{Call: c.ID, Tool: tools.Name(c.Name), Args: c.Args, Output: o.Text}
		if a.Result.Error != nil {
			body.Output, body.Error = "", o.Text
		}
		o.Body = body
	}
	return o
}

func (h *Executor) judgeChange(p *turn.Prepared, c tool.Call, a tool.Change, rules policy.Rules) {
	body := protocol.FileChange{Call: c.ID, Changes: h.files.PathChanges(a.Set)}
	p.Body = body
	switch j := rules.Change(a.Set.Paths(), h.files.ControlFiles(a.Set)); j.Verdict {
	case policy.Refuse:
		body.Error = j.Reason
		p.Outcome = &turn.Outcome{Text: tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason)).Text(), Declined: true,
			Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = h.askedChange(a.Set, j.Reason)
	}
}

func (h *Executor) judgeCommand(p *turn.Prepared, c tool.Call, a tool.Command, rules policy.Rules) {
	body := protocol.Command{Call: c.ID, Command: a.Line, Cwd: a.Dir}
	p.Body = body
	switch j := rules.Command(h.commandOf(a)); j.Verdict {
	case policy.Refuse:
		p.Outcome = &turn.Outcome{Text: tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason)).Text(), Declined: true,
			Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = h.asked(a, j)
	case policy.Allow:
		if j.Unsandboxed {
			p.Approval = h.asked(a, j) // not asked; says how it runs
		}
	}
}

// judgeRemote decides about a call that leaves Kerf. What a server claims of its
// tools is not believed.
func (h *Executor) judgeRemote(p *turn.Prepared, c tool.Call, a tool.Remote, rules policy.Rules) {
	body := protocol.ToolCall{Call: c.ID, Server: a.Server, Tool: a.Tool, Args: c.Args}
	p.Body = body
	j, changed := h.servers.Judge(a, rules)
	switch j.Verdict {
	case policy.Refuse:
		body.Error = j.Reason
		p.Outcome = &turn.Outcome{Text: tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason)).Text(), Declined: true,
			Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = &protocol.Approval{Reason: j.Reason,
			Tool: &protocol.ToolApproval{Server: a.Server, Tool: a.Tool, Args: string(a.Args), Changed: changed}}
	}
}
