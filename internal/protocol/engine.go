package protocol

import (
	"context"
	"encoding/json"
)

// Engine is Kerf's file engine for clients that bring a model of their own.
type Engine interface {
	// Tools lists what a connection can be asked.
	Tools() []EngineTool
	// Connect opens the engine for one client. What the client saw and changed is
	// remembered until the connection is closed.
	Connect(ctx context.Context, o EngineOptions) (EngineConn, error)
}

// EngineOptions say who connects and where it may work.
type EngineOptions struct {
	// Client names the program, for the ledger.
	Client string
	// Roots are absolute directories, the first is where relative paths start;
	// none means the working directory.
	Roots []string
	// Check, when not nil, is asked about each root, absolute and without links, that the
	// connection gets, now and later; its error refuses the root.
	Check func(dir string) error
}

// EngineConn is the engine as one client sees it. Its methods may be called by
// several goroutines; calls that change files run one after the other.
type EngineConn interface {
	// Call runs one tool. Failures of the tool are in the answer.
	Call(ctx context.Context, name string, args json.RawMessage) EngineAnswer
	// SetRoots moves the connection to other roots. What it saw is kept.
	SetRoots(ctx context.Context, roots []string) error
	Close() error
}

// EngineTool describes one tool.
type EngineTool struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON schema of the arguments
	ReadOnly    bool
	// Destructive tools may replace or remove what is there.
	Destructive bool
}

// EngineAnswer is the outcome of a call.
type EngineAnswer struct {
	// Text is what a model reads.
	Text string
	// Object is what programs read: success, output, error, warnings and more.
	Object json.RawMessage
	Images []string // data: URLs
	Failed bool
}
