// Package merge joins two changes of one text.
//
// It works on whole lines, as diff3 does, and is careful: changes that overlap
// or touch conflict unless both sides made the same text of the place. Bytes
// outside the changes are those of the base.
package merge

import (
	"bytes"

	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

// Side says where a part of the merged text came from.
type Side string

// The sides. Both means that the two made the same change.
const (
	Ours   Side = "ours"
	Theirs Side = "theirs"
	Both   Side = "both"
)

// Region is a changed range of lines in the merged text, 1-based and inclusive.
// Where lines were only removed, End is Start-1.
type Region struct {
	Side       Side
	Start, End int
}

// Range is a range of lines, 1-based and inclusive; empty when End is Start-1.
type Range struct{ Start, End int }

// Conflict is a place that both sides changed, each in its own way.
type Conflict struct {
	Base, Ours, Theirs                []byte
	BaseLines, OursLines, TheirsLines Range
}

// Three merges the changes from base to ours and from base to theirs. The merge
// is clean if there are no conflicts; then merged is never nil, and regions
// tells what differs from base, in order. Otherwise merged and regions are nil.
// Texts with NUL bytes are not cut into lines: if both sides changed them
// differently, the whole is one conflict. The results may share memory with the
// arguments.
func Three(base, ours, theirs []byte) (merged []byte, regions []Region, conflicts []Conflict) {
	m := merger{base: base, ours: ours, theirs: theirs}
	return m.three()
}

func (m *merger) three() (merged []byte, regions []Region, conflicts []Conflict) {
	base, ours, theirs := m.base, m.ours, m.theirs
	if m.whole(base) || m.whole(ours) || m.whole(theirs) {
		m.all()
	} else {
		m.groups(diff.Lines(base, ours), diff.Lines(base, theirs))
	}
	if len(m.conflicts) > 0 {
		return nil, nil, m.conflicts
	}
	return append(m.out, base[m.at:]...), m.regions, nil
}

type merger struct {
	base, ours, theirs []byte

	at    int // how far base is dealt with
	out   []byte
	lines int // in out[:counted]

	counted     int
	shiftOurs   int // offset in ours less offset in base, at this place
	shiftTheirs int

	regions   []Region
	conflicts []Conflict
	settle    func(Conflict) []byte // what stands in the place of a conflict; nil collects them
}

// whole reports whether a text must not be cut.
func (m *merger) whole(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

// all treats the texts as one place that each side may have changed.
func (m *merger) all() {
	all := func(b []byte) []diff.Edit {
		if bytes.Equal(m.base, b) {
			return nil
		}
		return []diff.Edit{{Start: 0, End: len(m.base), New: b}}
	}
	m.groups(all(m.ours), all(m.theirs))
}

// groups walks both lists of edits and joins those that overlap or touch.
func (m *merger) groups(ours, theirs []diff.Edit) {
	m.out = make([]byte, 0, len(m.base))
	for len(ours) > 0 || len(theirs) > 0 {
		start := len(m.base)
		if len(ours) > 0 {
			start = ours[0].Start
		}
		if len(theirs) > 0 {
			start = min(start, theirs[0].Start)
		}
		end, i, j := start, 0, 0
		for {
			if i < len(ours) && ours[i].Start <= end {
				end = max(end, ours[i].End)
				i++
			} else if j < len(theirs) && theirs[j].Start <= end {
				end = max(end, theirs[j].End)
				j++
			} else {
				break
			}
		}
		m.group(start, end, ours[:i], theirs[:j])
		ours, theirs = ours[i:], theirs[j:]
	}
}

// group settles base[start:end], which the given edits change.
func (m *merger) group(start, end int, ours, theirs []diff.Edit) {
	o0, t0 := start+m.shiftOurs, start+m.shiftTheirs
	m.shiftOurs += growth(ours)
	m.shiftTheirs += growth(theirs)
	o1, t1 := end+m.shiftOurs, end+m.shiftTheirs
	our, their := m.ours[o0:o1], m.theirs[t0:t1]
	switch {
	case len(theirs) == 0:
		m.take(Ours, start, end, our)
	case len(ours) == 0:
		m.take(Theirs, start, end, their)
	case bytes.Equal(our, their):
		m.take(Both, start, end, our)
	default:
		c := Conflict{
			Base: m.base[start:end], Ours: our, Theirs: their,
			BaseLines:   rangeOf(m.base, start, end),
			OursLines:   rangeOf(m.ours, o0, o1),
			TheirsLines: rangeOf(m.theirs, t0, t1),
		}
		if m.settle != nil {
			m.take(Both, start, end, m.settle(c))
			return
		}
		m.conflicts = append(m.conflicts, c)
	}
}

func growth(edits []diff.Edit) int {
	n := 0
	for _, e := range edits {
		n += len(e.New) - (e.End - e.Start)
	}
	return n
}

// take puts text in the place of base[start:end].
func (m *merger) take(side Side, start, end int, text []byte) {
	m.out = append(m.out, m.base[m.at:start]...)
	m.lines += lines.Count(m.out[m.counted:])
	m.out = append(m.out, text...)
	n := lines.Count(text)
	m.regions = append(m.regions, Region{side, m.lines + 1, m.lines + n})
	m.lines += n
	m.counted = len(m.out)
	m.at = end
}

func rangeOf(b []byte, start, end int) Range {
	before := lines.Count(b[:start])
	return Range{before + 1, before + lines.Count(b[start:end])}
}
