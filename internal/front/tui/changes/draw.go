package changes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

const (
	// wide is the width from which files and diff stand side by side.
	wide = 100
	// maxLines bounds the lines of one part that are drawn.
	maxLines = 5000
)

// drawn is the diff of a file as it was drawn last.
type drawn struct {
	file, width int
	rows        []row
}

// row is a row of a file's diff.
type row struct {
	line style.Line
	edit int // -1 outside of all
	at   int // which of the edit's lines it belongs to
}

// View draws the files, and beside or below them the diff of the marked one.
func (v *View) View(width, height int) panels.View {
	v.clamp()
	rows := []style.Line{v.title().Cut(width)}
	body := max(height-2, 1)
	switch {
	case len(v.files) == 0:
		rows = append(rows, style.WrapText(style.Dim, "nothing was changed yet", width)...)
	case width >= wide:
		left := max(28, min(44, width/3))
		rows = append(rows, beside(v.list(left, body), v.diff(width-left-3, body), left, body)...)
	case body < 8 && v.level == files:
		rows = append(rows, v.list(width, body)...)
	case body < 8:
		rows = append(rows, v.diff(width, body)...)
	default:
		list := v.list(width, min(len(v.files), max(3, body/4)))
		rows = append(append(rows, list...), style.L(style.Border, strings.Repeat("─", width)))
		rows = append(rows, v.diff(width, body-len(list)-1)...)
	}
	for len(rows) < height-1 {
		rows = append(rows, nil)
	}
	foot := style.L(style.Dim, v.keys())
	if v.note != "" {
		foot = style.L(style.Warn, style.OneLine(v.note))
	}
	return panels.View{Rows: append(rows[:max(min(len(rows), height-1), 0)], foot.Cut(width)), Y: -1, Full: true}
}

// beside puts two columns next to each other.
func beside(left, right []style.Line, width, height int) []style.Line {
	var rows []style.Line
	for i := range height {
		var a, b style.Line
		if i < len(left) {
			a = left[i]
		}
		if i < len(right) {
			b = right[i]
		}
		l := append(a.Cut(width).Pad(width, style.As(style.Plain)), style.S(style.Border, " │ "))
		rows = append(rows, append(l, b...))
	}
	return rows
}

func (v *View) title() style.Line {
	all, kept := 0, 0
	for i := range v.files {
		all, kept = all+len(v.files[i].edits), kept+v.kept(&v.files[i])
	}
	text := "  " + humanize.Count(len(v.files), "file") + ", " + humanize.Count(all, "edit")
	if kept > 0 {
		text += fmt.Sprintf(", %d kept", kept)
	}
	return style.Line{style.Bold(style.Heading, "Changes"), style.S(style.Dim, text)}
}

// keys are the keys of the level.
func (v *View) keys() string {
	switch v.level {
	case edits:
		return "u undo · space keep · enter lines · n next · o open · c call · t turn · esc"
	case lines:
		return "u undo · space mark · o open · esc"
	}
	return "enter edits · u undo · space keep · n next · o open · t turn · r redo · esc"
}

// list draws the files around the marked one.
func (v *View) list(width, height int) []style.Line {
	top := max(0, min(v.file-height/2, len(v.files)-height))
	var rows []style.Line
	for i := top; i < len(v.files) && len(rows) < height; i++ {
		rows = append(rows, v.fileRow(i, width))
	}
	return rows
}

func (v *View) fileRow(i, width int) style.Line {
	f := &v.files[i]
	mark, role := "  ", style.Plain
	if i == v.file {
		mark, role = "▸ ", style.Accent
		if v.level != files {
			mark = "▹ "
		}
	}
	state, letter, name := f.state()
	if i != v.file {
		role = name
	}
	end := style.Line{style.S(style.Plain, " ")}
	if f.added+f.removed > 0 || state != "undone" {
		end = append(end, diffview.Counts(f.added, f.removed)...)
	}
	if n := v.kept(f); n == len(f.edits) {
		end = append(end, style.S(style.Good, " ✓"))
	} else if n > 0 {
		end = append(end, style.S(style.Good, fmt.Sprintf(" %d/%d", n, len(f.edits))))
	}
	if state != "" {
		end = append(end, style.S(style.Warn, " "+state))
	}
	room := max(width-4-end.Width(), 8)
	shown := style.OneLine(f.name)
	if w := style.Width(shown); w > room { // the end of a path says more than its beginning
		for r := range shown {
			if style.Width(shown[r:]) < room {
				shown = "…" + shown[r:]
				break
			}
		}
	}
	letters := map[string]style.Role{"A": style.Good, "D": style.Bad, "R": style.Warn}
	return append(style.Line{style.S(role, mark), style.S(letters[letter], letter+" "), style.S(role, shown)}, end...).Cut(width)
}

// state says what a file's changes have in common, what became of it, and in which role
// its name is drawn.
func (f *file) state() (words, letter string, role style.Role) {
	all := func(is func(protocol.ChangeEntry) bool) bool {
		return !slices.ContainsFunc(f.parts, func(p part) bool { return !is(p.entry) })
	}
	first, last := f.parts[len(f.parts)-1], f.parts[0]
	switch {
	case last.change.Kind == protocol.Delete:
		letter = "D"
	case first.change.Kind == protocol.Add:
		letter = "A"
	case last.change.Moved != "":
		letter = "R"
	default:
		letter = "M"
	}
	switch {
	case all(protocol.ChangeEntry.Foreign):
		return "outside", letter, style.Warn
	case all(func(e protocol.ChangeEntry) bool {
		return e.Undone || e.Foreign() || e.Cause == "undo" || e.Cause == "redo"
	}):
		return "undone", letter, style.Dim
	}
	return "", letter, style.Plain
}

// diff draws the rows of the marked file's diff around what is marked in it.
func (v *View) diff(width, height int) []style.Line {
	f := &v.files[v.file]
	if v.drawn.rows == nil || v.drawn.file != v.file || v.drawn.width != width {
		v.drawn = drawn{v.file, width, v.rowsOf(f, width-2)}
	}
	all := v.drawn.rows
	first, last := v.span(all)
	if v.level != files {
		if last-first >= height {
			last = first + height - 1
		}
		v.top = max(min(v.top, first-1), last-height+1)
	}
	v.top = max(0, min(v.top, len(all)-height))
	var rows []style.Line
	for i := v.top; i < len(all) && len(rows) < height; i++ {
		rows = append(rows, append(v.gutter(f, all, i), all[i].line...).Cut(width))
	}
	return rows
}

// span is where the marked edit, or the marked line, is in the rows.
func (v *View) span(all []row) (first, last int) {
	is := func(r row) bool { return r.edit == v.edit && (v.level != lines || r.at == v.line) }
	first = max(0, slices.IndexFunc(all, is))
	last = first
	for last+1 < len(all) && is(all[last+1]) {
		last++
	}
	return first, last
}

// gutter says what is marked and what is kept.
func (v *View) gutter(f *file, all []row, i int) style.Line {
	r := all[i]
	if r.edit < 0 {
		return style.Line{{Text: "  "}}
	}
	l := style.Line{{Text: " "}}
	if v.level != files && r.edit == v.edit {
		l = style.Line{style.S(style.Accent, "▌")}
		if v.level == lines && r.at == v.line {
			l = style.Line{style.S(style.Accent, "▸")}
		}
	}
	switch {
	case v.level == lines && r.edit == v.edit && v.marks[r.at]:
		return append(l, style.S(style.Warn, "●"))
	case v.o.Kept[f.key(f.edits[r.edit])] && (i == 0 || all[i-1].edit != r.edit):
		return append(l, style.S(style.Good, "✓"))
	}
	return append(l, style.Span{Text: " "})
}

// rowsOf draws all that was done to a file, the newest part first.
func (v *View) rowsOf(f *file, width int) []row {
	var rows []row
	plain := func(l style.Line) { rows = append(rows, row{line: l.Cut(width), edit: -1}) }
	for n, p := range f.parts {
		if n > 0 {
			plain(nil)
		}
		plain(v.partHead(p))
		of := map[int]row{} // by line of the part's diff
		for k, e := range f.edits {
			if e.part == n {
				for at, i := range e.lines {
					of[i] = row{edit: k, at: at}
				}
			}
		}
		d := p.diff
		if len(d.Lines) == 0 {
			whole := slices.IndexFunc(f.edits, func(e edit) bool { return e.part == n })
			rows = append(rows, row{line: style.L(style.Dim, cmp.Or(d.Note, "no lines to show")), edit: whole})
		}
		for i, drawn := range diffview.Each(d, width) {
			if i >= maxLines {
				plain(style.L(style.Dim, fmt.Sprintf("… %d more lines; d shows all", len(d.Lines)-i)))
				break
			}
			r, ok := of[i]
			if !ok {
				r.edit = -1
			}
			for _, l := range drawn {
				rows = append(rows, row{line: l, edit: r.edit, at: r.at})
			}
		}
	}
	return rows
}

// partHead says who made a part of the changes, when, and what became of it.
func (v *View) partHead(p part) style.Line {
	by := style.Bold(style.Heading, cmp.Or(p.entry.Tool, p.entry.Cause))
	if p.entry.Foreign() {
		by = style.Bold(style.Warn, "outside Kerf")
	}
	l := style.Line{by, style.S(style.Dim, "  "+humanize.Ago(v.o.Now().Sub(p.entry.Time)))}
	switch {
	case p.entry.Undone:
		l = append(l, style.S(style.Warn, "  undone"))
	case p.entry.Running:
		l = append(l, style.S(style.Warn, "  still running"))
	case p.entry.Certainty == protocol.Unproven:
		l = append(l, style.S(style.Warn, "  unproven"))
	}
	return l
}
