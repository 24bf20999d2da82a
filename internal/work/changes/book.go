package changes

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/work/ledger"
)

// book is a ledger with what was taken back since.
type book struct {
	entries []ledger.Entry // oldest first
	at      map[int64]int  // by sequence number
	taken   map[atom]bool
	scopes  map[int64][]string
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
	return newBook(entries), nil
}

// newBook finds out which changes stand. An entry that takes others back counts
// only as far as it was not taken back itself, so the newest are looked at first.
func newBook(entries []ledger.Entry) *book {
	b := &book{entries: entries, at: make(map[int64]int, len(entries)), taken: map[atom]bool{},
		scopes: map[int64][]string{}}
	for i, e := range entries {
		b.at[e.Seq] = i
	}
	for _, e := range slices.Backward(entries) {
		only := setOf(e.Only)
		for _, u := range e.Undoes {
			for _, path := range b.scope(u) {
				if only.has(path) && !b.taken[atom{e.Seq, path}] {
					b.taken[atom{u, path}] = true
				}
			}
		}
	}
	return b
}

// scope is the paths that an entry is about: those it changed, or, when it takes
// others back, those that these changed.
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
	seen := map[string]bool{}
	if len(e.Undoes) == 0 {
		for _, c := range e.Changes {
			paths = append(paths, c.Path)
		}
		if len(paths) == 0 { // nothing but directories
			for _, d := range e.Dirs {
				paths = append(paths, string(d))
			}
			for _, d := range e.Gone {
				paths = append(paths, string(d.Path))
			}
		}
	}
	only := setOf(e.Only)
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

func setOf(paths []ledger.Path) pathSet {
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
	wanted := wantedOf(e, paths)
	for _, p := range b.scope(e.Seq) {
		if !b.taken[atom{e.Seq, p}] && (below(p, paths) || wanted[p]) {
			live = append(live, p)
		}
	}
	return live
}

// wantedOf adds the other halves of moves to what paths name: half a move cannot
// be taken back.
func wantedOf(e *ledger.Entry, paths []string) map[string]bool {
	wanted := map[string]bool{}
	for _, c := range e.Changes {
		if c.To != "" && (below(c.Path, paths) || below(c.To, paths)) {
			wanted[c.Path], wanted[c.To] = true, true
		}
	}
	return wanted
}

// undone reports whether all that e did was taken back.
func (b *book) undone(e *ledger.Entry) bool {
	return len(b.scope(e.Seq)) > 0 && len(b.live(e, nil)) == 0
}

// below reports whether path is one of paths or lies in one of them; without
// paths all are.
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
		for _, c := range e.Changes {
			if c.Path == path && c.Post == nil && c.To != "" && !skip(atom{e.Seq, path}) {
				path = c.To
				break
			}
		}
	}
	return path
}
