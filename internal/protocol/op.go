package protocol

import "encoding/json"

// SessionID is the UUIDv7 of a session, in its canonical text form.
type SessionID string

// TurnID names one turn; unique within its session.
type TurnID string

// CallID names one tool call; unique within its session.
type CallID string

// ItemID names one item; unique within its session.
type ItemID string

// Submission is an Op under way to a session. ID is chosen by the front end and
// comes back as Event.Submission in the events that answer it directly.
type Submission struct {
	ID string
	Op Op `wire:"always"`
}

// Op is what a front end asks of a session: one of the types below.
type Op interface{ op() }

// UserInput is a message of the user. With an active turn it joins that turn
// before its next model request; with none it starts a turn.
type UserInput struct {
	Items []Input
	// Settings, when not nil, replaces the session's settings before a turn is
	// started. It does not touch a turn that is already running.
	Settings *Settings
	// Schema is the JSON schema that the final message must follow, or nil.
	Schema json.RawMessage
	// Replace starts a new turn even while one runs; that one ends with
	// AbortReplaced.
	Replace bool
	// Queue waits until the running turn is over and starts a turn of its own.
	Queue bool
	// Goal, when not nil, is what the turn is for. It waits as with Queue.
	Goal *Goal
}

// Goal is what a turn has to reach. It does not change while the turn runs.
type Goal struct {
	Text string
	// Check is a line of the shell. The turn ends well when it ends with exit code 0 after
	// the model said that it is done. Empty leaves the end to the model.
	Check string
	// Checks bounds how often the check runs; 0 is 20 times.
	Checks int
}

// Input is one part of a user's message: text, or an image.
type Input struct {
	Text string `json:"text,omitempty"`
	// ImageURL is a data: URL, or empty.
	ImageURL string `json:"image_url,omitempty"`
}

// Interrupt ends the running turn with AbortInterrupted. Without one it does
// nothing.
type Interrupt struct{}

// Answer decides the open approval with the given ID. An answer to an approval
// that is no longer open is ignored.
type Answer struct {
	Approval ApprovalID
	Decision Decision
	// Words are told to the model with a denial.
	Words string
	// Edited holds contents that the user wants instead of the proposed ones, by
	// path of ChangeApproval.Files; a path set to its old text is left alone.
	// The change is then shown again.
	Edited map[string]string
	// Content answers a Question.
	Content json.RawMessage
}

// Address hands an Op to a sub-agent of the session: a UserInput, which joins its
// turn or starts one, or an Interrupt. Others are ignored.
type Address struct {
	Agent SessionID
	Op    Op
}

// Configure changes the settings for turns to come; empty fields stay.
type Configure struct{ Settings Settings }

// Compact replaces the history by a summary, in a task of its own.
type Compact struct{}

// Shell runs a command of the user's own, outside the sandbox; the model sees
// it and its output with the next request.
type Shell struct{ Command string }

// Review asks for a review of changes. Without a field it reviews what is not
// committed.
type Review struct {
	Base   string // changes since the merge base with this branch
	Commit string // changes of this commit
	Words  string // free text
}

// Undo takes changes of this session back: those of one call, of one turn, or,
// with neither, of the last turn that is not undone. Redo brings back what the
// last undo took.
type Undo struct {
	Turn TurnID
	Call CallID
	// Paths narrows it to these files.
	Paths []string
	// Hunks narrows an undo of one call to single edits: by absolute path, which of
	// the runs of changed lines in the call's diff of it, counted from 0.
	Hunks map[string][]int
	// Lines narrows it further, to single lines: those that the diff of the file removes
	// or adds, counted from 0 in its order.
	Lines map[string][]int
	// Conflicts says what becomes of files that were changed since in the same place: "merge"
	// (both, between markers), "ours" (those lines stay), "theirs" (they go), "skip" (the file
	// stays). Empty: nothing is done.
	Conflicts string
	Redo      bool
	// DryRun only tells what would happen.
	DryRun bool
}

// Rewind goes back to just before a turn: in the conversation, in the files, or
// both.
type Rewind struct {
	Turn                TurnID
	Conversation, Files bool
}

// Rename gives the session a title.
type Rename struct{ Title string }

// Kill ends a running background process.
type Kill struct{ Process int }

// Unqueue takes back the input that waits: for the turn to end, and for its next request.
// QueueChanged tells what was taken.
type Unqueue struct{}

// ListProcesses asks for what runs in the background: Processes answers.
type ListProcesses struct{}

// Shutdown interrupts what runs, flushes and ends the session.
type Shutdown struct{}

func (UserInput) op()     {}
func (Interrupt) op()     {}
func (Answer) op()        {}
func (Address) op()       {}
func (Configure) op()     {}
func (Compact) op()       {}
func (Shell) op()         {}
func (Review) op()        {}
func (Undo) op()          {}
func (Rewind) op()        {}
func (Rename) op()        {}
func (Kill) op()          {}
func (Unqueue) op()       {}
func (ListProcesses) op() {}
func (Shutdown) op()      {}

// Settings are the parts of a session that a front end may change between turns, as they are
// chosen and told. A turn freezes them when it starts. What they allow is their [Settings.Mode].
type Settings struct {
	Model    string         `json:"model"`
	Effort   string         `json:"effort,omitempty"`
	Approval ApprovalPolicy `json:"approval_policy"`
	Sandbox  SandboxMode    `json:"sandbox_mode"`
	Cwd      string         `json:"cwd"`
	// Edits is EditsAsk where every change of files is to be shown first, whatever
	// the approval policy says of commands; EditsFree or empty otherwise.
	Edits Edits `json:"edits,omitempty"`
}

// ApprovalPolicy says when the user is asked.
type ApprovalPolicy string

// The approval policies. PolicyPlan allows no change at all; PolicyAutoEdit
// asks for commands but not for file changes inside the workspace.
const (
	PolicyUntrusted ApprovalPolicy = "untrusted"
	PolicyOnRequest ApprovalPolicy = "on-request"
	PolicyOnFailure ApprovalPolicy = "on-failure"
	PolicyNever     ApprovalPolicy = "never"
	PolicyAutoEdit  ApprovalPolicy = "auto-edit"
	PolicyPlan      ApprovalPolicy = "plan"
)

// Edits says whether changes of files are asked about. Empty leaves it to the
// approval policy.
type Edits string

// The values of Edits. EditsRefused is an answer of [Mode.Edits] only, never a setting.
const (
	EditsAsk     Edits = "ask"
	EditsFree    Edits = "free"
	EditsRefused Edits = "refused"
)

// SandboxMode says what commands may reach.
type SandboxMode string

// The sandbox modes.
const (
	SandboxReadOnly  SandboxMode = "read-only"
	SandboxWorkspace SandboxMode = "workspace-write"
	SandboxFull      SandboxMode = "danger-full-access"
)
