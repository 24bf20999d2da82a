package merge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/charset"
)

// TestBesideMakesBoth: of lines that are told apart, what either side removed is gone, and
// what either added is there.
func TestBesideMakesBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base, ours, theirs bytes.Buffer
		want := map[string]bool{}
		n := rapid.IntRange(0, 12).Draw(t, "lines")
		for i := range n {
			line, kept := fmt.Sprintf("line %d\n", i), true
			base.WriteString(line)
			for name, side := range map[string]*bytes.Buffer{"ours": &ours, "theirs": &theirs} {
				if rapid.Bool().Draw(t, name+" kept") {
					side.WriteString(line)
				} else {
					kept = false
				}
				if rapid.Bool().Draw(t, name+" added") {
					added := fmt.Sprintf("%s %d\n", name, i)
					side.WriteString(added)
					want[added] = true
				}
			}
			if kept {
				want[line] = true
			}
		}
		got, ok := Beside(base.Bytes(), ours.Bytes(), theirs.Bytes(), charset.Charset{})
		if !ok {
			t.Fatal("no text")
		}
		for line := range strings.Lines(string(got)) {
			if !want[line] {
				t.Fatalf("base %q, ours %q, theirs %q: %q is in %q", &base, &ours, &theirs, line, got)
			}
			delete(want, line)
		}
		if len(want) > 0 {
			t.Fatalf("base %q, ours %q, theirs %q: %v is not in %q", &base, &ours, &theirs, want, got)
		}
	})
}

// TestBesideIsThree: where nothing touches, it is what Three makes; and what is the same on
// one side as in the base is what the other has.
func TestBesideIsThree(t *testing.T) {
	lines := func() *rapid.Generator[[]byte] {
		return rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", ""}), 0, 20), func(s []string) []byte {
			return []byte(strings.Join(append(s, ""), "\n"))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := lines().Draw(t, "base"), lines().Draw(t, "ours"), lines().Draw(t, "theirs")
		same := func(want, a, b, c []byte) {
			if got, ok := Beside(a, b, c, charset.Charset{}); !ok || !bytes.Equal(got, want) {
				t.Fatalf("%q, %q, %q: got %q, want %q", a, b, c, got, want)
			}
		}
		same(ours, base, ours, base)
		same(theirs, base, base, theirs)
		if want, regions, x := Three(base, ours, theirs); len(x) == 0 && !both(regions) {
			same(want, base, ours, theirs)
		}
	})
}

// both reports whether the sides made the same change somewhere: Beside has it twice.
func both(regions []Region) bool {
	for _, r := range regions {
		if r.Side == Both {
			return true
		}
	}
	return false
}

func TestBeside(t *testing.T) {
	for _, c := range []struct{ name, base, ours, theirs, want string }{
		{"an insertion after a removed line", "a\nb\n", "a\n", "a\nb\nW\n", "a\nW\n"},
		{"an insertion before a changed line", "a\nb\n", "a\nB\n", "a\nW\nb\n", "a\nB\nW\n"},
		{"changes of neighbours", "a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"},
		{"one line, changed by both", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "a\nX\nY\nc\n"},
		{"one of the lines that went", "a\nb\nc\n", "", "a\nB\nc\n", "B\n"},
		{"no newline at the end", "a", "a\nb", "a\nc", "a\nb\na\nc"},
		{"wide text", "\xff\xfea\x00\n\x00", "\xff\xfeb\x00\n\x00", "\xff\xfea\x00\n\x00c\x00\n\x00",
			"\xff\xfeb\x00\n\x00c\x00\n\x00"},
	} {
		if got, ok := Beside([]byte(c.base), []byte(c.ours), []byte(c.theirs), charset.Charset{}); !ok || string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got, ok := Beside([]byte("a\x00"), []byte("b\x00"), []byte("c\x00"), charset.Charset{}); ok {
		t.Errorf("no text, and became %q", got)
	}
}
