package protocol

import (
	"cmp"
	"fmt"
)

// Mode is what approval policy, sandbox mode and the word on edits come to together: what is
// asked about, and what commands may reach. Only [Settings.Mode] makes one, so that its parts
// agree, whatever the settings say:
//
//	in plan mode             commands run in a read-only sandbox and no file is changed
//	in a read-only sandbox   no file is changed unasked, and none where nobody may be asked
//	where edits are shown    no file is changed unasked
//
// Code that decides asks a Mode. Only what chooses settings, or shows them, reads the fields
// of [Settings]; a test of layers lists it. The zero Mode allows least: it is that of plan mode.
type Mode struct {
	approval ApprovalPolicy
	sandbox  SandboxMode
	edits    Edits
	by       string // what decides about edits, in words
}

// Mode joins the settings. Where they contradict each other the strictest one holds: plan mode
// before the mode of the front end, that before the sandbox, and the approval policy where the
// others say nothing. Nothing said is read-only and on request, as for a directory that nobody
// trusts; a value that there is not allows nothing.
func (s Settings) Mode() Mode {
	if s.Fault() != "" || s.Approval == PolicyPlan {
		return Mode{}
	}
	m := Mode{approval: cmp.Or(s.Approval, PolicyOnRequest), sandbox: cmp.Or(s.Sandbox, SandboxReadOnly)}
	m.edits, m.by = edits(m.approval, m.sandbox, s.Edits)
	return m
}

// edits says what becomes of a change of files outside plan mode, and what says so.
func edits(approval ApprovalPolicy, sandbox SandboxMode, said Edits) (Edits, string) {
	switch {
	case said == EditsAsk:
		return EditsAsk, "the mode"
	case sandbox == SandboxReadOnly && approval == PolicyNever:
		return EditsRefused, "approval policy never"
	case sandbox == SandboxReadOnly:
		return EditsAsk, "sandbox read-only"
	case approval == PolicyUntrusted && said != EditsFree:
		return EditsAsk, "approval policy untrusted"
	case approval == PolicyNever:
		return EditsFree, "approval policy never"
	}
	return EditsFree, "inside the workspace"
}

// Plans reports whether this is plan mode.
func (m Mode) Plans() bool { return m.Approval() == PolicyPlan }

// Approval says when the user is asked about commands.
func (m Mode) Approval() ApprovalPolicy { return cmp.Or(m.approval, PolicyPlan) }

// Edits says what becomes of a change of files inside the workspace, and which setting says
// so, in words.
func (m Mode) Edits() (Edits, string) {
	return cmp.Or(m.edits, EditsRefused), cmp.Or(m.by, "plan mode")
}

// Sandbox is what commands run in.
func (m Mode) Sandbox() SandboxMode { return cmp.Or(m.sandbox, SandboxReadOnly) }

// Command is the sandbox of one command: full access when its rule or the user let it out,
// but never in plan mode.
func (m Mode) Command(unsandboxed bool) SandboxMode {
	if unsandboxed && !m.Plans() {
		return SandboxFull
	}
	return m.Sandbox()
}

// Unbounded reports whether nothing is asked about and nothing confined.
func (m Mode) Unbounded() bool {
	return m.Approval() == PolicyNever && m.Sandbox() == SandboxFull
}

// With returns the settings with those of over that say something. The directory stays: where
// a session works is settled when it is opened.
func (s Settings) With(over Settings) Settings {
	s.Model, s.Effort = cmp.Or(over.Model, s.Model), cmp.Or(over.Effort, s.Effort)
	s.Approval, s.Sandbox = cmp.Or(over.Approval, s.Approval), cmp.Or(over.Sandbox, s.Sandbox)
	s.Edits = cmp.Or(over.Edits, s.Edits)
	return s
}

// Fault describes a setting whose value there is not, or returns "".
func (s Settings) Fault() string {
	switch s.Approval {
	case "", PolicyUntrusted, PolicyOnRequest, PolicyOnFailure, PolicyNever, PolicyAutoEdit, PolicyPlan:
	default:
		return fmt.Sprintf("approval policy %q: use untrusted, on-request, on-failure, never, auto-edit or plan", s.Approval)
	}
	switch s.Sandbox {
	case "", SandboxReadOnly, SandboxWorkspace, SandboxFull:
	default:
		return fmt.Sprintf("sandbox mode %q: use read-only, workspace-write or danger-full-access", s.Sandbox)
	}
	switch s.Edits {
	case "", EditsAsk, EditsFree:
	default:
		return fmt.Sprintf("changes of files %q: use ask or free", s.Edits)
	}
	return ""
}

// The modes, from what allows least.
var (
	sandboxes = map[SandboxMode]int{SandboxReadOnly: 1, SandboxWorkspace: 2, SandboxFull: 3}
	approvals = map[ApprovalPolicy]int{PolicyPlan: 1, PolicyUntrusted: 2, PolicyOnRequest: 3, PolicyOnFailure: 4,
		PolicyAutoEdit: 4, PolicyNever: 5}
)

// Rank orders sandbox modes by what they allow; 0 is none.
func (m SandboxMode) Rank() int { return sandboxes[m] }

// Rank orders approval policies by what they allow unasked; 0 is none.
func (p ApprovalPolicy) Rank() int { return approvals[p] }

// Wider says what of the settings allows more than most, and is empty if nothing does. What
// most leaves open is not bounded.
func (s Settings) Wider(most Settings) string {
	if most.Sandbox != "" && s.Sandbox.Rank() > most.Sandbox.Rank() {
		return fmt.Sprintf("the sandbox %s is wider than %s", s.Sandbox, most.Sandbox)
	}
	if most.Approval != "" && s.Approval.Rank() > most.Approval.Rank() {
		return fmt.Sprintf("the approval policy %s asks about less than %s", s.Approval, most.Approval)
	}
	return ""
}
