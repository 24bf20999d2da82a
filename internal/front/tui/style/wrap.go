package style

import "strings"

// Wrap breaks a line into rows of at most width cells, at blanks where it can, at
// any cluster where it must. It never loses a character but the blanks at which
// it breaks. A width below 1 counts as 1.
func Wrap(l Line, width int) []Line {
	width = max(width, 1)
	if l.Width() <= width {
		return []Line{l}
	}
	var rows []Line
	cells := explode(l)
	for start := 0; start < len(cells); {
		end, after := breakAt(cells, start, width)
		rows = append(rows, join(cells[start:end]))
		start = after
	}
	return rows
}

type cell struct {
	text  string
	width int
	style Style
}

func explode(l Line) []cell {
	cells := make([]cell, 0, 64)
	for _, s := range l {
		for rest := s.Text; rest != ""; {
			var c cell
			c.style = s.Style
			c.text, c.width, rest = next(rest)
			cells = append(cells, c)
		}
	}
	return cells
}

// breakAt returns the end of the row that starts at start, and where the next
// one starts.
func breakAt(cells []cell, start, width int) (end, after int) {
	n, space := 0, -1
	for i := start; i < len(cells); i++ {
		if n+cells[i].width > width {
			switch {
			case cells[i].text == " ":
				return i, i + 1
			case space > start:
				return space, space + 1
			case i == start:
				return i + 1, i + 1 // a cluster that is wider than the row
			}
			return i, i
		}
		n += cells[i].width
		switch {
		case cells[i].text == " ":
			if !leading(cells, start, i) {
				space = i
			}
		case cells[i].width == 2:
			space = -1 // between wide characters any place will do
		}
	}
	return len(cells), len(cells)
}

// leading reports whether only blanks stand between start and i: breaking there
// would lose an indentation and gain nothing.
func leading(cells []cell, start, i int) bool {
	for _, c := range cells[start:i] {
		if c.text != " " {
			return false
		}
	}
	return true
}

func join(cells []cell) Line {
	var l Line
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(c.text)
		if i+1 == len(cells) || cells[i+1].style != c.style {
			l = append(l, Span{b.String(), c.style})
			b.Reset()
		}
	}
	return l
}

// WrapText wraps text of several lines in one role.
func WrapText(role Role, text string, width int) []Line {
	var out []Line
	for row := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, Wrap(L(role, row), width)...)
	}
	return out
}
