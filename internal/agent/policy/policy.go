// Package policy decides whether an action may run, must be asked about, or is
// refused. It is pure: it sees words, never the machine.
package policy

import "kerf/internal/protocol"

// Verdict is what may happen to an action.
type Verdict int

// The verdicts.
const (
	Allow Verdict = iota
	Ask
	Refuse
)

// Judgement is a verdict with its reason: for the user when asked, for the model
// when refused.
type Judgement struct {
	Verdict Verdict
	Reason  string
	// Unsandboxed says that the command, once allowed, runs without the sandbox.
	Unsandboxed bool
}

// Rules are the settings that judge.
type Rules struct {
	Approval protocol.ApprovalPolicy
	Sandbox  protocol.SandboxMode
}

// Command is what is known of a command to be judged.
type Command struct {
	Line     string
	Escalate bool
	Reason   string
}

// Command judges a command.
func (r Rules) Command(c Command) Judgement {
	safe := KnownSafe(c.Line)
	full := r.Sandbox == protocol.SandboxFull
	switch {
	case r.Approval == protocol.PolicyPlan && !safe:
		return refuse("this is plan mode: nothing may be changed, and this command is not known to only read. " +
			"Use the read tools, or a plain read-only command, and propose the plan")
	case r.Approval == protocol.PolicyUntrusted && !safe:
		return Judgement{Ask, "the command is not known to only read", c.Escalate && !full}
	case c.Escalate && !full && r.Approval == protocol.PolicyNever:
		return refuse("asking to leave the sandbox is pointless here: the approval policy is never. " +
			"Work within the sandbox, or tell the user what you need")
	case c.Escalate && !full:
		return Judgement{Ask, orElse(c.Reason, "the model asks to run this without the sandbox"), true}
	}
	return Judgement{Verdict: Allow}
}

// Change judges a change of files inside the workspace.
func (r Rules) Change() Judgement {
	switch {
	case r.Approval == protocol.PolicyPlan:
		return refuse("this is plan mode: no file may be changed. Propose the change in the plan")
	case r.Sandbox == protocol.SandboxReadOnly && r.Approval == protocol.PolicyNever:
		return refuse("the sandbox is read-only and nobody can be asked: no file may be changed. " +
			"Tell the user to run with --sandbox workspace-write")
	case r.Sandbox == protocol.SandboxReadOnly:
		return Judgement{Verdict: Ask, Reason: "the sandbox is read-only"}
	case r.Approval == protocol.PolicyUntrusted:
		return Judgement{Verdict: Ask, Reason: "changes are asked about (approval policy untrusted)"}
	}
	return Judgement{Verdict: Allow}
}

func refuse(reason string) Judgement { return Judgement{Verdict: Refuse, Reason: reason} }

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
