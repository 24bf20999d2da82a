package order

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestInsertIsTheStandardLibrarys: at each place, with room behind the list and without.
func TestInsertIsTheStandardLibrarys(t *testing.T) {
	for n := range 5 {
		for at := range n + 1 {
			for _, room := range []int{n, n + 3} {
				list := make([]pair, n, room)
				for i := range list {
					list[i].at = i
				}
				want := slices.Insert(slices.Clone(list), at, pair{9, 9})
				if got := Insert(list, at, pair{9, 9}); !slices.Equal(got, want) {
					t.Errorf("%d of %d: %v, not %v", at, n, got, want)
				}
			}
		}
	}
}

// TestReplaceIsTheStandardLibrarys: each part by fewer, as many and more, with room behind the list and without.
func TestReplaceIsTheStandardLibrarys(t *testing.T) {
	list := func(n, room int) []pair {
		l := make([]pair, n, n+room)
		for i := range l {
			l[i].at = i
		}
		return l
	}
	others := []pair{{1, 1}, {2, 2}, {3, 3}}
	for n := range 6 {
		for from := range n + 1 {
			for to := from; to <= n; to++ {
				for k := range len(others) + 1 {
					want := slices.Replace(list(n, 0), from, to, others[:k]...)
					for _, room := range []int{0, 1, 9} {
						if got := Replace(list(n, room), from, to, others[:k]); !slices.Equal(got, want) {
							t.Errorf("%d to %d of %d by %d: %v, not %v", from, to, n, k, got, want)
						}
					}
				}
			}
		}
	}
}

type pair struct{ key, at int }

// TestAsTheStandardLibrary: the same lists come out.
func TestAsTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []pair
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "keys") {
			list = append(list, pair{key, i})
		}
		byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		all := func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(b.at, a.at)) }
		for name, c := range map[string]struct {
			by, want func([]pair, func(a, b pair) int)
			compare  func(a, b pair) int
		}{
			"stably": {Stably[pair], slices.SortStableFunc[[]pair], byKey},
			"by":     {By[pair], slices.SortFunc[[]pair], all},
		} {
			got, want := slices.Clone(list), slices.Clone(list)
			c.by(got, c.compare)
			c.want(want, c.compare)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v becomes %v, not %v", name, list, got, want)
			}
		}
	})
}
