// Package enter makes entries of the ledger of what a witness saw.
package enter

import (
	"context"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn"
	"kerf/internal/work/witness"
)

// Entered is an entry with the changes that it has.
type Entered struct {
	Entry *ledger.Entry
	Set   delta.Set
}

// Report enters what a witness saw of a command, and returns the entries in their order.
// What another Kerf, or another tool of this one, entered meanwhile is not entered again:
// it is known by its versions. When the command ended the last entry says so.
func Report(ctx context.Context, w *txn.Workspace, o txn.Origin, r witness.Report) ([]Entered, error) {
	parts := r.Parts
	if doubtful(parts) {
		since, err := w.Ledger.Read(r.Began)
		if err != nil {
			return nil, err
		}
		parts = subtract(parts, chains(since, r.Began))
	}
	var done []Entered
	for i, p := range parts {
		co := txn.CommitOptions{Origin: o, Cause: ledger.CauseCommand, Certainty: p.Certainty, ID: r.ID, Of: r.Began,
			Dirs: p.Dirs, Gone: p.Gone}
		if p.Certainty == ledger.Outside {
			co.Cause = ledger.CauseOutside
		}
		if last := i == len(parts)-1; last {
			co.Ended = r.Ended
		}
		co.Inexact = p.Certainty == ledger.Unproven || len(r.Notes) > 0 && p.Certainty == ledger.Proven
		if p.Certainty == ledger.Proven {
			co.Origin.Note = r.Note()
		}
		e, err := w.Record(ctx, p.Set, co)
		if err != nil {
			return done, err
		}
		done = append(done, Entered{e, p.Set})
	}
	if len(parts) == 0 && r.Ended && r.Began > 0 {
		e, err := w.Record(ctx, nil, txn.CommitOptions{Origin: o, Cause: ledger.CauseBegan, Certainty: ledger.Proven,
			ID: r.ID, Of: r.Began, Ended: true})
		if err != nil {
			return nil, err
		}
		done = append(done, Entered{Entry: e})
	}
	return done, nil
}

func doubtful(parts []witness.Part) bool {
	for _, p := range parts {
		if p.Certainty != ledger.Proven && len(p.Set) > 0 {
			return true
		}
	}
	return false
}

// chain is what entries of others made of one path, one following the other.
type chain struct {
	first, last *ledger.Version
	whole       bool // each begins with what the one before left
}

func chains(entries []ledger.Entry, began int64) map[string]*chain {
	all := map[string]*chain{}
	for i := range entries {
		e := &entries[i]
		if e.Of == began || e.Known() != ledger.Proven {
			continue
		}
		for _, c := range e.Changes {
			ch := all[c.Path]
			if ch == nil {
				all[c.Path] = &chain{c.Pre, c.Post, true}
				continue
			}
			ch.whole = ch.whole && ch.last.Delta() == c.Pre.Delta()
			ch.last = c.Post
		}
	}
	return all
}

// subtract takes out of what is not proven what others entered. What then is left is
// the command's own.
func subtract(parts []witness.Part, others map[string]*chain) []witness.Part {
	proven := witness.Part{Certainty: ledger.Proven}
	var rest []witness.Part
	for _, p := range parts {
		if p.Certainty == ledger.Proven {
			rest = append(rest, p)
			continue
		}
		var left delta.Set
		for _, c := range p.Set {
			ch := others[c.Path]
			if ch == nil || !ch.whole || ch.last.Delta() != c.Post.At() {
				left = append(left, c)
				continue
			}
			if before := ch.first.Image(); !c.Pre.Same(before) {
				proven.Set = append(proven.Set, delta.Change{Path: c.Path, Pre: c.Pre, Post: before})
			}
		}
		if p.Set = left; len(p.Set)+len(p.Dirs)+len(p.Gone) > 0 {
			rest = append(rest, p)
		}
	}
	if len(proven.Set) > 0 {
		rest = append([]witness.Part{proven}, rest...)
	}
	return rest
}
