// Package view knows which lines of which version of a file the model has in its
// context.
//
// It is told what was shown and what was changed, and forgets what a compaction
// or a rewind took out of the conversation. It never claims more than was shown:
// where it cannot follow, it says that it does not know. The package is pure.
package view

import (
	"slices"

	"kerf/internal/agent/history"
)

// View is the view of one model. The zero value has seen nothing.
type View struct {
	files map[string]*file
}

// file is what was shown of one version. With loose set, the model changed the
// file itself since: what it holds can no longer be counted in lines.
type file struct {
	sum   string
	spans []span // sorted, apart from each other
	loose bool
}

// span is a range of lines, 1-based and inclusive.
type span struct{ first, last int }

// Saw takes in that a state was shown; without lines only that it exists.
func (v *View) Saw(s history.Sight) {
	if v.files == nil {
		v.files = map[string]*file{}
	}
	f := v.files[s.Path]
	switch {
	case s.Sum == "":
		delete(v.files, s.Path)
		return
	case f == nil:
		f = &file{sum: s.Sum, loose: s.First == 0}
		v.files[s.Path] = f
	case f.sum != s.Sum && s.First == 0: // it was changed by the model itself
		f.sum, f.spans, f.loose = s.Sum, nil, true
	case f.sum != s.Sum:
		*f = file{sum: s.Sum}
	}
	if s.First > 0 && s.Last >= s.First {
		f.add(span{s.First, s.Last})
		f.loose = f.loose && !(s.First == 1 && s.Last >= s.Lines)
	}
}

func (f *file) add(s span) {
	var merged []span
	for _, o := range f.spans {
		if o.last+1 < s.first || s.last+1 < o.first {
			merged = append(merged, o)
			continue
		}
		s = span{min(s.first, o.first), max(s.last, o.last)}
	}
	merged = append(merged, s)
	slices.SortFunc(merged, func(a, b span) int { return a.first - b.first })
	f.spans = merged
}

// Holds reports whether all lines from first to last of the version sum were
// shown and still are in the context.
func (v *View) Holds(path, sum string, first, last int) bool {
	f := v.files[path]
	if f == nil || f.sum != sum || last < first {
		return false
	}
	return slices.ContainsFunc(f.spans, func(s span) bool { return s.first <= first && last <= s.last })
}

// Unseen reports whether lines from first to last of the version sum certainly
// were not shown: nothing of the file was, or other lines of this version.
func (v *View) Unseen(path, sum string, first, last int) bool {
	f := v.files[path]
	if f == nil {
		return true
	}
	if f.sum != sum || f.loose {
		return false
	}
	return !slices.ContainsFunc(f.spans, func(s span) bool { return s.first <= last && first <= s.last })
}

// Knows reports whether anything of the file was shown.
func (v *View) Knows(path string) bool { return v.files[path] != nil }

// Forget drops everything: the context was emptied.
func (v *View) Forget() { v.files = nil }
