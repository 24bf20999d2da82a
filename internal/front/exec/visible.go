package exec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with everything that a terminal would act on, or hide, as
// visible text: control characters as their pictures (␛), C1 controls, bidi and
// zero-width characters as <U+202E>, bytes that are no UTF-8 as <0x9B>. Newline
// and tab pass; a carriage return before a newline is dropped.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	var before rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case joinsEmoji(before, r):
			b.WriteRune(r)
		case !unicode.IsPrint(r) || blankRune(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		if before = r; r == utf8.RuneError {
			before = 0 // stands for bytes that are no text
		}
		i += n
	}
	return b.String()
}

// plain reports whether s is printable ASCII, newlines and tabs.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// joinsEmoji reports whether r only shapes the pictograph before it.
func joinsEmoji(before, r rune) bool {
	if r != 0xfe0f && r != 0xfe0e && r != 0x200d {
		return false
	}
	return unicode.Is(unicode.So, before) || unicode.Is(unicode.Sk, before) || r == 0x200d && before == 0xfe0f
}

// blankRune reports whether r counts as printable but shows nothing.
func blankRune(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// oneLine returns s visible and without line breaks.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "␊", "\t", " ").Replace(Visible(strings.TrimRight(s, "\r\n")))
}
