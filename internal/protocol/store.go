package protocol

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	// Answers are what was said to questions on which calls waited.
	Answers map[CallID]Answered
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
	// Mentions finds what a message can refer to: those files first, then definitions, then
	// files that earlier sessions changed.
	Mentions(ctx context.Context, cwd, query string, limit int) ([]Mention, error)
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

// Mention is something that a message can refer to. Text is what is written for it: a path, or
// a path, a colon and a line.
type Mention struct {
	Text, Detail string
	Of           MentionKind
}

// MentionKind says what a mention was found as.
type MentionKind string

// The kinds of mentions.
const (
	MentionFile    MentionKind = ""
	MentionSymbol  MentionKind = "symbol"
	MentionSession MentionKind = "session"
)

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

// Expand is the text with words put into it. NAME=VALUE among them also stands for $NAME.
// Without a place for them they follow the text.
func (p Prompt) Expand(words string) string {
	args := Words(words)
	var pairs []string
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok && name != "" && name != "ARGUMENTS" &&
			strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && name[0] > '9' {
			pairs = append(pairs, "$"+name, value)
		}
	}
	for i := 9; i >= 1; i-- {
		v := ""
		if i <= len(args) {
			v = args[i-1]
		}
		pairs = append(pairs, "$"+strconv.Itoa(i), v)
	}
	pairs = append(pairs, "$ARGUMENTS", words)
	out := strings.NewReplacer(pairs...).Replace(p.Body)
	if out == p.Body && words != "" {
		out += "\n\n" + words
	}
	return out
}

// Words are the words of a line; quotes keep several together.
func Words(line string) (words []string) {
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && (!open || strings.HasSuffix(word.String(), "=")):
			quote, open = r, true
		case quote == 0 && unicode.IsSpace(r):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

// Check is one thing that was looked at. State is "ok", "warn" or "fail"; Hint
// says how to mend it.
type Check struct{ Name, State, Detail, Hint string }
