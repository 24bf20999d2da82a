package diff

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWithoutLines(t *testing.T) {
	for _, x := range []struct {
		a, b, want string
		lines      []int
		err        string
	}{
		{"a\nb\nc\n", "A\nB\nc\n", "A\nb\nc\n", []int{1, 3}, ""}, // - a, - b, + A, + B
		{"a\nb\nc\n", "A\nB\nc\n", "a\nA\nB\nc\n", []int{0}, ""},
		{"a\nb\nc\n", "A\nB\nc\n", "A\nc\n", []int{3}, ""},
		{"a\n", "a\nx\ny\n", "a\ny\n", []int{0}, ""},
		{"a\nx\ny\n", "a\n", "a\ny\n", []int{1}, ""},
		{"a\r\nb\r\n", "a\r\nB\r\n", "a\r\nb\r\n", []int{0, 1}, ""},
		{"a\nb", "a\nB", "a\nb", []int{0, 1}, ""},
		{"a\nb", "a\nB\n", "", []int{0}, "has no line end; take the whole edit"},
		{"a\n", "b\n", "", []int{2}, "there are 2 changed lines, and no line 3"},
	} {
		got, err := WithoutLines([]byte(x.a), []byte(x.b), x.lines)
		if x.err != "" {
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%q to %q without %v: error %v, want %q", x.a, x.b, x.lines, err, x.err)
			}
			continue
		}
		if err != nil || string(got) != x.want {
			t.Errorf("%q to %q without %v: %q, %v; want %q", x.a, x.b, x.lines, got, err, x.want)
		}
	}
}

// TestWithoutAllLinesOfEdits: to leave out all lines of some edits is to leave out the edits,
// and any choice leaves exactly the lines that were not chosen, and those that stood before.
func TestWithoutAllLinesOfEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) []byte {
			line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d d\n"})
			return []byte(strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), ""))
		})
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		var edits, lines, some []int
		var kept []string
		n := 0
		for i, e := range Lines(a, b) {
			whole := rapid.Bool().Draw(t, "edit")
			if whole {
				edits = append(edits, i)
			}
			gone, come := slices.Collect(bytes.Lines(a[e.Start:e.End])), slices.Collect(bytes.Lines(e.New))
			for k, l := range append(gone, come...) {
				if whole {
					lines = append(lines, n)
				}
				chosen := rapid.Bool().Draw(t, "line")
				if chosen {
					some = append(some, n)
				}
				if chosen == (k < len(gone)) {
					kept = append(kept, string(l))
				}
				n++
			}
		}
		want, err := Without(a, b, edits)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := WithoutLines(a, b, lines); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("without all lines of edits %v: %q, %v; want %q", edits, got, err, want)
		}
		got, err := WithoutLines(a, b, some)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, e := range Lines(a, b) {
			for _, l := range slices.Collect(bytes.Lines(a[at:e.Start])) {
				kept = append(kept, string(l))
			}
			at = e.End
		}
		for _, l := range slices.Collect(bytes.Lines(a[at:])) {
			kept = append(kept, string(l))
		}
		left := strings.SplitAfter(string(got), "\n")
		left = left[:len(left)-1]
		slices.Sort(left)
		slices.Sort(kept)
		if !slices.Equal(left, kept) {
			t.Fatalf("without lines %v of %q to %q: %q, want the lines %q", some, a, b, left, kept)
		}
	})
}
