package turn

import "kerf/internal/protocol"

// Fault is a defect that tests seed into the core to see a law fail. The zero value
// is no fault. Only tests set another value.
type Fault int

// The faults, named for what they do.
const (
	NoFault              Fault = iota
	LoseOutput                 // L1: a call's output never reaches the history
	OutputTwice                // L1: it reaches it twice
	EndTwice                   // L2: a completed turn is told twice
	NeverEnd                   // L2: an aborted turn is not told
	RunUnasked                 // L3: what should be asked is run
	SampleAfterInterrupt       // L4: the follow-up is sent although the turn is stopping
	TakeLate                   // L5: the answer of a finished call is taken again
	Stick                      // L6: the end of a parallel call is overlooked
	RewriteHistory             // L7: a request drops the oldest item
	LosePending                // L8: input that joined the turn is dropped
	RunBeside                  // L9: calls that must run alone run beside others
	RunTwice                   // L9: a repeated call id runs again
	LeaveItemOpen              // L10: what a broken stream began stays open
	LeaveShrinkOpen            // L10: a compaction that was given up stays open
	LoseQueued                 // L8: what waits for a turn of its own is dropped with the one before
	ForgetNotes                // L11: a compaction drops the machine-made record
	ForgetWords                // L11: a compaction drops what was just said
	AllowHost                  // L3: a host is allowed unasked
	AllowServer                // L3: an MCP server is told yes unasked
	AllowUser                  // L3: a question of the model is answered unasked
	AllowAgent                 // L3: a sub-agent is told yes unasked
	CrossAnswers               // L3: an answer goes to another asker
	AskUnrecorded              // L12: a question has no record
	AnswerUnrecorded           // L12: the end of a question has no record
	LeaveAsking                // L12: the end of a turn leaves questions open
	EndUnchecked               // L13: a turn with a goal ends well, and nothing was checked
	TakeFailed                 // L13: it ends well although the check failed
	ForgetGoal                 // L13: a compaction drops the goal
)

// allows reports whether the fault answers a question in the user's place.
func (f Fault) allows(q *question) bool {
	if q.call != nil {
		return false
	}
	switch kind := q.approval.Kind(); f {
	case AllowAgent:
		return q.from.Agent != ""
	case AllowHost:
		return kind == protocol.AskHost
	case AllowServer:
		return kind == protocol.AskServer
	case AllowUser:
		return kind == protocol.AskUser
	}
	return false
}
