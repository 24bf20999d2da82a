package render

import (
	"fmt"
	"html"
	"strings"

	"kerf/internal/front/tui/diffview"
	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
	"kerf/internal/front/web/markup"
)

// Diff is a unified diff as rows that can be drawn in parts. It is never changed after it
// was made.
type Diff struct {
	Files          []File
	Added, Removed int
	// Wide is how many characters the longest line has, at most 500.
	Wide        int
	rows, split []row
}

// File is one file of a diff. Row is where it begins, in one column and side by side.
type File struct {
	Name           string
	Added, Removed int
	Row, SplitRow  int
}

// row is one row: the title of a file, or one or two lines of it.
type row struct {
	file        int
	title       bool
	left, right *diffview.Line // side by side; in one column right alone is set
}

// Parse reads a unified diff as git writes it.
func Parse(text string) *Diff {
	d := &Diff{}
	files := diffview.Parse(text)
	for i := range files {
		f := &files[i]
		d.Files = append(d.Files, File{f.Title(), f.Added, f.Removed, len(d.rows), len(d.split)})
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
		d.rows = append(d.rows, row{file: i, title: true})
		for l := range f.Lines {
			d.rows = append(d.rows, row{file: i, right: &f.Lines[l]})
			d.Wide = max(d.Wide, min(len(f.Lines[l].Text)+3*strings.Count(f.Lines[l].Text, "\t"), 500))
		}
		d.split = append(d.split, row{file: i, title: true})
		d.split = append(d.split, pairs(i, f.Lines)...)
	}
	return d
}

// pairs puts what goes beside what comes.
func pairs(file int, lines []diffview.Line) []row {
	var rows []row
	for i := 0; i < len(lines); {
		if k := lines[i].Kind; k != '-' && k != '+' {
			rows = append(rows, row{file: file, left: &lines[i], right: &lines[i]})
			i++
			continue
		}
		var gone, come []*diffview.Line
		for ; i < len(lines) && strings.IndexByte("+-\\", lines[i].Kind) >= 0; i++ {
			switch lines[i].Kind {
			case '-':
				gone = append(gone, &lines[i])
			case '+':
				come = append(come, &lines[i])
			}
		}
		for j := range max(len(gone), len(come)) {
			r := row{file: file}
			if j < len(gone) {
				r.left = gone[j]
			}
			if j < len(come) {
				r.right = come[j]
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// Len is the number of rows.
func (d *Diff) Len(split bool) int { return len(d.of(split)) }

func (d *Diff) of(split bool) []row {
	if split {
		return d.split
	}
	return d.rows
}

// Rows draws the rows from one number up to another. Each is one line high. Colours that a
// line before from has opened, such as a comment of several lines, are not known.
func (d *Diff) Rows(from, to int, split bool) markup.HTML {
	rows := d.of(split)
	from = max(0, min(from, len(rows)))
	to = max(from, min(to, len(rows)))
	w := writer{diff: d, split: split, file: -1}
	for _, r := range rows[from:to] {
		w.row(r)
	}
	return markup.HTML(w.b.String())
}

// writer draws rows. The texts before and after a change are coloured apart.
type writer struct {
	b        strings.Builder
	diff     *Diff
	split    bool
	file     int
	old, new *syntax.Lexer
}

func (w *writer) begin(file int) {
	w.file = file
	name := w.diff.Files[file].Name
	name, _, _ = strings.Cut(name, " (")
	w.old, w.new = syntax.ForFile(name), syntax.ForFile(name)
}

func (w *writer) row(r row) {
	if r.file != w.file {
		w.begin(r.file)
	}
	switch {
	case r.title:
		f := w.diff.Files[r.file]
		fmt.Fprintf(&w.b, `<div class="r file" id="file-%d"><b>%s</b> <span class="add">+%d</span> <span class="del">−%d</span></div>`,
			r.file, html.EscapeString(Path(f.Name)), f.Added, f.Removed)
	case r.right != nil && r.right.Kind == '@':
		w.begin(r.file)
		fmt.Fprintf(&w.b, `<div class="r at">%s</div>`, escape(r.right.Text))
	case w.split:
		w.b.WriteString(`<div class="r two">`)
		w.half(r.left, '-', w.old)
		w.half(r.right, '+', w.new)
		w.b.WriteString("</div>")
	default:
		w.one(r.right)
	}
	w.b.WriteByte('\n')
}

// kinds are the classes of lines, and how they are named to those who do not see colours.
var kinds = map[byte]string{'+': "a", '-': "d", ' ': "x", '\\': "e"}

func (w *writer) one(l *diffview.Line) {
	lexer := w.new
	if l.Kind == '-' {
		lexer = w.old
	} else if l.Kind == ' ' && w.old != nil {
		w.old.Line(l.Text)
	}
	fmt.Fprintf(&w.b, `<div class="r %s"><i>%s</i><i>%s</i><i class="m">%s</i><code>`, kinds[l.Kind], number(l.Old),
		number(l.New), html.EscapeString(string(l.Kind)))
	line(&w.b, lexer, l.Text)
	w.b.WriteString("</code></div>")
}

// half draws one side of a row; side is the kind of line that is marked there.
func (w *writer) half(l *diffview.Line, side byte, lexer *syntax.Lexer) {
	if l == nil {
		w.b.WriteString(`<div class="h none"></div>`)
		return
	}
	n, class := l.New, "x"
	if side == '-' {
		n = l.Old
	}
	if l.Kind == side {
		class = kinds[side]
	}
	fmt.Fprintf(&w.b, `<div class="h %s"><i>%s</i><i class="m">%s</i><code>`, class, number(n),
		html.EscapeString(string(l.Kind)))
	line(&w.b, lexer, l.Text)
	w.b.WriteString("</code></div>")
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Edit is one edit of a file: lines next to each other that go and come. Line is where.
type Edit struct {
	Line int
	Rows markup.HTML
}

// Edits draws the edits of the first file of a diff apart; nothing in them is invisible.
func Edits(text string) (list []Edit) {
	files := diffview.Parse(text)
	if len(files) == 0 {
		return nil
	}
	for _, e := range files[0].Edits() {
		var b strings.Builder
		for _, i := range e.Lines {
			l := files[0].Lines[i]
			text, rest := cut(l.Text)
			fmt.Fprintf(&b, "<div class=\"r %s\"><i class=\"m\">%s</i><code>%s%s</code></div>\n", kinds[l.Kind],
				html.EscapeString(string(l.Kind)), html.EscapeString(style.ExactTabs(text)), rest)
		}
		list = append(list, Edit{e.Line, markup.HTML(b.String())})
	}
	return list
}

// Exact draws a whole diff for a user who judges it: nothing in it is invisible.
func (d *Diff) Exact() markup.HTML {
	var b strings.Builder
	for _, r := range d.rows {
		switch {
		case r.title:
			fmt.Fprintf(&b, `<div class="r file"><b>%s</b></div>`, Exact(d.Files[r.file].Name))
		case r.right.Kind == '@':
			fmt.Fprintf(&b, `<div class="r at">%s</div>`, Exact(r.right.Text))
		default:
			l := r.right
			fmt.Fprintf(&b, `<div class="r %s"><i>%s</i><i>%s</i><i class="m">%s</i><code>%s</code></div>`, kinds[l.Kind],
				number(l.Old), number(l.New), html.EscapeString(string(l.Kind)), html.EscapeString(style.ExactTabs(l.Text)))
		}
		b.WriteByte('\n')
	}
	return markup.HTML(b.String())
}
