package diff

import (
	"math"
	"sort"
)

// compare marks the lines of a and b that are not part of their common
// subsequence. Lines are numbers below kinds.
func compare(a, b []int32, kinds int) (changedA, changedB []bool) {
	s := newSearch(a, b, kinds)
	s.run(box{0, len(s.a), 0, len(s.b)}, 0)
	return s.changedA, s.changedB
}

// newSearch prepares the search for a common subsequence.
func newSearch(a, b []int32, kinds int) *search {
	changedA, changedB := make([]bool, len(a)), make([]bool, len(b))
	inA, inB := make([]bool, kinds), make([]bool, kinds)
	for _, n := range a {
		inA[n] = true
	}
	for _, n := range b {
		inB[n] = true
	}
	s := &search{changedA: changedA, changedB: changedB, kinds: kinds}
	// Lines that the other side does not have cannot be in common: the search
	// runs without them and still finds the longest subsequence.
	s.a, s.whereA = keep(a, inB, changedA)
	s.b, s.whereB = keep(b, inA, changedB)
	return s
}

// keep returns the lines of side that are in other, and where they were; it
// marks the rest as changed.
func keep(side []int32, other, changed []bool) (kept []int32, where []int) {
	for i, n := range side {
		if other[n] {
			kept, where = append(kept, n), append(where, i)
		} else {
			changed[i] = true
		}
	}
	return kept, where
}

// The bounds of the search. Myers' algorithm looks at paths of up to limit
// edits from either corner of a box, so a box costs limit² steps at most, and
// each gives up only after it got limit lines further: the whole is bounded by
// lines × limit.
const (
	minLimit = 256 // as in git's diff
	maxLimit = 1024
	// maxAnchoring is how deep anchors may be sought within anchored boxes.
	maxAnchoring = 8
)

// search is one run over the lines that both sides have.
type search struct {
	a, b               []int32
	whereA, whereB     []int
	changedA, changedB []bool
	kinds              int

	limit             int
	forward, backward []int // furthest x per diagonal; see middle
	seen              *census
	steps             int // diagonals and lines looked at, for tests of the bound
}

// box is a part of the edit graph: a[a0:a1] against b[b0:b1].
type box struct{ a0, a1, b0, b1 int }

func (s *search) run(x box, depth int) {
	for {
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a0] == s.b[x.b0] {
			x.a0, x.b0 = x.a0+1, x.b0+1
		}
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a1-1] == s.b[x.b1-1] {
			x.a1, x.b1 = x.a1-1, x.b1-1
		}
		if x.a0 == x.a1 || x.b0 == x.b1 {
			s.mark(x)
			return
		}
		i, j, exact := s.middle(x)
		if !exact && depth < maxAnchoring && s.anchored(x, depth) {
			return
		}
		if first := (box{x.a0, i, x.b0, j}); first == x || i == x.a0 && j == x.b0 {
			s.mark(x) // no progress; cannot happen, and must not loop
			return
		} else if (i-x.a0)+(j-x.b0) < (x.a1-i)+(x.b1-j) {
			// Recurse into the smaller part: the stack stays logarithmic.
			s.run(first, depth)
			x.a0, x.b0 = i, j
		} else {
			s.run(box{i, x.a1, j, x.b1}, depth)
			x.a1, x.b1 = i, j
		}
	}
}

func (s *search) mark(x box) {
	for i := x.a0; i < x.a1; i++ {
		s.changedA[s.whereA[i]] = true
	}
	for j := x.b0; j < x.b1; j++ {
		s.changedB[s.whereB[j]] = true
	}
}

// middle finds a point in the middle of a shortest path through x, which has no
// common ends (E. Myers, "An O(ND) Difference Algorithm and Its Variations",
// 1986). When the path is longer than the limit allows, the point is the one
// that got furthest, and exact is false.
//
// forward[k] is the furthest i reached on diagonal k = i-j from the upper left
// corner, backward[k] the same from the lower right, all relative to the corner;
// -1 where no path leads.
func (s *search) middle(x box) (i, j int, exact bool) {
	n, m := x.a1-x.a0, x.b1-x.b0
	if s.forward == nil {
		s.limit = min(maxLimit, max(minLimit, int(math.Sqrt(float64(n+m)))))
		s.forward, s.backward = make([]int, 2*s.limit+5), make([]int, 2*s.limit+5)
	}
	zero := s.limit + 2 // the index of diagonal 0
	shift := n - m      // diagonal k of one corner is shift-k of the other
	f, r := s.forward, s.backward
	f[zero-1], f[zero], f[zero+1] = -1, -1, 0 // so that d = 0 starts at i = 0
	r[zero-1], r[zero], r[zero+1] = -1, -1, 0
	for d := 0; d <= s.limit; d++ {
		if d > 0 {
			f[zero-d-1], f[zero+d+1] = -1, -1
			r[zero-d-1], r[zero+d+1] = -1, -1
		}
		for k := low(d, m); k <= -low(d, n); k += 2 {
			i := step(f, zero+k, k, n, m)
			for i >= 0 && i < n && i-k < m && s.a[x.a0+i] == s.b[x.b0+i-k] {
				i++
			}
			s.steps += 1 + max(0, i-max(f[zero+k], 0))
			f[zero+k] = i
			if o := shift - k; i >= 0 && shift&1 != 0 && -d < o && o < d && r[zero+o] >= 0 && i+r[zero+o] >= n {
				return x.a0 + i, x.b0 + i - k, true
			}
		}
		for k := low(d, m); k <= -low(d, n); k += 2 {
			i := step(r, zero+k, k, n, m)
			for i >= 0 && i < n && i-k < m && s.a[x.a1-1-i] == s.b[x.b1-1-i+k] {
				i++
			}
			s.steps += 1 + max(0, i-max(r[zero+k], 0))
			r[zero+k] = i
			if o := shift - k; i >= 0 && shift&1 == 0 && -d <= o && o <= d && f[zero+o] >= 0 && i+f[zero+o] >= n {
				return x.a1 - i, x.b1 - i + k, true
			}
		}
	}
	i, j = s.furthest(x, zero)
	return i, j, false
}

// low returns the lowest diagonal that d edits can reach within side lines.
func low(d, side int) int {
	if d <= side {
		return -d
	}
	return -side + (d-side)&1
}

// step returns the best i on diagonal k after one more edit, or -1.
func step(v []int, at, k, n, m int) int {
	right, down := v[at-1], v[at+1]
	if right >= 0 && right < n {
		right++
	} else {
		right = -1
	}
	if down-k > m {
		down = -1
	}
	return max(right, down)
}

// furthest returns the point with the most lines behind it that the search got
// to before it gave up, from either corner.
func (s *search) furthest(x box, zero int) (i, j int) {
	best := -1
	n, m := x.a1-x.a0, x.b1-x.b0
	for k := low(s.limit, m); k <= -low(s.limit, n); k += 2 {
		if p := s.forward[zero+k]; p >= 0 && 2*p-k > best {
			best, i, j = 2*p-k, x.a0+p, x.b0+p-k
		}
		if p := s.backward[zero+k]; p >= 0 && 2*p-k > best {
			best, i, j = 2*p-k, x.a1-p, x.b1-p+k
		}
	}
	return i, j
}

// anchored splits x at the lines that occur once on either side (patience
// diff) and runs the parts. It declines when there are so few that they may
// well be lines that moved.
func (s *search) anchored(x box, depth int) bool {
	as := s.anchors(x)
	if len(as) < max(8, (x.a1-x.a0+x.b1-x.b0)/256) {
		return false
	}
	i, j := x.a0, x.b0
	for _, p := range as {
		s.run(box{i, p.a, j, p.b}, depth+1)
		i, j = p.a+1, p.b+1
	}
	s.run(box{i, x.a1, j, x.b1}, depth+1)
	return true
}

// pair is a line of a and the same line of b.
type pair struct{ a, b int }

// census counts lines; its slices are indexed by line number and all zero
// between uses.
type census struct{ inA, inB, whereB []int32 }

// anchors returns the longest list of unique common lines that are in the same
// order on both sides.
func (s *search) anchors(x box) []pair {
	if s.seen == nil {
		s.seen = &census{make([]int32, s.kinds), make([]int32, s.kinds), make([]int32, s.kinds)}
	}
	c := s.seen
	for _, n := range s.a[x.a0:x.a1] {
		c.inA[n]++
	}
	for j, n := range s.b[x.b0:x.b1] {
		c.inB[n]++
		c.whereB[n] = int32(j)
	}
	var unique []pair
	for i, n := range s.a[x.a0:x.a1] {
		if c.inA[n] == 1 && c.inB[n] == 1 {
			unique = append(unique, pair{x.a0 + i, x.b0 + int(c.whereB[n])})
		}
	}
	for _, n := range s.a[x.a0:x.a1] {
		c.inA[n] = 0
	}
	for _, n := range s.b[x.b0:x.b1] {
		c.inB[n] = 0
	}
	return rising(unique)
}

// rising returns the longest subsequence of ps, which rise in a, that rises in
// b too, by patience sorting.
func rising(ps []pair) []pair {
	var tops []int // the last element of the best sequence of each length
	before := make([]int, len(ps))
	for i, p := range ps {
		n := sort.Search(len(tops), func(k int) bool { return ps[tops[k]].b >= p.b })
		before[i] = -1
		if n > 0 {
			before[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		} else {
			tops[n] = i
		}
	}
	out := make([]pair, len(tops))
	if len(tops) == 0 {
		return out
	}
	for k, i := len(tops)-1, tops[len(tops)-1]; k >= 0; k, i = k-1, before[i] {
		out[k] = ps[i]
	}
	return out
}
