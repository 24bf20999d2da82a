package protocol

// ApprovalID names one question to the user; unique within its session.
type ApprovalID string

// Approval is a question to the user: what exactly will happen.
type Approval struct {
	ID   ApprovalID
	Call CallID
	// Reason is why the question is asked, in words for the user.
	Reason string
	// Exactly one of the following is set.
	Command *CommandApproval
	Change  *ChangeApproval
	Tool    *ToolApproval
}

// CommandApproval shows the command as it will run.
type CommandApproval struct {
	Command string
	Cwd     string
	// Unsandboxed is set when the command would run without the sandbox.
	Unsandboxed bool
	// Prefix is the rule that ForSession would add, empty when only exactly
	// this command can be allowed.
	Prefix []string
}

// ChangeApproval shows a change of files as it will be written. The approval
// is bound to these bytes: a file that moves before the commit is asked again.
type ChangeApproval struct {
	Changes []PathChange
	Diff    string
}

// ToolApproval shows a call of a tool that comes from elsewhere.
type ToolApproval struct {
	Server, Tool string
	Args         string
}

// Decision is the user's answer.
type Decision string

// The decisions. Deny lets the turn go on; Abort ends it.
const (
	Once       Decision = "once"
	ForSession Decision = "session"
	Deny       Decision = "deny"
	Abort      Decision = "abort"
	// Void resolves an approval that nobody needs to answer any more.
	Void Decision = "void"
)

// Allows reports whether d lets the action run.
func (d Decision) Allows() bool { return d == Once || d == ForSession }
