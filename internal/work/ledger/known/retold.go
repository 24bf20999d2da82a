package known

import (
	"slices"

	"kerf/internal/work/ledger"
)

// Settled takes out of entries that are not proven what a command that ran on at that
// time was proven to do later: it is told once, by the entry that is certain. Entries
// of which nothing is left go. The list is oldest first; it is not changed.
func Settled(entries []ledger.Entry) []ledger.Entry {
	s := settling{entries: entries, doubted: map[string][]int{}}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Known() != ledger.Proven:
			s.remember(i)
		case e.Of > 0 && len(s.doubted) > 0:
			s.retell(e)
		}
	}
	if s.left == nil {
		return entries
	}
	list := slices.Clone(entries)
	for i, e := range s.left {
		list[i] = *e
	}
	return slices.DeleteFunc(list, func(e ledger.Entry) bool { return s.gone[e.Seq] })
}

// settling is a list of entries while it is settled.
type settling struct {
	entries []ledger.Entry
	doubted map[string][]int      // entries that are not proven, by the paths they tell of
	left    map[int]*ledger.Entry // what is left of them
	gone    map[int64]bool
}

func (s *settling) remember(i int) {
	e := &s.entries[i]
	for _, p := range pathsOf(e) {
		s.doubted[p] = append(s.doubted[p], i)
	}
}

func pathsOf(e *ledger.Entry) []string {
	var list []string
	for _, c := range e.Changes {
		list = append(list, c.Path)
	}
	for _, d := range e.Directories() {
		list = append(list, string(d))
	}
	return list
}

// retell takes what f tells out of the entries since its command began.
func (s *settling) retell(f *ledger.Entry) {
	about := map[int]bool{}
	for _, p := range pathsOf(f) {
		for _, i := range slices.Backward(s.doubted[p]) {
			e := &s.entries[i]
			if e.Seq < f.Of {
				break
			}
			if e.Of != f.Of {
				about[i] = true
			}
		}
	}
	if len(about) == 0 {
		return
	}
	told := Of([]ledger.Entry{*f}, func(*ledger.Entry) bool { return true })
	for i := range about {
		s.take(i, told)
	}
}

// take takes what is told out of the entry with an index.
func (s *settling) take(i int, told Changes) {
	e := s.left[i]
	if e == nil {
		c := s.entries[i]
		c.Dirs, c.Gone, c.Modes = slices.Clone(c.Dirs), slices.Clone(c.Gone), slices.Clone(c.Modes)
		e = &c
	}
	e.Changes = told.retold(e.Changes)
	e.Dirs, e.Gone, e.Modes = told.Dirs(e.Dirs), told.Gone(e.Gone), told.Modes(e.Modes)
	if s.left == nil {
		s.left, s.gone = map[int]*ledger.Entry{}, map[int64]bool{}
	}
	s.left[i] = e
	s.gone[e.Seq] = e.Of == 0 && len(pathsOf(e)) == 0
}

// retold is what is left of changes that nobody saw being made. What begins where the
// known change begins is a part of it: had somebody else made it, it would not be certain.
func (k Changes) retold(list []ledger.Change) []ledger.Change {
	left := make([]ledger.Change, 0, len(list))
	for _, c := range list {
		ch := k.at(c.Path)
		switch {
		case ch == nil:
		case c.Pre.Delta() == ch.first.Delta():
			continue
		case c.Post.Delta() == ch.last.Delta():
			c.Post, c.To = ch.first, ""
		}
		left = append(left, c)
	}
	return left
}
