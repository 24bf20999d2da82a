package markdown

import (
	"fmt"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/syntax"
)

var parse = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Linkify)).Parser()
})

// Render draws a whole text, at most width cells wide. Blocks are apart by an
// empty row.
func Render(source string, width int) []ink.Line {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	src := []byte(source)
	r := renderer{src: src}
	return r.blocks(parse().Parse(text.NewReader(src)), max(width, 8), true)
}

type renderer struct{ src []byte }

// maxDepth bounds how deep quotes and lists are drawn.
const maxDepth = 12

func (r renderer) blocks(parent ast.Node, width int, loose bool) []ink.Line {
	var rows []ink.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		drawn := r.block(n, max(width, 8))
		if len(rows) > 0 && len(drawn) > 0 && loose {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
	}
	return rows
}

func (r renderer) block(n ast.Node, width int) []ink.Line {
	switch n := n.(type) {
	case *ast.Heading:
		line := r.inline(n, ink.Strong(ink.Heading))
		if n.Level > 2 {
			line = append(ink.Line{ink.Styled(ink.Strong(ink.Heading), strings.Repeat("#", n.Level)+" ")}, line...)
		}
		return wrapAll(line, width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrapAll(r.inline(n, ink.As(ink.Plain)), width)
	case *ast.FencedCodeBlock:
		return codeRows(syntax.New(string(n.Language(r.src))), r.lines(n), width)
	case *ast.CodeBlock:
		return codeRows(nil, r.lines(n), width)
	case *ast.Blockquote:
		if depth(n) > maxDepth {
			return nil
		}
		bar := ink.S(ink.Border, "│ ")
		return ink.Prefix(r.blocks(n, width-2, true), bar, bar)
	case *ast.List:
		return r.list(n, width)
	case *ast.ThematicBreak:
		return []ink.Line{ink.L(ink.Border, strings.Repeat("─", min(width, 40)))}
	case *ast.HTMLBlock:
		return ink.WrapText(ink.Dim, r.lines(n), width)
	case *east.Table:
		return r.table(n, width)
	}
	return r.blocks(n, width, true)
}

func depth(n ast.Node) int {
	d := 0
	for p := n.Parent(); p != nil; p = p.Parent() {
		d++
	}
	return d
}

func (r renderer) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		b.Write(seg.Value(r.src))
	}
	return b.String()
}

func (r renderer) list(n *ast.List, width int) []ink.Line {
	if depth(n) > 2*maxDepth {
		return nil
	}
	var rows []ink.Line
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		body := r.blocks(item, width-len([]rune(mark)), !n.IsTight)
		if len(body) == 0 {
			body = []ink.Line{nil}
		}
		if !n.IsTight && len(rows) > 0 {
			rows = append(rows, nil)
		}
		first := ink.S(ink.Accent, mark)
		rows = append(rows, ink.Prefix(body, first, ink.S(ink.Plain, strings.Repeat(" ", ink.Width(mark))))...)
	}
	return rows
}

// wrapAll wraps a line that may hold hard breaks, as spans of a newline.
func wrapAll(l ink.Line, width int) []ink.Line {
	var rows []ink.Line
	start := 0
	for i, s := range l {
		if s.Text == "\n" {
			rows = append(rows, ink.Wrap(l[start:i], width)...)
			start = i + 1
		}
	}
	return append(rows, ink.Wrap(l[start:], width)...)
}

func (r renderer) inline(parent ast.Node, st ink.Style) ink.Line {
	var out ink.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, r.piece(n, st)...)
	}
	return out
}

func (r renderer) piece(n ast.Node, st ink.Style) ink.Line {
	switch n := n.(type) {
	case *ast.Text:
		out := ink.Line{ink.Styled(st, string(n.Segment.Value(r.src)))}
		switch {
		case n.HardLineBreak():
			out = append(out, ink.Span{Text: "\n"})
		case n.SoftLineBreak():
			out = append(out, ink.Styled(st, " "))
		}
		return out
	case *ast.String:
		return ink.Line{ink.Styled(st, string(n.Value))}
	case *ast.CodeSpan:
		st.Role = ink.Code
		return r.inline(n, st)
	case *ast.Emphasis:
		if n.Level > 1 {
			st.Bold = true
		} else {
			st.Italic = true
		}
		return r.inline(n, st)
	case *east.Strikethrough:
		st.Strike = true
		return r.inline(n, st)
	case *east.TaskCheckBox:
		if n.IsChecked {
			return ink.Line{ink.S(ink.Good, "[x] ")}
		}
		return ink.Line{ink.S(ink.Dim, "[ ] ")}
	case *ast.AutoLink:
		return ink.Line{ink.S(ink.Link, string(n.URL(r.src)))}
	case *ast.Link:
		return r.link(r.inline(n, st), string(n.Destination))
	case *ast.Image:
		return r.link(append(ink.Line{ink.S(ink.Dim, "image: ")}, r.inline(n, st)...), string(n.Destination))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(r.src))
		}
		return ink.Line{ink.Styled(st, strings.ReplaceAll(b.String(), "\n", " "))}
	}
	return r.inline(n, st)
}

// link shows where a link goes: a text must not hide its target.
func (r renderer) link(label ink.Line, to string) ink.Line {
	if label.Text() == to || label.Text() == "" {
		return ink.Line{ink.S(ink.Link, to)}
	}
	return append(label, ink.S(ink.Dim, " ("), ink.S(ink.Link, to), ink.S(ink.Dim, ")"))
}

func (r renderer) table(n *east.Table, width int) []ink.Line {
	var cells [][]ink.Line
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var line []ink.Line
		st := ink.As(ink.Plain)
		if _, ok := row.(*east.TableHeader); ok {
			st.Bold = true
		}
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			line = append(line, r.inline(c, st))
		}
		cells = append(cells, line)
	}
	widths := columns(cells, width)
	var rows []ink.Line
	for i, line := range cells {
		rows = append(rows, tableRow(line, widths, n.Alignments)...)
		if i == 0 {
			rule := make([]string, len(widths))
			for j, w := range widths {
				rule[j] = strings.Repeat("─", w)
			}
			rows = append(rows, ink.L(ink.Border, strings.Join(rule, "─┼─")))
		}
	}
	return rows
}

// columns shares the width among the columns: what they want, the widest
// shortened first.
func columns(cells [][]ink.Line, width int) []int {
	var widths []int
	for _, line := range cells {
		for j, c := range line {
			if j == len(widths) {
				widths = append(widths, 1)
			}
			widths[j] = max(widths[j], c.Width())
		}
	}
	room := width - 3*(len(widths)-1)
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
		widths[widest] = max(3, widths[widest]-max(1, (total(widths)-room)/len(widths)))
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

func tableRow(line []ink.Line, widths []int, align []east.Alignment) []ink.Line {
	var columns [][]ink.Line
	height := 1
	for j, w := range widths {
		var wrapped []ink.Line
		if j < len(line) {
			wrapped = ink.Wrap(line[j], w)
		}
		columns = append(columns, wrapped)
		height = max(height, len(wrapped))
	}
	rows := make([]ink.Line, height)
	for i := range rows {
		for j, w := range widths {
			var c ink.Line
			if i < len(columns[j]) {
				c = columns[j][i]
			}
			if j > 0 {
				rows[i] = append(rows[i], ink.S(ink.Border, " │ "))
			}
			if j < len(align) && align[j] == east.AlignRight {
				rows[i] = append(rows[i], ink.S(ink.Plain, strings.Repeat(" ", max(0, w-c.Width()))))
				rows[i] = append(rows[i], c...)
				continue
			}
			rows[i] = append(rows[i], c.Pad(w, ink.As(ink.Plain))...)
		}
	}
	return rows
}
