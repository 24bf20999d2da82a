package diff

import (
	"bytes"
	"hash/maphash"
)

// hunk says that lines a0..a1 of the old text became lines b0..b1 of the new.
// One of the two ranges may be empty, not both; between hunks the lines are
// the same, and there is at least one.
type hunk struct{ a0, a1, b0, b1 int }

// hunks compares two texts:
//
//	trim the common ends -> number the lines -> leave out lines that only one
//	side has -> longest common subsequence -> slide hunks to where people
//	would put them
func hunks(a, b text) []hunk {
	head, tail := trim(a, b)
	na, nb := a.len()-tail, b.len()-tail
	if head == na && head == nb {
		return nil
	}
	ia, ib, kinds := intern(a, head, na, b, head, nb)
	ca, cb := compare(ia, ib, kinds)
	return slide(a, b, collect(ca, cb, head))
}

// trim returns how many lines at the beginning and at the end are the same.
func trim(a, b text) (head, tail int) {
	n := min(a.len(), b.len())
	for head < n && bytes.Equal(a.line(head), b.line(head)) {
		head++
	}
	for tail < n-head && bytes.Equal(a.line(a.len()-1-tail), b.line(b.len()-1-tail)) {
		tail++
	}
	return head, tail
}

// intern numbers the lines of both ranges: equal lines get equal numbers, below
// kinds.
func intern(a text, a0, a1 int, b text, b0, b1 int) (ia, ib []int32, kinds int) {
	size := 16
	for size < 2*(a1-a0+b1-b0) {
		size *= 2
	}
	t := table{slots: make([]int32, size), seed: maphash.MakeSeed()}
	ia, ib = make([]int32, a1-a0), make([]int32, b1-b0)
	for i := range ia {
		ia[i] = t.number(a.line(a0 + i))
	}
	for i := range ib {
		ib[i] = t.number(b.line(b0 + i))
	}
	return ia, ib, len(t.lines)
}

// table is an open hash table of lines, never more than half full. The seed is
// random, so nobody can prepare lines that collide; numbers do not depend on it.
type table struct {
	seed  maphash.Seed
	slots []int32 // number+1 of the line, 0 when free
	lines [][]byte
	sums  []uint64
}

func (t *table) number(l []byte) int32 {
	sum := maphash.Bytes(t.seed, l)
	mask := uint64(len(t.slots) - 1)
	for i := sum & mask; ; i = (i + 1) & mask {
		n := t.slots[i] - 1
		if n < 0 {
			t.lines, t.sums = append(t.lines, l), append(t.sums, sum)
			t.slots[i] = int32(len(t.lines))
			return int32(len(t.lines) - 1)
		}
		if t.sums[n] == sum && bytes.Equal(t.lines[n], l) {
			return n
		}
	}
}

// collect turns marks of changed lines into hunks; both texts have head equal
// lines before the marks.
func collect(ca, cb []bool, head int) []hunk {
	var hs []hunk
	for i, j := 0, 0; i < len(ca) || j < len(cb); {
		i0, j0 := i, j
		for i < len(ca) && ca[i] {
			i++
		}
		for j < len(cb) && cb[j] {
			j++
		}
		if i > i0 || j > j0 {
			hs = append(hs, hunk{i0 + head, i + head, j0 + head, j + head})
		}
		i, j = i+1, j+1
	}
	return hs
}
