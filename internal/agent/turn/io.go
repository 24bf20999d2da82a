package turn

import (
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Input is something that happened: one of the types below.
type Input interface{ input() }

// Submit is an Op of a front end.
type Submit struct {
	// ID becomes the id of the turn that the Op starts, if any.
	ID string
	Op protocol.Op
}

// Gathered answers Gather.
type Gathered struct {
	Turn  protocol.TurnID
	Again int
	Items []*model.Item
	Facts map[string]string
	// Notices are told to the model once. Unlike Items they are not told again after
	// a compaction.
	Notices []*model.Item
	// Warnings are told to the user.
	Warnings []string
	// Refused, when not empty, says why the input must not reach the model; the
	// turn fails with it.
	Refused string
}

// Chunk is one piece of the response to the request with number Round.
type Chunk struct {
	Round int
	Chunk model.Chunk
}

// StreamEnded answers CallModel: nil after a Done chunk, otherwise the cause.
type StreamEnded struct {
	Round int
	Err   error
}

// Prepared answers Prepare. Either Outcome is set and the call is over, or the
// call wants to act and Verdict says whether it may.
type Prepared struct {
	Call     protocol.CallID
	Outcome  *Outcome
	Verdict  Verdict
	Body     protocol.Body // shown while it runs
	Approval *protocol.Approval
	Proposal Proposal // what Run hands back when it may be done
}

// Proposal is what a call wants done. The core keeps it until it may be done, and
// does not look into it.
type Proposal interface {
	// Proposed is the action that the tool proposed.
	Proposed() tool.Action
}

// Verdict is what the policy says of an action.
type Verdict int

// The verdicts. A refused action comes back as an Outcome.
const (
	Allow Verdict = iota
	Ask
)

// Progress is output of a running call, for show.
type Progress struct {
	Call protocol.CallID
	Text string
}

// Finished answers Run.
type Finished struct {
	Call    protocol.CallID
	Outcome Outcome
}

// Outcome is the end of a call.
type Outcome struct {
	Text    string
	Images  []string
	Success bool
	// Declined is set when policy or user kept the call from running.
	Declined bool
	Body     protocol.Body // nil: the item is not shown
	Todo     *protocol.TodoList
	Changes  []history.FileChange
	Observed []history.Observation
	Millis   int64
	Warnings []string
	Checks   []CheckRun // of the project, that ran after it
}

// CheckRun is a check of the project that ran.
type CheckRun struct {
	Body protocol.Command
	Text string // what it found, in words
	OK   bool   // it found nothing new
}

// ShellDone answers RunShell.
type ShellDone struct {
	Call    protocol.CallID
	Outcome Outcome
}

// Undone answers Undo. Text, when not empty, is told to the model, and Warnings to the user.
type Undone struct {
	ID       string
	Report   protocol.UndoReport
	Changes  []history.FileChange
	Text     string
	Warnings []string
}

// Elapsed answers Wait.
type Elapsed struct{ Timer int }

// Settled answers Settle.
type Settled struct {
	Turn protocol.TurnID
	Diff *protocol.TurnDiff // nil: nothing changed
	// Changes are what was found outside of calls.
	Changes []history.FileChange
	// Note, when not empty, is told to the model with the next turn.
	Note string
	// Unrecorded, when not empty, says what is in no record, or was refused because it
	// could not be; a turn that ended well has failed then.
	Unrecorded string
	// Cut, when not empty, says whose work the turn's time cut off; a turn that ended well
	// has failed then.
	Cut string
	// Checks are those that ran at the end of the turn.
	Checks []CheckRun
	// GoOn, when not empty, is told to the model as a message, and the turn goes
	// on; the rest, but for Checks and Changes, is empty then.
	GoOn string
}

// Spent tells what a sub-agent used. It counts as the session's own.
type Spent struct {
	Agent protocol.SessionID
	Usage protocol.Usage
}

// Reviewed answers RunReview: a result, or why there is none.
type Reviewed struct {
	Call    protocol.CallID
	Result  protocol.ReviewResult
	Text    string // the result in words
	Trouble *protocol.Trouble
}

// Checked answers Check.
type Checked struct {
	Call    protocol.CallID
	Outcome Outcome // its Text is what the model is told
	// Passed is set when the check ended with exit code 0 and counts.
	Passed bool
}

func (Checked) input()     {}
func (Spent) input()       {}
func (Reviewed) input()    {}
func (Submit) input()      {}
func (Gathered) input()    {}
func (Chunk) input()       {}
func (StreamEnded) input() {}
func (Prepared) input()    {}
func (Progress) input()    {}
func (Finished) input()    {}
func (ShellDone) input()   {}
func (Undone) input()      {}
func (Elapsed) input()     {}
func (Settled) input()     {}

// Effect is something to be done: one of the types below.
type Effect interface{ effect() }

// Gather collects what the model should be told before a turn, or anew after a
// compaction. Before is what it was told; it must not be changed. First is set
// when nothing was told yet. Input is what the user says.
type Gather struct {
	Turn     protocol.TurnID
	Again    int // how many compactions the turn has had
	Settings protocol.Settings
	Before   map[string]string
	First    bool
	Input    []protocol.Input
	Goal     *protocol.Goal // of the turn that begins, or nil
}

// CallModel sends a request. Items must not be changed. A request for the
// summary of a compaction offers no tools.
type CallModel struct {
	Turn     protocol.TurnID
	Round    int
	Settings protocol.Settings
	Schema   []byte
	Items    []*model.Item
	Compact  bool
}

// StopModel cancels a request.
type StopModel struct{ Round int }

// Prepare asks a tool what it proposes.
type Prepare struct {
	Turn     protocol.TurnID
	Settings protocol.Settings
	Call     tool.Call
}

// Run carries out what was proposed.
type Run struct {
	Call     protocol.CallID
	Proposal Proposal          // of Prepared, or of the last AskAgain
	Decision protocol.Decision // empty when nobody was asked
	Answer   protocol.Answer   // the whole answer, with what the user edited
	Try      int               // how often the user was asked again
}

// RunShell runs a command of the user's own, outside the sandbox. StopCall ends
// it.
type RunShell struct {
	Turn     protocol.TurnID
	Call     protocol.CallID
	Settings protocol.Settings
	Command  string
}

// Undo takes changes back: those that Op names or, if Turns is set, those of all
// these turns, newest first.
type Undo struct {
	ID    string
	Op    protocol.Undo
	Turns []protocol.TurnID
}

// Kill ends a background process. It has no answer.
type Kill struct{ Process int }

// Forget says that the context of the model lost what it was shown: everything or,
// if Since is set, what it was shown in Turns. Those are the turn Since and all
// turns after it. Forget has no answer.
type Forget struct {
	Since protocol.TurnID
	Turns []protocol.TurnID
}

// StopCall ends a call that is being prepared or runs.
type StopCall struct{ Call protocol.CallID }

// Wait sleeps. With Jitter the caller varies the delay by up to a tenth.
type Wait struct {
	Timer  int
	Delay  time.Duration
	Jitter bool
}

// StopWait ends a Wait early.
type StopWait struct{ Timer int }

// Settle finds out what the turn changed.
type Settle struct {
	Turn     protocol.TurnID
	Settings protocol.Settings
	// Done is set when the model ended the turn by itself. Last is its last message.
	// WentOn counts how often a hook kept the turn going.
	Done   bool
	Last   string
	WentOn int
}

// RunReview has changes reviewed. StopCall ends it.
type RunReview struct {
	Turn     protocol.TurnID
	Call     protocol.CallID
	Settings protocol.Settings
	Op       protocol.Review
}

// Check runs the check of the turn's goal. StopCall ends it.
type Check struct {
	Turn     protocol.TurnID
	Call     protocol.CallID
	Settings protocol.Settings
	Goal     protocol.Goal
	Last     string // what the model said last
}

// End closes the session; it is the last effect.
type End struct{}

func (Check) effect()     {}
func (RunReview) effect() {}
func (Gather) effect()    {}
func (CallModel) effect() {}
func (StopModel) effect() {}
func (Prepare) effect()   {}
func (RunShell) effect()  {}
func (Undo) effect()      {}
func (Kill) effect()      {}
func (Forget) effect()    {}
func (Run) effect()       {}
func (StopCall) effect()  {}
func (Wait) effect()      {}
func (StopWait) effect()  {}
func (Settle) effect()    {}
func (End) effect()       {}

// Told is an event with what the loop needs to address it.
type Told struct {
	Turn       protocol.TurnID
	Submission string
	Agent      protocol.SessionID // the sub-agent that it comes from, or empty
	Msg        protocol.Msg
}

// Ready is what one step asks for. See the package comment for the order.
type Ready struct {
	Records []history.Record
	Events  []Told
	Effects []Effect
}

// Empty reports whether there is nothing to do.
func (r Ready) Empty() bool {
	return len(r.Records) == 0 && len(r.Events) == 0 && len(r.Effects) == 0
}
