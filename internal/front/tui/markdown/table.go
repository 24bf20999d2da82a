package markdown

import (
	"strings"

	"github.com/yuin/goldmark/text"

	"kerf/internal/front/tui/style"
)

// part is a piece of a text: a table, or anything else.
type part struct {
	text  string
	table bool
}

// split finds the tables outside code.
func split(source string) []part {
	var parts []part
	var plain strings.Builder
	flush := func() {
		if strings.TrimSpace(plain.String()) != "" {
			parts = append(parts, part{text: plain.String()})
		}
		plain.Reset()
	}
	lines := strings.SplitAfter(source, "\n")
	fenced := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSuffix(lines[i], "\n")
		switch mark, _, _, ok := opens(line); {
		case fenced != "" && strings.HasPrefix(strings.TrimSpace(line), fenced):
			fenced = ""
		case fenced == "" && ok:
			fenced = mark
		}
		if fenced != "" || !strings.Contains(line, "|") || strings.HasPrefix(line, "    ") ||
			i+1 == len(lines) || !delimiters(lines[i+1]) ||
			len(cellsOf(line)) != len(cellsOf(lines[i+1])) {
			plain.WriteString(lines[i])
			continue
		}
		flush()
		j := i + 2
		for j < len(lines) && strings.Contains(lines[j], "|") && strings.TrimSpace(lines[j]) != "" {
			j++
		}
		parts = append(parts, part{strings.Join(lines[i:j], ""), true})
		i = j - 1
	}
	flush()
	return parts
}

// delimiters reports whether a line is the rule below a table's head.
func delimiters(line string) bool {
	line = strings.TrimSpace(line)
	if !strings.Contains(line, "-") || strings.Trim(line, "|-: \t") != "" {
		return false
	}
	for _, c := range cellsOf(line) {
		if strings.Trim(c, ":") == "" || strings.Trim(strings.Trim(c, ":"), "-") != "" {
			return false
		}
	}
	return true
}

// cellsOf splits a row at its bars; one behind a backslash does not count.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var cells []string
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case line[i] == '|':
			cells = append(cells, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	return append(cells, strings.TrimSpace(b.String()))
}

func (p part) rows(width int) []style.Line {
	if p.table {
		return table(strings.Split(strings.TrimSuffix(p.text, "\n"), "\n"), width)
	}
	src := []byte(p.text)
	return renderer{src}.blocks(parse().Parse(text.NewReader(src)), width, true)
}

// table draws a table from its lines, the second of which is the rule.
func table(lines []string, width int) []style.Line {
	rule := cellsOf(lines[1])
	right := make([]bool, len(rule))
	for j, c := range rule {
		right[j] = strings.HasSuffix(c, ":") && !strings.HasPrefix(c, ":")
	}
	var cells [][]style.Line
	for i, line := range append(lines[:1:1], lines[2:]...) {
		var row []style.Line
		for j, c := range cellsOf(line) {
			if j == len(rule) {
				break
			}
			row = append(row, cell(c, i == 0))
		}
		cells = append(cells, row)
	}
	widths := columns(cells, len(rule), width)
	var rows []style.Line
	for i, row := range cells {
		rows = append(rows, tableRow(row, widths, right)...)
		if i == 0 {
			bars := make([]string, len(widths))
			for j, w := range widths {
				bars[j] = strings.Repeat("─", w)
			}
			rows = append(rows, style.L(style.Border, strings.Join(bars, "─┼─")))
		}
	}
	return rows
}

// cell draws the inside of a cell.
func cell(source string, head bool) style.Line {
	src := []byte(source)
	r := renderer{src}
	doc := parse().Parse(text.NewReader(src))
	if doc.FirstChild() == nil {
		return nil
	}
	l := r.inline(doc.FirstChild(), style.Style{Bold: head})
	if len(l) == 0 {
		return style.Line{style.Styled(style.Style{Bold: head}, source)}
	}
	for i := range l {
		if l[i].Text == "\n" {
			l[i].Text = " "
		}
	}
	return l
}

// columns shares the width among n columns: what they want, the widest shortened
// first.
func columns(cells [][]style.Line, n, width int) []int {
	widths := make([]int, n)
	for j := range widths {
		widths[j] = 1
	}
	for _, row := range cells {
		for j, c := range row {
			widths[j] = max(widths[j], c.Width())
		}
	}
	room := width - 3*(n-1)
	for total(widths) > room {
		widest := 0
		for j, w := range widths {
			if w > widths[widest] {
				widest = j
			}
		}
		if widths[widest] <= 3 {
			break
		}
		widths[widest] = max(3, widths[widest]-max(1, (total(widths)-room)/n))
	}
	return widths
}

func total(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return n
}

func tableRow(row []style.Line, widths []int, right []bool) []style.Line {
	var wrapped [][]style.Line
	height := 1
	for j, w := range widths {
		var c []style.Line
		if j < len(row) {
			c = style.Wrap(row[j], w)
		}
		wrapped = append(wrapped, c)
		height = max(height, len(c))
	}
	rows := make([]style.Line, height)
	for i := range rows {
		for j, w := range widths {
			var c style.Line
			if i < len(wrapped[j]) {
				c = wrapped[j][i]
			}
			if j > 0 {
				rows[i] = append(rows[i], style.S(style.Border, " │ "))
			}
			if right[j] {
				rows[i] = append(rows[i], style.S(style.Plain, strings.Repeat(" ", max(0, w-c.Width()))))
				rows[i] = append(rows[i], c...)
				continue
			}
			rows[i] = append(rows[i], c.Pad(w, style.As(style.Plain))...)
		}
	}
	return rows
}
