package protocol

import (
	"fmt"
	"strings"
	"time"
)

// Event is what a session tells its front ends.
type Event struct {
	// Seq rises by one with every event of a session.
	Seq uint64 `wire:"always"`
	// Turn is the turn the event belongs to, empty outside turns.
	Turn TurnID
	// Submission is the ID of the submission that caused the event directly.
	Submission string
	// Agent is the sub-agent that the event comes from, empty for the session's
	// own.
	Agent SessionID
	Time  time.Time `wire:"always"`
	Msg   Msg       `wire:"always"`
}

// Msg is the content of an event: one of the types below.
type Msg interface{ msg() }

// SessionStarted is the first event of a session, also after a resume.
type SessionStarted struct {
	Session  SessionID `wire:"always"`
	Settings Settings  `wire:"always"`
	Provider string
	Resumed  bool
}

// TurnStarted opens a turn. Every turn is closed by exactly one of
// TurnCompleted, TurnFailed and TurnAborted.
type TurnStarted struct{}

// ItemStarted tells that an item began.
type ItemStarted struct {
	Item Item `wire:"always"`
}

// ItemDelta tells that the text of a message, reasoning or output grew.
// Deltas of one item may be merged when a front end is slow.
type ItemDelta struct {
	Item ItemID `wire:"always"`
	Text string `wire:"always"`
}

// ItemUpdated replaces what is known of an item that is not completed.
type ItemUpdated struct {
	Item Item `wire:"always"`
}

// ItemCompleted closes an item. Items that need no time are completed without
// having been started.
type ItemCompleted struct {
	Item Item `wire:"always"`
}

// ItemDropped withdraws a started item: the stream broke before it was whole
// and the model will say it again.
type ItemDropped struct {
	Item ItemID `wire:"always"`
}

// ApprovalRequested asks the user.
type ApprovalRequested struct {
	Approval Approval `wire:"always"`
}

// ApprovalResolved tells that an approval was answered or became void.
type ApprovalResolved struct {
	Approval ApprovalID `wire:"always"`
	Decision Decision   `wire:"always"`
}

// Retrying tells that a model request failed and will be sent again.
type Retrying struct {
	Attempt, Max int
	Delay        time.Duration
	Cause        string
}

// Warning is something the user should know that stops nothing.
type Warning struct {
	Message string `wire:"always"`
}

// RateLimits is the provider's last word on limits, as name -> value.
type RateLimits struct{ Values map[string]string }

// TokensUsed reports one model response. Turn counts the running turn, Total
// the session.
type TokensUsed struct {
	Last, Turn, Total Usage
	// Window is the model's context window in tokens, 0 when unknown.
	Window int
}

// Usage counts tokens. Input includes the cached ones, Output the reasoning.
type Usage struct {
	Input      int `json:"input_tokens"`
	Cached     int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.CacheWrite + v.CacheWrite,
		u.Output + v.Output, u.Reasoning + v.Reasoning}
}

// Total is what a context limit counts: input plus output.
func (u Usage) Total() int { return u.Input + u.Output }

// TurnDiff is the net change of a turn as a git-style unified diff. Last one
// wins. With Exact false some change could not be known; Note says which.
type TurnDiff struct {
	Diff  string
	Exact bool
	Files int
	// Unproven are the paths in Diff of which nobody saw who changed them: it was while
	// a command ran.
	Unproven []string
	// Outside is the diff of changes that neither tools nor commands made.
	Outside string
	Note    string
	// Running says that commands still run, which may change more.
	Running bool
	// NotCovered is what an undo of the turn would not bring back as it was, one line
	// each; empty when it covers everything.
	NotCovered []string
}

// Coverage tells in one sentence what an undo of the turn covers; it is empty when the
// turn changed nothing.
func (d TurnDiff) Coverage() string {
	const shown = 10
	switch n := len(d.NotCovered); {
	case n == 0 && d.Files == 0:
		return ""
	case n == 0 && d.Running:
		return "undo covers everything so far, while commands still run"
	case n == 0:
		return "undo covers everything"
	case n > shown:
		return fmt.Sprintf("undo does not cover: %s; and %d more", strings.Join(d.NotCovered[:shown], "; "), n-shown)
	}
	return "undo does not cover: " + strings.Join(d.NotCovered, "; ")
}

// TurnCompleted closes a turn that ended well.
type TurnCompleted struct {
	Usage       Usage  `wire:"always"` // of this turn
	LastMessage string `wire:"always"`
	Duration    time.Duration
}

// TurnFailed closes a turn that an error ended. The session stays usable.
type TurnFailed struct {
	Error Trouble `wire:"always"`
}

// TurnAborted closes a turn that was ended from outside.
type TurnAborted struct {
	Reason AbortReason `wire:"always"`
	// Undelivered is input that the model never saw.
	Undelivered []Input
}

// AbortReason says what ended a turn.
type AbortReason string

// The reasons of an abort.
const (
	AbortInterrupted AbortReason = "interrupted"
	AbortReplaced    AbortReason = "replaced"
	AbortBudget      AbortReason = "budget"
)

// SettingsChanged says what turns to come will use.
type SettingsChanged struct {
	Settings Settings `wire:"always"`
}

// QueueChanged lists the input that waits: for the running turn to end, and, as Joining,
// for its next model request, with which it joins the turn. Taken is what an Unqueue took
// back.
type QueueChanged struct {
	Waiting, Joining [][]Input
	Taken            []Input
}

// HistoryCompacted says that the history was replaced by a summary. Sizes are tokens.
type HistoryCompacted struct {
	Before, After int
	Auto          bool
}

// Undone tells what an Undo or Rewind did, or would do.
type Undone struct {
	Report UndoReport `wire:"always"`
}

// UndoReport is what an undo or redo did, or would do when it was a dry run.
type UndoReport struct {
	Redo, DryRun bool
	// What names what was taken back, in words.
	What    string
	Files   []UndoFile
	Diff    string
	Problem string // why nothing was done, empty otherwise
}

// UndoFile is the outcome for one file: "restored", "merged", "conflict", "unchanged",
// "missing" (its earlier content was not kept) or "left" (nobody saw who changed it).
type UndoFile struct {
	Path, Outcome, Note string
	// Removed says of a file that is restored that it goes: it was not there before.
	Removed bool
}

// Processes lists the commands that run in the background, and the last ones of those that
// ended there. Ended is the number of the one whose end it tells, or 0.
type Processes struct {
	Running, Over []Process
	Ended         int
}

// Process is a command that runs or ran in the background.
type Process struct {
	ID      int
	Command string
	Since   time.Time
	// Output is the end of what it printed so far.
	Output string
	// Outcome says how it ended, in words, and Took how long it ran; empty while it runs.
	Outcome string
	Took    time.Duration
	Failed  bool // it did not end with exit code 0
}

// Agents lists the sub-agents of the session.
type Agents struct{ Agents []Agent }

// Agent is one sub-agent. State is "running", "waiting", "completed", "failed",
// "interrupted" or "closed".
type Agent struct {
	ID                SessionID
	Name, Role, State string
	Message           string // the last one, shortened
	Tokens            int
}

// Servers tells how the MCP servers are.
type Servers struct{ Servers []Server }

// Server is one MCP server. State is "starting", "ready", "failed" or "off".
type Server struct {
	Name, State, Error string
	Tools              []string
	Prompts            []string // as the server calls them
	Resources          []string // the URIs of its first resources
}

// TitleChanged says that the session has a new title.
type TitleChanged struct {
	Title string `wire:"always"`
}

// SessionEnded is the last event.
type SessionEnded struct{}

// TroubleKind is a closed set of causes that front ends may branch on.
type TroubleKind string

// The kinds of trouble.
const (
	TroubleAuth    TroubleKind = "unauthorized"
	TroubleQuota   TroubleKind = "quota"
	TroubleRequest TroubleKind = "bad_request"
	TroubleContext TroubleKind = "context_window_exceeded"
	TroubleServer  TroubleKind = "server"
	TroubleNetwork TroubleKind = "network"
	TroubleStream  TroubleKind = "stream"
	TroubleStorage TroubleKind = "storage"
	TroubleOther   TroubleKind = "other"
)

// Trouble is an error told to the user. Hint is the one step that helps.
type Trouble struct {
	Kind    TroubleKind `wire:"always"`
	Message string      `wire:"always"`
	Hint    string
}

func (SessionStarted) msg()    {}
func (TurnStarted) msg()       {}
func (ItemStarted) msg()       {}
func (ItemDelta) msg()         {}
func (ItemUpdated) msg()       {}
func (ItemCompleted) msg()     {}
func (ItemDropped) msg()       {}
func (ApprovalRequested) msg() {}
func (ApprovalResolved) msg()  {}
func (Retrying) msg()          {}
func (Warning) msg()           {}
func (RateLimits) msg()        {}
func (TokensUsed) msg()        {}
func (TurnDiff) msg()          {}
func (TurnCompleted) msg()     {}
func (TurnFailed) msg()        {}
func (TurnAborted) msg()       {}
func (SettingsChanged) msg()   {}
func (QueueChanged) msg()      {}
func (HistoryCompacted) msg()  {}
func (Undone) msg()            {}
func (Processes) msg()         {}
func (Agents) msg()            {}
func (Servers) msg()           {}
func (TitleChanged) msg()      {}
func (SessionEnded) msg()      {}
