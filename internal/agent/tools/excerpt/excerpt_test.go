package excerpt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/agent/tool"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

// What Change tells of is all that is new: without the lines it names, the new text has
// lines of the old one in their order, and none that it says are gone.
func TestChangeNamesAllThatIsNew(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "{", "}", ""})
	text := rapid.SliceOfN(line, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		old := text.Draw(t, "old")
		new := slices.Clone(old)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(new)).Draw(t, "at")
			gone := rapid.IntRange(0, min(3, len(new)-at)).Draw(t, "gone")
			new = slices.Concat(new[:at], text.Draw(t, "text")[:0], rapid.SliceOfN(line, 0, 3).Draw(t, "put"), new[at+gone:])
		}
		words := Change(content(old), content(new))
		left, kept := slices.Clone(old), slices.Clone(new)
		grown := 0
		for _, w := range strings.Split(words, ", ") {
			var first, last int
			from := &kept
			if rest, ok := strings.CutPrefix(w, "removed "); ok {
				from, w = &left, rest
			}
			switch {
			case w == "":
			case scan(w, "lines %d-%d", &first, &last):
			case scan(w, "line %d", &first):
				last = first
			case scan(w, "later lines %d", &grown):
				continue
			case strings.HasSuffix(w, "more places"):
				return
			default:
				t.Fatalf("%q is not understood", w)
			}
			if w != "" && (first < 1 || last > len(*from) || first > last) {
				t.Fatalf("%q is no place of\n%q\nor\n%q", w, old, new)
			}
			for i := first; i > 0 && i <= last; i++ {
				(*from)[i-1] = "\x00"
			}
		}
		if grown != len(new)-len(old) {
			t.Fatalf("%q: it grew by %d lines", words, len(new)-len(old))
		}
		i := 0
		for _, l := range kept {
			if l == "\x00" {
				continue
			}
			for i < len(left) && left[i] != l {
				i++
			}
			if i++; i > len(left) {
				t.Fatalf("%q does not tell all that is new in\n%q\nagainst\n%q", words, new, old)
			}
		}
	})
}

func scan(s, format string, into ...any) bool {
	n, err := fmt.Sscanf(s, format, into...)
	return err == nil && n == len(into)
}

func content(lines []string) []byte {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return []byte(b.String())
}

// TestRegionsAreCountedInTheWholeText: lines that are counted between the edits only are those
// of an index of all lines, also at ends without a line end and in empty texts.
func TestRegionsAreCountedInTheWholeText(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) []byte {
		all := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\r\n", "\n", "\n\n", "{\n"}), 0, 30).Draw(t, "lines")
		return []byte(strings.Join(all, "") + rapid.SampledFrom([]string{"", "", "a", "b\nz"}).Draw(t, "end"))
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		index, was, shift := lines.NewIndex(new), lines.NewIndex(old), 0
		var want []tool.LineRange
		var words []string
		for _, e := range diff.Lines(old, new) {
			start := e.Start + shift
			shift += len(e.New) - (e.End - e.Start)
			r := tool.LineRange{Start: index.LineOf(min(start, max(0, len(new)-1)))}
			r.End = r.Start
			if len(e.New) > 0 {
				r.End = index.LineOf(start + len(e.New) - 1)
				words = append(words, Span(r))
			} else {
				words = append(words, "removed "+Span(tool.LineRange{Start: was.LineOf(e.Start), End: was.LineOf(e.End - 1)}))
			}
			want = append(want, r)
		}
		if len(words) > 6 {
			words = append(words[:6], fmt.Sprintf("%d more places", len(words)-6))
		}
		if moved := lines.Count(new) - lines.Count(old); moved != 0 {
			words = append(words, fmt.Sprintf("later lines %+d", moved))
		}
		if got := Regions(old, new); !slices.Equal(got, want) {
			t.Fatalf("regions %v, not %v", got, want)
		}
		if got := Change(old, new); got != strings.Join(words, ", ") {
			t.Fatalf("%q, not %q", got, strings.Join(words, ", "))
		}
	})
}
