// Package style is styled text that cannot move a cursor: every span is made of
// visible characters only, whatever bytes it was made from.
package style

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Role says what a text is for; a [Palette] says how that looks.
type Role uint8

// The roles.
const (
	Plain Role = iota
	Dim
	Accent
	Good
	Bad
	Warn
	Heading
	Code
	Link
	User
	Border
	Selected
	Added
	Removed
	AddedWord
	RemovedWord
	Keyword
	String
	Number
	Comment
	Name
	Type
	roles
)

// Style is how a span is drawn.
type Style struct {
	Role Role
	// Back is the role whose background the text has, Plain for that of its own.
	Back                            Role
	Bold, Italic, Underline, Strike bool
}

// As returns the plain style of a role.
func As(r Role) Style { return Style{Role: r} }

// Strong returns the bold style of a role.
func Strong(r Role) Style { return Style{Role: r, Bold: true} }

// Span is text of one style on one line. Make it with [S] or [Exactly].
type Span struct {
	Text  string
	Style Style
}

// Line is one row of spans.
type Line []Span

// S is a span of text as it is read in prose: tabs become spaces and what could
// not be seen is spelled out.
func S(role Role, text string) Span { return Span{Prose(text), As(role)} }

// Styled is S with a whole style.
func Styled(st Style, text string) Span { return Span{Prose(text), st} }

// Bold is S in bold.
func Bold(role Role, text string) Span { return Styled(Strong(role), text) }

// Exactly is S for text that the user must judge; see [Exact].
func Exactly(role Role, text string) Span { return Span{Exact(text), As(role)} }

// L is a line of one span.
func L(role Role, text string) Line { return Line{S(role, text)} }

// OneLine writes text of several lines on one, with a mark for each newline.
func OneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", " ⏎ ") }

// Text returns the characters of a line.
func (l Line) Text() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width is how many cells the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Width is how many cells a text takes.
func Width(s string) int {
	if ascii(s) {
		return len(s)
	}
	n := 0
	for s != "" {
		_, w, rest := next(s)
		n += w
		s = rest
	}
	return n
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] < 0x20 {
			return false
		}
	}
	return true
}

// next splits off the first grapheme cluster and tells its width. Only what is not
// ASCII is asked of the library, which is 30 times as slow for the rest.
func next(s string) (cluster string, width int, rest string) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], 1, s[1:]
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if len(c) == 0 {
		return s[:1], 1, s[1:]
	}
	return c, w, s[len(c):]
}

// Next splits off the first grapheme cluster of s, which is not empty, and tells
// how many cells it takes.
func Next(s string) (cluster string, width int, rest string) { return next(s) }

// Cut shortens a line to at most width cells; what is cut is marked by "…".
func (l Line) Cut(width int) Line {
	if width <= 0 {
		return nil
	}
	if l.Width() <= width {
		return l
	}
	var out Line
	left := width - 1
	for _, s := range l {
		w := Width(s.Text)
		if w <= left {
			out = append(out, s)
			left -= w
			continue
		}
		head, _ := take(s.Text, left)
		if head != "" {
			out = append(out, Span{head, s.Style})
		}
		return append(out, Span{"…", s.Style})
	}
	return out
}

// take returns the longest head of s that fits into width cells.
func take(s string, width int) (head, tail string) {
	n, rest := 0, s
	for rest != "" {
		_, w, r := next(rest)
		if n+w > width {
			break
		}
		n += w
		rest = r
	}
	return s[:len(s)-len(rest)], rest
}

// Pad fills a line with spaces up to width cells.
func (l Line) Pad(width int, st Style) Line {
	if n := width - l.Width(); n > 0 {
		return append(l[:len(l):len(l)], Span{strings.Repeat(" ", n), st})
	}
	return l
}

// With returns the line with every span in the role, keeping the rest of each
// style.
func (l Line) With(role Role) Line {
	out := make(Line, len(l))
	for i, s := range l {
		s.Style.Role = role
		out[i] = s
	}
	return out
}

// On returns the line with every span on the background of a role.
func (l Line) On(back Role) Line {
	out := make(Line, len(l))
	for i, s := range l {
		s.Style.Back = back
		out[i] = s
	}
	return out
}

// Prefix puts first before the first line and rest before the others.
func Prefix(lines []Line, first, rest Span) []Line {
	out := make([]Line, len(lines))
	for i, l := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		out[i] = append(Line{p}, l...)
	}
	return out
}

// Indent puts blanks before each line.
func Indent(lines []Line, cells int) []Line {
	blank := Span{Text: strings.Repeat(" ", cells)}
	return Prefix(lines, blank, blank)
}
