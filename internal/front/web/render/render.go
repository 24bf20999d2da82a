// Package render makes HTML of texts that others wrote: Markdown, program text and diffs.
// Whatever a text holds, it stays text: no tag, attribute or address of it gets out, and
// characters that nobody would see are spelled out.
package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
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

// outputs is how much of a long output is drawn at once, in bytes, and to the end of the line if that is
// near.
const outputs = 64 << 10

// Outputs writes what a program printed, however long it is.
func Outputs(w io.Writer, text io.Reader) error {
	in := bufio.NewReaderSize(text, outputs)
	var held []byte
	for {
		line, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			err = nil
		}
		held = append(held, line...)
		if n := whole(held); err != nil || n >= outputs {
			if err != nil {
				n = len(held)
			}
			if _, err := io.WriteString(w, Output(string(held[:n]))); err != nil {
				return err
			}
			held = append(held[:0], held[n:]...)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// whole is how much of a text may be drawn alone: no character and no escape sequence goes on behind it,
// as far as they are short.
func whole(b []byte) int {
	const short = 256
	if n := len(b); n == 0 || b[n-1] == '\n' {
		return n
	}
	from := max(0, len(b)-short)
	if i := bytes.IndexByte(b[from:], '\x1b'); i >= 0 {
		return from + i
	}
	n := len(b)
	for n > 0 && len(b)-n < utf8.UTFMax && !utf8.RuneStart(b[n-1]) {
		n--
	}
	if n > 0 && b[n-1] >= utf8.RuneSelf && !utf8.FullRune(b[n-1:]) {
		return n - 1
	}
	return len(b)
}
