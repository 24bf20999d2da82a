package changes

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"kerf/internal/work/changes/named"
	"kerf/internal/work/changes/returned"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
)

// Choice says what is to be taken back, or, with Redo, brought back. The zero
// value is the last turn that is not undone, whoever's it was.
type Choice struct {
	Redo bool
	// Session, Turn and Call narrow the choice; the beginning of an id is enough
	// where it is unique.
	Session, Turn, Call string
	Client              string
	// Later takes what the session did after Turn along.
	Later bool
	// ByCall takes the last call rather than the last turn.
	ByCall bool
	// Paths are absolute. Directories stand for all that is below them.
	Paths []string
	// Entry is the sequence number of the one entry that is meant, whoever made it.
	Entry int64
	// Unproven takes along what nobody saw being changed.
	Unproven bool
	// Last is how many turns are meant where none is named; 0 is one.
	Last int
	// Conflicts says what becomes of a file that was changed since in the same place.
	Conflicts settle.Way
	// Follow takes changes back in the file that a plan names as Moved.
	Follow bool

	ids named.IDs // Session, Turn and Call, and which of them are whole
}

// ErrNothing says that there is nothing to undo or to redo.
var ErrNothing = errors.New("nothing to undo")

// errNothingRedo is ErrNothing in the words for a redo.
var errNothingRedo = fmt.Errorf("nothing to redo%w", silent{})

// silent lets an error be ErrNothing without saying so.
type silent struct{}

func (silent) Error() string        { return "" }
func (silent) Is(target error) bool { return target == ErrNothing }

// choose is the book's, apart from what has to stay since another change does, which brought
// back what that took away.
func (r Reader) choose(b *book, c *Choice) (entries []*ledger.Entry, left []Left, err error) {
	entries, left, err = b.choose(c)
	if err != nil || c.Redo || b.fault == TakeReturned {
		return entries, left, err
	}
	stays := map[*ledger.Entry][]string{}
	for _, l := range left {
		e := &b.entries[b.at[l.Entry]]
		stays[e] = append(stays[e], l.Path)
	}
	returned.Find(entries, stays, r.load, func(seq int64, path string) { b.needed[atom{seq, path}] = true })
	if len(b.needed) == 0 {
		return entries, left, nil
	}
	return b.choose(c)
}

// choose returns the entries to invert, oldest first, and what of them is left alone
// because nobody saw who changed it.
func (b *book) choose(c *Choice) (entries []*ledger.Entry, left []Left, err error) {
	c.ids = named.Among(c.Session, c.Turn, c.Call, b.own())
	switch {
	case c.Redo:
		entries, err = b.chooseRedo(c)
	case c.Entry != 0:
		entries, err = b.chooseEntry(*c)
	default:
		entries, err = b.chooseTurn(*c)
	}
	if err != nil {
		return nil, nil, err
	}
	entries = slices.DeleteFunc(entries, func(e *ledger.Entry) bool {
		asked := setOf(b.asked(e, *c))
		for _, p := range b.live(e, c.Paths) {
			if !asked[p] {
				left = append(left, Left{Path: p, Entry: e.Seq})
			}
		}
		return len(asked) == 0 && (c.Redo || !b.lost(e, c.Paths))
	})
	if len(entries)+len(left) == 0 {
		return nil, nil, ErrNothing
	}
	return entries, left, nil
}

// chooseEntry returns the one entry that c names.
func (b *book) chooseEntry(c Choice) ([]*ledger.Entry, error) {
	i, ok := b.at[c.Entry]
	if !ok {
		return nil, fmt.Errorf("this workspace has no entry %d; see kerf log", c.Entry)
	}
	e := &b.entries[i]
	if e.Cause == ledger.CauseUndo {
		return nil, fmt.Errorf("entry %d is an undo; kerf redo takes it back", c.Entry)
	}
	if !b.stands(e, c.Paths) {
		return nil, ErrNothing
	}
	return []*ledger.Entry{e}, nil
}

// chooseTurn returns what c names of what Kerf did, or the last turn of it.
func (b *book) chooseTurn(c Choice) ([]*ledger.Entry, error) {
	var fits []*ledger.Entry
	known := false
	for i := range b.entries {
		e := &b.entries[i]
		if !own(e) || e.Known() == ledger.Outside || !c.names(e) {
			continue
		}
		known = true
		if b.stands(e, c.Paths) {
			fits = append(fits, e)
		}
	}
	if c.Later && c.Turn != "" {
		fits = b.later(c, fits)
	}
	if err := c.certain(fits); err != nil {
		return nil, err
	}
	if len(fits) == 0 {
		return nil, c.nothing(known)
	}
	if c.Turn != "" || c.Call != "" {
		return fits, nil
	}
	var found []*ledger.Entry
	for n := 0; n < max(1, c.Last) && len(fits) > 0; n++ {
		last := slices.MaxFunc(fits, func(x, y *ledger.Entry) int { return cmp.Compare(begun(x), begun(y)) })
		fits = slices.DeleteFunc(fits, func(e *ledger.Entry) bool {
			with := c.together(e, last)
			if with {
				found = append(found, e)
			}
			return with
		})
	}
	slices.SortFunc(found, func(x, y *ledger.Entry) int { return cmp.Compare(x.Seq, y.Seq) })
	return found, nil
}

// stands reports whether something of e was not taken back, or cannot be.
func (b *book) stands(e *ledger.Entry, paths []string) bool {
	return len(b.live(e, paths)) > 0 || b.lost(e, paths)
}

// names reports whether e is of the session, turn, call and client that c names.
func (c Choice) names(e *ledger.Entry) bool {
	return c.ids.Mean(idsOf(e)) && (c.Client == "" || e.Client == c.Client)
}

func idsOf(e *ledger.Entry) named.Entry {
	return named.Entry{Session: e.Session, Turn: e.Turn, Call: e.Call}
}

// own are the ids of what Kerf did, whatever became of it.
func (b *book) own() iter.Seq[named.Entry] {
	return func(yield func(named.Entry) bool) {
		for i := range b.entries {
			if e := &b.entries[i]; own(e) && e.Known() != ledger.Outside && !yield(idsOf(e)) {
				return
			}
		}
	}
}

// together reports whether e goes with last when nothing is named.
func (c Choice) together(e, last *ledger.Entry) bool {
	if e.Seq == last.Seq {
		return true
	}
	if e.Session != last.Session || e.Turn != last.Turn || last.Turn == "" {
		return false
	}
	return !c.ByCall || e.Call == last.Call
}

// later adds to fits what the session of the named turn did after it.
func (b *book) later(c Choice, fits []*ledger.Entry) []*ledger.Entry {
	first := int64(0)
	session := ""
	for i := range b.entries {
		if e := &b.entries[i]; c.names(e) && e.Turn != "" {
			first, session = e.Seq, e.Session
			break
		}
	}
	if first == 0 {
		return fits
	}
	fits = nil
	for i := range b.entries {
		e := &b.entries[i]
		if own(e) && e.Known() != ledger.Outside && e.Seq >= first && e.Session == session && b.stands(e, c.Paths) {
			fits = append(fits, e)
		}
	}
	return fits
}

// certain fails when the beginning of an id fits several.
func (c Choice) certain(fits []*ledger.Entry) error {
	ids := make([]named.Entry, len(fits))
	for i, e := range fits {
		ids[i] = idsOf(e)
	}
	return c.ids.Certain(ids, c.Later)
}

// nothing is the error when no entry fits: what was named is undone already, or
// is not there.
func (c Choice) nothing(known bool) error {
	if !known {
		switch {
		case c.Call != "":
			return fmt.Errorf("no call %q changed anything in this workspace; see kerf log", c.Call)
		case c.Turn != "" && !c.Later:
			return fmt.Errorf("no turn %q changed anything in this workspace; see kerf log", c.Turn)
		}
	}
	return ErrNothing
}

// chooseRedo returns the newest undo that stands and is about what c names. Where it took back other
// changes, too, it narrows c to the paths of those that are named.
func (b *book) chooseRedo(c *Choice) ([]*ledger.Entry, error) {
	var newest, fits []*ledger.Entry
	var ours, theirs []string
	for i := range slices.Backward(b.entries) {
		e := &b.entries[i]
		if e.Cause != ledger.CauseUndo {
			continue
		}
		mine, others, roots := b.divided(e, *c)
		if fits = append(fits, roots...); len(newest) == 0 && len(roots) > 0 {
			newest, ours, theirs = append(newest, e), mine, others
		}
	}
	if len(newest) == 0 {
		return nil, errNothingRedo
	}
	if err := c.certain(fits); err != nil {
		return nil, err
	}
	e := newest[0]
	scope, others := setOf(b.scope(e.Seq)), setOf(theirs)
	moved := slices.ContainsFunc(e.Changes, func(ch ledger.Change) bool { return !scope[ch.Path] })
	shared := slices.ContainsFunc(b.live(e, ours), func(p string) bool { return others[p] })
	if len(theirs) > 0 && (moved || shared) {
		return nil, fmt.Errorf("entry %d took back more in the same files; kerf redo %d brings back all of it", e.Seq, e.Seq)
	}
	if !moved && len(setOf(ours)) < len(scope) {
		c.Paths = ours
	}
	return newest, nil
}

// divided returns the roots of the undo e that c means, their paths that were not brought back, and those of others.
func (b *book) divided(e *ledger.Entry, c Choice) (ours, theirs []string, roots []*ledger.Entry) {
	live := setOf(b.live(e, c.Paths))
	for _, root := range b.roots(e) {
		paths := slices.DeleteFunc(slices.Clone(b.scope(root.Seq)), func(p string) bool { return !live[p] })
		if !c.means(e, root) {
			theirs = append(theirs, paths...)
		} else if len(paths) > 0 {
			ours, roots = append(ours, paths...), append(roots, root)
		}
	}
	return ours, theirs, roots
}

// means reports whether c, where it is a redo of the undo e, is about what root did.
func (c Choice) means(e, root *ledger.Entry) bool {
	return c.names(root) && (c.Entry == 0 || c.Entry == e.Seq || c.Entry == root.Seq)
}
