package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds how many words are made of one with braces.
const maxBraces = 256

// Decode returns the text of a word that a shell makes without knowing anything:
// backslashes, all kinds of quotes and $"" are taken away. It reports false for
// expansions, patterns and a home, whose value only the shell knows. Literal is the
// narrower question whether a word means itself as it stands.
func Decode(w *syntax.Word) (string, bool) {
	if w.Lit() == "[" {
		return "[", true
	}
	var b strings.Builder
	for _, p := range w.Parts {
		if !decodePart(p, &b) {
			return "", false
		}
	}
	return b.String(), true
}

func decodePart(p syntax.WordPart, b *strings.Builder) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return unescape(p.Value, b)
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.WriteString(p.Value)
			return true
		}
		return ansi(p.Value, b)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			lit, ok := q.(*syntax.Lit)
			if !ok {
				return false
			}
			unescapeQuoted(lit.Value, b)
		}
		return true
	}
	return false
}

// unescape reads text outside of quotes.
func unescape(s string, b *strings.Builder) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i >= len(s) {
				b.WriteByte('\\')
				return true
			}
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[':
			return false
		case '~':
			if tilde("~", b.String()) {
				return false
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return true
}

// unescapeQuoted reads text within double quotes.
func unescapeQuoted(s string, b *strings.Builder) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
}

// ansi reads the text of $'…'.
func ansi(s string, b *strings.Builder) bool {
	simple := map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\',
		'\'': '\'', '"': '"', '?': '?'}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if v, ok := simple[c]; ok {
			b.WriteByte(v)
			continue
		}
		digits, base, most := s[i+1:], 16, 0
		switch {
		case c >= '0' && c <= '7':
			digits, base, most = s[i:], 8, 3
			i--
		case c == 'x':
			most = 2
		case c == 'u':
			most = 4
		case c == 'U':
			most = 8
		default: // \cX and what there may be else
			return false
		}
		n := 0
		for n < most && n < len(digits) && digit(digits[n], base) {
			n++
		}
		v, err := strconv.ParseUint(digits[:n], base, 32)
		if err != nil || v == 0 || v > utf8.MaxRune {
			return false
		}
		if i += n; base == 8 || c == 'x' {
			b.WriteByte(byte(v))
		} else {
			b.WriteRune(rune(v))
		}
	}
	return true
}

func digit(c byte, base int) bool {
	return '0' <= c && c <= '7' || base == 16 && ('8' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F')
}

// Braces are the words that a word with lists in braces stands for, {a,b} for one, and
// the word itself if it has none. It reports false when they cannot be listed.
func Braces(w *syntax.Word) ([]*syntax.Word, bool) {
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	syntax.SplitBraces(split)
	return product(split.Parts)
}

// product are the words that parts stand for.
func product(parts []syntax.WordPart) ([]*syntax.Word, bool) {
	all := []*syntax.Word{{}}
	for _, p := range parts {
		brace, ok := p.(*syntax.BraceExp)
		if !ok {
			for _, w := range all {
				w.Parts = append(w.Parts, p)
			}
			continue
		}
		if brace.Sequence {
			return nil, false
		}
		var next []*syntax.Word
		for _, e := range brace.Elems {
			inner, ok := product(e.Parts)
			if !ok || len(next)+len(all)*len(inner) > maxBraces {
				return nil, false
			}
			for _, w := range all {
				for _, in := range inner {
					next = append(next, &syntax.Word{Parts: append(append([]syntax.WordPart(nil), w.Parts...), in.Parts...)})
				}
			}
		}
		all = next
	}
	return all, true
}
