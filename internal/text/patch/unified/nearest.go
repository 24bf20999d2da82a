package unified

import (
	"fmt"
	"strings"

	"kerf/internal/text/match"
	"kerf/internal/text/visible"
)

// Bounds of what a message quotes.
const (
	quotedLines = 12
	quotedRunes = 200
)

// Quote returns s for a message, in quotes and shortened.
func Quote(s string) string { return "'" + shorten(s) + "'" }

func shorten(s string) string {
	return visible.ClipRunes(strings.ToValidUTF8(s, "\ufffd"), quotedRunes)
}

// Excerpt shows lines, one a line, numbered from first if asked.
func Excerpt(ls []string, first int, numbered bool) string {
	var b strings.Builder
	for i, l := range ls {
		if i == quotedLines {
			fmt.Fprintf(&b, "  … %d more lines\n", len(ls)-i)
			break
		}
		if numbered {
			fmt.Fprintf(&b, "%6d| %s\n", first+i, shorten(l))
		} else {
			fmt.Fprintf(&b, "  %s\n", shorten(l))
		}
	}
	return b.String()
}

// Nearest shows the lines of text that resemble want most, and says what to do
// with them.
func Nearest(text []byte, want []string, step string) string {
	if len(text) == 0 {
		return "the file is empty; add lines to it without naming old ones"
	}
	p, ok := match.Nearest(text, []byte(strings.Join(want, "\n")))
	if !ok {
		return "nothing in the file resembles them; read the file and write the patch for what it holds"
	}
	ls := strings.Split(string(text[p.Start:p.End]), "\n")
	for i := range ls {
		ls[i] = strings.TrimSuffix(ls[i], "\r")
	}
	return fmt.Sprintf("the nearest text is at lines %d-%d:\n%s%s", p.First, p.Last, Excerpt(ls, p.First, true), step)
}
