package visible

import (
	"strings"
	"unicode/utf8"
)

// Clip returns s, or where it is longer than n bytes its beginning and an ellipsis. It
// splits no character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// ClipRunes is Clip for n characters.
func ClipRunes(s string, n int) string {
	count := 0
	for i := range s {
		if count++; count > n {
			return s[:i] + "…"
		}
	}
	return s
}

// OneLine returns s as one visible line of at most n bytes and an ellipsis; each run
// of white space is shown as one space.
func OneLine(s string, n int) string {
	return Clip(Line(strings.Join(strings.Fields(s), " ")), n)
}
