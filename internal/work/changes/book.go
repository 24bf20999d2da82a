package changes

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/work/changes/together"
	"kerf/internal/work/changes/verdicts"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
)

// book is a ledger with what was taken back since.
type book struct {
	entries []ledger.Entry // oldest first, without verdicts
	checked []ledger.Entry // the verdicts of checks
	at      map[int64]int  // by sequence number
	taken   map[atom]bool
	back    map[int64]bool // entries that an undo which stands was about
	scopes  map[int64][]string
	needed  map[atom]bool // what has to stay although it is named, see Reader.choose
	fault   Fault
}

// atom is the smallest thing that can be taken back: what one entry did to one
// path.
type atom struct {
	seq  int64
	path string
}

// open reads the whole ledger.
func open(l *ledger.Ledger) (*book, error) {
	entries, err := l.Read(0)
	if err != nil {
		return nil, err
	}
	entries, checked := verdicts.Split(entries)
	return newBook(known.Settled(entries), checked...), nil
}

// newBook finds out which changes stand. An entry that takes others back counts
// only as far as it was not taken back itself, so the newest are looked at first.
func newBook(entries []ledger.Entry, checked ...ledger.Entry) *book {
	b := &book{entries: entries, checked: checked, at: make(map[int64]int, len(entries)), taken: map[atom]bool{},
		back: map[int64]bool{}, scopes: map[int64][]string{}, needed: map[atom]bool{}}
	for i, e := range entries {
		b.at[e.Seq] = i
	}
	for _, e := range slices.Backward(entries) {
		only := setOf(e.Only)
		for _, u := range e.Undoes {
			b.back[u] = b.back[u] || !b.back[e.Seq]
			for _, path := range b.scope(u) {
				if only.has(path) && !b.taken[atom{e.Seq, path}] {
					b.taken[atom{u, path}] = true
				}
			}
		}
	}
	return b
}

// ended are the sequence numbers that commands which are over began with.
func (b *book) ended() map[int64]bool {
	over := map[int64]bool{}
	for i := range b.entries {
		if b.entries[i].Ended {
			over[b.entries[i].Of] = true
		}
	}
	return over
}

// scope is the paths that an entry is about: those it changed, or, when it takes
// others back, those that these changed. Directories that came or went with files are
// not among them.
func (b *book) scope(seq int64) []string {
	i, ok := b.at[seq]
	if !ok {
		return nil
	}
	if s, ok := b.scopes[seq]; ok {
		return s
	}
	e := &b.entries[i]
	b.scopes[seq] = nil // a ledger that goes in a circle is damaged; do not follow it
	var paths []string
	if len(e.Undoes) == 0 {
		paths = together.Paths(e)
	}
	seen, only := setOf(paths), setOf(e.Only)
	for _, u := range e.Undoes {
		for _, path := range b.scope(u) {
			if u < e.Seq && !seen[path] && only.has(path) {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	b.scopes[seq] = paths
	return paths
}

// pathSet is a set of paths; the empty one has all.
type pathSet map[string]bool

func setOf[P ~string](paths []P) pathSet {
	s := make(pathSet, len(paths))
	for _, p := range paths {
		s[string(p)] = true
	}
	return s
}

func (s pathSet) has(path string) bool { return len(s) == 0 || s[path] }

// live returns the paths of e that were not taken back and that paths allow.
func (b *book) live(e *ledger.Entry, paths []string) []string {
	var live []string
	wanted := b.wanted(e, paths)
	for _, p := range b.scope(e.Seq) {
		if !b.taken[atom{e.Seq, p}] && (below(p, paths) || wanted[p]) {
			live = append(live, p)
		}
	}
	return live
}

// lost reports whether e knows of nothing but files that paths allow and whose change
// cannot be taken back, and no undo was about it.
func (b *book) lost(e *ledger.Entry, paths []string) bool {
	return !e.Exact && len(b.scope(e.Seq)) == 0 && !b.back[e.Seq] && len(lostOf(e.Unknown(), paths)) > 0
}

// lostOf names the files among gaps that paths allow, without what undo leaves there.
func lostOf(gaps []ledger.Gap, paths []string) (names []string) {
	for _, g := range gaps {
		if below(string(g.Path), paths) && !strings.HasPrefix(g.Why, ledger.LeftThere) {
			names = append(names, g.String())
		}
	}
	return names
}

// asked returns those of the live paths of e that c takes back. What nobody saw being
// changed must be asked for: as such, by its entry, or by its own path. So must one
// half of a move whose other half it is: taking back the one alone could lose what
// others wrote before the move.
func (b *book) asked(e *ledger.Entry, c Choice) []string {
	live := slices.DeleteFunc(b.seen(e, c), func(p string) bool { return b.needed[atom{e.Seq, p}] })
	if doubtful(e) || len(e.Undoes) > 0 || b.fault == TakeUnseen {
		return live
	}
	halves := map[string]bool{}
	for _, ch := range e.Changes {
		if (ch.From != "" || ch.To != "") && b.torn(e, ch, c) {
			halves[ch.Path] = true
		}
	}
	return slices.DeleteFunc(live, func(p string) bool { return halves[p] })
}

// torn reports whether the other half of a move of e, which is not doubtful, is in a doubtful
// entry of the same call and is left alone.
func (b *book) torn(e *ledger.Entry, half ledger.Change, c Choice) bool {
	i := b.at[e.Seq]
	for j := max(0, i-tornSearch); j < min(len(b.entries), i+tornSearch+1); j++ {
		o := &b.entries[j]
		if o.Session != e.Session || o.Turn != e.Turn || o.Call != e.Call || !doubtful(o) {
			continue
		}
		for _, ch := range o.Changes {
			other := half.From != "" && ch.Path == half.From && ch.To == half.Path ||
				half.To != "" && ch.Path == half.To && ch.From == half.Path
			if other && !b.taken[atom{o.Seq, ch.Path}] && !slices.Contains(b.seen(o, c), ch.Path) {
				return true
			}
		}
	}
	return false
}

// tornSearch is how many entries may lie between the two halves of a move.
const tornSearch = 64

// seen is asked without a look at moves.
func (b *book) seen(e *ledger.Entry, c Choice) []string {
	live := b.live(e, c.Paths)
	if !doubtful(e) || b.fault == TakeUnseen || c.Entry == e.Seq || c.Unproven && e.Known() == ledger.Unproven {
		return live
	}
	named := make(map[string]bool, len(c.Paths))
	for _, p := range c.Paths {
		named[filepath.ToSlash(p)] = true
	}
	return slices.DeleteFunc(live, func(p string) bool { return !named[p] })
}

// doubtful reports whether it was not seen that the changes of e are Kerf's.
func doubtful(e *ledger.Entry) bool { return e.Known() != ledger.Proven }

// wanted is what goes with what paths name.
func (b *book) wanted(e *ledger.Entry, paths []string) map[string]bool {
	if len(paths) == 0 {
		return nil
	}
	all := b.roots(e) // only they tell of all moves
	if len(e.Undoes) > 0 {
		all = append(all, e)
	}
	return together.With(all, func(p string) bool { return below(p, paths) }, e.Cause == ledger.CauseUndo)
}

// undone reports whether all that e did was taken back.
func (b *book) undone(e *ledger.Entry) bool {
	return len(b.scope(e.Seq)) > 0 && len(b.live(e, nil)) == 0
}

// below reports whether path is one of paths or lies in one of them; without
// paths all are. An empty path lies nowhere.
func below(path string, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		p = filepath.ToSlash(p)
		return path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}

// roots returns the entries that an undo or a redo is about in the end.
func (b *book) roots(e *ledger.Entry) []*ledger.Entry {
	var found []*ledger.Entry
	var visit func(e *ledger.Entry)
	visit = func(e *ledger.Entry) {
		if len(e.Undoes) == 0 {
			found = append(found, e)
		}
		for _, u := range e.Undoes {
			if i, ok := b.at[u]; ok && u < e.Seq {
				visit(&b.entries[i])
			}
		}
	}
	visit(e)
	return found
}

// own reports whether e is a change that Kerf made: the kind that can be undone.
func own(e *ledger.Entry) bool {
	return e.Cause == ledger.CauseTool || e.Cause == ledger.CauseCommand
}

// follow returns where the file that was at path after entry seq is now, as far
// as moves are known. What was undone, and the undoing of it, is nothing together.
// Changes that skip tells are passed over too.
func (b *book) follow(path string, seq int64, skip func(atom) bool) string {
	i, ok := b.at[seq]
	if !ok {
		return path
	}
	for _, e := range b.entries[i+1:] {
		if len(e.Undoes) > 0 || b.taken[atom{e.Seq, path}] {
			continue
		}
		if to := together.Left(&e, path); to != "" && !skip(atom{e.Seq, path}) {
			path = to
		}
	}
	return path
}
