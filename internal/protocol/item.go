package protocol

import "encoding/json"

// Item is one thing that happened in a turn.
type Item struct {
	ID     ItemID `wire:"always"`
	Status Status `wire:"always"`
	Body   Body   `wire:"always"`
}

// Status is how far an item has come.
type Status string

// The states of an item. A completed event carries any but InProgress.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	// Declined items were refused by the user or by policy and did not run.
	Declined Status = "declined"
)

// Body is what an item is about: one of the types below.
type Body interface{ body() }

// UserMessage is what the user said.
type UserMessage struct{ Input []Input }

// AgentMessage is text of the model for the user.
type AgentMessage struct {
	Text string `wire:"always"`
}

// Reasoning is the model's own summary of its thoughts.
type Reasoning struct {
	Text string `wire:"always"`
}

// ProposedPlan is a plan the model offers in plan mode.
type ProposedPlan struct {
	Text string `wire:"always"`
}

// Command is a run of a program.
type Command struct {
	Call     CallID
	Command  string `wire:"always"`
	Cwd      string
	Output   string `wire:"always"`
	ExitCode *int   // nil until the command ended
	// Lines is how many lines it printed, where Output may not hold all of them.
	Lines int
	// Process is the number of the process while it runs on in the background.
	Process int
	// User is set when the user ran it, not the model.
	User bool
	// Check is set when it is the check of a goal.
	Check bool
	// Terminal is the client's terminal it ran in, if it ran in one.
	Terminal string
	// NoSandbox is set when it did not run because its sandbox, or the record of what it changes,
	// could not be set up.
	NoSandbox bool
	// Verdict is set when it is a check of the project that Kerf ran: its name, and what it
	// came to.
	Verdict string
	// Changes are the files that it changed, known when it ended or was last looked at.
	// Diff is their unified diff, in past turns only.
	Changes []PathChange
	Diff    string
}

// FileChange is a change of files, one entry per path.
type FileChange struct {
	Call    CallID
	Changes []PathChange
	// Diff is the unified diff of the change, empty until it is committed.
	Diff string
	// Error says why a failed change failed.
	Error string
	// Files are the whole texts, as in ChangeApproval, for clients that ask for them.
	Files []FileText
}

// ChangeKind is what happens to a path.
type ChangeKind string

// The kinds of a path change.
const (
	Add    ChangeKind = "add"
	Delete ChangeKind = "delete"
	Update ChangeKind = "update"
)

// Certainty is what is known of who made a change.
type Certainty string

// What may be known of a change.
const (
	Proven   Certainty = "proven"   // Kerf made it, or a command that was watched
	Outside  Certainty = "outside"  // neither did
	Unproven Certainty = "unproven" // nobody saw who did it
)

// PathChange names a changed file by its absolute path. Names are bytes; front ends
// that write JSON write those that are not UTF-8 as {"b64": "..."}.
type PathChange struct {
	Path  string     `wire:"always"`
	Kind  ChangeKind `wire:"always"`
	Moved string
	// ControlFile marks a file that agents, editors or build machines obey.
	ControlFile bool
	// Certainty is what is known of who made the change, empty before it was made.
	Certainty Certainty
}

// ToolCall is a call of any other tool: reads, searches, and tools that come
// from elsewhere (Server is then the name of their server).
type ToolCall struct {
	Call   CallID
	Server string
	Tool   string `wire:"always"`
	Args   json.RawMessage
	Output string
	Error  string
	// Structured is the structured content of an MCP server's tool, or nil; Images are
	// the pictures it returned, as data: URLs.
	Structured json.RawMessage
	Images     []string
	// Changes are the files that a command changed which the call fed or waited for.
	Changes []PathChange
}

// TodoList is the plan the model keeps with update_plan.
type TodoList struct {
	Explanation string
	Steps       []Step
}

// Step is one line of a TodoList; Status is pending, in_progress or completed.
type Step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// SubAgent is a call that has to do with a sub-agent: "spawn", "send", "wait",
// "resume" or "close".
type SubAgent struct {
	Call      CallID
	Operation string
	Prompt    string
	Agents    []Agent
	Error     string
}

// WebSearch is a search the provider made.
type WebSearch struct{ Query string }

// Compaction is the replacement of the history by a summary. Sizes are tokens.
type Compaction struct {
	Before, After int
	Summary       string
}

// ReviewResult is the outcome of a review.
type ReviewResult struct {
	Text     string
	Findings []Finding
}

// Finding is one remark of a review. Priority 0 is the most urgent; lines are
// 1-based and inclusive, 0 when the finding has none.
type Finding struct {
	Title      string  `json:"title"`
	Body       string  `json:"body"`
	Priority   int     `json:"priority"`
	Confidence float64 `json:"confidence"`
	Path       string  `json:"path"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
}

// Answered is the end of a question that belongs to no call of the session: of a
// sub-agent, of an MCP server, or whether a command may reach a host. It is told in
// transcripts only.
type Answered struct {
	Kind     ApprovalKind
	Agent    SessionID // whose question it was, empty for the session's own
	Asked    string
	Decision Decision
	By       Answerer // empty when the question was withdrawn
	Words    string
}

// Outcome says in words how the question ended.
func (a Answered) Outcome() string {
	if a.By == ByNobody {
		return "Denied, nobody could be asked"
	}
	switch a.Decision {
	case Once:
		return "Allowed"
	case ForSession:
		return "Allowed for this session"
	case Always:
		return "Allowed always"
	case Void:
		return "Not answered"
	}
	return "Denied"
}

// Detail is what was asked, by which sub-agent, and what the user said to it.
func (a Answered) Detail() string {
	text := a.Asked
	if a.Agent != "" {
		text += " (asked by sub-agent " + string(a.Agent) + ")"
	}
	if a.Words != "" && a.By == ByUser {
		text += ": " + a.Words
	}
	return text
}

// Problem is a warning that belongs in the transcript.
type Problem struct{ Message string }

func (UserMessage) body()  {}
func (AgentMessage) body() {}
func (Reasoning) body()    {}
func (ProposedPlan) body() {}
func (Command) body()      {}
func (FileChange) body()   {}
func (ToolCall) body()     {}
func (TodoList) body()     {}
func (SubAgent) body()     {}
func (WebSearch) body()    {}
func (Compaction) body()   {}
func (ReviewResult) body() {}
func (Answered) body()     {}
func (Problem) body()      {}
