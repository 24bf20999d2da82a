package protocol

import "encoding/json"

// ApprovalID names one question to the user. It is unique within the session that
// tells it, also when a sub-agent asks.
type ApprovalID string

// Approval is a question to the user: what exactly will happen.
type Approval struct {
	ID ApprovalID `wire:"always"`
	// Agent is the sub-agent that asks, empty when the session itself asks.
	Agent SessionID
	// Call is the call of the asking session that the question is about, or empty.
	Call CallID
	// Reason is why the question is asked, in Kerf's words for the user.
	Reason string `wire:"always"`
	// Says is what somebody else gave as a reason, which nobody checked: the model, or the
	// one that SaidBy names. Front ends show it apart from Reason, line for line as theirs.
	Says, SaidBy string
	// Exactly one of the following is set.
	Command  *CommandApproval
	Change   *ChangeApproval
	Tool     *ToolApproval
	Network  *NetworkApproval
	Question *Question
}

// Quotes are the texts of others in a question, which front ends mark as theirs: who says
// it, and what.
func (a Approval) Quotes() (all []Quote) {
	if q := a.Question; q != nil {
		who := "Model"
		if q.Server != "" {
			who = "MCP server " + q.Server
		}
		if q.Header != "" {
			all = append(all, Quote{who, q.Header})
		}
		all = append(all, Quote{who, q.Message})
	}
	if a.Says != "" {
		who := a.SaidBy
		if who == "" {
			who = "Model"
		}
		all = append(all, Quote{who, a.Says})
	}
	return all
}

// Quote is a text with the one whose it is.
type Quote struct{ Who, Text string }

// ApprovalKind says what a question is about.
type ApprovalKind string

// The kinds of questions.
const (
	AskCommand ApprovalKind = "command"
	AskChange  ApprovalKind = "change"
	AskTool    ApprovalKind = "tool"
	AskHost    ApprovalKind = "network"
	AskUser    ApprovalKind = "question"    // of the model
	AskServer  ApprovalKind = "elicitation" // of an MCP server
)

// Kind tells what a is about, empty when nothing says so.
func (a Approval) Kind() ApprovalKind {
	switch {
	case a.Command != nil:
		return AskCommand
	case a.Change != nil:
		return AskChange
	case a.Tool != nil:
		return AskTool
	case a.Network != nil:
		return AskHost
	case a.Question != nil && a.Question.Server != "":
		return AskServer
	case a.Question != nil:
		return AskUser
	}
	return ""
}

// CommandApproval shows the command as it will run.
type CommandApproval struct {
	Command string `wire:"always"`
	Cwd     string `wire:"always"`
	// Unsandboxed is set when the command would run without the sandbox.
	Unsandboxed bool
	// Prefix is the rule that ForSession would add, empty when only exactly
	// this command can be allowed.
	Prefix []string
	// Rule is the line that Always would add to the user's rules, empty when
	// that is not offered. Covers says in words what it allows.
	Rule, Covers string
}

// ChangeApproval shows a change of files as it will be written. The approval
// is bound to these bytes: a file that moves before the commit is asked again.
type ChangeApproval struct {
	Changes []PathChange `wire:"always"`
	Diff    string       `wire:"always"`
	// Unseen is set when an undo asks whether it takes along changes that nobody saw
	// being made, which may be the user's own. Once takes them along, Deny leaves them
	// and takes back the rest, Abort takes back nothing; ForSession is not offered.
	Unseen bool
	// Files are the whole texts before and after, for front ends that draw them
	// themselves or let the user edit them; texts above a size bound and bytes
	// that are no text are left out.
	Files []FileText
}

// FileText is a file before and after a change. A nil text means that there is
// no file.
type FileText struct {
	Path     string
	Old, New *string
}

// ToolApproval shows a call of a tool that comes from elsewhere.
type ToolApproval struct {
	Server, Tool string
	Args         string
	// Changed shows how the tool's definition differs from the one that was
	// allowed before, empty when it is the same or new.
	Changed string
}

// NetworkApproval asks whether a command may reach a host.
type NetworkApproval struct {
	Host    string
	Port    int
	Command string
}

// Question asks the user for words or choices, on behalf of the model or of an
// MCP server. It is answered by Once with Answer.Content, Deny, or Abort.
type Question struct {
	Server  string // empty when the model asks
	Header  string
	Message string
	// Options are the answers offered; more may be typed when Free is set.
	Options []Choice
	Free    bool
	// Schema is the JSON schema of the content that is wanted, or nil.
	Schema json.RawMessage
	// URL is a page the user is asked to visit, or empty.
	URL string
}

// Choice is one answer offered.
type Choice struct{ Label, Description string }

// Decision is the user's answer.
type Decision string

// The decisions. Deny lets the turn go on; Abort ends it.
const (
	Once       Decision = "once"
	ForSession Decision = "session"
	// Always writes the rule that was shown to the user's rules.
	Always Decision = "always"
	Deny   Decision = "deny"
	Abort  Decision = "abort"
	// Void resolves an approval that nobody needs to answer any more.
	Void Decision = "void"
)

// Allows reports whether d lets the action run.
func (d Decision) Allows() bool { return d == Once || d == ForSession || d == Always }

// Answerer says who answered a question.
type Answerer string

// Those who answer. ByNobody is the rule of sessions that have nobody to ask: the
// answer is no.
const (
	ByUser   Answerer = "user"
	ByNobody Answerer = "nobody"
)
