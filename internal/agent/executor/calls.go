package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/executor/instructions"
	"kerf/internal/agent/history"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/tools/amend"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/redact"
)

// Prepare asks a tool what it proposes and the policy what to do with it.
func (h *Executor) Prepare(ctx context.Context, e turn.Prepare) turn.Prepared {
	began := time.Now()
	h.shell.Take() // in the background: where tools are called, commands may follow
	h.o.Boundary.Use(string(e.Settings.Mode().Sandbox()))
	var notes string
	if h.o.Manner != nil {
		e.Call.Manner = h.o.Manner(e.Settings.Model)
		e.Call.Args, notes = tools.Plain(e.Call) // hooks and front ends see what is done
	}
	e.Call = h.servers.Meant(e.Call)
	action, err, own := instructions.ReadSkill(h.o.Skills, e.Call)
	if refused := h.allowedTool(e.Call.Name); refused != nil {
		action, err = nil, refused
	} else if !own {
		action, err = h.Propose(ctx, e.Call)
	}
	if err == nil {
		err = h.files.Writable(action)
	}
	if c, ok := action.(tool.Command); ok && err == nil && c.Login && !h.o.Shell.Login {
		err = tool.Refuse(tool.InvalidArguments, "%s: login shells are switched off here (allow_login_shell = false). "+
			"Leave login out", e.Call.Name)
	}
	if err != nil {
		o := refused(e.Call, err)
		o.Millis = time.Since(began).Milliseconds()
		return turn.Prepared{Call: e.Call.ID, Outcome: &o}
	}
	action = h.files.InView(action)
	p, say := h.before(ctx, e, action, h.judge(e.Call, action, e.Settings))
	if p.Outcome != nil {
		say.on(p.Outcome)
		if !p.Outcome.Declined {
			*p.Outcome = h.after(ctx, e.Call, action, e.Settings, e.Turn, *p.Outcome)
		}
		p.Outcome.Millis = time.Since(began).Milliseconds()
		p.Outcome.Text = history.Truncate(p.Outcome.Text, h.o.OutputTokens) + notes
		return p
	}
	j := judged{Action: action, call: e.Call, settings: e.Settings, turn: e.Turn, tool: e.Call.Name, prepared: p, say: say,
		notes: notes}
	if p.Verdict == turn.Ask {
		j.bound = bind(h, action)
	}
	p.Proposal = j
	return p
}

// refused is the outcome of a call that its tool turned down.
func refused(c tool.Call, err error) turn.Outcome {
	var refusal *tool.Error
	if !errors.As(err, &refusal) {
		refusal = &tool.Error{Code: "FAILED", Message: err.Error()}
	}
	text := tool.Fail(refusal).Text()
	return turn.Outcome{Text: text, Body: protocol.ToolCall{Call: c.ID, Tool: tools.Name(c.Name), Args: c.Args, Error: text}}
}

// Live is how a call reaches the session while it runs.
type Live struct {
	// Show passes live output on.
	Show func(text string)
	// Warn tells the user something at once; nil tells nobody. It does not wait.
	Warn func(text string)
	// Ask puts a question to the user.
	Ask func(context.Context, protocol.Approval) turn.Reply
	// Delegate carries out an operation about sub-agents; nil has none.
	Delegate func(context.Context, tool.Delegate, protocol.Settings) (team.Result, error)
}

// Run carries out a proposal that may run. It answers with Finished or AskAgain.
func (h *Executor) Run(ctx context.Context, e turn.Run, l Live) turn.Input {
	began := time.Now()
	j, ok := e.Proposal.(judged)
	if !ok {
		return turn.Finished{Call: e.Call, Outcome: turn.Outcome{Text: "the call was lost"}}
	}
	h.o.Boundary.Use(string(j.settings.Sandbox))
	live := redact.NewWriter(h.o.Redact, l.Show)
	question, ended := h.settleChange(ctx, &j, e.Answer)
	if question != nil {
		return again(e, j, question)
	}
	warnings, denied := h.remember(j, e.Decision), false
	h.head.Accept(j.prepared.Verdict)
	if ended == nil {
		o := h.Do(ctx, e.Call, j.Action, RunOptions{Settings: j.settings, Turn: j.turn, Tool: j.tool,
			Unsandboxed: j.unsandboxed(e.Decision), Edited: j.proposed != nil,
			Show: live.Write, Body: j.prepared.Body, Diff: j.diff(), Ask: l.Ask, Delegate: l.Delegate, Warn: l.Warn,
			Denied: func() { denied = true }})
		ended = &o
	}
	live.Close()
	o := h.told(ctx, *ended, j)
	o.Warnings, o.Millis = append(o.Warnings, warnings...), time.Since(began).Milliseconds()
	if denied && ctx.Err() == nil {
		if question := h.outside(j, o); question != nil {
			j.prior, j.bound = &o, bind(h, j.Action)
			return again(e, j, question)
		}
	}
	return turn.Finished{Call: e.Call, Outcome: o}
}

// told is an outcome as the model is told of it: with what the user made of a
// proposal, what an earlier run did, and within bounds.
func (h *Executor) told(ctx context.Context, o turn.Outcome, j judged) turn.Outcome {
	if c, ok := j.Action.(tool.Change); ok && j.proposed != nil && o.Success {
		o.Text += "\n" + amend.WriteReport(h.files.Loaded(j.proposed), h.files.Loaded(c.Set))
	}
	o.Warnings = append(o.Warnings, warnOfControlFiles(h, o.Changes, j)...)
	h.redact(j.Action, &o)
	j.say.on(&o)
	o = h.after(ctx, j.call, j.Action, j.settings, j.turn, o)
	if j.prior != nil {
		o.Changes = append(j.prior.Changes, o.Changes...)
	}
	o.Text = history.Truncate(o.Text, h.o.OutputTokens) + j.notes
	return o
}

// allowedTool keeps a role to its tools.
func (h *Executor) allowedTool(name string) error {
	if only := h.o.Only; only != nil && !slices.Contains(only, tools.Name(name)) {
		return tool.Refuse(tool.Denied, "%s is not among your tools: %s", name, strings.Join(only, ", "))
	}
	return nil
}
