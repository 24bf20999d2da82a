package composer

import (
	"unicode/utf8"

	"kerf/internal/front/tui/style"
)

// span is one row of the screen: the bytes of the text it shows.
type span struct{ start, end int }

// layout breaks the text into rows of at most width cells, at blanks where it
// can. There is always one row.
func (c *Composer) layout(width int) []span {
	width = max(width, 2)
	var rows []span
	start, n, blank := 0, 0, -1
	for i := 0; i < len(c.text); {
		cl, _, _ := style.Next(c.text[i:])
		if cl == "\n" {
			rows = append(rows, span{start, i})
			i++
			start, n, blank = i, 0, -1
			continue
		}
		w := style.Width(c.show(cl))
		if n+w > width && i > start {
			if blank > start {
				rows = append(rows, span{start, blank})
				i, start = blank, blank
			} else {
				rows = append(rows, span{start, i})
				start = i
			}
			n, blank = 0, -1
			continue
		}
		n += w
		i += len(cl)
		if cl == " " {
			blank = i
		} else if w == 2 {
			blank = -1
		}
	}
	return append(rows, span{start, len(c.text)})
}

// show is how a cluster looks.
func (c *Composer) show(cluster string) string {
	if r, _ := utf8.DecodeRuneInString(cluster); c.attached != nil && r >= firstAttached {
		if a, ok := c.attached[r]; ok {
			return style.Prose("[" + a.Label + "]")
		}
	}
	return style.Prose(cluster)
}

// Rows draws the text at most width cells wide and tells where the caret is.
func (c *Composer) Rows(width int) (rows []style.Line, x, y int) {
	spans := c.layout(width)
	y = c.row(spans)
	for i, s := range spans {
		var l style.Line
		cells := 0
		for j := s.start; j < s.end; {
			if i == y && j == c.at {
				x = cells
			}
			cl, _, _ := style.Next(c.text[j:])
			st := style.As(style.Plain)
			text := c.show(cl)
			if len(text) > 1 && c.text[j] == 0xf4 {
				st = style.As(style.Accent)
			}
			if n := len(l); n > 0 && l[n-1].Style == st {
				l[n-1].Text += text
			} else {
				l = append(l, style.Span{Text: text, Style: st})
			}
			cells += style.Width(text)
			j += len(cl)
		}
		if i == y && c.at >= s.end {
			x = cells
		}
		rows = append(rows, l)
	}
	return rows, x, y
}

// row is the row of the caret. Where a row was broken softly the caret belongs to
// the next one.
func (c *Composer) row(spans []span) int {
	for i := len(spans) - 1; i > 0; i-- {
		if spans[i].start <= c.at {
			return i
		}
	}
	return 0
}

// Vertical moves the caret up (-1) or down (+1) by rows of the given width, and
// reports whether there was a row.
func (c *Composer) Vertical(by, width int) bool {
	spans := c.layout(width)
	y := c.row(spans)
	if y+by < 0 || y+by >= len(spans) {
		return false
	}
	if c.goal == 0 || c.typing {
		_, x, _ := c.Rows(width)
		c.goal = x + 1
	}
	s, goal := spans[y+by], c.goal-1
	n, at := 0, s.start
	for at < s.end && n < goal {
		cl, _, _ := style.Next(c.text[at:])
		n += style.Width(c.show(cl))
		at += len(cl)
	}
	if y+by+1 < len(spans) && at == s.end && at == spans[y+by+1].start && at > s.start {
		at = c.before(at)
	}
	c.at, c.typing = at, false
	return true
}

// Word returns the word that the caret is in or behind, if it begins with one of
// the marks and stands at the start or after a blank.
func (c *Composer) Word(marks string) (mark byte, word string, start int, ok bool) {
	i := c.at
	for i > 0 && c.text[i-1] != ' ' && c.text[i-1] != '\n' && c.text[i-1] != '\t' {
		i--
	}
	if i >= c.at {
		return 0, "", 0, false
	}
	for j := range len(marks) {
		if c.text[i] == marks[j] {
			return marks[j], c.text[i+1 : c.at], i, true
		}
	}
	return 0, "", 0, false
}
