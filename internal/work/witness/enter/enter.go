// Package enter makes entries of the ledger of what a witness saw.
package enter

import (
	"context"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
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
// it is known by its versions. When the command ended the last entry says so, and has the
// origin's move of HEAD.
func Report(ctx context.Context, w *txn.Workspace, o txn.Origin, r witness.Report) ([]Entered, error) {
	parts := r.Parts
	if len(parts) > 0 {
		since, err := w.Ledger.Read(r.Began)
		if err != nil {
			return nil, err
		}
		parts = subtract(parts, others(since, r.Began))
	}
	doubt, err := doubted(w.Ledger, r, parts)
	if err != nil {
		return nil, err
	}
	if len(doubt) > 0 {
		parts = append(slices.Clone(parts), witness.Part{Certainty: ledger.Unproven, Set: doubt})
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
			id += known.More
		}
		co := txn.CommitOptions{Origin: o, Cause: ledger.CauseCommand, Certainty: p.Certainty, ID: id, Of: r.Began,
			Dirs: p.Dirs, Gone: p.Gone, Modes: p.Modes, Ended: r.Ended && i == len(parts)-1}
		if p.Certainty == ledger.Outside {
			co.Cause = ledger.CauseOutside
		}
		co.Inexact = !proven(p) || len(r.Notes)+len(r.Gaps) > 0
		if !co.Ended {
			co.Origin.Head = nil
		}
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

// doubted tells how files of which nobody knows what they held at the command came from what is
// entered of them, or in parts, to what they hold now: by the command, and perhaps by others.
func doubted(l *ledger.Ledger, r witness.Report, parts []witness.Part) (set delta.Set, err error) {
	now := map[string]*delta.Image{}
	for _, c := range r.Unknown {
		now[c.Path] = c.Post
	}
	tell := func(path string, last *delta.Image) {
		if img, wanted := now[path]; wanted && !last.Same(img) {
			set = append(set, delta.Change{Path: path, Pre: last, Post: img})
		}
		delete(now, path)
	}
	for _, p := range slices.Backward(parts) {
		for _, c := range slices.Backward(p.Set) {
			tell(c.Path, c.Post)
		}
	}
	for e, err := range l.Backward() {
		if err != nil || len(now) == 0 {
			return set, err
		}
		for _, c := range slices.Backward(e.Changes) {
			if e.Seq > r.Began && e.Of != r.Began { // it may be newer than what was seen
				delete(now, c.Path)
			}
			tell(c.Path, c.Post.Image())
		}
	}
	return set, nil
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

// others are the entries of a ledger that a report does not tell of.
func others(entries []ledger.Entry, began int64) known.Changes {
	whole := known.Whole(entries, began)
	return known.Of(entries, func(e *ledger.Entry) bool {
		if e.Of == began {
			return !whole(e) // a part of a report whose rest was never entered is told again with that
		}
		return e.Known() == ledger.Proven
	})
}

// subtract takes out what others entered. What is left of a change that is not proven is
// not proven either: somebody who enters nothing may have written between the two.
func subtract(parts []witness.Part, others known.Changes) []witness.Part {
	var rest []witness.Part
	for _, p := range parts {
		if proven(p) {
			p.Set = others.Without(p.Set)
		} else {
			p.Set = beforeOthers(p.Set, others)
		}
		if !p.Empty() {
			rest = append(rest, p)
		}
	}
	return rest
}

// beforeOthers lets changes that end with what others entered end before it.
func beforeOthers(set delta.Set, others known.Changes) delta.Set {
	var left delta.Set
	for _, c := range set {
		if before, unknown := others.Outside(c); !unknown {
			c = delta.Change{Path: c.Path, Pre: c.Pre, Post: before}
		}
		if !c.Pre.Same(c.Post) {
			left = append(left, c)
		}
	}
	return left
}
