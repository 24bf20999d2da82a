// Package history turns what happened in a session into what the model is told
// next: records, the items they stand for, and the budgets over them.
//
// A session is its records. Everything a later run needs (resume, fork, replay)
// is rebuilt from them by [Rebuild]; the wire form of an item is derived from
// the record byte for byte, so that a resumed prompt begins as the old one did.
// The package is pure.
package history

import (
	"bytes"
	"encoding/json"

	"kerf/internal/model"
	"kerf/internal/pathname"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// Record is one line of a rollout. Its JSON form is an object.
type Record interface {
	// Type is the value of the line's "type" field.
	Type() string
}

// SessionMeta is the first record of a session.
type SessionMeta struct {
	ID           protocol.SessionID `json:"id"`
	Parent       protocol.SessionID `json:"parent,omitempty"`
	Cwd          string             `json:"cwd"`
	Version      string             `json:"kerf_version"`
	Source       string             `json:"source"`
	Model        string             `json:"model"`
	Provider     string             `json:"model_provider"`
	Instructions string             `json:"instructions"`
}

// Imported reports whether another agent recorded the session.
func (m SessionMeta) Imported() bool {
	switch m.Source {
	case "codex", "claude", "gemini":
		return true
	}
	return false
}

// SettingsAt are the last settings, for a session that goes on at a provider. The model that
// another agent used elsewhere is none of it.
func (st *State) SettingsAt(provider string) protocol.Settings {
	set := st.Settings
	if st.Meta.Imported() && set.Approval == "" && st.Meta.Provider != provider {
		set.Model = ""
	}
	return set
}

// TurnContext opens a turn: the frozen settings, and what the model is told
// about them. Items are only those that are new since the last turn.
type TurnContext struct {
	Turn     protocol.TurnID   `json:"turn_id"`
	Settings protocol.Settings `json:"settings"`
	Facts    map[string]string `json:"facts,omitempty"`
	Items    []*model.Item     `json:"items,omitempty"`
}

// UserInput is a message that joined the conversation. Marker inputs were
// written by Kerf in the user's name.
type UserInput struct {
	Turn   protocol.TurnID `json:"turn_id"`
	Text   string          `json:"text"`
	Images []string        `json:"images,omitempty"`
	Marker bool            `json:"marker,omitempty"`
}

// AssistantMessage is a whole message of the model. Round and Index order the
// items of a response.
type AssistantMessage struct {
	Turn  protocol.TurnID `json:"turn_id"`
	Round int             `json:"round"`
	Index int             `json:"index"`
	Text  string          `json:"text"`
	// Partial messages were cut off by an interrupt.
	Partial bool   `json:"partial,omitempty"`
	ItemID  string `json:"item_id,omitempty"`
	// Plan is the plan that the text proposes, in plan mode.
	Plan string `json:"plan,omitempty"`
}

// Reasoning is a whole reasoning item.
type Reasoning struct {
	Turn      protocol.TurnID `json:"turn_id"`
	Round     int             `json:"round"`
	Index     int             `json:"index"`
	Summary   []string        `json:"summary"`
	Encrypted string          `json:"encrypted,omitempty"`
	ItemID    string          `json:"item_id,omitempty"`
}

// ToolStarted is written before a call has any effect, so that a killed run
// still knows what was under way.
type ToolStarted struct {
	Turn   protocol.TurnID `json:"turn_id"`
	Round  int             `json:"round"`
	Index  int             `json:"index"`
	Call   protocol.CallID `json:"call_id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Input  string          `json:"input,omitempty"`
	Style  model.CallStyle `json:"style"`
	ItemID string          `json:"item_id,omitempty"`
}

// ToolCall is a finished call with its result, as the model saw both.
type ToolCall struct {
	Turn  protocol.TurnID `json:"turn_id"`
	Round int             `json:"round"`
	Index int             `json:"index"`
	Call  protocol.CallID `json:"call_id"`
	Name  string          `json:"name"`
	// Args is the input as JSON. Input is the exact text when Args is not.
	Args   json.RawMessage `json:"args"`
	Input  string          `json:"input,omitempty"`
	Style  model.CallStyle `json:"style"`
	ItemID string          `json:"item_id,omitempty"`
	Result string          `json:"result"`
	Images []string        `json:"images,omitempty"`
	// Structured is the structured content that an MCP server returned, or nil.
	Structured json.RawMessage `json:"structured,omitempty"`
	Success    bool            `json:"success"`
	Millis     int64           `json:"duration_ms"`
	// Observed lists the files whose state the result showed the model.
	Observed []Observation `json:"saw,omitempty"`
	// Command and Exit are the command that ran and how it ended, if one did. Lines is how many
	// lines it printed, where Result does not hold all of them.
	Command string `json:"command,omitempty"`
	Exit    *int   `json:"exit_code,omitempty"`
	Lines   int    `json:"lines,omitempty"`
	// Plan is the plan that the call left, if it was about that.
	Plan *Plan `json:"plan,omitempty"`
}

// Observation is one file the model was shown: SHA-256 in hex, empty for "not there".
type Observation struct {
	Path pathname.Path `json:"path"`
	Sum  string        `json:"sha256,omitempty"`
	Mode uint32        `json:"mode,omitempty"`
	// Hash and Version are the state as the model knows it: 16 hex digits and a
	// number.
	Hash    string `json:"content_hash,omitempty"`
	Version int    `json:"version,omitempty"`
	// First and Last are the lines that were shown, of Lines; 0 when the file was
	// not shown as lines.
	First int `json:"first,omitempty"`
	Last  int `json:"last,omitempty"`
	Lines int `json:"lines,omitempty"`
	// Image is the state itself, while a call is under way.
	Image *delta.Image `json:"-"`
}

// FileChange is one changed path. Before and After are SHA-256 in hex, empty
// for "not there".
type FileChange struct {
	Turn      protocol.TurnID `json:"turn_id"`
	Call      protocol.CallID `json:"call_id,omitempty"`
	Path      pathname.Path   `json:"path"`
	DiffPath  string          `json:"diff_path"`
	Operation string          `json:"operation"` // created, modified, deleted
	Cause     string          `json:"cause"`     // tool, command, outside
	Before    string          `json:"before"`
	After     string          `json:"after"`
	ModeFrom  uint32          `json:"mode_before,omitempty"`
	ModeTo    uint32          `json:"mode_after,omitempty"`
	MovedFrom pathname.Path   `json:"moved_from,omitempty"`
	MovedTo   pathname.Path   `json:"moved_to,omitempty"`
	// Certainty is what is known of who made the change; records of older versions
	// tell nothing. Exact is true only for what is proven.
	Certainty protocol.Certainty `json:"certainty,omitempty"`
	Exact     bool               `json:"exact"`
	Entry     int64              `json:"ledger,omitempty"`
	// ControlFile marks a file that agents, editors or build machines obey.
	ControlFile bool `json:"steers,omitempty"`
}

// TokenUsage counts one response.
type TokenUsage struct {
	// Agent is the sub-agent that made the request, empty for the session's own.
	Agent protocol.SessionID `json:"agent,omitempty"`
	Turn  protocol.TurnID    `json:"turn_id"`
	Round int                `json:"round"`
	Usage protocol.Usage     `json:"usage"`
}

// QuestionAsked is written before the user sees a question, so that a killed run
// still knows what was open.
type QuestionAsked struct {
	Turn     protocol.TurnID       `json:"turn_id,omitempty"`
	Question protocol.ApprovalID   `json:"question"`
	Kind     protocol.ApprovalKind `json:"kind,omitempty"`
	Agent    protocol.SessionID    `json:"agent,omitempty"`
	Call     protocol.CallID       `json:"call_id,omitempty"`
	Asked    string                `json:"asked"`
}

// Approval is the end of a question: the answer, or Void when the question was
// withdrawn.
type Approval struct {
	Turn     protocol.TurnID   `json:"turn_id"`
	Call     protocol.CallID   `json:"call_id"` // of the session that asked
	Asked    string            `json:"asked"`
	Decision protocol.Decision `json:"decision"`
	Words    string            `json:"words,omitempty"`
	// Question and Kind are empty in records that older versions wrote.
	Question protocol.ApprovalID   `json:"question,omitempty"`
	Kind     protocol.ApprovalKind `json:"kind,omitempty"`
	// Agent is the sub-agent that asked, empty when the session itself did.
	Agent protocol.SessionID `json:"agent,omitempty"`
	// By says who answered, empty for a question that was withdrawn.
	By protocol.Answerer `json:"by,omitempty"`
	// Content is the answer to a question of the model. What the user tells an MCP
	// server is not kept.
	Content json.RawMessage `json:"content,omitempty"`
}

// Gates reports whether the call of the record waited for this answer before it
// did anything.
func (a Approval) Gates() bool {
	switch a.Kind {
	case "", protocol.AskCommand, protocol.AskChange, protocol.AskTool:
		return a.Agent == "" && a.Call != ""
	}
	return false
}

// EventRecord is an event of a turn or a session that has no record of its own.
// What is one of the constants below.
type EventRecord struct {
	Turn    protocol.TurnID `json:"turn_id,omitempty"`
	What    string          `json:"event"`
	Message string          `json:"message,omitempty"`
	Diff    string          `json:"diff_path,omitempty"`
	Exact   *bool           `json:"exact,omitempty"`
}

// The events of event records.
const (
	TurnCompleted = "turn_completed"
	TurnFailed    = "turn_failed"
	TurnAborted   = "turn_aborted"
	StreamRetry   = "stream_retry"
	TurnDiffed    = "turn_diff"
	Noted         = "warning"
	// CheckRan says in Message what a check of the project found.
	CheckRan = "check"
	// Renamed gives the session the title in Message.
	Renamed = "renamed"
	// Rewound goes back to just before the turn.
	Rewound = "rewound"
)

// Compacted replaces everything before it: the history is Items from here on.
type Compacted struct {
	Turn protocol.TurnID `json:"turn_id"`
	// Before and After are sizes in tokens.
	Before  int    `json:"tokens_before"`
	After   int    `json:"tokens_after"`
	Auto    bool   `json:"auto"`
	Summary string `json:"summary"`
	// Words are the places in Items of what the user said.
	Items []*model.Item     `json:"items"`
	Words []int             `json:"words"`
	Facts map[string]string `json:"facts,omitempty"`
	Notes *Notes            `json:"notes,omitempty"`
}

func (SessionMeta) Type() string      { return "session_meta" }
func (TurnContext) Type() string      { return "turn_context" }
func (UserInput) Type() string        { return "user_input" }
func (AssistantMessage) Type() string { return "assistant_message" }
func (Reasoning) Type() string        { return "reasoning" }
func (ToolCall) Type() string         { return "tool_call" }
func (FileChange) Type() string       { return "file_change" }
func (TokenUsage) Type() string       { return "token_usage" }
func (Approval) Type() string         { return "approval" }
func (Compacted) Type() string        { return "compacted" }
func (EventRecord) Type() string      { return "event" }

// Type of a started call is "event": tool_call lines are whole calls only.
func (ToolStarted) Type() string { return EventRecord{}.Type() }

// EndsTurn reports whether the event is the last of its turn.
func (e EventRecord) EndsTurn() bool {
	return e.What == TurnCompleted || e.What == TurnFailed || e.What == TurnAborted
}

// MarshalJSON adds the name of the event.
func (t ToolStarted) MarshalJSON() ([]byte, error) {
	type plain ToolStarted
	return json.Marshal(struct {
		What string `json:"event"`
		plain
	}{ToolBegan, plain(t)})
}

// Type of a question is "event": approval lines are its ends only.
func (QuestionAsked) Type() string { return "event" }

// MarshalJSON adds the name of the event.
func (q QuestionAsked) MarshalJSON() ([]byte, error) {
	type plain QuestionAsked
	return json.Marshal(struct {
		What string `json:"event"`
		plain
	}{Asked, plain(q)})
}

// Asked is the event name of a QuestionAsked record.
const Asked = "question_asked"

// ToolBegan is the event name of a ToolStarted record.
const ToolBegan = "tool_started"

// SplitInput returns the args and input fields of a call whose input is s: args
// is s itself when s is compact JSON, otherwise a JSON form beside the text.
func SplitInput(style model.CallStyle, s string) (args json.RawMessage, input string) {
	if style != model.Freeform && json.Valid([]byte(s)) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(s)); err == nil {
			if safe, err := json.Marshal(json.RawMessage(compact.Bytes())); err == nil && string(safe) == s {
				return safe, ""
			}
			return compact.Bytes(), s
		}
	}
	args, _ = json.Marshal(map[string]string{"input": s})
	if style == model.Freeform {
		return args, ""
	}
	return args, s
}

// JoinInput is the inverse of SplitInput.
func JoinInput(style model.CallStyle, args json.RawMessage, input string) string {
	if input != "" {
		return input
	}
	if style != model.Freeform {
		return string(args)
	}
	var v struct {
		Input string `json:"input"`
	}
	_ = json.Unmarshal(args, &v)
	return v.Input
}
