package render

import (
	"bytes"
	"html"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What models write beside CommonMark: tables, boxes of tasks and struck words, as GitHub
// reads them. The package goldmark/extension reads them, too, and is the judge in tests. But
// it compiles expressions whenever the program starts, which takes longer than the whole start
// of many commands.
func dialect() parser.Option {
	return options{
		parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)),
		parser.WithInlineParsers(util.Prioritized(boxes{}, 0), util.Prioritized(struck{}, 500)),
	}
}

type options []parser.Option

// SetParserOption sets each of them.
func (o options) SetParserOption(c *parser.Config) {
	for _, one := range o {
		one.SetParserOption(c)
	}
}

// tables makes tables of paragraphs: the line above a rule of as many columns is the head,
// what stands above it stays a paragraph.
type tables struct{}

// Transform takes the table out of p.
func (tables) Transform(p *ast.Paragraph, r text.Reader, _ parser.Context) {
	lines, source := p.Lines(), r.Source()
	for i := 1; i < lines.Len(); i++ {
		rule := lines.At(i)
		columns := columnsOf(rule.Value(source))
		if columns == nil {
			continue
		}
		head := cells(lines.At(i-1), source)
		if len(head) > len(columns) {
			return
		}
		table := extast.NewTable()
		table.AppendChild(table, extast.NewTableHeader(rowOf(head, columns)))
		for j := i + 1; j < lines.Len(); j++ {
			table.AppendChild(table, rowOf(cells(lines.At(j), source), columns))
		}
		replaceTail(p, i-1, table)
		return
	}
}

// replaceTail puts n where the lines of p were, from the one with the index first on.
func replaceTail(p *ast.Paragraph, first int, n ast.Node) {
	p.Parent().InsertAfter(p.Parent(), p, n)
	p.Lines().SetSliced(0, first)
	if first == 0 {
		p.Parent().RemoveChild(p.Parent(), p)
		return
	}
	last := p.Lines().At(first - 1)
	last.Stop-- // the end of the line
	p.Lines().Set(first-1, last)
}

// columnsOf reads the rule below the head of a table; nil if the line is none.
func columnsOf(line []byte) []extast.Alignment {
	if indent, _ := util.IndentWidth(line, 0); indent > 3 || !bytes.ContainsAny(line, "|: \t\n") {
		return nil
	}
	parts := bytes.Split(line, []byte("|"))
	if util.IsBlank(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) > 0 && util.IsBlank(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	var columns []extast.Alignment
	for _, part := range parts {
		part = bytes.TrimSpace(part)
		dashes, left := bytes.CutPrefix(part, []byte(":"))
		dashes, right := bytes.CutSuffix(dashes, []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		columns = append(columns, map[[2]bool]extast.Alignment{{true, false}: extast.AlignLeft, {false, true}: extast.AlignRight,
			{true, true}: extast.AlignCenter, {false, false}: extast.AlignNone}[[2]bool{left, right}])
	}
	return columns
}

// cells are the parts of a line between its bars; a bar behind a backslash is no bar.
func cells(line text.Segment, source []byte) []text.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	words := line.Value(source)
	from, end := 0, len(words)
	if end > 0 && words[0] == '|' {
		from++
	}
	if end > 0 && words[end-1] == '|' {
		end--
	}
	var list []text.Segment
	for from < end {
		to := from
		for to < end && (words[to] != '|' || to > 0 && words[to-1] == '\\') {
			to++
		}
		cell := text.NewSegment(line.Start+from, line.Start+to)
		cell = cell.TrimLeftSpace(source)
		list = append(list, cell.TrimRightSpace(source))
		from = to + 1
	}
	return list
}

// rowOf has one cell for each column: others are left out, missing ones are empty.
func rowOf(list []text.Segment, columns []extast.Alignment) *extast.TableRow {
	r := extast.NewTableRow(columns)
	for i, align := range columns {
		cell := extast.NewTableCell()
		if i < len(list) {
			cell.Alignment = align
			cell.Lines().Append(list[i])
		}
		r.AppendChild(r, cell)
	}
	return r
}

// boxes are "[ ]" and "[x]" at the beginning of an item of a list.
type boxes struct{}

// Trigger is what a box begins with.
func (boxes) Trigger() []byte { return []byte{'['} }

// Parse reads a box.
func (boxes) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 3 || line[2] != ']' || line[1] != 'x' && line[1] != 'X' && !util.IsSpace(line[1]) {
		return nil
	}
	block.Advance(3 + util.TrimLeftSpaceLength(line[3:]))
	return extast.NewTaskCheckBox(!util.IsSpace(line[1]))
}

// struck are words between two "~", or between two "~~".
type struck struct{}

// Trigger is what they begin with.
func (struck) Trigger() []byte { return []byte{'~'} }

// Parse reads what such words may begin or end with.
func (s struck) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, s)
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

// IsDelimiter reports whether words can be struck with b.
func (struck) IsDelimiter(b byte) bool { return b == '~' }

// CanOpenCloser reports whether words stand between the two.
func (struck) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }

// OnMatch is what becomes of the words.
func (struck) OnMatch(int) ast.Node { return extast.NewStrikethrough() }

// drawn renders the nodes of the dialect.
type drawn struct{}

// RegisterFuncs says which nodes drawn renders.
func (drawn) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeSpan, code)
	r.Register(extast.KindTable, element("table", "\n"))
	r.Register(extast.KindTableHeader, head)
	r.Register(extast.KindTableRow, tableRow)
	r.Register(extast.KindTableCell, cell)
	r.Register(extast.KindStrikethrough, element("del", ""))
}

// element is a tag around what is in it; end follows each tag.
func element(name, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		slash := "/"
		if entering {
			slash = ""
		}
		_, _ = w.WriteString("<" + slash + name + ">" + end)
		return ast.WalkContinue, nil
	}
}

func head(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch {
	case entering:
		_, _ = w.WriteString("<thead>\n<tr>\n")
	case n.NextSibling() == nil:
		_, _ = w.WriteString("</tr>\n</thead>\n")
	default:
		_, _ = w.WriteString("</tr>\n</thead>\n<tbody>\n")
	}
	return ast.WalkContinue, nil
}

func tableRow(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	switch {
	case entering:
		_, _ = w.WriteString("<tr>\n")
	case n.NextSibling() == nil:
		_, _ = w.WriteString("</tr>\n</tbody>\n")
	default:
		_, _ = w.WriteString("</tr>\n")
	}
	return ast.WalkContinue, nil
}

// cell is aligned by an attribute: the policy of the pages refuses styles in them.
func cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	align := n.(*extast.TableCell).Alignment
	switch {
	case !entering:
		_, _ = w.WriteString("</" + tag + ">\n")
	case align == extast.AlignNone:
		_, _ = w.WriteString("<" + tag + ">")
	default:
		_, _ = w.WriteString("<" + tag + ` align="` + align.String() + `">`)
	}
	return ast.WalkContinue, nil
}

// code is a piece of code in a line. In a table the backslash before a bar is no part of it.
func code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.Write(c.(*ast.Text).Segment.Value(source))
	}
	written := bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(" "))
	for at := n.Parent(); at != nil; at = at.Parent() {
		if at.Kind() == extast.KindTableCell {
			written = bytes.ReplaceAll(written, []byte(`\|`), []byte("|"))
		}
	}
	_, _ = w.WriteString("<code>" + html.EscapeString(string(written)) + "</code>")
	return ast.WalkSkipChildren, nil
}
