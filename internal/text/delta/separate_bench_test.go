package delta

import (
	"fmt"
	"testing"
)

// BenchmarkSeparate: we and others changed the same files, n of them, in turn.
func BenchmarkSeparate(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			image := func(k int) *Image { return NewFile(fmt.Appendf(nil, "line %d\n", k), 0o644) }
			at := []*Image{image(0), image(1), image(2), image(3)}
			var steps []Step
			for k := range 3 {
				s := Step{Outside: k == 1}
				for i := range n {
					s.Set = append(s.Set, Change{Path: fmt.Sprint("/w/", i), Pre: at[k], Post: at[k+1]})
				}
				steps = append(steps, s)
			}
			for b.Loop() {
				Separate(steps, func(i *Image) (*Image, error) { return i, nil })
			}
		})
	}
}
