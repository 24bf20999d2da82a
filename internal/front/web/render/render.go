// Package render makes HTML of texts that others wrote: Markdown, program text and diffs.
// Whatever a text holds, it stays text: no tag, attribute or address of it gets out, and
// characters that nobody would see are spelled out.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
	"kerf/internal/front/web/markup"
	"kerf/internal/text/visible"
)

// escape makes a text harmless inside an element, or inside a quoted attribute.
func escape(s string) string { return html.EscapeString(visible.String(s)) }

// classes are the names of roles in the style sheet.
var classes = map[style.Role]string{style.Keyword: "k", style.String: "s", style.Number: "n", style.Comment: "c",
	style.Name: "f", style.Type: "t"}

// maxLine is how many bytes of one line are drawn.
const maxLine = 16 << 10

// cut is the beginning of a very long line, and words for the rest of it.
func cut(text string) (string, string) {
	if len(text) <= maxLine {
		return text, ""
	}
	n := maxLine
	for n > maxLine-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], fmt.Sprintf("<b> … %d bytes more of this line are not shown</b>", len(text)-n)
}

// line writes one line of program text in the colours of its language.
func line(b *strings.Builder, lexer *syntax.Lexer, text string) {
	text, rest := cut(text)
	defer func() { b.WriteString(rest) }()
	if lexer == nil || len(text) > syntax.MaxLine {
		b.WriteString(escape(text))
		return
	}
	for _, span := range lexer.Line(text) {
		class := classes[span.Style.Role]
		if class == "" {
			b.WriteString(html.EscapeString(span.Text))
			continue
		}
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(span.Text) + `</span>`)
	}
}

// Line is one line of a file in the colours of its language, which lexer reads on.
func Line(lexer *syntax.Lexer, text string) markup.HTML {
	var b strings.Builder
	line(&b, lexer, strings.TrimRight(text, "\r\n"))
	return markup.HTML(b.String())
}

// Path is a name of a file as one line on which nothing is invisible: spaces that a browser
// would not show are spelled out.
func Path(p string) string {
	p = visible.Line(p)
	if !strings.Contains(p, "  ") && strings.Trim(p, " ") == p {
		return p
	}
	var b strings.Builder
	for i, r := range p {
		if r == ' ' && (i == 0 || i == len(p)-1 || p[i-1] == ' ') {
			b.WriteString("<U+0020>")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Exact is a text that the user must judge: nothing in it is invisible.
func Exact(text string) markup.HTML {
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, html.EscapeString(style.Exact(l)))
	}
	return markup.HTML(strings.Join(lines, "\n"))
}

// Clear reports whether a text looks as it is: Exact spells nothing of it out.
func Clear(text string) bool {
	for l := range strings.SplitSeq(text, "\n") {
		if style.Exact(l) != l {
			return false
		}
	}
	return true
}

// JSON is Exact of a value, spread over lines, each part of it as it was written; what is no
// JSON stays as it is.
func JSON(raw json.RawMessage) markup.HTML {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return Exact(string(raw))
	}
	return Exact(b.String())
}

// Output is what a program printed: escape sequences are removed.
func Output(text string) string { return visible.String(style.Output(text)) }
