package style

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// FuzzProse holds that no control, bidi or broken byte survives, and that what is
// clean is not touched.
func FuzzProse(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred", "a\u202eb", "\xff", "👩‍👩‍👧‍👦", "x\ufe0f", "é",
		"🏴\U000e0067\U000e007f", "1️⃣", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"prose": Prose(s), "exact": Exact(s)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%s(%q) = %q is not UTF-8", name, s, got)
			}
			for _, r := range got {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%s(%q) = %q keeps %U", name, s, got, r)
				}
			}
		}
		if got := Prose(Prose(s)); got != Prose(s) {
			t.Fatalf("Prose(%q) is %q, once more %q", s, Prose(s), got)
		}
		p := New("dark", TrueColor)
		for _, r := range p.Render(Line{{Text: s, Style: Strong(Bad)}, {Text: s}}) {
			if r != 0x1b && (r < 0x20 || r >= 0x7f && r < 0xa0) {
				t.Fatalf("Render(%q) keeps %U", s, r)
			}
		}
	})
}

// FuzzOutput holds that no whole escape sequence is left and newlines stay.
func FuzzOutput(f *testing.F) {
	for _, s := range []string{"\x1b[1;31mFAIL\x1b[m ok\n", "10%\r20%\rdone\n", "\x1b]0;t\x07x", "\x1b[", "a\x1b(Bb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := strings.Count(Output(s), "\n"), strings.Count(strip(s), "\n"); got != want {
			t.Fatalf("Output(%q) has %d newlines, want %d", s, got, want)
		}
	})
	if got := Output("\x1b[1;31mFAIL\x1b[m\tok\r\n10%\r20%\n"); got != "FAIL\tok\n20%\n" {
		f.Errorf("got %q", got)
	}
}

// TestWrapLaws: no row is too wide, nothing but blanks at the breaks is lost.
func TestWrapLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Prose(rapid.StringOfN(rapid.SampledFrom([]rune("ab  漢é👩🏽\u200d💻\t-界x")), 0, 80, -1).Draw(t, "text"))
		width := rapid.IntRange(1, 30).Draw(t, "width")
		rows := Wrap(Line{{Text: s, Style: As(Code)}}, width)
		var all string
		for i, r := range rows {
			if w := r.Width(); w > width && w > 2 {
				t.Fatalf("row %d of %q at %d is %d wide: %q", i, s, width, w, r.Text())
			}
			all += r.Text()
		}
		if strings.ReplaceAll(all, " ", "") != strings.ReplaceAll(s, " ", "") {
			t.Fatalf("%q became %q", s, all)
		}
	})
}

func TestCutAndPad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := L(Plain, rapid.StringOfN(rapid.SampledFrom([]rune("ab 漢é界")), 0, 40, -1).Draw(t, "text"))
		w := rapid.IntRange(0, 30).Draw(t, "width")
		if got := l.Cut(w).Width(); got > w {
			t.Fatalf("Cut(%d) of %q is %d wide", w, l.Text(), got)
		}
		if got := l.Cut(w).Pad(w, As(Plain)).Width(); got != w {
			t.Fatalf("Pad(%d) of %q is %d wide", w, l.Text(), got)
		}
	})
}

func TestContrastOfDepths(t *testing.T) {
	l := Line{S(Bad, "x")}
	for d, want := range map[Depth]string{NoColor: "\x1b[1mx\x1b[m", Color16: "\x1b[91mx\x1b[m",
		Color256: "\x1b[38;5;210mx\x1b[m", TrueColor: "\x1b[38;2;247;118;142mx\x1b[m"} {
		if got := New("dark", d).Render(l); got != want {
			t.Errorf("depth %d: %q, want %q", d, got, want)
		}
	}
}
