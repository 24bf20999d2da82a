package diffview

import (
	"strings"

	"kerf/internal/front/tui/style"
)

// Edit is one edit of a file: lines next to each other that go and come.
type Edit struct {
	Line  int // of the new text, or of the old one when only lines go
	First int // the number of its first line among those of the file that go or come
	Lines []int
	Rows  []style.Line // one for each of Lines, which count in those of the file
}

// Edits returns the edits of a file in order.
func (f File) Edits() []Edit {
	var out []Edit
	open, changed := false, 0
	for i, l := range f.Lines {
		switch l.Kind {
		case '\\':
			continue
		case '+', '-':
		default:
			open = false
			continue
		}
		if !open {
			out, open = append(out, Edit{Line: max(l.New, l.Old), First: changed}), true
			if l.Kind == '+' {
				out[len(out)-1].Line = l.New
			}
		}
		e := &out[len(out)-1]
		e.Lines, e.Rows = append(e.Lines, i), append(e.Rows, editRow(l.Kind, l.Text))
		changed++
	}
	return out
}

// EditRows draws the lines of a text that goes ('-') or comes ('+').
func EditRows(kind byte, text string) []style.Line {
	if text == "" {
		return nil
	}
	var rows []style.Line
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		rows = append(rows, editRow(kind, l))
	}
	return rows
}

func editRow(kind byte, text string) style.Line {
	role := style.Added
	if kind == '-' {
		role = style.Removed
	}
	return style.Line{{Text: string(kind) + style.Exact(text), Style: style.As(role)}}
}
