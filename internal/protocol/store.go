package protocol

import (
	"context"
	"errors"
	"time"
)

// What may keep a session from being opened. Errors of the store wrap them.
var (
	ErrNoSession = errors.New("no session")
	ErrInUse     = errors.New("is open in another process")
)

// SessionStore reads and keeps recorded sessions. They are named by id, unique id
// prefix or title.
type SessionStore interface {
	// List returns the sessions that match f, newest first.
	List(ctx context.Context, f Filter) ([]SessionInfo, error)
	// Transcript returns the newest turns of a session, oldest first; limit 0
	// returns all.
	Transcript(ctx context.Context, session string, limit int) ([]PastTurn, error)
	Rename(ctx context.Context, session, title string) error
	Archive(ctx context.Context, session string, archived bool) error
	Delete(ctx context.Context, session string) error
	// Search finds text in what was said, newest session first.
	Search(ctx context.Context, words string, limit int) ([]Match, error)
}

// PastTurn is a turn that is over, read back from the rollout.
type PastTurn struct {
	ID    TurnID
	Began time.Time
	Items []Item
	Usage Usage
	Diff  string
	// Ended is "completed", "failed", "interrupted", or empty when the record
	// breaks off.
	Ended string
}

// Match is a place where a search found its words.
type Match struct {
	Session SessionInfo
	Turn    TurnID
	Excerpt string
}

// WorkspaceQuery answers what front ends ask besides a session. Every method is safe for
// several goroutines.
type WorkspaceQuery interface {
	// Files finds files of the workspace by a fuzzy query, best first.
	Files(ctx context.Context, cwd, query string, limit int) ([]string, error)
	// Models lists what the configured provider offers, the current one first.
	Models(ctx context.Context) ([]ModelInfo, error)
	// Changes lists what was changed in the workspace since the session began,
	// oldest first, by whomever.
	Changes(ctx context.Context, session SessionID) ([]ChangeEntry, error)
	// Prompts lists the user's own commands and the skills.
	Prompts(ctx context.Context, cwd string) ([]Prompt, error)
	// Check looks at what Kerf needs on this machine.
	Check(ctx context.Context) ([]Check, error)
}

// ModelInfo describes a model.
type ModelInfo struct {
	Name        string
	Description string
	Window      int // tokens, 0 when unknown
	Efforts     []string
}

// ChangeEntry is one row of the list of changes: an entry of the ledger.
type ChangeEntry struct {
	Session SessionID
	Turn    TurnID
	Call    CallID
	Cause   string // tool, command, outside, undo or redo
	// Certainty is what is known of who made the changes. Running commands have made
	// those so far.
	Certainty Certainty
	Running   bool
	Tool      string
	Time      time.Time
	Changes   []PathChange
	Diff      string
	Undone    bool
}

// Foreign reports whether neither a tool nor a command made the changes.
func (c ChangeEntry) Foreign() bool { return c.Cause == "outside" || c.Certainty == Outside }

// Prompt is a command of the user's own, or a skill.
type Prompt struct {
	Name, Description string
	// Body is the text, with $ARGUMENTS and $1 to $9 where words go.
	Body  string
	Skill bool
}

// Check is one thing that was looked at. State is "ok", "warn" or "fail"; Hint
// says how to mend it.
type Check struct{ Name, State, Detail, Hint string }
