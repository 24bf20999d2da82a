package markdown

import (
	"fmt"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"

	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
)

// parse reads CommonMark. What goes beyond it (tables, task lists, struck text,
// bare links) is done here: the library's own extensions compile regular
// expressions when the program starts, and every start would pay for that.
var parse = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
})

// Render draws a whole text, at most width cells wide. Blocks are apart by an
// empty row.
func Render(source string, width int) []style.Line {
	width = max(width, 8)
	var rows []style.Line
	for _, part := range split(strings.ReplaceAll(source, "\r\n", "\n")) {
		drawn := part.rows(width)
		if len(rows) > 0 && len(drawn) > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
	}
	return rows
}

type renderer struct{ src []byte }

// maxDepth bounds how deep quotes and lists are drawn.
const maxDepth = 12

func (r renderer) blocks(parent ast.Node, width int, loose bool) []style.Line {
	var rows []style.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		drawn := r.block(n, max(width, 8))
		if len(rows) > 0 && len(drawn) > 0 && loose {
			rows = append(rows, nil)
		}
		rows = append(rows, drawn...)
	}
	return rows
}

func (r renderer) block(n ast.Node, width int) []style.Line {
	switch n := n.(type) {
	case *ast.Heading:
		line := r.inline(n, style.Style{Role: style.Heading, Bold: true, Underline: n.Level == 1})
		if n.Level > 2 {
			line = append(style.Line{style.Bold(style.Heading, strings.Repeat("#", n.Level)+" ")}, line...)
		}
		return wrapAll(line, width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrapAll(r.inline(n, style.As(style.Plain)), width)
	case *ast.FencedCodeBlock:
		return append(codeHead(string(n.Language(r.src)), width),
			codeRows(syntax.New(string(n.Language(r.src))), r.lines(n), width)...)
	case *ast.CodeBlock:
		return codeRows(nil, r.lines(n), width)
	case *ast.Blockquote:
		if depth(n) > maxDepth {
			return nil
		}
		bar := style.S(style.Border, "│ ")
		return style.Prefix(r.blocks(n, width-2, true), bar, bar)
	case *ast.List:
		return r.list(n, width)
	case *ast.ThematicBreak:
		return []style.Line{style.L(style.Border, strings.Repeat("─", min(width, 40)))}
	case *ast.HTMLBlock:
		return style.WrapText(style.Dim, r.lines(n), width)
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

func (r renderer) list(n *ast.List, width int) []style.Line {
	if depth(n) > 2*maxDepth {
		return nil
	}
	var rows []style.Line
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		body := r.blocks(item, width-style.Width(mark), !n.IsTight)
		body = task(body)
		if len(body) == 0 {
			body = []style.Line{nil}
		}
		if !n.IsTight && len(rows) > 0 {
			rows = append(rows, nil)
		}
		first := style.S(style.Accent, mark)
		rows = append(rows, style.Prefix(body, first, style.S(style.Plain, strings.Repeat(" ", style.Width(mark))))...)
	}
	return rows
}

// wrapAll wraps a line that may hold hard breaks, as spans of a newline.
func wrapAll(l style.Line, width int) []style.Line {
	var rows []style.Line
	start := 0
	for i, s := range l {
		if s.Text == "\n" {
			rows = append(rows, style.Wrap(l[start:i], width)...)
			start = i + 1
		}
	}
	return append(rows, style.Wrap(l[start:], width)...)
}

func (r renderer) inline(parent ast.Node, st style.Style) style.Line {
	var out style.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, r.piece(n, st)...)
	}
	return out
}

func (r renderer) piece(n ast.Node, st style.Style) style.Line {
	switch n := n.(type) {
	case *ast.Text:
		out := plainText(string(n.Segment.Value(r.src)), st)
		switch {
		case n.HardLineBreak():
			out = append(out, style.Span{Text: "\n"})
		case n.SoftLineBreak():
			out = append(out, style.Styled(st, " "))
		}
		return out
	case *ast.String:
		return style.Line{style.Styled(st, string(n.Value))}
	case *ast.CodeSpan:
		st.Role = style.Code
		return r.literal(n, st)
	case *ast.Emphasis:
		if n.Level > 1 {
			st.Bold = true
		} else {
			st.Italic = true
		}
		return r.inline(n, st)
	case *ast.AutoLink:
		return style.Line{style.S(style.Link, string(n.URL(r.src)))}
	case *ast.Link:
		return r.link(r.inline(n, st), string(n.Destination))
	case *ast.Image:
		return r.link(append(style.Line{style.S(style.Dim, "image: ")}, r.inline(n, st)...), string(n.Destination))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(r.src))
		}
		return style.Line{style.Styled(st, strings.ReplaceAll(b.String(), "\n", " "))}
	}
	return r.inline(n, st)
}

// link shows where a link goes: a text must not hide its target.
func (r renderer) link(label style.Line, to string) style.Line {
	if label.Text() == to || label.Text() == "" {
		return style.Line{style.S(style.Link, to)}
	}
	return append(label, style.S(style.Dim, " ("), style.S(style.Link, to), style.S(style.Dim, ")"))
}

// literal is the text of a code span, as it is.
func (r renderer) literal(parent ast.Node, st style.Style) style.Line {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.src))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
	}
	return style.Line{style.Styled(st, strings.ReplaceAll(b.String(), "\n", " "))}
}

// plainText finds struck words and bare links in a text.
func plainText(s string, st style.Style) style.Line {
	var out style.Line
	add := func(text string, st style.Style) {
		if text != "" {
			out = append(out, style.Styled(st, text))
		}
	}
	for s != "" {
		strike, link := strings.Index(s, "~~"), linkAt(s)
		switch {
		case strike >= 0 && (link < 0 || strike < link):
			n := strings.Index(s[strike+2:], "~~")
			if n <= 0 {
				add(s[:strike+2], st)
				s = s[strike+2:]
				continue
			}
			add(s[:strike], st)
			struck := st
			struck.Strike = true
			add(s[strike+2:strike+2+n], struck)
			s = s[strike+4+n:]
		case link >= 0:
			add(s[:link], st)
			n := strings.IndexAny(s[link:], " \t<>\"`")
			if n < 0 {
				n = len(s) - link
			}
			url := strings.TrimRight(s[link:link+n], ".,;:!?)'")
			add(url, style.As(style.Link))
			s = s[link+len(url):]
		default:
			add(s, st)
			return out
		}
	}
	return out
}

// linkAt is where a bare link begins, or -1.
func linkAt(s string) int {
	i := strings.Index(s, "http://")
	if j := strings.Index(s, "https://"); j >= 0 && (i < 0 || j < i) {
		i = j
	}
	return i
}

// task turns a list item that begins with a box into one that shows it.
func task(rows []style.Line) []style.Line {
	if len(rows) == 0 {
		return rows
	}
	text := rows[0].Text()
	role := style.Dim
	switch {
	case strings.HasPrefix(text, "[ ] "):
	case strings.HasPrefix(text, "[x] "), strings.HasPrefix(text, "[X] "):
		role = style.Good
	default:
		return rows
	}
	out := style.Line{style.S(role, text[:4])}
	left := 4
	for _, s := range rows[0] {
		n := min(left, len(s.Text))
		left -= n
		if s.Text = s.Text[n:]; s.Text != "" {
			out = append(out, s)
		}
	}
	rows[0] = out
	return rows
}
