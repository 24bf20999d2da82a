package render

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"kerf/internal/front/tui/syntax"
	"kerf/internal/front/web/markup"
	"kerf/internal/text/visible"
)

// The parser takes time with the square of a text: 200 KB of "*a_" take more than a minute.
// So a text is parsed in pieces, cut at an empty line from softPiece on, at the end of any
// line before hardPiece; longer lines, and texts above maxMarkdown, are shown as they were
// written. Sizes are bytes.
const (
	softPiece   = 4 << 10
	hardPiece   = 8 << 10
	maxMarkdown = 128 << 10
)

var markdown = sync.OnceValue(func() goldmark.Markdown {
	own := renderer.WithNodeRenderers(util.Prioritized(words{}, 1), util.Prioritized(drawn{}, 2))
	return goldmark.New(goldmark.WithParserOptions(dialect()), goldmark.WithRendererOptions(own))
})

// Markdown is a text of the model as HTML. Tags in it are shown as they were written;
// pictures are named and never loaded; the address of a link stands behind its words.
func Markdown(text string) markup.HTML {
	text = visible.String(text)
	if len(text) > maxMarkdown {
		return plain(text)
	}
	var b bytes.Buffer
	for _, p := range pieces(text) {
		if len(p) > hardPiece+softPiece || markdown().Convert([]byte(p), &b) != nil {
			b.WriteString(string(plain(p)))
		}
	}
	// A wide table is moved sideways, by keys as well. No text of others has such a tag.
	return markup.HTML(strings.ReplaceAll(b.String(), "<table>", `<table tabindex="0">`))
}

func plain(text string) markup.HTML {
	return markup.HTML(`<pre class="plain" tabindex="0">` + html.EscapeString(text) + `</pre>`)
}

// pieces cuts a text. A block of code that is cut ends in one piece and goes on in the next.
func pieces(text string) []string {
	if len(text) <= hardPiece {
		return []string{text}
	}
	var list []string
	var piece strings.Builder
	fence := "" // the line that opened a block of code, and what closes it
	mark := ""
	for l := range strings.Lines(text) {
		if piece.Len() > 0 && piece.Len()+len(l) > hardPiece {
			if mark != "" {
				piece.WriteString(mark + "\n")
			}
			list = append(list, piece.String())
			piece.Reset()
			piece.WriteString(fence)
		}
		piece.WriteString(l)
		bare := strings.TrimSpace(l)
		switch opened := fenceMark(bare); {
		case mark != "" && strings.HasPrefix(bare, mark) && strings.Trim(bare, mark[:1]) == "":
			fence, mark = "", ""
		case mark == "" && opened != "" && len(l) < 100:
			fence, mark = l, opened
		case mark == "" && bare == "" && piece.Len() > softPiece:
			list = append(list, piece.String())
			piece.Reset()
		}
	}
	return append(list, piece.String())
}

// fenceMark is the mark with which a line opens a block of code, or empty.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// words renders the nodes in which texts of others could act.
type words struct{}

// RegisterFuncs says which nodes words renders.
func (words) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindFencedCodeBlock, fenced)
	r.Register(ast.KindCodeBlock, fenced)
	r.Register(ast.KindHeading, heading)
	r.Register(extast.KindTaskCheckBox, box)
}

// heading begins two levels lower than written: the page has headings of its own.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + string(rune('0'+min(n.(*ast.Heading).Level+2, 6)))
	if !entering {
		tag = "/" + tag
	}
	_, _ = w.WriteString("<" + tag + ">")
	return ast.WalkContinue, nil
}

// box is a box of a list of tasks; nobody can tick it.
func box(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(map[bool]string{false: "☐ ", true: "☑ "}[n.(*extast.TaskCheckBox).IsChecked])
	}
	return ast.WalkContinue, nil
}

func htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	text := string(block.Lines().Value(source))
	if block.HasClosure() {
		text += string(block.ClosureLine.Value(source))
	}
	_, _ = w.WriteString(`<p class="raw">` + html.EscapeString(text) + "</p>")
	return ast.WalkContinue, nil
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(html.EscapeString(string(n.(*ast.RawHTML).Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

// anchor opens a link, if its address is one of the web.
func anchor(w util.BufWriter, url string) bool {
	low := strings.ToLower(url)
	if !strings.HasPrefix(low, "https://") && !strings.HasPrefix(low, "http://") {
		return false
	}
	_, _ = w.WriteString(`<a rel="noopener noreferrer nofollow" target="_blank" href="` + html.EscapeString(url) + `">`)
	return true
}

// link shows its words, and its address as the thing to click at.
func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		return ast.WalkContinue, nil
	}
	url := string(n.(*ast.Link).Destination)
	_, _ = w.WriteString(" (")
	opened := anchor(w, url)
	_, _ = w.WriteString("<code>" + html.EscapeString(url) + "</code>")
	if opened {
		_, _ = w.WriteString("</a>")
	}
	_, _ = w.WriteString(")")
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	url := string(n.(*ast.AutoLink).URL(source))
	opened := anchor(w, url)
	_, _ = w.WriteString(html.EscapeString(url))
	if opened {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<span class="picture">[picture: `)
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(", <code>" + html.EscapeString(string(n.(*ast.Image).Destination)) + "</code>]</span>")
	return ast.WalkContinue, nil
}

// fenced is a block of code in the colours of its language.
func fenced(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var lexer *syntax.Lexer
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		lexer = syntax.New(string(f.Language(source)))
	}
	var b strings.Builder
	b.WriteString(`<pre tabindex="0"><code>`)
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		line(&b, lexer, strings.TrimRight(string(at.Value(source)), "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteString("</code></pre>\n")
	_, _ = w.WriteString(b.String())
	return ast.WalkSkipChildren, nil
}
