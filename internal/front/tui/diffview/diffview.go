// Package diffview reads unified diffs and draws them: in one column or side by side,
// with line numbers, the colours of the language, and the words that changed.
package diffview

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
	"kerf/internal/text/diff"
)

// File is one file of a unified diff.
type File struct {
	Name string
	// Note is what happened beside the lines: "new", "deleted", "from NAME", a mode.
	Note           string
	Lines          []Line
	Added, Removed int
}

// Line is one line of a diff. Kind is ' ', '+', '-', '@' or '\\'; Old and New
// are its numbers, 0 where it has none.
type Line struct {
	Kind     byte
	Text     string
	Old, New int
}

// Parse reads a unified diff as git writes it, and skips what it does not know.
func Parse(text string) []File {
	var files []File
	var f *File
	old, now, left, right := 0, 0, 0, 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok && left <= 0 && right <= 0 {
			files = append(files, File{Name: newName(rest)})
			f = &files[len(files)-1]
			continue
		}
		if f == nil {
			if !strings.HasPrefix(line, "--- ") {
				continue
			}
			files = append(files, File{})
			f = &files[len(files)-1]
		}
		if left <= 0 && right <= 0 && !strings.HasPrefix(line, "@@") {
			f.header(line)
			continue
		}
		if strings.HasPrefix(line, "@@") && left <= 0 && right <= 0 {
			old, left, now, right = hunkRange(line)
			f.Lines = append(f.Lines, Line{Kind: '@', Text: line})
			continue
		}
		kind := byte(' ')
		if line != "" {
			kind, line = line[0], line[1:]
		}
		l := Line{Kind: kind, Text: line}
		switch kind {
		case '+':
			l.New, f.Added = now, f.Added+1
			now, right = now+1, right-1
		case '-':
			l.Old, f.Removed = old, f.Removed+1
			old, left = old+1, left-1
		case ' ':
			l.Old, l.New = old, now
			old, now, left, right = old+1, now+1, left-1, right-1
		}
		f.Lines = append(f.Lines, l)
	}
	return files
}

// header takes one of the lines between a file's first line and its hunks.
func (f *File) header(line string) {
	switch {
	case strings.HasPrefix(line, "new file"):
		f.Note = "new"
	case strings.HasPrefix(line, "deleted file"):
		f.Note = "deleted"
	case strings.HasPrefix(line, "rename from "):
		f.Note = "from " + strings.TrimPrefix(line, "rename from ")
	case strings.HasPrefix(line, "new mode "):
		f.Note = strings.TrimSpace(f.Note + " mode " + strings.TrimPrefix(line, "new mode "))
	case strings.HasPrefix(line, "Binary files"), strings.HasPrefix(line, "GIT binary patch"):
		f.Note = strings.TrimSpace(f.Note + " binary")
	case strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "+++ /dev/null"):
		f.Name = strings.TrimPrefix(unquoted(strings.TrimPrefix(line, "+++ ")), "b/")
	case strings.HasPrefix(line, "--- ") && f.Name == "" && !strings.HasPrefix(line, "--- /dev/null"):
		f.Name = strings.TrimPrefix(unquoted(strings.TrimPrefix(line, "--- ")), "a/")
	case strings.HasPrefix(line, `\`):
		f.Lines = append(f.Lines, Line{Kind: '\\', Text: strings.TrimPrefix(line, `\`)})
	}
}

// newName takes the new name of "a/X b/Y".
func newName(s string) string {
	if i := strings.LastIndex(s, " b/"); i >= 0 {
		return s[i+3:]
	}
	if i := strings.LastIndex(s, ` "b/`); i >= 0 {
		return strings.TrimPrefix(unquoted(s[i+1:]), "b/")
	}
	return s
}

func unquoted(s string) string {
	s = strings.TrimRight(s, "\t")
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return u
		}
	}
	return s
}

func hunkRange(line string) (old, left, now, right int) {
	left, right = 1, 1
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return 0, 0, 0, 0
	}
	read := func(s string, start, count *int) {
		a, b, ok := strings.Cut(s[1:], ",")
		*start, _ = strconv.Atoi(a)
		if ok {
			*count, _ = strconv.Atoi(b)
		}
	}
	read(fields[1], &old, &left)
	read(fields[2], &now, &right)
	return old, left, now, right
}

func Counts(added, removed int) style.Line {
	return style.Line{style.S(style.Dim, "("), style.S(style.Good, fmt.Sprintf("+%d", added)), style.S(style.Plain, " "),
		style.S(style.Bad, fmt.Sprintf("-%d", removed)), style.S(style.Dim, ")")}
}

const (
	// maxWordLine bounds lines that are compared word by word.
	maxWordLine = 400
	// maxShown bounds lines where only a part of a diff is shown.
	maxShown = 600
)

// Rows draws the hunks of a file with line numbers, at most limit rows of
// them when limit is positive; the last row then says how many are missing.
func Rows(f File, width, limit int) []style.Line {
	var rows []style.Line
	if limit > 0 {
		f.Lines = shortened(f.Lines)
	}
	digits := f.digits()
	for i, of := range Each(f, width) {
		if limit > 0 && len(rows) >= limit {
			return append(rows, style.L(style.Dim, fmt.Sprintf("%*s … %d more lines", digits, "", count(f.Lines[i:]))))
		}
		rows = append(rows, of...)
	}
	return rows
}

// digits is how many digits the numbers of the lines have at most.
func (f File) digits() int {
	digits := 3
	for _, l := range f.Lines {
		digits = max(digits, len(strconv.Itoa(max(l.Old, l.New))))
	}
	return digits
}

// Each draws the lines of a file's diff one after the other: the rows of each with its
// place in f.Lines.
func Each(f File, width int) iter.Seq2[int, []style.Line] {
	return func(yield func(int, []style.Line) bool) {
		digits := f.digits()
		lx := syntax.ForFile(f.Name)
		for i := 0; i < len(f.Lines); i++ {
			var rows [][]style.Line
			switch l := f.Lines[i]; l.Kind {
			case '@':
				lx = syntax.ForFile(f.Name)
				rows = [][]style.Line{nil}
				if i > 0 {
					rows[0] = []style.Line{style.L(style.Dim, strings.Repeat(" ", digits)+" ⋮")}
				}
			case '-':
				if minus, plus := run(f.Lines, i); len(minus) == len(plus) {
					rows = pairs(lx, minus, plus, digits, width)
					break
				}
				fallthrough
			default:
				rows = [][]style.Line{row(l, digits, width, lx.Line(l.Text))}
			}
			for k, of := range rows {
				if !yield(i+k, of) {
					return
				}
			}
			i += len(rows) - 1
		}
	}
}

// count is how many lines of a file there are among those of its diff.
func count(lines []Line) int {
	n := 0
	for _, l := range lines {
		if l.Kind != '@' && l.Kind != '\\' {
			n++
		}
	}
	return n
}

// shortened cuts lines that are too long where only a part of a diff is shown.
func shortened(lines []Line) []Line {
	out := slices.Clone(lines)
	for i, l := range out {
		if l.Kind != '@' && len(l.Text) > maxShown {
			out[i].Text = strings.ToValidUTF8(l.Text[:maxShown], "") + fmt.Sprintf("… %d more bytes", len(l.Text)-maxShown)
		}
	}
	return out
}

// run returns the removed lines at i and the added ones after them.
func run(lines []Line, i int) (minus, plus []Line) {
	j := i
	for j < len(lines) && lines[j].Kind == '-' {
		j++
	}
	k := j
	for k < len(lines) && lines[k].Kind == '+' {
		k++
	}
	return lines[i:j], lines[j:k]
}

// pairs draws lines that replace each other one by one, with the words that
// differ marked: the rows of each line.
func pairs(lx *syntax.Lexer, minus, plus []Line, digits, width int) [][]style.Line {
	var rows, below [][]style.Line
	for i := range minus {
		a, b := words(minus[i].Text, plus[i].Text)
		rows = append(rows, row(minus[i], digits, width, coloured(lx, minus[i].Text, a)))
		below = append(below, row(plus[i], digits, width, coloured(lx, plus[i].Text, b)))
	}
	return append(rows, below...)
}

// coloured gives what did not change in a line the colours of the language.
func coloured(lx *syntax.Lexer, text string, marked style.Line) style.Line {
	code := lx.Line(text)
	if code.Text() != marked.Text() {
		return marked
	}
	var out style.Line
	at, i := 0, 0 // the span of code, and where in it
	for _, s := range marked {
		for left := s.Text; left != ""; {
			n := min(len(left), len(code[at].Text)-i)
			st := s.Style
			if st.Role == style.Added || st.Role == style.Removed {
				st = code[at].Style
			}
			out = append(out, style.Span{Text: left[:n], Style: st})
			left, i = left[n:], i+n
			if i == len(code[at].Text) {
				at, i = at+1, 0
			}
		}
	}
	return merge(out)
}

func row(l Line, digits, width int, text style.Line) []style.Line {
	n := l.New
	role := style.Plain
	switch l.Kind {
	case '+':
		role = style.Added
	case '-':
		role, n = style.Removed, l.Old
	case '\\':
		return style.Wrap(style.L(style.Dim, strings.Repeat(" ", digits)+" \\"+l.Text), width)
	}
	if role != style.Plain {
		for i := range text {
			if text[i].Style.Role == style.Plain {
				text[i].Style.Role = role
			}
		}
	}
	body := max(width-digits-1, 8)
	head := style.Span{Text: fmt.Sprintf("%*d ", digits, n), Style: style.As(style.Dim)}
	blank := style.Span{Text: strings.Repeat(" ", digits+1), Style: style.As(style.Dim)}
	rows := style.Wrap(append(style.Line{style.S(role, string(l.Kind))}, text...), body)
	if role != style.Plain {
		for i := range rows {
			rows[i] = rows[i].On(role).Pad(body, style.Style{Role: role, Back: role})
		}
	}
	return style.Prefix(rows, head, blank)
}

// words marks what differs between two lines.
func words(a, b string) (x, y style.Line) {
	x, y = style.L(style.Removed, a), style.L(style.Added, b)
	if len(a) > maxWordLine || len(b) > maxWordLine {
		return x, y
	}
	at, bt := tokens(a), tokens(b)
	edits := diff.Lines([]byte(strings.Join(at, "\n")+"\n"), []byte(strings.Join(bt, "\n")+"\n"))
	changed := 0
	for _, e := range edits {
		changed += e.End - e.Start
	}
	if changed > len(a) { // nearly all: marking it all says nothing
		return x, y
	}
	return marked(at, bt, edits)
}

// marked splits both texts into what stayed and what changed.
func marked(at, bt []string, edits []diff.Edit) (x, y style.Line) {
	offset, i, j := 0, 0, 0
	keep := func(upto int) {
		for i < len(at) && offset < upto {
			x, y = append(x, style.S(style.Removed, at[i])), append(y, style.S(style.Added, bt[j]))
			offset += len(at[i]) + 1
			i, j = i+1, j+1
		}
	}
	for _, e := range edits {
		keep(e.Start)
		for i < len(at) && offset < e.End {
			x = append(x, style.S(style.RemovedWord, at[i]))
			offset += len(at[i]) + 1
			i++
		}
		for n := strings.Count(string(e.New), "\n"); n > 0 && j < len(bt); n-- {
			y = append(y, style.S(style.AddedWord, bt[j]))
			j++
		}
	}
	keep(1 << 30)
	return merge(x), merge(y)
}

// merge joins neighbours of one style.
func merge(l style.Line) style.Line {
	var out style.Line
	for _, s := range l {
		if n := len(out); n > 0 && out[n-1].Style == s.Style {
			out[n-1].Text += s.Text
			continue
		}
		out = append(out, s)
	}
	return out
}

// tokens splits a line into words, blanks and single other characters.
func tokens(s string) []string {
	var out []string
	kind := func(r rune) int {
		switch {
		case r == ' ' || r == '\t':
			return 0
		case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80:
			return 1
		}
		return 2
	}
	start, last := 0, -1
	for i, r := range s {
		k := kind(r)
		if i > 0 && (k != last || k == 2) {
			out = append(out, s[start:i])
			start = i
		}
		last = k
	}
	return append(out, s[start:])
}

// SideBySide draws a file's hunks in two columns.
func SideBySide(f File, width int) []style.Line {
	half := (width - 3) / 2
	digits := 4
	var rows []style.Line
	column := func(l Line, text style.Line) []style.Line { return row(l, digits, half, text) }
	for i := 0; i < len(f.Lines); i++ {
		switch l := f.Lines[i]; l.Kind {
		case '@':
			rows = append(rows, style.L(style.Dim, l.Text))
		case '-', '+':
			minus, plus := run(f.Lines, i)
			if l.Kind == '+' {
				minus = nil
				for j := i; j < len(f.Lines) && f.Lines[j].Kind == '+'; j++ {
					plus = f.Lines[i : j+1]
				}
			}
			rows = append(rows, besides(minus, plus, half, column)...)
			i += len(minus) + len(plus) - 1
		default:
			text := style.L(style.Plain, l.Text)
			left := l
			left.New = l.Old
			rows = append(rows, columns(column(left, text), column(l, text), half)...)
		}
	}
	return rows
}

func besides(minus, plus []Line, half int, column func(Line, style.Line) []style.Line) []style.Line {
	var rows []style.Line
	for k := range max(len(minus), len(plus)) {
		var left, right []style.Line
		switch {
		case k < len(minus) && k < len(plus):
			a, b := words(minus[k].Text, plus[k].Text)
			left, right = column(minus[k], a), column(plus[k], b)
		case k < len(minus):
			left = column(minus[k], style.L(style.Removed, minus[k].Text))
		default:
			right = column(plus[k], style.L(style.Added, plus[k].Text))
		}
		rows = append(rows, columns(left, right, half)...)
	}
	return rows
}

func columns(left, right []style.Line, half int) []style.Line {
	var rows []style.Line
	for i := range max(len(left), len(right)) {
		var a, b style.Line
		if i < len(left) {
			a = left[i]
		}
		if i < len(right) {
			b = right[i]
		}
		rows = append(rows, append(append(a.Pad(half, style.As(style.Plain)), style.S(style.Border, " │ ")), b...))
	}
	return rows
}

// Title is a file's name, and what happened to it beside its lines.
func (f File) Title() string {
	name := f.Name
	if f.Note != "" && f.Note != "new" && f.Note != "deleted" {
		name += " (" + f.Note + ")"
	}
	return name
}

// Total sums the added and removed lines of files.
func Total(files []File) (added, removed int) {
	for _, f := range files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return added, removed
}

const (
	summaryRows  = 40 // rows of a file that a summary shows
	summaryFiles = 8  // files whose rows a summary shows
)

// Summary draws the changes of a few files below each other, shortened. It is
// indented by four cells.
func Summary(files []File, width int) []style.Line {
	return below(files, width, summaryFiles, summaryRows)
}

// Whole is Summary with every file and row.
func Whole(files []File, width int) []style.Line { return below(files, width, len(files), 0) }

func below(files []File, width, most, limit int) []style.Line {
	var rows []style.Line
	for i, f := range files {
		if i >= most {
			return append(rows, style.L(style.Dim, fmt.Sprintf("  … %d more files (/diff shows all)", len(files)-i)))
		}
		if len(files) > 1 {
			l := style.Line{style.S(style.Border, "  └ "), style.S(style.Plain, f.Title()+" ")}
			rows = append(rows, style.Wrap(append(l, Counts(f.Added, f.Removed)...), width)...)
		}
		rows = append(rows, style.Indent(Rows(f, width-4, limit), 4)...)
	}
	return rows
}

// Page draws files one after the other with their names, in one column or, when
// wide is set, side by side.
func Page(files []File, width int, wide bool) []style.Line {
	var rows []style.Line
	for _, f := range files {
		l := style.Line{style.Bold(style.Plain, f.Title()+" ")}
		if f.Note == "new" || f.Note == "deleted" {
			l = append(l, style.S(style.Warn, f.Note+" "))
		}
		rows = append(rows, append(l, Counts(f.Added, f.Removed)...))
		if wide {
			rows = append(rows, SideBySide(f, width)...)
		} else {
			rows = append(rows, Rows(f, width, 0)...)
		}
		rows = append(rows, nil)
	}
	return rows
}

// Exact draws files for a user who judges them: nothing in them is invisible.
func Exact(files []File, width int) []style.Line {
	var rows []style.Line
	for _, f := range files {
		f.Lines = slices.Clone(f.Lines)
		for i := range f.Lines {
			f.Lines[i].Text = style.ExactTabs(f.Lines[i].Text)
		}
		l := style.Line{{Text: style.Exact(f.Name) + " ", Style: style.Strong(style.Plain)}}
		if f.Note != "" {
			l = append(l, style.S(style.Warn, f.Note+" "))
		}
		rows = append(rows, style.Wrap(append(l, Counts(f.Added, f.Removed)...), width)...)
		rows = append(rows, Rows(f, width, 0)...)
	}
	return rows
}
