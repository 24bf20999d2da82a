package web

import (
	"context"
	"errors"
	"io"
	"time"

	"kerf/internal/protocol"
)

// ErrNotFound says that what a page asks for is not there. Errors of Data wrap it.
var ErrNotFound = errors.New("not found")

// ErrReading says that the record of a session is long, and has to be read first. That is done
// meanwhile, see [Data.Reading]. Errors of Data wrap it.
var ErrReading = errors.New("the record of the session is being read")

// Data is what the pages show. Its methods are safe for several goroutines. Roots are the
// first directories of workspaces, as Workspaces lists them.
type Data interface {
	// Sessions lists recorded sessions, newest first, and whether there are more.
	Sessions(ctx context.Context, q SessionQuery) ([]protocol.SessionInfo, bool, error)
	Session(ctx context.Context, id string) (protocol.SessionInfo, error)
	// Page returns turns of a session, oldest first: with skip of the newest left out, at
	// most limit. Older says that there are more before them. Of the last one it has about as
	// many items as there is room for, of the others what is left of that, and some of each.
	Page(ctx context.Context, id string, skip, limit int, room Room) (Page, error)
	// Reading is how much of the record of a session is read. It never waits for more.
	Reading(ctx context.Context, id string) (Reading, error)
	// Part is a part of a turn.
	Part(ctx context.Context, id, turn string, at Place, room Room) (Part, error)
	// Whole is all turns of a session with all that is recorded of them.
	Whole(ctx context.Context, id string) ([]protocol.PastTurn, error)
	// Behind counts the turns of a session that came after one of them.
	Behind(ctx context.Context, id, turn string) (int, error)
	// TurnDiff is what a turn changed.
	TurnDiff(ctx context.Context, id, turn string) (string, error)
	// Printed is what a call of a turn printed; who asks for it closes it.
	Printed(ctx context.Context, id, turn, item string) (io.ReadCloser, error)
	// Outcome is how the last turn of a session ended, as PastTurn.Ended.
	Outcome(ctx context.Context, id string) string
	// Search finds words in what was said, newest session first. It does not wait long: where more
	// is to be looked at, that is done meanwhile, as long as it is asked for again.
	Search(ctx context.Context, words string, limit int) (Found, error)
	// Cost is what a session used.
	Cost(ctx context.Context, id string) (UsageLine, error)
	// Workspaces lists the roots with a history, the own one first.
	Workspaces(ctx context.Context) ([]string, error)
	// Damage says whether the history of a workspace is what was written.
	Damage(ctx context.Context, root string) (Damage, error)
	// Log lists what was changed in a workspace, newest first, without diffs, and whether
	// there is more.
	Log(ctx context.Context, root string, q LogQuery) ([]Entry, bool, error)
	// Entry is one of them with its diff.
	Entry(ctx context.Context, root string, seq int64) (Entry, error)
	// Edits are the files of an entry of which single edits can be taken back.
	Edits(ctx context.Context, root string, seq int64) ([]FileEdits, error)
	// Undo takes back what c names. Confirm is shown what that does and can refuse it; with
	// none, nothing is written.
	Undo(ctx context.Context, root string, c Choice, confirm func(Report) bool) (Report, error)
	// Blame tells of each line of a file, named by its absolute path, where it comes from.
	Blame(ctx context.Context, root, path string) ([]BlameLine, error)
	// Find finds files of a workspace by a few letters of their paths, at most limit; without
	// letters the first ones by name, and with the limit 0 all. What ignore files exclude is
	// left out.
	Find(ctx context.Context, root, words string, limit int) ([]string, error)
	// Moments lists the changes of the workspace of a session since it began, oldest first, without
	// prompts.
	Moments(ctx context.Context, id string) (root string, list []Entry, err error)
	// Prompt is what the user asked for in a turn, shortened; empty where that is not known.
	Prompt(ctx context.Context, session, turn string) string
	// FileAt is a file as it was behind the entry seq; nil when it was not there.
	FileAt(ctx context.Context, root, path string, seq int64) (Content, error)
	// Usage counts tokens of so many days.
	Usage(ctx context.Context, days int) (Usage, error)
}

// Page is some turns of a session.
type Page struct {
	Turns []Part
	Older bool // there are more before them
	// Reading says that the record is being read: nothing is known of how the oldest turn began,
	// and of those before.
	Reading bool
}

// Found is where words were said, as far as it is known: so many bytes of the records are searched.
type Found struct {
	Matches    []protocol.Match
	Read, Size int64
	Done       bool
}

// Reading is how much of a record is read, in bytes, and whether that is enough for all pages.
type Reading struct {
	Known, Size int64
	Enough      bool
	// Damaged is how many lines of it are no records; the first begins At.
	Damaged int
	At      int64
}

// Damage says in what a history differs from what was written, empty for nothing. Checking says
// that this is not known yet.
type Damage struct {
	Fault    string
	Checking bool
}

// Part is a part of a turn: only its items are those of the part. It has no diff.
type Part struct {
	protocol.PastTurn
	// Prompt is what began the turn, where the part does not begin with it.
	Prompt *protocol.Item
	// Before and After are where the part begins and ends, if items of the turn stand before
	// or after it; 0 where there are none.
	Before, After int64
	// Calls and Changes are how many calls and changes of files the whole turn has.
	Calls, Changes int
	// Left is how many bytes of the records of items were not read.
	Left map[protocol.ItemID]int64
	// Cut says that where the turn began is not known yet, nor what it used, nor those numbers.
	Cut bool
}

// Place says which part of a turn is meant: the one that ends before a place, that begins
// behind one, or that has a call; with none of them the last one.
type Place struct {
	Before, After int64
	Call          string
}

// Room is about how much of a session is read for a page: items, and bytes of its record.
type Room struct {
	Items int
	Bytes int64
}

// SessionQuery selects sessions.
type SessionQuery struct {
	Words    string // in titles and ids, or in what was said
	Root     string // only sessions of this directory
	Archived bool
	After    string // the id of the last one of the page before
	Limit    int
}

// LogQuery selects entries of a history.
type LogQuery struct {
	Cause   string // tool, command, outside, undo or redo; empty for all
	Session string
	Path    string // absolute; a directory stands for all below it
	Before  int64  // only entries with smaller numbers; 0 for all
	Limit   int
}

// Entry is one entry of a history.
type Entry struct {
	Seq                            int64
	Time                           time.Time
	Cause, Certainty, Tool, Client string
	Session, Turn, Call, Prompt    string
	Running, Undone                bool
	Note                           string
	Undoes                         []int64
	Changes                        []Change
	Directories, Removed           []string
	Diff                           string
}

// Change is one path of an Entry. Operation is created, modified or deleted.
type Change struct{ Path, Operation, From, Modes string }

// Choice names what is to be taken back: an entry, a call, a turn or a session; with none
// the last turn. Conflicts is "", "merge", "ours", "theirs" or "skip".
type Choice struct {
	Entry               int64
	Session, Turn, Call string
	Paths               []string
	Redo, Unproven      bool
	Conflicts           string
	// Edits are single edits of the entry, by path; nil for all of it.
	Edits map[string][]int
}

// FileEdits is a file with the diff that shows its edits.
type FileEdits struct{ Path, Diff string }

// Report tells what an undo did or would do. With a Problem nothing was written.
type Report struct {
	Redo          bool
	What, Problem string
	Files         []FilePlan
	Left          []Left
	Warnings      []string
	Diff          string
	Whole         bool
	Stale         bool `json:"-"` // something changed while it was about to be done
	// Sides are, of files in conflict, how they are now and what the undo wants.
	Sides []Side
}

// FilePlan is what becomes of one file. Outcome is as in protocol.UndoFile.
type FilePlan struct {
	Path, Outcome, Note string
	Removed             bool
}

// Left is a change that is left alone because nobody saw who made it.
type Left struct {
	Path  string
	Entry int64
}

// Side is a file in conflict with both sides marked.
type Side struct{ Path, Diff string }

// BlameLine tells where a line comes from. Origin is kerf, unproven, other or unknown; Root is the
// directory whose history has the entry.
type BlameLine struct {
	_                                  [0]func() // lines are never compared
	Root                               string
	Line                               int
	Text, Origin                       string
	Seq                                int64
	Time                               time.Time
	Cause, Tool, Client                string
	Session, Turn, Call, Prompt, Model string
}

// Content is a file at a moment. Known is false when its content was not kept.
type Content struct {
	There, Known bool
	Bytes        []byte
	Note         string
}

// Usage counts tokens and what they cost.
type Usage struct {
	Total                  UsageLine
	Days, Models, Sessions []UsageLine
	Repositories           []UsageLine
	// Open is how many sessions, of so many, are not counted yet.
	Open, Of int
}

// UsageLine is one sum. Unpriced counts the tokens of models without a known price.
type UsageLine struct {
	Name, Title string
	Requests    int
	Usage       protocol.Usage
	Cost        float64
	Unpriced    int
}

// Live is where running sessions are found.
type Live interface {
	// List lists them, none when no server runs.
	List(ctx context.Context) ([]LiveSession, error)
	// Join follows one: the first events are the latest word on each thing and those of
	// the running turn. Closing it leaves the session alone.
	Join(ctx context.Context, id protocol.SessionID) (protocol.Session, error)
}

// LiveSession is one line of the list of running sessions. State is idle, running or
// waiting.
type LiveSession struct {
	ID                          protocol.SessionID
	Title, Cwd, Model, State    string
	Questions, Processes, Faces int
	Opened                      time.Time
}
