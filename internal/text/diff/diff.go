// Package diff finds how one text became another and writes it as git would.
//
// It is exact to the byte: applying the edits of a and b to a gives b, for any
// bytes. Diffs are by line, minimal where that is cheap; on input that would
// make them expensive they become coarser, never slower than about linear.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"kerf/internal/text/lines"
)

// Edit replaces the bytes a[Start:End] with New.
type Edit struct {
	Start, End int
	New        []byte
}

// Lines returns the edits, in order and apart from each other, that make b of
// a. They begin and end at line boundaries. New shares b's memory.
func Lines(a, b []byte) []Edit {
	head, tail := common(a, b)
	ta, tb := newText(a[head:len(a)-tail]), newText(b[head:len(b)-tail])
	hs := hunks(ta, tb)
	if len(hs) == 0 {
		return nil
	}
	edits := make([]Edit, len(hs))
	for i, h := range hs {
		edits[i] = Edit{head + ta.off[h.a0], head + ta.off[h.a1], tb.span(h.b0, h.b1)}
	}
	return edits
}

// margin is how many equal lines are kept around what differs: more than a hunk
// can move, and what is shown around it.
const margin = maxReach + maxSlide + context

// common returns how many bytes of whole lines a and b begin and end with alike,
// but for the margin: what lies there has no part in the comparison, and is not
// even cut into lines.
func common(a, b []byte) (head, tail int) {
	head = prefix(a, b)
	// What is alike from both ends counts once, so that the margin begins where hunks
	// do.
	tail = suffix(a[head:], b[head:])
	for n := 0; n <= margin && head >= 0; n++ {
		head = bytes.LastIndexByte(a[:head], '\n')
	}
	head = max(head, 0)
	if head > 0 {
		head++
	}
	for n := 0; n <= margin && tail > 0; n++ {
		next := bytes.IndexByte(a[len(a)-tail:], '\n')
		if next < 0 {
			return head, 0
		}
		tail -= next + 1
	}
	return head, max(tail, 0)
}

// prefix returns how many bytes a and b begin with alike.
func prefix(a, b []byte) int {
	const step = 4096
	n := min(len(a), len(b))
	i := 0
	for i+step <= n && bytes.Equal(a[i:i+step], b[i:i+step]) {
		i += step
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// suffix returns how many bytes a and b end in alike.
func suffix(a, b []byte) int {
	const step = 4096
	n := min(len(a), len(b))
	i := 0
	for i+step <= n && bytes.Equal(a[len(a)-i-step:len(a)-i], b[len(b)-i-step:len(b)-i]) {
		i += step
	}
	for i < n && a[len(a)-i-1] == b[len(b)-i-1] {
		i++
	}
	return i
}

// Part is a part of a diff: edits as Without counts them, or, when there are none, lines as
// WithoutLines does.
type Part struct{ Edits, Lines []int }

// Without returns b less the part of what made it of a.
func (p Part) Without(a, b []byte) ([]byte, error) {
	if len(p.Edits) > 0 {
		return Without(a, b, p.Edits)
	}
	return WithoutLines(a, b, p.Lines)
}

// Without returns b less some of the edits that Lines finds between a and b, counted
// from 0.
func Without(a, b []byte, edits []int) ([]byte, error) {
	all := Lines(a, b)
	var keep []Edit
	for i, e := range all {
		if !slices.Contains(edits, i) {
			keep = append(keep, e)
		}
	}
	for _, i := range edits {
		if i < 0 || i >= len(all) {
			return nil, fmt.Errorf("there are %d edits, and no edit %d", len(all), i+1)
		}
	}
	return Apply(a, keep)
}

// WithoutLines returns b less some of the lines that the diff between a and b removes or
// adds, counted from 0 in the diff's order. A line that comes back stands beside the one
// that replaced it.
func WithoutLines(a, b []byte, lines []int) ([]byte, error) {
	edits := Lines(a, b)
	n := 0
	for i, e := range edits {
		gone, come := slices.Collect(bytes.Lines(a[e.Start:e.End])), slices.Collect(bytes.Lines(e.New))
		var stay [][]byte
		for k := range max(len(gone), len(come)) {
			if k < len(gone) && slices.Contains(lines, n+k) {
				stay = append(stay, gone[k])
			}
			if k < len(come) && !slices.Contains(lines, n+len(gone)+k) {
				stay = append(stay, come[k])
			}
		}
		for k, l := range stay {
			if last := k == len(stay)-1 && e.End == len(a); !last && !bytes.HasSuffix(l, []byte("\n")) {
				return nil, errors.New("the last line of the file has no line end; take the whole edit")
			}
		}
		edits[i].New = bytes.Join(stay, nil)
		n += len(gone) + len(come)
	}
	for _, l := range lines {
		if l < 0 || l >= n {
			return nil, fmt.Errorf("there are %d changed lines, and no line %d", n, l+1)
		}
	}
	return Apply(a, edits)
}

// Apply returns a with edits made in it, in memory of its own. Edits must be in
// order, within a and must not overlap; insertions at one place keep their order.
func Apply(a []byte, edits []Edit) ([]byte, error) {
	size, at := len(a), 0
	for i, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(a) {
			return nil, fmt.Errorf("apply edit %d: [%d:%d] is out of order or outside %d bytes", i, e.Start, e.End, len(a))
		}
		size += len(e.New) - (e.End - e.Start)
		at = e.End
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(out, a[at:e.Start]...)
		out = append(out, e.New...)
		at = e.End
	}
	return append(out, a[at:]...), nil
}

// Stat counts the lines that became and that ceased to be.
func Stat(a, b []byte) (added, removed int) {
	head, tail := common(a, b)
	for _, h := range hunks(newText(a[head:len(a)-tail]), newText(b[head:len(b)-tail])) {
		added += h.b1 - h.b0
		removed += h.a1 - h.a0
	}
	return added, removed
}

// text is a byte string with the offsets of its lines: line i is
// data[off[i]:off[i+1]].
type text struct {
	data []byte
	off  []int
}

func newText(b []byte) text {
	off := make([]int, 1, lines.Count(b)+1)
	for _, l := range lines.Split(b) {
		off = append(off, off[len(off)-1]+len(l))
	}
	return text{b, off}
}

func (t text) len() int             { return len(t.off) - 1 }
func (t text) line(i int) []byte    { return t.data[t.off[i]:t.off[i+1]] }
func (t text) span(i, j int) []byte { return t.data[t.off[i]:t.off[j]:t.off[j]] }
