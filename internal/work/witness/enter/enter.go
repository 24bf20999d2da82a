// Package enter makes entries of the ledger of what a witness saw.
package enter

import (
	"context"
	"slices"

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
	if len(parts) > 0 {
		since, err := w.Ledger.Read(r.Began)
		if err != nil {
			return nil, err
		}
		parts = subtract(parts, chains(since, r.Began))
	}
	told := slices.IndexFunc(parts, proven) // the entry that gets the notes
	if unsure := len(r.Notes)+len(r.Gaps) > 0; told < 0 && unsure && len(parts) > 0 {
		told = len(parts) // what is told is about the command, and the parts are not
		parts = append(slices.Clone(parts), witness.Part{Certainty: ledger.Proven})
	}
	var done []Entered
	for i, p := range parts {
		id := r.ID
		if i < len(parts)-1 {
			id += witness.More
		}
		co := txn.CommitOptions{Origin: o, Cause: ledger.CauseCommand, Certainty: p.Certainty, ID: id, Of: r.Began,
			Dirs: p.Dirs, Gone: p.Gone, Modes: p.Modes, Ended: r.Ended && i == len(parts)-1}
		if p.Certainty == ledger.Outside {
			co.Cause = ledger.CauseOutside
		}
		co.Inexact = !proven(p) || len(r.Notes)+len(r.Gaps) > 0
		if i == told {
			co.Origin.Gaps, co.Origin.Note = r.Gaps, ledger.NoteOf(r.Notes, r.Gaps)
		}
		e, err := w.Record(ctx, p.Set, co)
		if err != nil {
			return done, err
		}
		done = append(done, Entered{e, p.Set})
	}
	if len(parts) > 0 {
		return done, nil
	}
	e, err := withoutChanges(ctx, w, o, r)
	if e != nil {
		done = append(done, Entered{Entry: e})
	}
	return done, err
}

// withoutChanges enters that a command ended which changed nothing, and what is not known
// of it.
func withoutChanges(ctx context.Context, w *txn.Workspace, o txn.Origin, r witness.Report) (*ledger.Entry, error) {
	co := txn.CommitOptions{Origin: o, Cause: ledger.CauseBegan, Certainty: ledger.Proven, ID: r.ID, Of: r.Began,
		Ended: r.Ended}
	switch {
	case len(r.Notes)+len(r.Gaps) > 0:
		co.Cause, co.Inexact = ledger.CauseCommand, true
		co.Origin.Gaps, co.Origin.Note = r.Gaps, ledger.NoteOf(r.Notes, r.Gaps)
	case !r.Ended || r.Began == 0:
		return nil, nil
	}
	return w.Record(ctx, nil, co)
}

func proven(p witness.Part) bool { return p.Certainty == ledger.Proven }

// chain is what entries of others made of one path, one following the other.
type chain struct {
	first, last *ledger.Version
	whole       bool // each begins with what the one before left
}

func chains(entries []ledger.Entry, began int64) map[string]*chain {
	all := map[string]*chain{}
	whole := witness.Whole(entries, began)
	for i := range entries {
		e := &entries[i]
		// A part of a report whose rest was never entered is told again with that.
		again := e.Of == began && !whole(e)
		if !again && (e.Of == began || e.Known() != ledger.Proven) {
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
	own := witness.Part{Certainty: ledger.Proven}
	var rest []witness.Part
	for _, p := range parts {
		if proven(p) {
			p.Set = nested(p.Set, others)
			if !p.Empty() {
				rest = append(rest, p)
			}
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
				own.Set = append(own.Set, delta.Change{Path: c.Path, Pre: c.Pre, Post: before})
			}
		}
		if p.Set = left; !p.Empty() {
			rest = append(rest, p)
		}
	}
	if len(own.Set) > 0 {
		rest = append([]witness.Part{own}, rest...)
	}
	return rest
}

// nested takes out of what the command certainly did what a Kerf that it started entered.
// What is left is from before or after that.
func nested(set delta.Set, others map[string]*chain) delta.Set {
	var left delta.Set
	for _, c := range set {
		ch := others[c.Path]
		if ch == nil || !ch.whole {
			left = append(left, c)
			continue
		}
		first, last := c.Pre.At() == ch.first.Delta(), c.Post.At() == ch.last.Delta()
		switch {
		case first && last:
			continue
		case first:
			c.Pre, c.From = ch.last.Image(), ""
		case last:
			c.Post, c.To = ch.first.Image(), ""
		}
		left = append(left, c)
	}
	return left
}
