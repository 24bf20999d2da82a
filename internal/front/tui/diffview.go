package tui

import (
	"fmt"
	"strconv"
	"strings"

	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/syntax"
	"kerf/internal/text/diff"
)

// diffFile is one file of a unified diff.
type diffFile struct {
	name           string
	note           string // created, deleted, renamed, binary
	lines          []diffLine
	added, removed int
}

// diffLine is one line of a diff. Kind is ' ', '+', '-', '@' or '\\'; old and new
// are its numbers, 0 where it has none.
type diffLine struct {
	kind     byte
	text     string
	old, new int
}

// parseDiff reads a git-style unified diff. What it does not know it passes over.
func parseDiff(text string) []diffFile {
	var files []diffFile
	var f *diffFile
	old, now, left, right := 0, 0, 0, 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok && left <= 0 && right <= 0 {
			files = append(files, diffFile{name: diffName(rest)})
			f = &files[len(files)-1]
			continue
		}
		if f == nil {
			if !strings.HasPrefix(line, "--- ") {
				continue
			}
			files = append(files, diffFile{})
			f = &files[len(files)-1]
		}
		if left <= 0 && right <= 0 && !strings.HasPrefix(line, "@@") {
			f.header(line)
			continue
		}
		if strings.HasPrefix(line, "@@") && left <= 0 && right <= 0 {
			old, left, now, right = hunkRange(line)
			f.lines = append(f.lines, diffLine{kind: '@', text: line})
			continue
		}
		kind := byte(' ')
		if line != "" {
			kind, line = line[0], line[1:]
		}
		l := diffLine{kind: kind, text: line}
		switch kind {
		case '+':
			l.new, f.added = now, f.added+1
			now, right = now+1, right-1
		case '-':
			l.old, f.removed = old, f.removed+1
			old, left = old+1, left-1
		case ' ':
			l.old, l.new = old, now
			old, now, left, right = old+1, now+1, left-1, right-1
		}
		f.lines = append(f.lines, l)
	}
	return files
}

// header takes one of the lines between a file's first line and its hunks.
func (f *diffFile) header(line string) {
	switch {
	case strings.HasPrefix(line, "new file"):
		f.note = "new"
	case strings.HasPrefix(line, "deleted file"):
		f.note = "deleted"
	case strings.HasPrefix(line, "rename from "):
		f.note = "from " + strings.TrimPrefix(line, "rename from ")
	case strings.HasPrefix(line, "new mode "):
		f.note = strings.TrimSpace(f.note + " mode " + strings.TrimPrefix(line, "new mode "))
	case strings.HasPrefix(line, "Binary files"), strings.HasPrefix(line, "GIT binary patch"):
		f.note = strings.TrimSpace(f.note + " binary")
	case strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "+++ /dev/null"):
		f.name = strings.TrimPrefix(unquoted(strings.TrimPrefix(line, "+++ ")), "b/")
	case strings.HasPrefix(line, "--- ") && f.name == "" && !strings.HasPrefix(line, "--- /dev/null"):
		f.name = strings.TrimPrefix(unquoted(strings.TrimPrefix(line, "--- ")), "a/")
	case strings.HasPrefix(line, `\`):
		f.lines = append(f.lines, diffLine{kind: '\\', text: strings.TrimPrefix(line, `\`)})
	}
}

// diffName takes the new name of "a/X b/Y".
func diffName(s string) string {
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

func counts(added, removed int) ink.Line {
	return ink.Line{ink.S(ink.Dim, "("), ink.S(ink.Added, fmt.Sprintf("+%d", added)), ink.S(ink.Plain, " "),
		ink.S(ink.Removed, fmt.Sprintf("-%d", removed)), ink.S(ink.Dim, ")")}
}

const (
	// maxWordLine bounds lines that are compared word by word.
	maxWordLine = 400
	// maxShown bounds lines where only a part of a diff is shown.
	maxShown = 600
)

// diffRows draws the hunks of a file with line numbers, at most limit rows of
// them when limit is positive; the last row then says how many are missing.
func diffRows(f diffFile, width, limit int) []ink.Line {
	var rows []ink.Line
	digits := 3
	for _, l := range f.lines {
		digits = max(digits, len(strconv.Itoa(max(l.old, l.new))))
	}
	lx := syntax.ForFile(f.name)
	for i := 0; i < len(f.lines); i++ {
		if limit > 0 && len(rows) >= limit {
			return append(rows, ink.L(ink.Dim, fmt.Sprintf("%*s … %d more lines", digits, "", len(f.lines)-i)))
		}
		if f.lines[i].kind == '@' {
			if i > 0 {
				rows = append(rows, ink.L(ink.Dim, strings.Repeat(" ", digits)+" ⋮"))
			}
			lx = syntax.ForFile(f.name)
			continue
		}
		if limit > 0 && len(f.lines[i].text) > maxShown {
			f.lines[i].text = strings.ToValidUTF8(f.lines[i].text[:maxShown], "") + fmt.Sprintf("… %d more bytes", len(f.lines[i].text)-maxShown)
		}
		if f.lines[i].kind == '-' {
			minus, plus := run(f.lines, i)
			if len(minus) == len(plus) {
				rows = append(rows, pairs(minus, plus, digits, width)...)
				i += len(minus) + len(plus) - 1
				continue
			}
		}
		rows = append(rows, diffRow(f.lines[i], digits, width, lx.Line(f.lines[i].text))...)
	}
	return rows
}

// run returns the removed lines at i and the added ones after them.
func run(lines []diffLine, i int) (minus, plus []diffLine) {
	j := i
	for j < len(lines) && lines[j].kind == '-' {
		j++
	}
	k := j
	for k < len(lines) && lines[k].kind == '+' {
		k++
	}
	return lines[i:j], lines[j:k]
}

// pairs draws lines that replace each other one by one, with the words that
// differ marked.
func pairs(minus, plus []diffLine, digits, width int) []ink.Line {
	var rows, below []ink.Line
	for i := range minus {
		a, b := words(minus[i].text, plus[i].text)
		rows = append(rows, diffRow(minus[i], digits, width, a)...)
		below = append(below, diffRow(plus[i], digits, width, b)...)
	}
	return append(rows, below...)
}

func diffRow(l diffLine, digits, width int, text ink.Line) []ink.Line {
	n := l.new
	role := ink.Plain
	switch l.kind {
	case '+':
		role = ink.Added
	case '-':
		role, n = ink.Removed, l.old
	case '\\':
		return []ink.Line{ink.L(ink.Dim, strings.Repeat(" ", digits)+" \\"+l.text)}
	}
	if role != ink.Plain {
		for i := range text {
			if text[i].Style.Role == ink.Plain {
				text[i].Style.Role = role
			}
		}
	}
	head := ink.Span{Text: fmt.Sprintf("%*d ", digits, n), Style: ink.As(ink.Dim)}
	blank := ink.Span{Text: strings.Repeat(" ", digits+1), Style: ink.As(ink.Dim)}
	rows := ink.Wrap(append(ink.Line{ink.S(role, string(l.kind))}, text...), max(width-digits-1, 8))
	return ink.Prefix(rows, head, blank)
}

// words marks what differs between two lines.
func words(a, b string) (x, y ink.Line) {
	x, y = ink.L(ink.Removed, a), ink.L(ink.Added, b)
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
func marked(at, bt []string, edits []diff.Edit) (x, y ink.Line) {
	offset, i, j := 0, 0, 0
	keep := func(upto int) {
		for i < len(at) && offset < upto {
			x, y = append(x, ink.S(ink.Removed, at[i])), append(y, ink.S(ink.Added, bt[j]))
			offset += len(at[i]) + 1
			i, j = i+1, j+1
		}
	}
	for _, e := range edits {
		keep(e.Start)
		for i < len(at) && offset < e.End {
			x = append(x, ink.S(ink.RemovedWord, at[i]))
			offset += len(at[i]) + 1
			i++
		}
		for n := strings.Count(string(e.New), "\n"); n > 0 && j < len(bt); n-- {
			y = append(y, ink.S(ink.AddedWord, bt[j]))
			j++
		}
	}
	keep(1 << 30)
	return merge(x), merge(y)
}

// merge joins neighbours of one style.
func merge(l ink.Line) ink.Line {
	var out ink.Line
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

// sideBySide draws a file's hunks in two columns.
func sideBySide(f diffFile, width int) []ink.Line {
	half := (width - 3) / 2
	digits := 4
	var rows []ink.Line
	column := func(l diffLine, text ink.Line) []ink.Line { return diffRow(l, digits, half, text) }
	for i := 0; i < len(f.lines); i++ {
		switch l := f.lines[i]; l.kind {
		case '@':
			rows = append(rows, ink.L(ink.Dim, l.text))
		case '-', '+':
			minus, plus := run(f.lines, i)
			if l.kind == '+' {
				minus = nil
				for j := i; j < len(f.lines) && f.lines[j].kind == '+'; j++ {
					plus = f.lines[i : j+1]
				}
			}
			rows = append(rows, besides(minus, plus, half, column)...)
			i += len(minus) + len(plus) - 1
		default:
			text := ink.L(ink.Plain, l.text)
			left := l
			left.new = l.old
			rows = append(rows, columns(column(left, text), column(l, text), half)...)
		}
	}
	return rows
}

func besides(minus, plus []diffLine, half int, column func(diffLine, ink.Line) []ink.Line) []ink.Line {
	var rows []ink.Line
	for k := range max(len(minus), len(plus)) {
		var left, right []ink.Line
		switch {
		case k < len(minus) && k < len(plus):
			a, b := words(minus[k].text, plus[k].text)
			left, right = column(minus[k], a), column(plus[k], b)
		case k < len(minus):
			left = column(minus[k], ink.L(ink.Removed, minus[k].text))
		default:
			right = column(plus[k], ink.L(ink.Added, plus[k].text))
		}
		rows = append(rows, columns(left, right, half)...)
	}
	return rows
}

func columns(left, right []ink.Line, half int) []ink.Line {
	var rows []ink.Line
	for i := range max(len(left), len(right)) {
		var a, b ink.Line
		if i < len(left) {
			a = left[i]
		}
		if i < len(right) {
			b = right[i]
		}
		rows = append(rows, append(append(a.Pad(half, ink.As(ink.Plain)), ink.S(ink.Border, " │ ")), b...))
	}
	return rows
}
