package merge

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"kerf/internal/text/charset"
)

// TestBesideMakesBoth: where no line was changed by both, and no two insertions are at one
// place, both changes are made, however near to each other they are.
func TestBesideMakesBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base, ours, theirs, want bytes.Buffer
		put := func(text string, at ...*bytes.Buffer) {
			for _, b := range at {
				b.WriteString(text)
			}
		}
		n := rapid.IntRange(0, 12).Draw(t, "lines")
		for i := range n + 1 {
			added := fmt.Sprintf("added %d\n", i)
			switch rapid.SampledFrom([]string{"", "", "ours", "theirs"}).Draw(t, "added by") {
			case "ours":
				put(added, &ours, &want)
			case "theirs":
				put(added, &theirs, &want)
			}
			if i == n {
				break
			}
			line, made := fmt.Sprintf("line %d\n", i), fmt.Sprintf("changed %d\n", i)
			if rapid.Bool().Draw(t, "removed") {
				made = ""
			}
			put(line, &base)
			switch rapid.SampledFrom([]string{"", "ours", "theirs"}).Draw(t, "changed by") {
			case "":
				put(line, &ours, &theirs, &want)
			case "ours":
				put(made, &ours, &want)
				put(line, &theirs)
			case "theirs":
				put(made, &theirs, &want)
				put(line, &ours)
			}
		}
		conflicts := 0
		got, ok := Beside(base.Bytes(), ours.Bytes(), theirs.Bytes(), charset.Charset{}, func(c Conflict) []byte {
			conflicts++
			return c.Ours
		})
		// Lines that were replaced and lines that were added beside them are one edit of a side.
		if !ok || conflicts == 0 && !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("base %q, ours %q, theirs %q: got %q (%v), want %q", &base, &ours, &theirs, got, ok, &want)
		}
	})
}

// TestBesideIsThree: where nothing touches, it is what Three makes; and what is the same on
// one side as in the base is what the other has.
func TestBesideIsThree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := someText().Draw(t, "base"), someText().Draw(t, "ours"), someText().Draw(t, "theirs")
		beside := func(a, b, c []byte) ([]byte, int) {
			conflicts := 0
			got, ok := Beside(a, b, c, charset.Charset{}, func(c Conflict) []byte {
				conflicts++
				return c.Ours
			})
			if !ok {
				t.Fatalf("%q, %q, %q is no text", a, b, c)
			}
			return got, conflicts
		}
		got, conflicts := beside(base, ours, theirs)
		if want, _, x := Three(base, ours, theirs); len(x) == 0 && (conflicts > 0 || !bytes.Equal(got, want)) {
			t.Fatalf("%q, %q, %q: got %q, Three makes %q", base, ours, theirs, got, want)
		}
		if got, conflicts := beside(base, ours, base); conflicts > 0 || !bytes.Equal(got, ours) {
			t.Fatalf("only ours changed: %q and %d conflicts", got, conflicts)
		}
		if got, conflicts := beside(base, base, theirs); conflicts > 0 || !bytes.Equal(got, theirs) {
			t.Fatalf("only theirs changed: %q and %d conflicts", got, conflicts)
		}
	})
}

func TestBeside(t *testing.T) {
	for _, c := range []struct {
		name, base, ours, theirs, want string
		conflicts                      int
	}{
		{"an insertion after a removed line", "a\nb\n", "a\n", "a\nb\nW\n", "a\nW\n", 0},
		{"an insertion before a changed line", "a\nb\n", "a\nB\n", "a\nW\nb\n", "a\nW\nB\n", 0},
		{"changes of neighbours", "a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n", 0},
		{"two insertions at one place", "a\n", "a\nx\n", "a\ny\n", "a\nx\n", 1},
		{"the same line, and another", "a\nb\nc\n", "A\nb\nc\n", "X\nb\nC\n", "A\nb\nC\n", 1},
	} {
		conflicts := 0
		got, ok := Beside([]byte(c.base), []byte(c.ours), []byte(c.theirs), charset.Charset{}, func(c Conflict) []byte {
			conflicts++
			return c.Ours
		})
		if !ok || string(got) != c.want || conflicts != c.conflicts {
			t.Errorf("%s: %q, %d conflicts; want %q, %d", c.name, got, conflicts, c.want, c.conflicts)
		}
	}
}
