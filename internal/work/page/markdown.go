package page

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what a page may cost: how deep lists and quotes within each other are drawn, and how
// many columns a table has. What is beyond them keeps its words.
const (
	mostBlocks  = 12
	mostColumns = 100
)

// marks are those around a part of a line. None stands within its like.
type marks uint8

const (
	strong marks = 1 << iota
	stressed
	struck
	linked
)

// blocks are the elements that stand on lines of their own.
var blocks = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true, atom.Caption: true,
	atom.Center: true, atom.Dd: true, atom.Details: true, atom.Div: true, atom.Dl: true, atom.Dt: true, atom.Fieldset: true,
	atom.Figcaption: true, atom.Figure: true, atom.Footer: true, atom.Form: true, atom.H1: true, atom.H2: true, atom.H3: true,
	atom.H4: true, atom.H5: true, atom.H6: true, atom.Header: true, atom.Hr: true, atom.Html: true, atom.Li: true,
	atom.Main: true, atom.Nav: true, atom.Ol: true, atom.P: true, atom.Pre: true, atom.Section: true, atom.Summary: true,
	atom.Table: true, atom.Tbody: true, atom.Td: true, atom.Tfoot: true, atom.Th: true, atom.Thead: true, atom.Tr: true,
	atom.Ul: true,
}

// writer writes elements as Markdown.
type writer struct {
	at *url.URL // of the page
	// holds are the elements that have a block in them, tabled those that have a table.
	holds, tabled map[*html.Node]bool
}

// written is a page that was pruned as Markdown.
func written(root *html.Node, at *url.URL) string {
	w := writer{at, map[*html.Node]bool{}, map[*html.Node]bool{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || !blocks[n.DataAtom] {
			continue
		}
		for p := n.Parent; p != nil && !w.holds[p]; p = p.Parent {
			w.holds[p] = true
		}
		for p := n.Parent; p != nil && n.DataAtom == atom.Table && !w.tabled[p]; p = p.Parent {
			w.tabled[p] = true
		}
	}
	var f flow
	w.children(&f, root, 0)
	return f.text()
}

// flow is text that grows: whole blocks, and a paragraph that is still open.
type flow struct {
	done strings.Builder
	open strings.Builder
	// item says that it is an item of a list, in which a list follows without an empty line.
	item bool
}

// end ends the open paragraph.
func (f *flow) end() {
	f.add(tidy(f.open.String()), "\n\n")
	f.open.Reset()
}

// add adds a block behind a gap.
func (f *flow) add(block, gap string) {
	if block == "" {
		return
	}
	if f.done.Len() > 0 {
		f.done.WriteString(gap)
	}
	f.done.WriteString(block)
}

func (f *flow) text() string {
	f.end()
	return f.done.String()
}

// tidy takes away the spaces around lines.
func tidy(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// children writes what is in an element. Depth is how many blocks are drawn around it.
func (w writer) children(f *flow, n *html.Node, depth int) {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.ElementNode && c.DataAtom == atom.Head:
		case c.Type == html.ElementNode && blocks[c.DataAtom]:
			f.end()
			w.block(f, c, depth)
			f.end()
		case w.holds[c]: // a mark around blocks is none
			w.children(f, c, depth)
		default:
			w.inline(&f.open, c, 0)
		}
	}
}

func (w writer) block(f *flow, n *html.Node, depth int) {
	deeper := depth < mostBlocks
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if line := w.line(n); line != "" {
			f.add(strings.Repeat("#", int(n.Data[1]-'0'))+" "+line, "\n\n")
		}
		return
	case atom.Hr:
		f.add("---", "\n\n")
		return
	case atom.Pre:
		f.add(fenced(n), "\n\n")
		return
	case atom.Table:
		if rows, ok := w.rows(n); ok {
			f.add(rows, "\n\n")
			return
		}
	case atom.Ul, atom.Ol:
		if deeper {
			list, gap := w.list(n, depth), "\n\n"
			if f.item && (strings.HasPrefix(list, "- ") || strings.HasPrefix(list, "1. ")) { // others end no paragraph
				gap = "\n"
			}
			f.add(list, gap)
			return
		}
	case atom.Blockquote:
		if deeper {
			f.add(indented(w.inside(n, depth), "> ", "> "), "\n\n")
			return
		}
	case atom.Dt:
		if line := w.line(n); line != "" {
			f.add("**"+line+"**", "\n\n")
		}
		return
	}
	w.children(f, n, depth)
}

// inside is what is in an element that is drawn around it.
func (w writer) inside(n *html.Node, depth int) string {
	f := flow{item: n.DataAtom == atom.Li}
	w.children(&f, n, depth+1)
	return f.text()
}

// indented puts first before the first line and rest before each other that is not empty.
func indented(text, first, rest string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = first + line
		case line != "":
			lines[i] = rest + line
		default:
			lines[i] = strings.TrimRight(rest, " ")
		}
	}
	return strings.Join(lines, "\n")
}

// list is a list with one line for each item, and more where items have more.
func (w writer) list(n *html.Node, depth int) string {
	number, err := strconv.Atoi(attribute(n, "start"))
	if err != nil || number < 0 || number > 1<<30 {
		number = 1
	}
	var items []string
	margin := "  " // before the lines of an item
	for c := range n.ChildNodes() {
		text, mark := "", "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
		}
		switch {
		case c.Type == html.TextNode: // it belongs to the item before, as the list of the next case
			text, mark = strings.Join(strings.Fields(c.Data), " "), margin
		case (c.DataAtom == atom.Ul || c.DataAtom == atom.Ol) && depth+1 < mostBlocks:
			text, mark = w.list(c, depth+1), margin
		default:
			text = w.inside(c, depth)
			margin = strings.Repeat(" ", len(mark))
		}
		if text == "" {
			continue
		}
		items = append(items, indented(text, mark, margin))
		if mark != margin {
			number++
		}
	}
	return strings.Join(items, "\n")
}

// rows is a table, if it is one of words and not one that arranges a page.
func (w writer) rows(table *html.Node) (text string, ok bool) {
	if w.tabled[table] {
		return "", false
	}
	var lines []string
	var before flow // the caption
	first, most := 0, 0
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Caption:
			before.open.WriteString(w.line(n))
			before.end()
		case atom.Tr:
			line, cells := w.row(n)
			if cells == 0 {
				continue
			}
			if len(lines) == 0 {
				first = cells
			}
			lines, most = append(lines, line), max(most, cells)
		}
	}
	if most == 0 || most > mostColumns {
		return "", false
	}
	lines[0] += strings.Repeat(" |", most-first) + "\n|" + strings.Repeat(" --- |", most)
	before.add(strings.Join(lines, "\n"), "\n\n")
	return before.text(), true
}

// row is a line of a table and how many cells it has.
func (w writer) row(tr *html.Node) (line string, cells int) {
	var b strings.Builder
	b.WriteByte('|')
	for c := range tr.ChildNodes() {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		b.WriteString(" " + strings.ReplaceAll(w.line(c), "|", `\|`) + " |")
		cells++
	}
	return b.String(), cells
}

// line is what an element says, on one line.
func (w writer) line(n *html.Node) string {
	var b strings.Builder
	w.inner(&b, n, 0)
	return strings.Join(strings.Fields(b.String()), " ")
}

// inner writes what is in an element as parts of a line.
func (w writer) inner(b *strings.Builder, n *html.Node, around marks) {
	for c := range n.ChildNodes() {
		w.inline(b, c, around)
	}
}

func (w writer) inline(b *strings.Builder, n *html.Node, around marks) {
	switch {
	case n.Type == html.TextNode:
		collapsed(b, n.Data)
		return
	case n.Type != html.ElementNode:
		return
	}
	switch n.DataAtom {
	case atom.Br:
		b.WriteByte('\n')
	case atom.Img:
		w.image(b, n)
	case atom.Input:
		checkbox(b, n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		text := plain(n)
		edged(b, text, quoted(text))
	case atom.B, atom.Strong:
		w.marked(b, n, "**", "**", around, strong)
	case atom.I, atom.Em, atom.Cite:
		w.marked(b, n, "*", "*", around, stressed)
	case atom.Del, atom.S, atom.Strike:
		w.marked(b, n, "~~", "~~", around, struck)
	case atom.A:
		if to := w.address(attribute(n, "href")); to != "" {
			w.marked(b, n, "[", "]("+to+")", around, linked)
			return
		}
		w.inner(b, n, around)
	default:
		if blocks[n.DataAtom] { // within what is one line
			b.WriteByte(' ')
			defer b.WriteByte(' ')
		}
		w.inner(b, n, around)
	}
}

// marked writes an element between marks, spaces outside of them.
func (w writer) marked(b *strings.Builder, n *html.Node, left, right string, around, own marks) {
	if around&own != 0 {
		w.inner(b, n, around)
		return
	}
	var in strings.Builder
	w.inner(&in, n, around|own)
	text := strings.TrimSpace(in.String())
	if text == "" {
		collapsed(b, in.String())
		return
	}
	edged(b, in.String(), left+strings.ReplaceAll(text, "\n", " ")+right)
}

// edged writes a marked part of a line, with the blanks around its text outside of the marks. A
// mark right behind its like would be read as one.
func edged(b *strings.Builder, text, marked string) {
	const blanks = " \t\n\r\f"
	if marked == "" {
		collapsed(b, text)
		return
	}
	if strings.TrimLeft(text, blanks) != text || strings.HasSuffix(b.String(), marked[:1]) {
		collapsed(b, " ")
	}
	b.WriteString(marked)
	if strings.TrimRight(text, blanks) != text {
		b.WriteByte(' ')
	}
}

// collapsed writes a text with one space for each run of blanks, none behind another one.
func collapsed(b *strings.Builder, text string) {
	blank := b.Len() > 0 && strings.HasSuffix(b.String(), " ")
	for _, r := range text {
		switch r {
		case ' ', '\t', '\n', '\r', '\f':
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
		default:
			b.WriteRune(r)
			blank = false
		}
	}
}

func (w writer) image(b *strings.Builder, n *html.Node) {
	alt := strings.Join(strings.Fields(attribute(n, "alt")), " ")
	if src := w.address(attribute(n, "src")); src != "" {
		alt = "![" + alt + "](" + src + ")"
	}
	b.WriteString(alt)
}

func checkbox(b *strings.Builder, n *html.Node) {
	if attribute(n, "type") != "checkbox" {
		return
	}
	mark := "[ ] "
	for _, a := range n.Attr {
		if a.Key == "checked" {
			mark = "[x] "
		}
	}
	b.WriteString(mark)
}

// address is a whole address that a reader may follow, or empty; so is a place on the page itself.
func (w writer) address(ref string) string {
	u, err := w.at.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	if strings.HasPrefix(ref, "#") {
		return ref
	}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(u.String()) // they would end the link
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// plain is the text in an element as it stands there.
func plain(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// quoted is program text in a line.
func quoted(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	mark := ticks(text, 1)
	if len(mark) > 1 || strings.HasPrefix(text, "`") {
		return mark + " " + text + " " + mark
	}
	return mark + text + mark
}

// fenced is program text on lines of its own.
func fenced(pre *html.Node) string {
	text := strings.TrimRight(plain(pre), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	mark := ticks(text, 3)
	return mark + language(pre) + "\n" + text + "\n" + mark
}

// ticks are more than there are in a row in a text, and at least some.
func ticks(text string, least int) string {
	run, most := 0, least-1
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return strings.Repeat("`", most+1)
}

// language is that of program text, as its class tells.
func language(pre *html.Node) string {
	class := attribute(pre, "class")
	if c := pre.FirstChild; c != nil && c.DataAtom == atom.Code {
		class += " " + attribute(c, "class")
	}
	for _, word := range strings.Fields(class) {
		for _, lead := range []string{"language-", "lang-"} {
			if name, ok := strings.CutPrefix(word, lead); ok && !strings.ContainsAny(name, "`~\x00") {
				return name
			}
		}
	}
	return ""
}
