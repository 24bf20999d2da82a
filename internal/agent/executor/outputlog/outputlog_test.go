package outputlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is written in whatever portions, any range of lines reads back.
func TestOutputReadsBackByLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var store Store
		s := store.New()
		var all strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "portions") {
			line := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 50, 5000, 300_000}).Draw(t, "width"))
			end := rapid.SampledFrom([]string{"\n", "", "\n\n"}).Draw(t, "end")
			text := strings.Repeat(line+end, rapid.IntRange(1, 5).Draw(t, "times"))
			all.WriteString(text)
			_, _ = s.Write([]byte(text))
			if rapid.Bool().Draw(t, "told") {
				s.Name() // a poll in between cuts a piece
			}
		}
		var want []string
		for line := range strings.Lines(all.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := len(line) - 2000; n > 0 {
				line = line[:2000] + fmt.Sprintf("[… %d more bytes]", n)
			}
			want = append(want, line)
		}
		first, limit := rapid.IntRange(1, 12).Draw(t, "first"), rapid.IntRange(1, 12).Draw(t, "limit")
		got, total, err := store.Lines(s.Name(), first, limit, 2000)
		if err != nil || total != len(want) {
			t.Fatalf("%d lines, want %d: %v", total, len(want), err)
		}
		low := min(first-1, len(want))
		if part := want[low:min(low+limit, len(want))]; !slices.Equal(got, part) {
			t.Fatalf("lines %d.. differ: got %d, want %d", first, len(got), len(part))
		}
	})
}
