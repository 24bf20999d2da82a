// Package witness knows what commands change, by watching them do it.
//
// Before a command changes a file, the kernel asks Kerf's helper process (package supervise), which keeps
// what the file held and writes it into a journal (package journal). Afterwards, or while the command still
// runs, [Watch.Collect] reads the journal, looks at the touched names alone, and tells what came of them:
// what the command did is proven; what somebody else did to the same files is told apart from it, or
// called unproven. A journal that was left by a Kerf that is gone is finished by [Recover].
package witness

import (
	"errors"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/witness/rescue"
)

// ErrUnavailable says that commands cannot be witnessed on this system.
var ErrUnavailable = errors.New("commands cannot be watched here")

// Part is what came of a command, as far as its certainty is the same. The parts of one
// collection follow each other: a path may occur in several.
type Part struct {
	Certainty string // of the ledger
	Set       delta.Set
	Dirs      []ledger.Path    // directories that were made, parents first
	Gone      []ledger.Dir     // directories that went, parents first
	Modes     []ledger.DirMode // directories that stayed and got other permission bits
}

// Empty reports whether there is nothing in the part.
func (p *Part) Empty() bool { return len(p.Set)+len(p.Dirs)+len(p.Gone)+len(p.Modes) == 0 }

// Report is what was collected of a command.
type Report struct {
	Parts []Part
	// Began is the number of the ledger's entry that the command began with, 0 when it
	// touched nothing.
	Began int64
	// ID names this collection; it is that of the last of the ledger's entries made of it.
	// The others have known.More behind it.
	ID string
	// Notes tell what is not known and is about no file, one line each. Gaps are files of
	// which not all is known, or that cannot be taken back.
	Notes []string
	Gaps  []ledger.Gap
	// Unknown has what such files hold now, where that is known; what they held is not.
	Unknown delta.Set
	// Ended says that nothing of the command runs any more.
	Ended bool
}

// Unsure are the lines of both Notes and Gaps.
func (r Report) Unsure() []string {
	lines := slices.Clone(r.Notes)
	for _, g := range r.Gaps {
		lines = append(lines, g.String())
	}
	return lines
}

// News is what a collection would tell of.
type News int

// The kinds of news.
const (
	Nothing News = iota
	Written      // files that the command has open were written
	Touched      // it touched names
)

// Loss is something that cannot be taken back once it is done.
type Loss struct {
	Path string
	Size int64
	Why  string
}

// folder is the directory of all journals of a workspace; outlive begins the names of the
// directories of sessions with Options.Outlive.
const folder, outlive = "witness", "outlive-"

// Store keeps contents.
type Store interface {
	PutFile(store.Source) (store.Kept, error)
	rescue.Store
}

// Options make a Witness.
type Options struct {
	Dir    string   // where Kerf keeps its data about the workspace
	Roots  []string // directories in which changes are witnessed
	Ledger *ledger.Ledger
	Store  Store
	// Outlive says that commands may go on when Kerf has ended: Recover does not wait
	// for their end.
	Outlive bool
}
