// Package known takes out of changes that were found what the ledger tells of them
// already: another Kerf process, or another tool of this one, made and entered it.
package known

import (
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// More ends the ID of an entry of a command that others of the same report follow.
const More = ".more"

// Whole returns which entries of a command are of a report that was entered to its end.
func Whole(entries []ledger.Entry, began int64) func(*ledger.Entry) bool {
	last := map[string]bool{}
	for i := range entries {
		if e := &entries[i]; e.Of == began && !strings.HasSuffix(e.ID, More) {
			last[e.ID] = true
		}
	}
	return func(e *ledger.Entry) bool { return last[strings.TrimSuffix(e.ID, More)] }
}

// Changes are what entries tell of paths, and of directories that came, went or got
// another mode.
type Changes struct {
	paths map[string]*chain
	dirs  map[ledger.Path]bool
}

// chain is what entries made of one path, one following the other.
type chain struct {
	first, last *ledger.Version
	whole       bool // each begins with what the one before left
}

// Of collects the entries, oldest first, for which counts is true.
func Of(entries []ledger.Entry, counts func(*ledger.Entry) bool) Changes {
	k := Changes{map[string]*chain{}, map[ledger.Path]bool{}}
	for i := range entries {
		e := &entries[i]
		if !counts(e) {
			continue
		}
		for _, c := range e.Changes {
			k.add(c)
		}
		for _, d := range e.Directories() {
			k.dirs[d] = true
		}
	}
	return k
}

func (k Changes) add(c ledger.Change) {
	ch := k.paths[c.Path]
	if ch == nil {
		k.paths[c.Path] = &chain{c.Pre, c.Post, true}
		return
	}
	ch.whole = ch.whole && ch.last.Delta() == c.Pre.Delta()
	ch.last = c.Post
}

// at is the chain of a path if it is whole.
func (k Changes) at(path string) *chain {
	if ch := k.paths[path]; ch != nil && ch.whole {
		return ch
	}
	return nil
}

// Outside reports what is left of a change that others may have made. left says that
// it is not known. Otherwise the change ends with what the entries made, and before is
// what the path held when they began.
func (k Changes) Outside(c delta.Change) (before *delta.Image, left bool) {
	ch := k.at(c.Path)
	if ch == nil || ch.last.Delta() != c.Post.At() {
		return nil, true
	}
	return ch.first.Image(), false
}

// Without takes what is known out of a set. What is left of a change is from before or
// after what is known.
func (k Changes) Without(set delta.Set) delta.Set {
	var left delta.Set
	for _, c := range set {
		ch := k.at(c.Path)
		if ch == nil {
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
	return halves(left)
}

// halves makes a change of its own of each half of a move whose other half is not in the set.
// Where something else came to the first name, only the second tells.
func halves(set delta.Set) delta.Set {
	from, to, replaced := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, c := range set {
		from[c.Path], to[c.Path] = c.From, c.To
		replaced[c.Path] = c.Pre != nil && c.Post != nil
	}
	for i := range set {
		c := &set[i]
		if c.From != "" && to[c.From] != c.Path && !replaced[c.From] {
			c.From = ""
		}
		if c.To != "" && from[c.To] != c.Path {
			c.To = ""
		}
	}
	return set
}

// Dirs, Gone and Modes take out the directories of which entries tell.
func (k Changes) Dirs(list []ledger.Path) []ledger.Path {
	return slices.DeleteFunc(list, func(p ledger.Path) bool { return k.dirs[p] })
}

// Gone is Dirs for directories that went.
func (k Changes) Gone(list []ledger.Dir) []ledger.Dir {
	return slices.DeleteFunc(list, func(d ledger.Dir) bool { return k.dirs[d.Path] })
}

// Modes is Dirs for directories that got another mode.
func (k Changes) Modes(list []ledger.DirMode) []ledger.DirMode {
	return slices.DeleteFunc(list, func(d ledger.DirMode) bool { return k.dirs[d.Path] })
}
