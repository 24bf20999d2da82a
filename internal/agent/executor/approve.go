package executor

import (
	"context"
	"errors"
	"fmt"

	"kerf/internal/agent/executor/binding"
	"kerf/internal/agent/executor/place"
	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/amend"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/visible"
	"kerf/internal/work/boundary"
)

// rules are what judges under the given settings.
func (h *Executor) rules(s protocol.Settings) policy.Rules {
	return policy.Rules{Mode: s.Mode(), List: h.o.Rules, Memory: &h.memory, Confined: h.o.Confined}
}

// judged is an action that may run once it is allowed.
type judged struct {
	Action   tool.Action
	call     tool.Call
	settings protocol.Settings
	turn     protocol.TurnID
	tool     string // as the model named it
	prepared turn.Prepared
	proposed delta.Set        // by the model, when the user edited the change
	say      remarks          // of hooks, for the outcome
	prior    *turn.Outcome    // of a run that the sandbox refused something
	notes    string           // on the arguments, for the outcome
	bound    *binding.Binding // what the command would start, as of the question; nil if nobody was asked
}

// Proposed is the action.
func (j judged) Proposed() tool.Action { return j.Action }

// diff is that of the change as the user was shown it.
func (j judged) diff() string {
	if a := j.prepared.Approval; a != nil && a.Change != nil {
		return a.Change.Diff
	}
	return ""
}

// unsandboxed reports whether the action may leave the sandbox.
func (j judged) unsandboxed(d protocol.Decision) bool {
	a := j.prepared.Approval
	return a != nil && a.Command != nil && a.Command.Unsandboxed && (j.prepared.Verdict == turn.Allow || d.Allows())
}

// asked is the question about a command.
func (h *Executor) asked(a tool.Command, j policy.Judgement) *protocol.Approval {
	reason := j.Reason
	if targets := here(h).Targets(a.Dir, j.Targets); targets != "" {
		reason += "; it would delete " + targets
	}
	return &protocol.Approval{Reason: reason, Says: j.Says, Command: &protocol.CommandApproval{Command: a.Line, Cwd: a.Dir,
		Unsandboxed: j.Unsandboxed, Prefix: j.Prefix, Rule: j.Rule, Covers: j.Covers}}
}

// commandOf is what the policy is told of a command.
func (h *Executor) commandOf(a tool.Command) policy.Command {
	c := policy.Command{Line: a.Line, Dir: a.Dir, Escalate: a.Escalate, Reason: a.Reason}
	at := here(h)
	c.Repo, c.Place = at.Repo(a.Dir), at
	c.Stands = h.shell.Meanings()
	c.Bound = func() string { return bind(h, a).Sum() }
	return c
}

// here is what is known of where commands run.
func here(h *Executor) *place.Place {
	return place.New(func() boundary.Policy { return h.o.Sandbox(protocol.SandboxWorkspace) }, h.shell.Env())
}

// bind takes down what a command would start now.
func bind(h *Executor, a tool.Action) *binding.Binding {
	c, ok := a.(tool.Command)
	if !ok {
		return nil
	}
	return binding.Of(c.Line, c.Dir, h.shell.Env(), here(h))
}

// askedChange is the question about a change of files.
func (h *Executor) askedChange(set delta.Set, reason string) *protocol.Approval {
	return &protocol.Approval{Reason: reason, Change: &protocol.ChangeApproval{Changes: h.files.PathChanges(set),
		Diff: h.files.Unified(set), Files: amend.FileTexts(h.files.Loaded(set))}}
}

// remember keeps what the user allowed for longer than once. A rule that cannot be written
// holds for the session, and the user is told.
func (h *Executor) remember(j judged, d protocol.Decision) (warnings []string) {
	a := j.prepared.Approval
	if a == nil || d != protocol.ForSession && d != protocol.Always {
		return nil
	}
	switch {
	case a.Network != nil:
		h.o.Pages.Allow(j.Action)
	case a.Tool != nil:
		if r, ok := j.Action.(tool.Remote); ok {
			h.servers.Allow(r)
		}
	case a.Change != nil:
		for _, c := range a.Change.Changes {
			h.memory.AllowPaths([]string{c.Path})
		}
	case a.Command != nil && d == protocol.Always && a.Command.Rule != "":
		r, err := policy.ParseRule(a.Command.Rule)
		if err != nil {
			return []string{err.Error()}
		}
		h.memory.AllowRule(r)
		err = errors.New("this session keeps no rules")
		if h.o.AddRule != nil {
			err = h.o.AddRule(a.Command.Rule)
		}
		if err != nil {
			return []string{fmt.Sprintf("the rule holds for this session only: %v", err)}
		}
	case a.Command != nil && len(a.Command.Prefix) > 0 && a.Command.Rule != "":
		r, err := policy.ParseRule(a.Command.Rule)
		if err != nil {
			return []string{err.Error()}
		}
		h.memory.AllowRule(r)
	case a.Command != nil:
		if c, ok := j.Action.(tool.Command); ok {
			h.memory.AllowCommand(h.commandOf(c), a.Command.Unsandboxed)
		}
	}
	return nil
}

// Processes lists the commands that run in the background, and the last ones that ended there.
func (h *Executor) Processes() (running, over []protocol.Process) { return h.commands.Processes() }

// OnEnd has fn called when a command in the background has ended, beside the caller.
func (h *Executor) OnEnd(fn func(id int)) { h.commands.OnEnd(fn) }

// Kill ends a background process and all it started.
func (h *Executor) Kill(id int) error {
	err := h.commands.Kill(id)
	if h.watched != nil && err == nil {
		if c := h.watched.Take(id); c != nil {
			f, werr := c.End(context.Background())
			h.record.addMerged(h.record.entered("", f))
			err = werr
		}
	}
	return err
}

// settleChange brings a change that the user allowed in agreement with what was shown: it puts
// in what the user edited, and sees whether a file moved since. It returns the question to be
// asked, or the outcome, or neither when the change may be written as it is.
func (h *Executor) settleChange(ctx context.Context, j *judged,
	answer protocol.Answer) (*protocol.Approval, *turn.Outcome) {
	if question := stillBound(h, j); question != nil {
		return question, nil
	}
	c, ok := j.Action.(tool.Change)
	if !ok || j.prepared.Approval == nil || j.prepared.Approval.Change == nil {
		return nil, nil
	}
	if len(answer.Edited) > 0 {
		set, err := amend.Edited(h.files.Loaded(c.Set), answer.Edited)
		if err != nil {
			o := refused(j.call, err)
			return nil, &o
		}
		if j.proposed == nil {
			j.proposed = c.Set
		}
		if len(set) == 0 {
			o := turn.Outcome{Text: "nothing was written: the user set every file back to what it was", Declined: true,
				Body: j.prepared.Body}
			return nil, &o
		}
		c.Set, c.Result.UpdatedStates = set, amend.Restated(c.Result.UpdatedStates, set)
		c.Result.Short = false // its words are about what was proposed
		j.Action = c
		return h.askedChange(set, "you edited the change; this is what will be written"), nil
	}
	if path := h.files.Stale(c.Set); path != "" && j.proposed == nil {
		again, err := h.Propose(ctx, j.call)
		if err != nil {
			o := refused(j.call, err)
			return nil, &o
		}
		fresh, ok := again.(tool.Change)
		if !ok {
			return nil, nil // the commit refuses it
		}
		if amend.Binding(fresh.Set) != amend.Binding(c.Set) {
			j.Action = fresh
			return h.askedChange(fresh.Set, visible.Line(h.files.Relative(path))+" changed since you were asked; this is "+
				"the change as it is now"), nil
		}
	}
	return nil, nil
}

// stillBound returns the question to be asked again about a command that would by now
// start something else than when the user was asked.
func stillBound(h *Executor, j *judged) *protocol.Approval {
	if j.bound == nil || j.prepared.Approval == nil || j.prepared.Approval.Command == nil {
		return nil
	}
	now := bind(h, j.Action)
	why := j.bound.Changed(now)
	if why == "" {
		return nil
	}
	j.bound = now
	question := *j.prepared.Approval
	question.ID, question.Reason = "", why+" since you were asked; the command would now run that"
	return &question
}

// again asks once more about a call that is running.
func again(e turn.Run, j judged, a *protocol.Approval) turn.Input {
	in := turn.AskAgain{Call: e.Call, Try: e.Try, Approval: *a, Prior: j.prior}
	if a.Change != nil {
		in.Body = protocol.FileChange{Call: e.Call, Changes: a.Change.Changes}
	}
	j.prepared.Approval, j.prepared.Verdict = a, turn.Ask
	if in.Body != nil {
		j.prepared.Body = in.Body
	}
	in.Proposal = j
	return in
}

// outside asks whether a command that the sandbox kept from something may run without it. Only
// policies that promise so ask; under the others the model has to.
func (h *Executor) outside(j judged, o turn.Outcome) *protocol.Approval {
	a, ok := j.Action.(tool.Command)
	if !ok || j.prior != nil {
		return nil
	}
	switch j.settings.Mode().Approval() {
	case protocol.PolicyOnFailure, protocol.PolicyUntrusted:
	default:
		return nil
	}
	c := h.commandOf(a)
	c.Escalate = true
	judgement := h.rules(j.settings).Command(c)
	if judgement.Verdict != policy.Ask {
		return nil
	}
	judgement.Reason = "the sandbox blocked something it did; run it again without the sandbox?"
	return h.asked(a, judgement)
}

// warnOfControlFiles warns of control files that were changed without a question.
func warnOfControlFiles(h *Executor, changes []history.FileChange, j judged) []string {
	if a := j.prepared.Approval; a != nil && a.Change != nil && j.prepared.Verdict == turn.Ask {
		return nil
	}
	return place.Unasked(changes, h.files.Relative)
}
