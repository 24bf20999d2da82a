package position

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var encodings = []Encoding{UTF8, UTF16, UTF32}

// texts have all that moves columns: wide characters, each end of line, a mark of the byte order.
var texts = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "漢", "😀", "\n", "\r\n", "\r", "\t", "x1"}), 0, 20).Draw(t, "parts")
	head := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "head")
	return head + strings.Join(parts, "")
})

// There and back: the position of a byte is that byte, and counts what the encoding counts.
func TestPositionsLeadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		x, ok := Of([]byte(s))
		if !ok {
			t.Fatal("not a text")
		}
		for i := range s {
			if i < x.skip || i > 0 && s[i-1] == '\r' && s[i] == '\n' { // within the end of a line is no place
				continue
			}
			for _, e := range encodings {
				p := x.At(i, e)
				if back, ok := x.Offset(p, e); !ok || back != i {
					t.Fatalf("%s: byte %d is %v, which is byte %d (%v)", e, i, p, back, ok)
				}
				before := s[x.starts[p.Line]:i]
				want := map[Encoding]int{UTF8: len(before), UTF16: len(utf16.Encode([]rune(before))), UTF32: utf8.RuneCountInString(before)}
				if int(p.Character) != want[e] {
					t.Fatalf("%s: byte %d is in column %d, want %d", e, i, p.Character, want[e])
				}
			}
		}
	})
}

func TestWithinACharacterIsNoPlace(t *testing.T) {
	x, _ := Of([]byte("a😀b\nc"))
	for _, c := range []struct {
		p    Position
		e    Encoding
		want int
		ok   bool
	}{
		{Position{0, 2}, UTF16, 0, false}, {Position{0, 3}, UTF16, 5, true}, {Position{0, 2}, UTF32, 5, true},
		{Position{0, 3}, UTF8, 0, false}, {Position{0, 5}, UTF8, 5, true}, {Position{0, 99}, UTF16, 6, true},
		{Position{1, 0}, UTF16, 7, true}, {Position{2, 0}, UTF16, 0, false}, {Position{4294967295, 4294967295}, UTF8, 0, false},
	} {
		if got, ok := x.Offset(c.p, c.e); got != c.want || ok != c.ok {
			t.Errorf("%v in %s: %d %v, want %d %v", c.p, c.e, got, ok, c.want, c.ok)
		}
	}
}

// Edits make the same as cutting the text by hand, from the last to the first.
func TestApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		x, _ := Of([]byte(s))
		e := rapid.SampledFrom(encodings).Draw(t, "encoding")
		var at []int
		for i := range s {
			if i >= x.skip && (i == 0 || s[i-1] != '\r' || s[i] != '\n') {
				at = append(at, i)
			}
		}
		at = append(at, len(s))
		cuts := rapid.SliceOfNDistinct(rapid.IntRange(0, len(at)-1), 0, 4, rapid.ID[int]).Draw(t, "cuts")
		slices.Sort(cuts)
		want, edits := s, []Edit(nil)
		for i := len(cuts) - len(cuts)%2 - 2; i >= 0; i -= 2 {
			from, to := max(at[cuts[i]], x.skip), max(at[cuts[i+1]], x.skip)
			edits = append(edits, Edit{Range{x.At(from, e), x.At(to, e)}, "<new>"})
			want = want[:from] + "<new>" + want[to:]
		}
		if got, ok := x.Apply(edits, e); !ok || string(got) != want {
			t.Fatalf("%q %v, want %q", got, ok, want)
		}
	})
	x, _ := Of([]byte("one two\n"))
	one, both := Range{Position{0, 0}, Position{0, 3}}, Range{Position{0, 1}, Position{0, 5}}
	for name, edits := range map[string][]Edit{
		"overlapping": {{one, "a"}, {both, "b"}},
		"outside":     {{Range{Position{5, 0}, Position{5, 1}}, "a"}},
		"backwards":   {{Range{Position{0, 3}, Position{0, 0}}, "a"}},
	} {
		if got, ok := x.Apply(edits, UTF16); ok {
			t.Errorf("%s edits are made: %q", name, got)
		}
	}
}

func TestWhatIsNoText(t *testing.T) {
	if _, ok := Of([]byte("a\xff")); ok {
		t.Error("bytes that are not UTF-8 are a text")
	}
}
