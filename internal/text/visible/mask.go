package visible

import "strings"

// Mask returns s on one line with control and direction characters replaced by
// U+FFFD, and line breaks and tabs by spaces. Other than String it tells of a
// character only that it was there, and leaves the length in characters as it is.
func Mask(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
			return '\uFFFD'
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
			return '\uFFFD'
		}
		return r
	}, s)
}

// excerptWidth is the length of an excerpt, in characters.
const excerptWidth = 60

// Excerpt is the first line of a text, masked and cut.
func Excerpt(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	r := []rune(Mask(line))
	if len(r) > excerptWidth {
		r, more = r[:excerptWidth-1], true
	}
	if more {
		return string(r) + "…"
	}
	return string(r)
}
