package task

import "time"

// Phase is where a task stands.
type Phase string

// The phases. The last four are ends.
const (
	Waiting    Phase = "waiting" // for a worker
	Preparing  Phase = "preparing"
	Running    Phase = "running"
	Asking     Phase = "asking" // a question is open
	Checking   Phase = "checking"
	Publishing Phase = "publishing"
	Done       Phase = "done"
	Unchecked  Phase = "checks failed"
	Failed     Phase = "failed"
	Cancelled  Phase = "cancelled"
)

// Over reports whether p is an end.
func (p Phase) Over() bool {
	return p == Done || p == Unchecked || p == Failed || p == Cancelled
}

// Place is a worker that has taken up a task.
type Place struct {
	Number int    `json:"number"` // from 1; a higher one replaces those before it
	Worker string `json:"worker"` // its name, for people
	Queue  string `json:"queue"`  // which only this worker serves
	// Base is the commit that the task's revision stands for.
	Base string `json:"base"`
	// Rounds are those that a restored session has behind it; Event the number of its
	// last event that was kept.
	Rounds int    `json:"rounds,omitempty"`
	Event  uint64 `json:"event,omitempty"`
	// Over is what came of the run, where its worker was lost after it.
	Over *Ran `json:"over,omitempty"`
}

// Question is what a session asks. Text is exactly what will happen.
type Question struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"` // command, change, tool, network, question
	Text   string    `json:"text"`
	Reason string    `json:"reason,omitempty"` // Kerf's
	Says   string    `json:"says,omitempty"`   // the model's, which nobody checked
	Until  time.Time `json:"until,omitzero"`   // then the answer is no
}

// Answer is what somebody said to a question.
type Answer struct {
	Question string `json:"question"` // its id
	Yes      bool   `json:"yes"`
	Words    string `json:"words,omitempty"` // told to the model with a no
	By       string `json:"by,omitempty"`
	// Key is of this answer alone: of two that were given at once, one counts.
	Key string `json:"key,omitempty"`
}

// String is for people: yes or no, and by whom.
func (a Answer) String() string {
	text := "no"
	if a.Yes {
		text = "yes"
	}
	if a.By != "" {
		text += ", by " + a.By
	}
	return text
}

// Order is what a running session is told: an answer, or a text that joins its turn.
type Order struct {
	Answer *Answer `json:"answer,omitempty"`
	Steer  string  `json:"steer,omitempty"`
}

// State is how a task stands now.
type State struct {
	Task      Task       `json:"task"`
	Phase     Phase      `json:"phase"`
	Place     *Place     `json:"place,omitempty"`
	Attempt   int        `json:"attempt,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	// Answered are the answers that counted, the last 100, without their words.
	Answered []Answer `json:"answered,omitempty"`
	// Lost tells of workers that did not end what they began.
	Lost   []string `json:"lost,omitempty"`
	Result *Result  `json:"result,omitempty"`
}

// Ran is what came of one run of the session.
type Ran struct {
	Session string `json:"session"`
	Problem string `json:"problem,omitempty"` // why it ended early
	Message string `json:"message,omitempty"` // the model's last, cut at 4 KiB
	Tokens  int    `json:"tokens,omitempty"`
	Rounds  int    `json:"rounds,omitempty"`
	Event   uint64 `json:"event,omitempty"`
}

// CheckResult is one check on the final tree.
type CheckResult struct {
	Command string        `json:"command"`
	Exit    int           `json:"exit"`
	Took    time.Duration `json:"took"`
	Tree    string        `json:"tree"`             // that it ran on
	Output  string        `json:"output,omitempty"` // its end, 8 KiB
}

// Result is the end of a task.
type Result struct {
	Task    string        `json:"task"`
	Outcome Phase         `json:"outcome"`
	Problem string        `json:"problem,omitempty"`
	Session string        `json:"session,omitempty"`
	Message string        `json:"message,omitempty"`
	Base    string        `json:"base,omitempty"`
	Tree    string        `json:"tree,omitempty"`
	Bundle  string        `json:"bundle,omitempty"` // its hash in the store
	Files   int           `json:"files"`            // changed
	Tokens  int           `json:"tokens,omitempty"`
	Checks  []CheckResult `json:"checks,omitempty"`
	Places  int           `json:"places,omitempty"`
}

// PartMost bounds how many tasks one run of a map starts: each has six events in its history, which the engine bounds.
const PartMost = 1000

// Map is one prompt over many rows.
type Map struct {
	ID string `json:"id"`
	// Task is what all rows share.
	Task Task `json:"task"`
	// Rows is the hash of the rows in the store: JSON lines of Row.
	Rows     string `json:"rows"`
	Total    int    `json:"total"`
	Parallel int    `json:"parallel"`
	// Part is how many tasks are started before the map goes on as a new run; 0 means PartMost, which it may not pass.
	Part int `json:"part,omitempty"`
	// Next and the counts are carried from one part of a long map to the next.
	Next   int           `json:"next"`
	Counts map[Phase]int `json:"counts,omitempty"`
	Bad    []string      `json:"bad,omitempty"` // the first tasks that were not done, at most 100
}

// Row is what is different for one task of a map. Each NAME in Values replaces {NAME} in the prompt.
type Row struct {
	Repository string            `json:"repository,omitempty"`
	Revision   string            `json:"revision,omitempty"`
	Values     map[string]string `json:"values,omitempty"`
}
