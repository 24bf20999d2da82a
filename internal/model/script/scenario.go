package script

import (
	"encoding/json"
	"fmt"
	"io"

	"kerf/internal/model"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// Scenario is what a scripted model says. doc/scenario.md describes its JSON.
type Scenario struct {
	Version int    `json:"version"`
	Title   string `json:"title"`
	// Matching is exact when requests must say what the recorded ones said, and
	// tolerant or empty when their shape is enough.
	Matching string  `json:"matching,omitempty"`
	Rounds   []Round `json:"rounds"`
}

// The ways to match a request with the one that was recorded.
const (
	Tolerant = "tolerant"
	Exact    = "exact"
)

// Round is the answer to one request.
type Round struct {
	Expect  *Expect  `json:"expect,omitempty"`
	DelayMS int      `json:"delay_ms,omitempty"` // wait before the answer, in milliseconds
	Items   []Item   `json:"items,omitempty"`
	Usage   *Usage   `json:"usage,omitempty"`
	Error   *Failure `json:"error,omitempty"` // ends the round, after Items
	Cut     bool     `json:"cut,omitempty"`   // the stream breaks after Items
}

// Expect says what a request must hold. Every text of a list must occur.
type Expect struct {
	InputContains      []string `json:"input_contains,omitempty"`       // anywhere in the conversation
	ToolOutputContains []string `json:"tool_output_contains,omitempty"` // in what tools gave back
	// Shape is what came since the model spoke last: "user" for messages, and
	// "output NAME" for the output of each call. Texts are the words of the same.
	Shape []string `json:"shape,omitempty"`
	Texts []string `json:"texts,omitempty"`
}

// Item is one of a message, a piece of reasoning and a call of a tool; the
// field that is not empty says which.
type Item struct {
	Message   string `json:"message,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Call names the tool. Args are its arguments: an object, or a string that is
	// passed on as it is, JSON or not. Input makes it a freeform call.
	Call  string          `json:"call,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
	Input *string         `json:"input,omitempty"`
	// Style is shell for the provider's own shell tool, else empty.
	Style string `json:"style,omitempty"`
	// ID is the call id. Without one it is made of the round and the position.
	ID string `json:"id,omitempty"`
}

// Usage counts the tokens of a round.
type Usage struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens,omitempty"`
	Write     int `json:"cache_write_input_tokens,omitempty"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens,omitempty"`
}

// Failure is an error of the model.
type Failure struct {
	Kind       model.ErrorKind `json:"kind"`
	Status     int             `json:"status,omitempty"`
	Message    string          `json:"message,omitempty"`
	RetryAfter float64         `json:"retry_after,omitempty"` // in seconds
}

// CallID is the id of the call that is item i (from 0) of round k (from 1).
func CallID(k, i int) string { return fmt.Sprintf("call_%d_%d", k, i+1) }

// Model returns i as it stands in a conversation, as item n (from 0) of round
// k (from 1).
func (i Item) Model(k, n int) *model.Item {
	switch {
	case i.Call != "":
		item := &model.Item{Kind: model.Call, CallID: i.ID, Name: i.Call, Style: model.Function, Input: i.arguments()}
		if item.CallID == "" {
			item.CallID = CallID(k, n)
		}
		if i.Input != nil {
			item.Style, item.Input = model.Freeform, *i.Input
		}
		if i.Style == string(model.Shell) {
			item.Style = model.Shell
		}
		return item
	case i.Reasoning != "":
		return &model.Item{Kind: model.Reasoning, Summary: []string{i.Reasoning}}
	}
	return &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: i.Message}}}
}

// arguments are the text of Args.
func (i Item) arguments() string {
	var s string
	if len(i.Args) == 0 {
		return "{}"
	}
	if json.Unmarshal(i.Args, &s) == nil {
		return s
	}
	return string(i.Args)
}

// Save writes s so that Load reads the same scenario.
func (s *Scenario) Save(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	saved := *s
	if saved.Rounds == nil {
		saved.Rounds = []Round{} // a list, not null
	}
	if err := e.Encode(saved); err != nil {
		return fmt.Errorf("write scenario: %w", err)
	}
	return nil
}
