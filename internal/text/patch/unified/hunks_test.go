package unified

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNearestIsTheSlowSearch compares the linear search with the plain one.
func TestNearestIsTheSlowSearch(t *testing.T) {
	letters := rapid.SampledFrom([]string{"a", "b", "a"})
	rapid.Check(t, func(rt *rapid.T) {
		img := &image{lines: rapid.SliceOfN(letters, 1, 30).Draw(rt, "lines")}
		img.done = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) bool { return rapid.IntRange(0, 9).Draw(rt, "d") == 0 }),
			len(img.lines), len(img.lines)).Draw(rt, "done")
		old := rapid.SliceOfN(letters, 1, min(4, len(img.lines))).Draw(rt, "old")
		last := len(img.lines) - len(old)
		from := rapid.IntRange(0, last).Draw(rt, "from")
		to := rapid.IntRange(from, last).Draw(rt, "to")
		start := rapid.IntRange(from, to).Draw(rt, "start")
		want, wantOK := 0, false
		for d := 0; !wantOK && d <= len(img.lines); d++ {
			left := 1000
			for _, at := range []int{start + d, start - d} {
				if !wantOK && at >= from && at <= to && img.matches(at, old, &left) {
					want, wantOK = at, true
				}
			}
		}
		got, ok := img.nearest(old, from, start, to)
		if ok != wantOK || ok && got != want {
			rt.Fatalf("%d %v, want %d %v: %q in %q %v from %d at %d to %d", got, ok, want, wantOK, old, img.lines, img.done,
				from, start, to)
		}
	})
}
