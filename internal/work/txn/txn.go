// Package txn commits changes to files, all of them or none.
//
// A commit goes through these steps, under a lock that every Kerf process takes:
//
//	validate   every file still is what the change was made for
//	store      images before and after, so that the change can be taken back
//	begin      the journal learns what will be touched, and under which names
//	open       directories that get another mode, or are to be worked in, are opened to
//	           their owner; those that keep us from looking, before all else
//	stage      new contents are written aside and flushed
//	intent     the journal learns that names change from now on
//	exchange   each file trades names with its staged successor; what came out is
//	           compared once more with what the change was made for
//	flush      the directories
//	entry      one line in the ledger; from here on the change has happened
//	clean      the old files go
//	shut       directories get their modes, the journal is emptied
//
// A failure before the entry trades the names back, and directories get the modes that they
// had. A crash leaves the journal;
// whoever takes the lock next finishes or takes back what it finds there. Several
// files are committed if and only if the ledger has their entry. One file, or files
// that were committed each for itself, are committed once their names are traded,
// and recovery writes the entry.
package txn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/room"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/happened"
	"kerf/internal/work/txn/journal"
	"kerf/internal/work/txn/modes"
	"kerf/internal/work/txn/turn"
)

// Options join the parts of a workspace.
type Options struct {
	Tree   *tree.Tree
	Store  *store.Store
	Ledger *ledger.Ledger
	// Dir is where the lock and the journal live. It is made when needed.
	Dir string
	// Durable flushes every commit to the disk before it is reported.
	Durable bool
	// Room, when not nil, is asked before each commit, and its error becomes that of the
	// commit. Its reserve is for entries of what has happened already.
	Room *room.Room
	// Reading is for those who look: what a crash left and cannot be finished now does not
	// keep the workspace from being opened. Each commit tries again first.
	Reading bool
	// Before, when not nil, is asked before each change of the journal, and its error
	// becomes the call's. It exists for fault tests, and makes commits work on one
	// file at a time.
	Before func(op, path string) error
}

// Workspace commits changes. Its methods may be called concurrently, also from
// several processes.
type Workspace struct {
	Options
	turn    *turn.Turn
	journal journal.File
	// back are the operations, by their keys, of which nothing is left but lines in the journal, maybe.
	back map[string]bool
	// Settled is what Open finished and took back of what a crash left.
	Settled Report
	// Unrecovered says why what a crash left could not be finished when the workspace was
	// opened.
	Unrecovered error
}

// openPatience bounds how long Open waits for a process that is committing.
const openPatience = 10 * time.Second

// Open returns the workspace, after finishing or taking back what a crash left.
func Open(o Options) (*Workspace, error) {
	if o.Tree == nil || o.Store == nil || o.Ledger == nil || !filepath.IsAbs(o.Dir) {
		return nil, errors.New("open workspace: tree, store, ledger and an absolute directory are needed")
	}
	w := &Workspace{
		Options: o,
		turn:    turn.New(filepath.Join(o.Dir, "lock")),
		back:    make(map[string]bool),
		journal: journal.File{Path: filepath.Join(o.Dir, "journal.jsonl"), Before: o.Before},
	}
	if !w.journal.Pending() {
		return w, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), openPatience)
	defer cancel()
	var err error
	if w.Settled, err = w.Recover(ctx); err != nil {
		if w.Unrecovered = err; w.Reading || w.Room.Check() != nil {
			return w, nil // those who only read are served; whoever changes something recovers first
		}
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// Close releases the journal file. The workspace may be used again afterwards.
func (w *Workspace) Close() error {
	release := w.turn.Here()
	lines := len(w.back) > 0
	release()
	if lines { // the next process does not know what was taken back
		ctx, cancel := context.WithTimeout(context.Background(), openPatience)
		_, _ = w.Recover(ctx)
		cancel()
	}
	defer w.turn.Here()()
	return w.journal.Close()
}

// Origin says who asked for a change. It goes into the ledger.
type Origin struct {
	Session, Turn, Call, Tool, Client string
	Edited                            bool // see ledger.Entry
	Note                              string
	Gaps                              []ledger.Gap
	Head                              *ledger.HeadMove // see ledger.Entry
	Undoes                            []int64
	Only                              []ledger.Path // see ledger.Entry
}

// CommitOptions are about one commit.
type CommitOptions struct {
	Origin Origin
	// Cause is one of the ledger's; CauseTool if empty. CauseUndo and CauseRedo give
	// files exactly the modes of their images, whatever the umask; so does AsMade.
	Cause  string
	AsMade bool
	// BestEffort commits each file for itself; otherwise all or none. Where files move into the places of one
	// another, what can be seen to fail is left out, and the rest is all or none.
	BestEffort bool
	// DryRun finds out whether the changes can be made, as Commit would, and makes none. It is not
	// for changes that give modes back, see Cause, nor with Chmod.
	DryRun bool
	// Real says that the paths are real ones (tree.Target), as they were shown to
	// whoever approved: a link that is met on the way now is refused.
	Real bool
	// Inexact, for Record, says that the set may not be all that happened.
	Inexact bool
	// Certainty is one of the ledger's; empty is what the cause implies.
	Certainty string
	// ID, Of and Ended, for Record, are about the entries of a command; see
	// ledger.Entry.
	ID    string
	Of    int64
	Ended bool
	// Dirs, Gone and Modes, for Record, are directories that came, went, and got other
	// permission bits together with the changes.
	Dirs  []ledger.Path
	Gone  []ledger.Dir
	Modes []ledger.DirMode
	// Make are directories that the commit makes, with exactly their modes unless these
	// are not known, if they are not there. In no directory that the mode closes to its owner is
	// anything changed unless Chmod names it or modes are given back, see Cause.
	Make []ledger.Dir
	// Prune names directories that the commit removes if they are empty then. One
	// whose name a file of the set takes must be.
	Prune []string
	// Chmod are directories that get other permission bits, if they have the ones before.
	Chmod []ledger.DirMode
}

// Outcome is what a commit did.
type Outcome struct {
	// Committed is exactly what landed: one change per path, with real paths, the
	// modes that the files got, and what the paths held before.
	Committed delta.Set
	// Exact is false only when a write may have landed that Committed does not show.
	Exact bool
	// Entry is what the ledger got; nil if nothing landed.
	Entry *ledger.Entry
	// Failed are the files that were left alone, with the reasons.
	Failed []PathError
	// Left are temporary files of Kerf's own that could not be removed, and directories that
	// could not be given their modes. The journal knows them: the next commit, or kerf
	// recover, sees to them.
	Left []PathError
}

// Strays tells of each file in Left, in words for the user.
func (o Outcome) Strays() []string {
	var told []string
	for _, f := range o.Left {
		what := "a temporary file of Kerf's own is left"
		if errors.Is(f.Err, modes.ErrMode) {
			what = "a directory is left without the mode that it is to have"
		}
		told = append(told, fmt.Sprintf("%s: %s: %v; when that is mended run: kerf recover", what, f.Path, f.Err))
	}
	return told
}

// PathError is an error about one path.
type PathError struct {
	Path string
	Err  error
}

// Error names the path.
func (e PathError) Error() string { return fmt.Sprintf("commit %s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e PathError) Unwrap() error { return e.Err }

// MismatchError says that a path does not hold what the change was made for.
type MismatchError struct {
	Path       string
	Want, Have delta.Version // zero for a path that is not there
}

// Error says in words what was expected and found.
func (e *MismatchError) Error() string {
	switch {
	case e.Want.Absent():
		return fmt.Sprintf("%s exists already", e.Path)
	case e.Have.Absent():
		return fmt.Sprintf("%s is gone", e.Path)
	case e.Want.Kind == e.Have.Kind && e.Want.Sum == e.Have.Sum:
		return fmt.Sprintf("%s has mode %o, not %o", e.Path, e.Have.Mode, e.Want.Mode)
	}
	return fmt.Sprintf("%s has changed", e.Path)
}

// ErrBadSet says that a set of changes contradicts itself.
var ErrBadSet = errors.New("contradictory changes")

// Record enters changes that have happened already, such as those of a command, and
// stores the images that are loaded. When the disk is full, the changes are entered
// without their contents if the reserve allows it; the error says so, beside the entry.
func (w *Workspace) Record(ctx context.Context, set delta.Set, o CommitOptions) (*ledger.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	records := happened.Records{Store: w.Store, Ledger: w.Ledger, Room: w.Room, Durable: w.Durable}
	return records.Enter(set, o.entry(o.ID))
}

func (o CommitOptions) entry(id string) *ledger.Entry {
	e := &ledger.Entry{
		ID: id, Session: o.Origin.Session, Turn: o.Origin.Turn, Call: o.Origin.Call, Tool: o.Origin.Tool,
		Client: o.Origin.Client, Edited: o.Origin.Edited, Dirs: slices.Clone(o.Dirs), Gone: slices.Clone(o.Gone),
		Modes: slices.Clone(o.Modes), Note: o.Origin.Note, Gaps: o.Origin.Gaps, Head: o.Origin.Head, Undoes: o.Origin.Undoes,
		Only: o.Origin.Only, Cause: o.Cause, Exact: !o.Inexact, Certainty: o.Certainty, Of: o.Of, Ended: o.Ended,
	}
	if e.Cause == "" {
		e.Cause = ledger.CauseTool
	}
	return e
}

// exactModes reports whether files get the modes of their images to the bit.
func (o CommitOptions) exactModes() bool {
	return o.AsMade || o.Cause == ledger.CauseUndo || o.Cause == ledger.CauseRedo
}
