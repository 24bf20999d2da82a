// Package model says what a language model is to Kerf: a request goes in, a
// stream of chunks comes out. The wire protocols live in the packages below.
//
// The package is pure. Items are immutable once they are part of a request, so
// requests may share them and clients may cache their encodings by pointer.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Client is one way to reach a model.
type Client interface {
	// Stream sends r and calls emit for every chunk, in order, on the calling
	// goroutine. It returns nil only after a Done chunk was emitted; every other
	// end of the stream is an *Error, a context error, or what emit returned. It
	// makes one request: retrying is the caller's business. A Client may be used
	// by several goroutines.
	Stream(ctx context.Context, r *Request, emit func(Chunk) error) error
}

// Request is everything one model call depends on.
type Request struct {
	Model        string
	Instructions string
	Items        []*Item
	Tools        []Tool
	// Parallel lets the model call several tools in one response.
	Parallel bool
	Effort   string // reasoning effort, empty for the provider's default
	Summary  string // reasoning summary: auto, concise, detailed, none or empty
	// Schema is the JSON schema of the final message, or nil.
	Schema json.RawMessage
	// WebSearch lets the provider search the web: live, cached or empty for not.
	WebSearch string
	// CacheKey is stable for a session, so that the provider finds its cache.
	CacheKey string
}

// Tool is a tool as the model sees it.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, nil for freeform tools.
	Schema json.RawMessage
	// Grammar is the Lark grammar of a freeform tool's input, or empty.
	Grammar string
}

// Kind says what an Item is.
type Kind string

// The kinds of items. A Call is answered by exactly one Output with the same
// CallID.
const (
	Message   Kind = "message"
	Reasoning Kind = "reasoning"
	Call      Kind = "call"
	Output    Kind = "output"
)

// CallStyle says how a call was made, because its output goes back likewise.
type CallStyle string

// The styles of calls: JSON arguments, freeform text, and the provider's
// built-in shell tool.
const (
	Function CallStyle = "function"
	Freeform CallStyle = "freeform"
	Shell    CallStyle = "shell"
)

// Item is one element of the conversation. The zero value of a field means it
// does not apply.
type Item struct {
	Kind Kind `json:"kind"`
	// ID is the provider's own id of an item it made.
	ID string `json:"id,omitempty"`
	// Role of a message: user, assistant or developer.
	Role string `json:"role,omitempty"`
	// Content of a message, or of an output.
	Content []Part `json:"content,omitempty"`

	// Summary is the readable part of a reasoning item, Encrypted the opaque one
	// that goes back to the provider unchanged.
	Summary   []string `json:"summary,omitempty"`
	Encrypted string   `json:"encrypted,omitempty"`

	CallID string    `json:"call_id,omitempty"`
	Name   string    `json:"name,omitempty"`
	Style  CallStyle `json:"style,omitempty"`
	// Input of a call: a JSON object for functions, the text of freeform calls.
	Input string `json:"input,omitempty"`
}

// Part is text or an image (a URL or data: URL).
type Part struct {
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// Text returns the text parts of the item, joined.
func (i *Item) Text() string {
	if len(i.Content) == 1 {
		return i.Content[0].Text
	}
	var s string
	for _, p := range i.Content {
		s += p.Text
	}
	return s
}

// UserText returns a message of the user.
func UserText(s string) *Item {
	return &Item{Kind: Message, Role: "user", Content: []Part{{Text: s}}}
}

// OutputText returns the output of call.
func OutputText(call *Item, s string) *Item {
	return &Item{Kind: Output, CallID: call.CallID, Style: call.Style, Content: []Part{{Text: s}}}
}

// Chunk is one piece of a response: one of the types below.
type Chunk interface{ chunk() }

// Started is the first chunk: the provider accepted the request.
type Started struct{ ResponseID string }

// ItemAdded tells that an item begins. Index orders the items of a response.
type ItemAdded struct {
	Index int
	Item  *Item
}

// TextDelta is a piece of an assistant message.
type TextDelta struct {
	Index int
	Text  string
}

// ReasoningDelta is a piece of a reasoning summary.
type ReasoningDelta struct {
	Index int
	Text  string
}

// InputDelta is a piece of a call's input.
type InputDelta struct {
	Index int
	Text  string
}

// ItemDone carries a whole item. Only whole items count: what was streamed
// before is for show.
type ItemDone struct {
	Index int
	Item  *Item
}

// Limits is the provider's word on rate limits, as header name -> value.
type Limits struct{ Values map[string]string }

// Notice is something that the user should know of how the answer came about.
type Notice struct{ Text string }

// Searched tells that the provider searched the web.
type Searched struct{ Query string }

// Done ends a response.
type Done struct {
	ResponseID string
	Usage      *Usage // nil when the provider told none
	// Incomplete is the provider's reason for stopping early, such as
	// max_output_tokens, and empty otherwise. Calls it cut are not delivered.
	Incomplete string
	// Cut names the tools of the calls that were cut, in order.
	Cut []string
}

// Usage counts tokens. Input includes the cached ones, Output the reasoning.
type Usage struct{ Input, Cached, CacheWrite, Output, Reasoning int }

func (Started) chunk()        {}
func (ItemAdded) chunk()      {}
func (TextDelta) chunk()      {}
func (ReasoningDelta) chunk() {}
func (InputDelta) chunk()     {}
func (ItemDone) chunk()       {}
func (Limits) chunk()         {}
func (Notice) chunk()         {}
func (Searched) chunk()       {}
func (Done) chunk()           {}

// ErrorKind is the closed set of causes that callers branch on.
type ErrorKind string

// The kinds of errors. Auth, Quota, Request and Context do not pass by waiting.
const (
	Auth      ErrorKind = "unauthorized"            // 401, 403
	Quota     ErrorKind = "quota"                   // out of credit
	BadCall   ErrorKind = "bad_request"             // 400 and other 4xx
	Context   ErrorKind = "context_window_exceeded" // the input is too long
	RateLimit ErrorKind = "rate_limit"              // 429
	Server    ErrorKind = "server"                  // 5xx, overloaded
	Network   ErrorKind = "network"                 // no connection, no answer
	Broken    ErrorKind = "stream"                  // the stream ended early or was idle
)

// Error is a failed request or stream.
type Error struct {
	Kind   ErrorKind
	Status int // HTTP status, 0 if none
	// Message is the provider's own words where there are any, cut to 4,000
	// bytes, without secrets.
	Message string
	// Hint is the one step that helps, or empty.
	Hint string
	// RetryAfter is the wait the provider asked for, 0 if it did not.
	RetryAfter time.Duration
	// Began is set when the response had begun before the error.
	Began bool
	Err   error
}

// Error gives status and message.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Passes reports whether the same request may succeed later.
func (e *Error) Passes() bool {
	switch e.Kind {
	case RateLimit, Server, Network, Broken:
		return true
	}
	return false
}
