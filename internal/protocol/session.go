package protocol

import (
	"context"
	"time"
)

// Session is one live conversation.
type Session interface {
	ID() SessionID
	// Submit hands an Op to the session. It fails only after the session ended
	// or when ctx is done.
	Submit(ctx context.Context, s Submission) error
	// Events is closed after SessionEnded. It must be drained; it has one reader.
	Events() <-chan Event
	// Close shuts the session down and waits for it.
	Close() error
}

// Sessions opens sessions. Its errors are ready to be shown.
type Sessions interface {
	Open(ctx context.Context, o OpenOptions) (Session, error)
}

// OpenOptions says which session to open.
type OpenOptions struct {
	// Resume names a session by id, unique id prefix or title; empty opens a
	// new one.
	Resume string
	// Last resumes the newest session of Settings.Cwd, or of any directory when
	// AnyCwd is set.
	Last, AnyCwd bool
	// Fork starts a new session with the history of the named one, up to and
	// with the turn ForkTurn, or all of it.
	Fork     string
	ForkTurn TurnID
	// Settings overrides the configured settings where its fields are not empty.
	Settings Settings
	// AddDirs are further writable roots.
	AddDirs []string
	// Ephemeral sessions leave nothing below sessions/.
	Ephemeral bool
	// Headless sessions have nobody to answer approvals: what would be asked is
	// refused, with words that say how to allow it.
	Headless bool
	// Bounds hold a session that somebody else than the user asks for; nil for none.
	Bounds *Bounds
	// Client is what the front end's own program offers, or nil.
	Client *ClientServices
	// MCP are servers that the front end passes on.
	MCP []MCPServer
	// Source names the front end, for metadata.
	Source string
}

// Bounds hold a session that is asked for by somebody who does not stand for the user. Nil ones
// hold nothing.
type Bounds struct {
	// Confined says that no answer opens what lies beyond the sandbox.
	Confined bool
	// Dir, when not nil, is asked about each directory in which the session would work, absolute
	// and without links; its error refuses that.
	Dir func(dir string) error
}

// Confines reports whether no answer opens what lies beyond the sandbox.
func (b *Bounds) Confines() bool { return b != nil && b.Confined }

// Elsewhere are the bounds of what works in a directory that Kerf chose.
func (b *Bounds) Elsewhere() *Bounds { return &Bounds{Confined: b.Confines()} }

// Check returns an error for a directory in which the session may not work.
func (b *Bounds) Check(dir string) error {
	if b == nil || b.Dir == nil {
		return nil
	}
	return b.Dir(dir)
}

// Filter selects sessions.
type Filter struct {
	Cwd    string // only sessions of this directory
	Search string // only sessions whose title or id contain this
	// Archived selects the archived sessions, and no others.
	Archived bool
	// Agents lists the sessions of sub-agents and reviewers, too.
	Agents bool
	Limit  int // 0 means no limit
	// Cursor goes on behind the session with this id, the last one of the page
	// before; that session need not exist any more.
	Cursor string
}

// SessionInfo is one line of a list.
type SessionInfo struct {
	ID      SessionID `json:"id"`
	Title   string    `json:"title"`
	Cwd     string    `json:"cwd"`
	Model   string    `json:"model"`
	Branch  string    `json:"branch,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"`
	Tokens  int       `json:"tokens"`
	Parent  SessionID `json:"parent,omitempty"`
	// Source names the front end that began it; "agent" for those of sub-agents.
	Source string `json:"source,omitempty"`
	// Archived sessions are listed only when asked for.
	Archived bool `json:"archived,omitempty"`
	// Damage says what is wrong with the files of the session, if anything.
	Damage string `json:"damage,omitempty"`
}

// Joined is a Session that was live before it was opened. Its events begin with the turn
// that was running then, if there was one.
type Joined interface {
	// Running is that turn, or empty.
	Running() TurnID
}

// Before returns the turns of a transcript that the events of s do not tell.
func Before(s Session, turns []PastTurn) []PastTurn {
	j, ok := s.(Joined)
	if !ok || j.Running() == "" {
		return turns
	}
	for i, t := range turns {
		if t.ID == j.Running() {
			return turns[:i]
		}
	}
	return turns
}
