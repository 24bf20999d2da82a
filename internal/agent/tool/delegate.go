package tool

import (
	"time"

	"kerf/internal/protocol"
)

// Delegate proposes an operation on sub-agents. Operation is "spawn", "send", "resume",
// "wait", "close" or "list"; the other fields are of those that say so.
type Delegate struct {
	Operation string
	Message   string // spawn, send, resume
	// Role, Model and Effort are of spawn; empty ones are the parent's.
	Role, Model, Effort string
	// Isolated gives the new agent a work tree of its own.
	Isolated bool
	// Targets are ids or names: one for send, resume and close, any number for
	// wait, where none stands for all.
	Targets []string
	// Interrupt ends what the agent does before it reads the message of send.
	Interrupt bool
	// All waits for every target rather than for the first.
	All     bool
	Timeout time.Duration
}

// UserQuestion proposes to ask the user, one question after the other. Keys name the
// answers.
type UserQuestion struct {
	Keys      []string
	Questions []protocol.Question
}

func (Delegate) action()     {}
func (UserQuestion) action() {}
