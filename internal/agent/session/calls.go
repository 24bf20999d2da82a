package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// prepare asks a tool what it proposes and the policy what to do with it.
func (s *Session) prepare(ctx context.Context, e turn.Prepare) message {
	began := time.Now()
	s.o.Hands.takeSnapshot() // in the background: where tools are called, commands may follow
	action, err, own := s.skillRead(e.Call)
	if refused := s.allowedTool(e.Call.Name); refused != nil {
		action, err = nil, refused
	} else if !own {
		action, err = s.o.Hands.Propose(ctx, e.Call)
	}
	if err == nil {
		err = s.confined(action, e.Settings)
	}
	if c, ok := action.(tool.Command); ok && err == nil && c.Login && !s.o.Hands.o.Shell.Login {
		err = tool.Refuse(tool.InvalidArguments, "%s: login shells are switched off here (allow_login_shell = false). Leave login out", e.Call.Name)
	}
	if err != nil {
		o := s.refused(e.Call, err)
		o.Millis = time.Since(began).Milliseconds()
		return message{in: turn.Prepared{Call: e.Call.ID, Outcome: &o}}
	}
	action = s.inView(action)
	p, say := s.o.Hands.before(ctx, e, action, s.o.Hands.judge(e.Call, action, e.Settings))
	if p.Outcome != nil {
		say.on(p.Outcome)
		if !p.Outcome.Declined {
			*p.Outcome = s.o.Hands.after(ctx, e.Call, action, e.Settings, e.Turn, *p.Outcome)
		}
		p.Outcome.Millis = time.Since(began).Milliseconds()
		p.Outcome.Text = history.Truncate(p.Outcome.Text, s.o.OutputTokens)
		return message{in: p}
	}
	if p.Verdict == turn.Ask && s.o.Headless {
		o := turn.Outcome{Text: unanswerable(p.Approval), Declined: true, Body: p.Body}
		switch b := p.Body.(type) {
		case protocol.ToolCall:
			b.Error = o.Text
			o.Body = b
		case protocol.FileChange:
			b.Error = o.Text
			o.Body = b
		}
		return message{in: turn.Prepared{Call: e.Call.ID, Outcome: &o}}
	}
	return message{in: p, action: judged{Action: action, call: e.Call, settings: e.Settings, turn: e.Turn, tool: e.Call.Name, prepared: p, say: say}}
}

// unanswerable tells the model that nobody can be asked here.
func unanswerable(a *protocol.Approval) string {
	return "not run: it needs the user's approval (" + a.Reason + ") and this run has nobody to ask. " +
		"Find a way that needs no approval, or tell the user to allow it: run with another --sandbox or approval policy"
}

// refused is the outcome of a call that its tool turned down.
func (s *Session) refused(c tool.Call, err error) turn.Outcome {
	var refusal *tool.Error
	if !errors.As(err, &refusal) {
		refusal = &tool.Error{Code: "FAILED", Message: err.Error()}
	}
	text := Render(tool.Fail(refusal))
	return turn.Outcome{Text: text, Body: protocol.ToolCall{Call: c.ID, Tool: c.Name, Args: c.Args, Error: text}}
}

// Propose asks the tool of c what it proposes.
func (h *Hands) Propose(ctx context.Context, c tool.Call) (tool.Action, error) {
	if a, err, is := h.proposeRemote(c); is {
		return a, err
	}
	t, ok := tools.Lookup(c.Name)
	if !ok {
		return nil, tool.Refuse(tool.UnknownTool, "there is no tool %q. The tools are: %s", c.Name, strings.Join(tools.Names(), ", "))
	}
	a, err := t.Prepare(ctx, h, c)
	if change, ok := a.(tool.Change); ok && err == nil {
		return h.pin(h.o.Correct.Correct(ctx, change))
	}
	return a, err
}

// judge decides about an action: it is over, may run, or must be asked.
func (h *Hands) judge(c tool.Call, a tool.Action, s protocol.Settings) turn.Prepared {
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
	case tool.Delegate:
		p.Body = protocol.SubAgent{Call: c.ID, Deed: a.Deed, Prompt: a.Message}
	case tool.Poke, tool.Inquire:
		p.Body = protocol.ToolCall{Call: c.ID, Tool: c.Name, Args: c.Args}
	default:
		p.Outcome = &turn.Outcome{Text: fmt.Sprintf("%s: this kind of action is not supported here", c.Name)}
	}
	return p
}

// answer is the outcome of a call that needs nothing done.
func (h *Hands) answer(c tool.Call, a tool.Answer) *turn.Outcome {
	o := &turn.Outcome{Text: Render(a.Result), Images: a.Result.Images, Success: a.Result.Error == nil, Todo: a.Todo}
	for _, sight := range a.Saw {
		seen := h.saw(sight.Path, sight.Image)
		seen.First, seen.Last, seen.Lines = sight.First, sight.Last, sight.Lines
		o.Saw = append(o.Saw, seen)
	}
	if a.Todo == nil {
		body := protocol.ToolCall{Call: c.ID, Tool: c.Name, Args: c.Args, Output: o.Text}
		if a.Result.Error != nil {
			body.Output, body.Error = "", o.Text
		}
		o.Body = body
	}
	return o
}

func (h *Hands) judgeChange(p *turn.Prepared, c tool.Call, a tool.Change, rules policy.Rules) {
	body := protocol.FileChange{Call: c.ID, Changes: h.pathChanges(a.Set)}
	p.Body = body
	switch j := rules.Change(a.Set.Paths(), h.steering(a.Set)); j.Verdict {
	case policy.Refuse:
		p.Outcome = &turn.Outcome{Text: Render(tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason))), Declined: true, Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = h.askedChange(a.Set, j.Reason)
	}
}

func (h *Hands) judgeCommand(p *turn.Prepared, c tool.Call, a tool.Command, rules policy.Rules) {
	body := protocol.Command{Call: c.ID, Command: a.Line, Cwd: a.Dir}
	p.Body = body
	switch j := rules.Command(h.commandOf(a)); j.Verdict {
	case policy.Refuse:
		p.Outcome = &turn.Outcome{Text: Render(tool.Fail(tool.Refuse(tool.Denied, "%s", j.Reason))), Declined: true, Body: body}
	case policy.Ask:
		p.Verdict = turn.Ask
		p.Approval = h.asked(a, j)
	case policy.Allow:
		if j.Unsandboxed {
			p.Approval = h.asked(a, j) // not asked; says how it runs
		}
	}
}

// steering lists the files of a set that agents, editors or machines obey.
func (h *Hands) steering(set delta.Set) []string {
	var names []string
	for _, c := range set {
		if name := h.relative(c.Path); h.steers(c) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// pathChanges lists the paths of a set as front ends show them.
func pathChanges(set delta.Set) []protocol.PathChange {
	list := make([]protocol.PathChange, 0, len(set))
	for _, c := range set {
		pc := protocol.PathChange{Path: c.Path, Kind: protocol.Update, Moved: c.From}
		switch {
		case c.Pre == nil:
			pc.Kind = protocol.Add
		case c.Post == nil:
			pc.Kind = protocol.Delete
		}
		list = append(list, pc)
	}
	return list
}

// run carries out an action that may run.
func (s *Session) run(ctx context.Context, e turn.Run, a tool.Action) message {
	began := time.Now()
	j, ok := a.(judged)
	if !ok {
		return message{in: turn.Finished{Call: e.Call, Outcome: turn.Outcome{Text: "the call was lost"}}}
	}
	live := s.o.Hands.veil(func(text string) {
		select {
		case s.inputs <- message{in: turn.Progress{Call: e.Call, Text: text}}:
		case <-ctx.Done():
		}
	})
	question, ended := s.settleChange(ctx, &j, e.Answer)
	if question != nil {
		return s.again(e, j, question)
	}
	warnings := s.o.Hands.remember(j, e.Decision)
	denied := false
	if q, ok := j.Action.(tool.Inquire); ok && ended == nil {
		o := s.inquire(ctx, j.call, q)
		ended = &o
	}
	if ended == nil {
		o := s.o.Hands.Do(ctx, e.Call, j.Action, Manner{Settings: j.settings, Turn: j.turn, Tool: j.tool, Unsandboxed: j.unsandboxed(e.Decision),
			Show: live.write, Body: j.prepared.Body, Ask: s.Ask, Denied: func() { denied = true }})
		ended = &o
	}
	live.close()
	o := s.told(ctx, *ended, j)
	o.Warnings = append(o.Warnings, warnings...)
	o.Millis = time.Since(began).Milliseconds()
	if denied && ctx.Err() == nil {
		if question := s.outside(j, o); question != nil {
			j.prior = &o
			return s.again(e, j, question)
		}
	}
	return message{in: turn.Finished{Call: e.Call, Outcome: o}}
}

// told is an outcome as the model is told of it: with what the user made of a
// proposal, what an earlier run did, and within bounds.
func (s *Session) told(ctx context.Context, o turn.Outcome, j judged) turn.Outcome {
	if c, ok := j.Action.(tool.Change); ok && j.proposed != nil && o.Success {
		o.Text += "\n" + tools.WriteReport(s.o.Hands.loaded(j.proposed), s.o.Hands.loaded(c.Set))
	}
	o.Warnings = append(o.Warnings, s.o.Hands.steered(o.Changes, j)...)
	s.o.Hands.redact(j.Action, &o)
	j.say.on(&o)
	o = s.o.Hands.after(ctx, j.call, j.Action, j.settings, j.turn, o)
	if j.prior != nil {
		o.Changes = append(j.prior.Changes, o.Changes...)
	}
	o.Text = history.Truncate(o.Text, s.o.OutputTokens)
	return o
}

// Manner says how an action is carried out.
type Manner struct {
	Settings    protocol.Settings
	Turn        protocol.TurnID
	Tool        string // the name of the call, for the ledger
	Unsandboxed bool
	Show        func(string) // live output, may be nil
	Body        protocol.Body
	// Ask puts a question to the user while the action runs; nil has nobody to ask.
	Ask    func(context.Context, protocol.Approval) protocol.Answer
	Denied func() // called when the sandbox seems to have refused something; may be nil
}

// Do carries out an action that may run.
func (h *Hands) Do(ctx context.Context, id protocol.CallID, a tool.Action, m Manner) turn.Outcome {
	switch a := a.(type) {
	case tool.Change:
		return h.change(ctx, id, a, m)
	case tool.Command:
		return h.command(ctx, id, a, m)
	case tool.Poke:
		return h.poke(ctx, id, a, m)
	case tool.Undo:
		return h.undo(ctx, id, a, m)
	case tool.Remote:
		return h.callRemote(ctx, id, a)
	case tool.Delegate:
		return h.delegate(ctx, id, a, m)
	}
	return turn.Outcome{Text: "nothing to do"}
}

// Render is a result as the model reads it.
func Render(r tool.Result) string {
	var b strings.Builder
	if r.Error != nil {
		b.WriteString(r.Error.Error())
	}
	if r.Output != "" {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(r.Output)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\nwarning %s: %s", w.Code, w.Message)
		if w.Suggestion != "" {
			b.WriteString(" " + w.Suggestion)
		}
	}
	if len(r.UpdatedStates) > 0 {
		// Map keys are sorted by encoding/json, so the text is stable.
		states, err := json.Marshal(r.UpdatedStates)
		if err == nil {
			b.WriteString("\nupdatedFileStates: " + string(states))
		}
	}
	return b.String()
}
