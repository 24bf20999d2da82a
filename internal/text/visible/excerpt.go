package visible

import "strings"

// excerptWidth is the length of an excerpt, in characters.
const excerptWidth = 60

// Excerpt is the first line of a text, as Plain, and cut.
func Excerpt(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	r := []rune(Plain(line))
	if len(r) > excerptWidth {
		r, more = r[:excerptWidth-1], true
	}
	if more {
		return string(r) + "…"
	}
	return string(r)
}
