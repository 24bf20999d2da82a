package diffview

import (
	"strings"

	"kerf/internal/front/tui/style"
)

// Edit is one edit of a file: lines next to each other that go and come.
type Edit struct {
	Line int // of the new text, or of the old one when only lines go
	Rows []style.Line
}

// Edits returns the edits of a file in order.
func (f File) Edits() []Edit {
	var out []Edit
	open := false
	for _, l := range f.Lines {
		switch l.Kind {
		case '\\':
			continue
		case '+', '-':
		default:
			open = false
			continue
		}
		if !open {
			out, open = append(out, Edit{Line: max(l.New, l.Old)}), true
			if l.Kind == '+' {
				out[len(out)-1].Line = l.New
			}
		}
		e := &out[len(out)-1]
		e.Rows = append(e.Rows, editRow(l.Kind, l.Text))
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
