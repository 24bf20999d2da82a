package diff

import "bytes"

// maxReach bounds how far a hunk is moved to join another; maxSlide bounds how
// many of its positions are compared, as in git.
const (
	maxReach = 1000
	maxSlide = 100
)

// slide moves hunks that only add or only remove to the best of the places
// where they mean the same, and joins hunks that can be made to touch.
//
//	 }                 }
//	+func b() {       +
//	+}                +func b() {
//	+            =>   +}
//	 func c() {
//	                   func c() {
func slide(a, b text, hs []hunk) []hunk {
	out := hs[:0]
	for i := 0; i < len(hs); i++ {
		h := hs[i]
		for {
			up := climb(a, b, h, end(out))
			if n := len(out); n > 0 && h.a0-up == out[n-1].a1 {
				p := out[n-1]
				out = out[:n-1]
				h = hunk{p.a0, h.a1 - up, p.b0, h.b1 - up}
				continue
			}
			next := hunk{a.len(), a.len(), b.len(), b.len()}
			if i+1 < len(hs) {
				next = hs[i+1]
			}
			down := fall(a, b, h, next)
			if i+1 < len(hs) && h.a1+down == next.a0 {
				h = hunk{h.a0 + down, next.a1, h.b0 + down, next.b1}
				i++
				continue
			}
			h = h.moved(best(a, b, h, up, down))
			break
		}
		out = append(out, h)
	}
	return out
}

func end(hs []hunk) hunk {
	if len(hs) == 0 {
		return hunk{}
	}
	return hs[len(hs)-1]
}

func (h hunk) moved(by int) hunk {
	return hunk{h.a0 + by, h.a1 + by, h.b0 + by, h.b1 + by}
}

// side returns the text and the range that h is about when it only adds or
// only removes.
func (h hunk) side(a, b text) (t text, from, to int, ok bool) {
	switch {
	case h.a0 == h.a1:
		return b, h.b0, h.b1, true
	case h.b0 == h.b1:
		return a, h.a0, h.a1, true
	}
	return text{}, 0, 0, false
}

// climb returns how many lines h can move up before it touches prev.
func climb(a, b text, h, prev hunk) int {
	t, from, to, ok := h.side(a, b)
	if !ok {
		return 0
	}
	n := 0
	for n < maxReach && h.a0-n > prev.a1 && bytes.Equal(t.line(from-n-1), t.line(to-n-1)) {
		n++
	}
	return n
}

// fall returns how many lines h can move down before it touches next.
func fall(a, b text, h, next hunk) int {
	t, from, to, ok := h.side(a, b)
	if !ok {
		return 0
	}
	n := 0
	for n < maxReach && h.a1+n < next.a0 && bytes.Equal(t.line(from+n), t.line(to+n)) {
		n++
	}
	return n
}

// best returns by how much to move h: the place where its edges look most like
// the edges of a block, the lowest of these.
func best(a, b text, h hunk, up, down int) int {
	t, from, to, ok := h.side(a, b)
	if !ok || up == 0 && down == 0 {
		return 0
	}
	up = min(up, max(0, maxSlide-down))
	at, least := down, int(^uint(0)>>1)
	for by := down; by >= -up && by > down-maxSlide; by-- {
		if c := cut(t, from+by) + cut(t, to+by); c < least {
			at, least = by, c
		}
	}
	return at
}

// cut says how badly a block edge before line i would look: cheap before lines
// with little indentation and beside blank lines, dear in the midst of a block
// and before a line that only closes one.
func cut(t text, i int) int {
	if i <= 0 || i >= t.len() {
		return 0
	}
	here, prev := indent(t.line(i)), indent(t.line(i-1))
	switch {
	case here == blank:
		// An edge just above a blank line parts it from what it follows.
		next := 0
		for j := i + 1; j < min(t.len(), i+20); j++ {
			if next = indent(t.line(j)); next != blank {
				break
			}
		}
		return 10*max(next, 0) + 6
	case prev == blank:
		return 10 * here
	case here > prev:
		return 10*here + 8 // between an opening line and its body
	case here < prev:
		return 10*here + 9 // before the line that closes a block
	}
	return 10*here + 7
}

// blank is the indent of lines of white space.
const blank = -1

// indent measures the white space before the first word, tabs to the next
// multiple of eight.
func indent(l []byte) int {
	n := 0
	for _, c := range l {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		case '\r', '\n':
		default:
			return n
		}
		if n >= 200 {
			return n
		}
	}
	return blank
}
