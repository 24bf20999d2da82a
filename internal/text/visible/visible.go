// Package visible shows text that others wrote so that a terminal can neither
// act on it nor hide any of it.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// String returns s with everything that a terminal would act on, or that a
// reader would not see, as visible text: control, direction, zero-width, tag and
// odd space characters as <U+202E>, bytes that are no UTF-8 as <0x9B>. Letters
// that pass for Latin ones within a Latin word are shown as <U+0430>, too.
// Newline and tab pass; a carriage return before a newline is dropped. Showing
// twice changes nothing more.
func String(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	var before rune
	forged := 0 // end of the word whose look-alikes are marked
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if i >= forged && !inWord(before) && inWord(r) {
			forged = mixed(s, i)
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case joinsEmoji(before, r):
			b.WriteRune(r)
		case !unicode.IsPrint(r) || blank(r) || i < forged && lookAlike(r):
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

// Line is String for one line: line breaks are shown as ␊, tabs as spaces.
func Line(s string) string {
	s = String(strings.TrimRight(s, "\r\n"))
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "␊"), "\t", " ")
}

// Odd reports whether String would change s: something in it would not be seen
// as it is.
func Odd(s string) bool { return String(s) != s }

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

// blank reports whether r counts as printable but shows nothing.
func blank(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// inWord reports whether r can be part of a word.
func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// mixed returns the end of the word that begins at i when it has both Latin
// letters and letters that pass for them, else i.
func mixed(s string, i int) int {
	latin, other := false, false
	end := i
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		// What is not seen does not end the word either: it would split a forged
		// word in two honest ones.
		if !inWord(r) && (unicode.IsPrint(r) || unicode.IsSpace(r) || r == utf8.RuneError) {
			break
		}
		latin = latin || r < 0x80 && unicode.IsLetter(r)
		other = other || lookAlike(r)
		end += n
	}
	if latin && other {
		return end
	}
	return i
}

// cyrillic, greek and the rest are letters that many fonts draw like Latin ones.
const alike = "асеорхуіјѕԁӏһԛԝьвнкмтпгѡүѵАВЕКМНОРСТХУІЈЅԌԚԜҮ" +
	"αοντικυρχϲϳγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ" +
	"օսոսցհզքгԼՏՍᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ"

// lookAlike reports whether r can be taken for an ASCII letter or digit.
func lookAlike(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r >= 0xff10 && r <= 0xff5a, r >= 0x1d400 && r <= 0x1d7ff, r >= 0x249c && r <= 0x24e9:
		return true // full-width, mathematical, enclosed
	case r == 0x0131 || r == 0x0261 || r == 0x017f || r == 0x212a || r == 0x1d0f || r == 0x1c0:
		return true // ı ɡ ſ K ᴏ ǀ
	}
	return strings.ContainsRune(alike, r)
}
