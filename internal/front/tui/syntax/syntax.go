// Package syntax colours program text line by line.
//
// It reads each byte once, whatever the text, and keeps only the state that one
// line hands to the next, so a growing text costs no more than its new lines. It
// knows comments, strings, numbers, keywords and calls, not grammars.
package syntax

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"kerf/internal/front/tui/style"
)

// MaxLine is the length in bytes from which on a line is not coloured.
const MaxLine = 2000

// Lexer colours the lines of one text, in order. The zero value colours nothing.
type Lexer struct {
	lang *language
	// inside is the closing mark of the comment or string that a line left open.
	inside string
	role   style.Role
	escape bool
}

// New returns a lexer for a language by its name, as in a code fence, or nil
// when it is not known. A nil lexer leaves lines plain.
func New(name string) *Lexer {
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexAny(name, " ,{:"); i >= 0 {
		name = name[:i]
	}
	l := find(name)
	if l == nil {
		return nil
	}
	return &Lexer{lang: l}
}

// ForFile returns a lexer for a file by its name, or nil.
func ForFile(name string) *Lexer {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	switch base {
	case "makefile", "gnumakefile", "dockerfile":
		return New(strings.TrimPrefix(base, "gnu"))
	case "go.mod", "go.sum":
		return New("go")
	}
	return New(strings.TrimPrefix(path.Ext(base), "."))
}

// Line colours one line, which has no newline. Tabs and invisible characters come
// out as [style.Prose] shows them.
func (x *Lexer) Line(s string) style.Line {
	if x == nil || len(s) > MaxLine {
		return style.L(style.Plain, s)
	}
	var out style.Line
	emit := func(r style.Role, text string) {
		if text != "" {
			out = append(out, style.S(r, text))
		}
	}
	if x.lang.diff {
		return diffLine(s)
	}
	plain := 0
	for i := 0; i < len(s); {
		n, role := x.token(s, i)
		if role == style.Plain {
			i += n
			continue
		}
		emit(style.Plain, s[plain:i])
		emit(role, s[i:i+n])
		i += n
		plain = i
	}
	emit(style.Plain, s[plain:])
	return out
}

// token returns the length and the role of what begins at s[i].
func (x *Lexer) token(s string, i int) (int, style.Role) {
	if x.inside != "" {
		return x.rest(s, i), x.role
	}
	l, tail := x.lang, s[i:]
	for _, c := range l.line {
		if strings.HasPrefix(tail, c) && (c != "#" || i == 0 || strings.IndexByte(" \t;(", s[i-1]) >= 0) {
			return len(tail), style.Comment
		}
	}
	for _, b := range l.block {
		if strings.HasPrefix(tail, b[0]) {
			return x.open(s, i, len(b[0]), b[1], style.Comment, false), style.Comment
		}
	}
	for _, q := range l.long {
		if strings.HasPrefix(tail, q) {
			return x.open(s, i, len(q), q, style.String, q != "`" || l.escapes), style.String
		}
	}
	c := s[i]
	switch {
	case strings.IndexByte(l.quotes, c) >= 0:
		return short(s, i), style.String
	case c >= '0' && c <= '9':
		return number(tail), style.Number
	case letter(c):
		n := word(tail, l.dash)
		return n, x.named(s, i, n)
	}
	_, n := utf8.DecodeRuneInString(tail)
	return n, style.Plain
}

// open starts a text that may go on over lines.
func (x *Lexer) open(s string, i, skip int, closing string, role style.Role, escape bool) int {
	x.inside, x.role, x.escape = closing, role, escape
	return skip + x.rest(s, i+skip)
}

// rest returns how much of s[i:] belongs to the open comment or string, and
// closes it where it ends.
func (x *Lexer) rest(s string, i int) int {
	for j := i; j < len(s); j++ {
		if x.escape && s[j] == '\\' {
			j++
			continue
		}
		if strings.HasPrefix(s[j:], x.inside) {
			n := j + len(x.inside) - i
			x.inside = ""
			return n
		}
	}
	return len(s) - i
}

// short returns the length of a string that ends on its line; a lone quote is
// one character.
func short(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case s[i]:
			return j + 1 - i
		}
	}
	return 1
}

func number(s string) int {
	i := 1
	for i < len(s) && (letter(s[i]) || s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] == '_') {
		i++
	}
	return i
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func word(s string, dash bool) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !(dash && r == '-') {
			return i
		}
	}
	return len(s)
}

func (x *Lexer) named(s string, i, n int) style.Role {
	w := s[i : i+n]
	if x.lang.fold {
		w = strings.ToLower(w)
	}
	after := strings.TrimLeft(s[i+n:], " ")
	first := strings.TrimLeft(s[:i], " \t-\"'") == ""
	switch {
	case x.lang.keywords[w]:
		return style.Keyword
	case x.lang.types[w]:
		return style.Type
	case x.lang.keys && first && (strings.HasPrefix(after, ":") || strings.HasPrefix(after, "=")):
		return style.Name
	case !x.lang.keys && strings.HasPrefix(s[i+n:], "("):
		return style.Name
	}
	return style.Plain
}

func diffLine(s string) style.Line {
	switch {
	case strings.HasPrefix(s, "+"):
		return style.L(style.Added, s)
	case strings.HasPrefix(s, "-"):
		return style.L(style.Removed, s)
	case strings.HasPrefix(s, "@@"):
		return style.L(style.Accent, s)
	}
	return style.L(style.Plain, s)
}
