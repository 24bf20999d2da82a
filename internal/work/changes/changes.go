// Package changes reads a ledger back: what a turn or a session amounts to.
package changes

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
	"kerf/internal/work/store"
	"kerf/internal/work/txn/contents"
)

// Reader reads one ledger with its images. It has no state.
type Reader struct {
	Ledger *ledger.Ledger
	Images contents.Images
	// Base is the directory that diffs name paths relative to.
	Base string
	// Elsewhere finds the content that a path had where the images do not have it, and
	// has made sure that it is that content. Nil finds nothing.
	Elsewhere func(path string, v delta.Version) ([]byte, bool)
	// Whole is that of the tree, see tree.Options.
	Whole int64
	// Fault, in tests, breaks planning in a known way.
	Fault Fault
}

// Session is the net diff of all that a session's tools and commands changed.
func (r Reader) Session(id string) ([]byte, error) {
	return r.diff(func(e *ledger.Entry) (use, stop bool) { return e.Session == id, false })
}

// Turn is the net diff of one turn of a session that did not begin before since,
// less what was undone of it since.
func (r Reader) Turn(session, turn string, since time.Time) ([]byte, error) {
	return r.diff(func(e *ledger.Entry) (use, stop bool) {
		return e.Session == session && e.Turn == turn, e.Time.Before(since)
	})
}

// Net is the net diff of some entries.
type Net struct {
	Diff []byte
	Set  delta.Set // with the contents that are kept and not too large to show
	// Unproven are the paths in Diff that changed while a command ran that nobody
	// watched. Left are those with changes that are left out of Diff: the command was
	// watched and not seen making them, or only what is proven was asked for.
	Unproven, Left []string
	// Mixed are the paths where Diff has what others changed, too: no text, or not kept.
	Mixed []string
	// Lost are files that changed and that Diff cannot show, each with the reason.
	Lost []string
}

// LastTurnNet is the net of the turn that began last in the ledger, less what was undone of
// it since; empty when it changed nothing in the end. Paths, which are absolute,
// narrow it; directories stand for all below them.
func (r Reader) LastTurnNet(unproven bool, paths []string) (Net, error) {
	last, err := r.lastBegun()
	if last == nil {
		return Net{}, err
	}
	session, turn := last.Session, last.Turn
	return r.Net(NetOptions{Unproven: unproven, Paths: paths, Pick: func(e *ledger.Entry) (use, stop bool) {
		same := e.Session == session && e.Turn == turn
		// An entry of a command that ran on says nothing of where its turn began. Guarded
		// programs have no session, and run beside each other.
		beside := e.Of > 0 || session == "" && e.Cause == ledger.CauseBegan
		return same, !same && e.Session == session && ofTurn(e) && (session != "" || e.Turn != "") && !beside
	}})
}

// lastBegun returns an entry of the turn that began last. A command that runs on makes
// entries of an earlier turn after those of a later one.
func (r Reader) lastBegun() (last *ledger.Entry, err error) {
	for e, err := range r.Ledger.Backward() {
		switch {
		case err != nil:
			return nil, err
		case last != nil && e.Seq <= begun(last):
			return last, nil
		case ofTurn(&e) && (last == nil || begun(&e) > begun(last)):
			last = &e
		}
	}
	return last, nil
}

// begun is the number of the entry that e, or the command that e is about, began with.
func begun(e *ledger.Entry) int64 {
	if e.Of != 0 {
		return e.Of
	}
	return e.Seq
}

// ofTurn reports whether e is something that a turn did, rather than something
// from outside or an undo that was asked for between turns.
func ofTurn(e *ledger.Entry) bool {
	if e.Known() == ledger.Outside || e.Cause == ledger.CauseChecked {
		return false
	}
	switch e.Cause {
	case ledger.CauseUndo, ledger.CauseRedo:
		return e.Turn != ""
	}
	return true
}

// diff is the net diff of the entries that pick uses, also of the unproven ones.
func (r Reader) diff(pick func(*ledger.Entry) (use, stop bool)) ([]byte, error) {
	n, err := r.Net(NetOptions{Unproven: true, Pick: pick})
	return n.Diff, err
}

// NetOptions say of what the net is taken.
type NetOptions struct {
	// Pick tells which entries are used, the newest first, until it stops.
	Pick     func(*ledger.Entry) (use, stop bool)
	Unproven bool     // with what is unproven
	Paths    []string // absolute; only these, and what is below them
	// Then leaves out what was done after the last entry that is used: an undo since does
	// not count.
	Then bool
}

// Net is the net of the entries that are picked. What others did between them, sessions
// and users alike, is taken out; what was undone between turns is taken off.
func (r Reader) Net(o NetOptions) (n Net, err error) {
	seen, picked, err := r.pick(o)
	if err != nil {
		return Net{}, err
	}
	var lost []ledger.Gap
	used, proven, doubtful, left := map[int64]bool{}, map[int64]bool{}, map[string]bool{}, map[string]bool{}
	for i := range seen {
		e := &seen[i]
		sure := e.Known()
		mine := picked[e.Seq] && !loose(e) && sure != ledger.Outside
		// A command that was watched and not seen doing it most likely did not.
		watched := sure == ledger.Unproven && e.Of > 0
		used[e.Seq] = mine && !watched
		if mine && watched {
			for _, c := range e.Changes {
				left[c.Path] = true
			}
		}
		if mine && !e.Exact {
			lost = append(lost, e.Unknown()...)
		}
		proven[e.Seq] = used[e.Seq] && sure == ledger.Proven
		if used[e.Seq] && sure == ledger.Unproven {
			for _, c := range e.Changes {
				doubtful[c.Path] = true
			}
		}
	}
	outer := func(c delta.Change) bool { return !below(c.Path, o.Paths) && !below(c.From, o.Paths) }
	parts := r.separate(seen, used)
	set := slices.DeleteFunc(parts.Ours, outer)
	for _, c := range set {
		if doubtful[c.Path] || doubtful[c.From] {
			n.Unproven = append(n.Unproven, c.Path)
		}
	}
	if !o.Unproven && len(doubtful) > 0 {
		parts = r.separate(seen, proven)
		set = slices.DeleteFunc(parts.Ours, outer)
		for _, path := range n.Unproven {
			left[path] = true
		}
		n.Unproven = nil
	}
	slices.Sort(n.Unproven)
	n.Left = slices.Sorted(maps.Keys(left))
	n.Left = slices.DeleteFunc(n.Left, func(path string) bool { return !below(path, o.Paths) })
	n.Set = set
	shown := setOf(set.Paths())
	n.Mixed = slices.DeleteFunc(parts.Entangled, func(path string) bool { return !shown[path] })
	n.Lost = lostOf(slices.DeleteFunc(lost, func(g ledger.Gap) bool { return shown[string(g.Path)] }), o.Paths)
	n.Diff, err = r.unified(set)
	return n, err
}

// pick reads the entries that a net is made of, oldest first, and which of them are used.
func (r Reader) pick(o NetOptions) (seen []ledger.Entry, picked map[int64]bool, err error) {
	picked = map[int64]bool{}
	last := int64(math.MaxInt64) // later ones tell of what was not certain, and no more
	for e, err := range r.Ledger.Backward() {
		if err != nil {
			return nil, nil, err
		}
		use, stop := o.Pick(&e)
		if stop {
			break
		}
		if use && o.Then {
			last, o.Then = e.Seq, false
		}
		picked[e.Seq] = use
		seen = append(seen, e)
	}
	slices.Reverse(seen)
	seen = slices.DeleteFunc(known.Settled(seen), func(e ledger.Entry) bool { return e.Seq > last })
	return seen, picked, nil
}

// separate is the net of the used entries, told from the others.
func (r Reader) separate(seen []ledger.Entry, used map[int64]bool) delta.Parts {
	steps := stepsOf(seen, used)
	first := slices.IndexFunc(steps, func(s delta.Step) bool { return !s.Outside })
	if first < 0 {
		return delta.Parts{}
	}
	// What comes before the first of ours is where they start.
	return delta.Separate(steps[first:], r.load)
}

// stepsOf tells the used entries of seen, oldest first, from the others. An undo
// between turns counts with what it takes back.
func stepsOf(seen []ledger.Entry, used map[int64]bool) []delta.Step {
	isUsed := func(seq int64) bool { return used[seq] }
	var steps []delta.Step
	for _, e := range seen {
		if loose(&e) && slices.ContainsFunc(e.Undoes, isUsed) {
			if !allOf(e.Undoes, isUsed) {
				return standing(seen, used)
			}
			used[e.Seq] = true
		}
		steps = append(steps, delta.Step{Set: e.Set(), Outside: !used[e.Seq]})
	}
	return steps
}

// loose reports whether e was asked for between turns.
func loose(e *ledger.Entry) bool { return len(e.Undoes) > 0 && e.Turn == "" }

func allOf(seqs []int64, is func(int64) bool) bool {
	return !slices.ContainsFunc(seqs, func(s int64) bool { return !is(s) })
}

// standing is stepsOf where one undo takes back more than what is used: of its bytes
// nobody can tell which are about what. So what does not stand of the used entries,
// and all that was taken back and brought back, counts as outside.
func standing(seen []ledger.Entry, used map[int64]bool) []delta.Step {
	between := slices.Clone(seen)
	for i := range between {
		if !loose(&between[i]) {
			between[i].Undoes = nil // a change of its turn like any other
		}
		used[between[i].Seq] = used[between[i].Seq] && !loose(&between[i])
	}
	b := newBook(between)
	var steps []delta.Step
	for _, e := range between {
		var ours, theirs delta.Set
		for _, c := range e.Set() {
			if used[e.Seq] && !b.taken[atom{e.Seq, c.Path}] {
				ours = append(ours, c)
			} else {
				theirs = append(theirs, c)
			}
		}
		if len(theirs) > 0 {
			steps = append(steps, delta.Step{Set: theirs, Outside: true})
		}
		if len(ours) > 0 {
			steps = append(steps, delta.Step{Set: ours})
		}
	}
	return steps
}

func (r Reader) unified(net delta.Set) ([]byte, error) {
	net, err := r.loadSet(net)
	if err != nil {
		return nil, err
	}
	return diff.Unified(delta.Files(net, func(path string) string { return Relative(r.Base, path) })), nil
}

// ShownLimit is the size of the largest file whose lines a diff shows.
const ShownLimit = 32 << 20

// loadSet fetches the contents of a set, which it changes. Those that are too large to
// show, or that cannot be had, stay as they are: a diff only names these files. The error is
// about the first one that is in the store and cannot be read.
func (r Reader) loadSet(set delta.Set) (_ delta.Set, first error) {
	for i, c := range set {
		for _, img := range []**delta.Image{&set[i].Pre, &set[i].Post} {
			if *img == nil || (*img).Size > ShownLimit {
				continue
			}
			full, err := r.load(*img)
			switch {
			case err == nil:
				*img = full
			case first == nil && !errors.Is(err, store.ErrNotFound):
				first = fmt.Errorf("%s: %w", c.Path, err)
			}
		}
	}
	return set, first
}

func (r Reader) load(img *delta.Image) (*delta.Image, error) { return contents.Load(r.Images, img) }

// Relative is path as diffs below base name it: relative to base, or absolute
// without its first slash when it lies elsewhere.
func Relative(base, path string) string {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return strings.TrimPrefix(filepath.ToSlash(path), "/")
	}
	return filepath.ToSlash(rel)
}
