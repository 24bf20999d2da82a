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
	Version int    `wire:"always"`
	Token   string `wire:"always"`
	// ACP makes the connection one of the Agent Client Protocol after the answer.
	ACP bool
}

// HelloResult is what the server says of itself.
type HelloResult struct {
	Version int    `wire:"always"`
	Kerf    string `wire:"always"` // its version
	PID     int    `wire:"always"`
}

// OpenParams are the options of a session; those that only a program can give are not
// carried.
type OpenParams struct{ Options protocol.OpenOptions }

// AttachParams name a live session. With Join the events are the latest word on each thing
// and the running turn; otherwise all that follow the number Since. Life, where it is not
// empty, is that of the AttachResult to which Since belongs; where it is another one now,
// the answer is CodeAnew.
type AttachParams struct {
	Session protocol.SessionID `wire:"always"`
	Since   uint64
	Life    string
	Join    bool
}

// AttachResult says where a front end stands that was attached. Life names this opening of
// the session: each numbers its events from 1.
type AttachResult struct {
	Session protocol.SessionID `wire:"always"`
	// Running is the running turn; Last the number of the newest event, and First that
	// from which on all are kept.
	Running     protocol.TurnID
	Last, First uint64 `wire:"always"`
	Life        string `wire:"always"`
}

// SessionParams name a live session.
type SessionParams struct {
	Session protocol.SessionID `wire:"always"`
}

// SubmitParams hand an Op to a live session.
type SubmitParams struct {
	Session protocol.SessionID `wire:"always"`
	ID      string             // of the submission, chosen by the client; may be empty
	Op      protocol.Op        `wire:"always"`
}

// SessionsResult lists the live sessions, the oldest first.
type SessionsResult struct {
	Sessions []Session `wire:"always"`
}

// Session is one line of that.
type Session struct {
	ID        protocol.SessionID `wire:"always"`
	Title     string             `wire:"always"`
	Cwd       string             `wire:"always"`
	Model     string             `wire:"always"`
	State     string             `wire:"always"` // idle, running or waiting
	Questions int                `wire:"always"`
	Processes int                `wire:"always"` // in the background
	Faces     int                `wire:"always"` // front ends that are attached
	Events    uint64             `wire:"always"`
	Opened    int64              `wire:"always"` // seconds since 1970
}

// EventParams are one event of a session that the connection is attached to.
type EventParams struct {
	Session protocol.SessionID `wire:"always"`
	Event   protocol.Event     `wire:"always"`
}

// The codes of errors beside those of JSON-RPC; the first two are ACP's.
const (
	CodeCredentials = -32000
	CodeNoSession   = -32002
	CodeInUse       = -32003
	CodeHello       = -32004 // no hello, a wrong token, another version
	CodeAnew        = -32005 // the session was closed, and opened anew since
	CodeParams      = -32602
	CodeMethod      = -32601
	CodeInternal    = -32603
)

// ErrAnew says that the numbers of events that a front end has are those of an earlier opening
// of the session.
var ErrAnew = errors.New("the session was closed and opened anew, and its events are numbered anew; join it")

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
	case errors.Is(err, ErrAnew):
		return CodeAnew
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
	case CodeAnew:
		return ErrAnew
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
