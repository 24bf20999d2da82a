// Package message has what `kerf serve` and its clients say to each other: JSON-RPC 2.0,
// one message on each line, with the values of package protocol as package wire writes
// them. doc/serve.md describes it for programs.
package message

import (
	"encoding/json"
	"errors"

	"kerf/internal/protocol"
	"kerf/internal/protocol/wire"
)

// Version is that of the protocol. A client with another one is refused.
const Version = 1

// Limit bounds one message, in bytes.
const Limit = 64 << 20

// The methods. Hello comes first on each connection.
const (
	Hello    = "kerf/hello"
	Open     = "kerf/open"
	Attach   = "kerf/attach"
	Detach   = "kerf/detach"
	Submit   = "kerf/submit" // a request, or a notification where no answer is wanted
	End      = "kerf/end"
	Sessions = "kerf/sessions"
	Stop     = "kerf/stop"
)

// The notifications of the server.
const (
	Event = "kerf/event"
	// Left says that a session has ended, or was left: no event of it follows.
	Left = "kerf/left"
)

// HelloParams open a connection.
type HelloParams struct {
	Version int
	Token   string
	// ACP makes the connection one of the Agent Client Protocol after the answer.
	ACP bool
}

// HelloResult is what the server says of itself.
type HelloResult struct {
	Version int
	Kerf    string // its version
	PID     int
}

// OpenParams are the options of a session; those that only a program can give are not
// carried.
type OpenParams struct{ Options protocol.OpenOptions }

// AttachParams name a live session. With Join the events are the latest word on each thing
// and the running turn; otherwise all that follow the number Since.
type AttachParams struct {
	Session protocol.SessionID
	Since   uint64
	Join    bool
}

// AttachResult says where a front end stands that was attached.
type AttachResult struct {
	Session protocol.SessionID
	// Running is the running turn; Last the number of the newest event, and First that
	// from which on all are kept.
	Running     protocol.TurnID
	Last, First uint64
}

// SessionParams name a live session.
type SessionParams struct{ Session protocol.SessionID }

// SubmitParams hand an Op to a live session.
type SubmitParams struct {
	Session protocol.SessionID
	ID      string // of the submission, chosen by the client; may be empty
	Op      protocol.Op
}

// SessionsResult lists the live sessions, the oldest first.
type SessionsResult struct{ Sessions []Session }

// Session is one line of that.
type Session struct {
	ID        protocol.SessionID
	Title     string
	Cwd       string
	Model     string
	State     string // idle, running or waiting
	Questions int
	Processes int // in the background
	Faces     int // front ends that are attached
	Events    uint64
	Opened    int64 // seconds since 1970
}

// EventParams are one event of a session that the connection is attached to.
type EventParams struct {
	Session protocol.SessionID
	Event   protocol.Event
}

// The codes of errors beside those of JSON-RPC; the first two are ACP's.
const (
	CodeCredentials = -32000
	CodeNoSession   = -32002
	CodeInUse       = -32003
	CodeHello       = -32004 // no hello, a wrong token, another version
	CodeParams      = -32602
	CodeMethod      = -32601
	CodeInternal    = -32603
)

// CodeOf is the code of an error of the server.
func CodeOf(err error) int {
	var missing *protocol.CredentialsError
	switch {
	case errors.As(err, &missing):
		return CodeCredentials
	case errors.Is(err, protocol.ErrNoSession):
		return CodeNoSession
	case errors.Is(err, protocol.ErrInUse):
		return CodeInUse
	}
	return CodeInternal
}

// Error is an error as it is carried.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what the code stands for.
func (e *Error) Unwrap() error {
	switch e.Code {
	case CodeNoSession:
		return protocol.ErrNoSession
	case CodeInUse:
		return protocol.ErrInUse
	case CodeCredentials:
		return &protocol.CredentialsError{Err: errors.New(e.Message)}
	}
	return nil
}

// Schema is the JSON schema of what is said, the values of package protocol with it.
func Schema() map[string]any {
	return wire.Schema(HelloParams{}, HelloResult{}, OpenParams{}, AttachParams{}, AttachResult{}, SessionParams{},
		SubmitParams{}, SessionsResult{}, EventParams{})
}

// Frame is one message, as it stands on its line. Params and results are values of this
// package in the encoding of package wire.
type Frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}
