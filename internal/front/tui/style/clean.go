package style

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"kerf/internal/text/visible"
)

// tabWidth is how many spaces stand for a tab.
const tabWidth = 4

// Prose makes text safe to show on one line: controls, bidi and other invisible
// characters and broken UTF-8 are spelled out as <U+202E>, tabs become spaces.
// Joiners and variation selectors inside an emoji stay, since they make it one
// character. A newline is spelled out too: split the text first.
func Prose(s string) string { return clean(s) }

// Exact is Prose for text that the user must judge, a command for example:
// nothing invisible stays, every kind of blank but the space is spelled out, and
// so are letters that pass for others.
func Exact(s string) string { return clean(visible.Line(s)) }

func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	emoji := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r == '\t':
			b.WriteString(strings.Repeat(" ", tabWidth))
		case emoji && (r == 0x200d || r == 0xfe0f || tag(r)):
			b.WriteRune(r)
			i += n
			continue // what follows a joiner still belongs to the emoji
		case Hidden(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+n])
		}
		emoji = pictorial(r)
		i += n
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// Hidden reports whether r is a character that acts on the terminal or the
// reader without being seen.
func Hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x2800, r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0xd800 && r <= 0xdfff, r >= 0xe000 && r <= 0xf8ff:
		return true
	case r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff, r >= 0xf0000:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

func tag(r rune) bool { return r >= 0xe0020 && r <= 0xe007f }

// pictorial reports whether r can begin or continue an emoji.
func pictorial(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r >= 0x203c && r <= 0x2049 ||
		r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299 ||
		r == 0xa9 || r == 0xae || r == '#' || r == '*' || r >= '0' && r <= '9'
}

// Output prepares the output of a program to be shown: whole escape sequences are
// removed and a carriage return starts its line again. Newlines stay; what else is
// invisible is spelled out later, when a span is made of it.
func Output(s string) string {
	if !strings.ContainsAny(s, "\x1b\r\b\u009b") {
		return s
	}
	s = strings.ReplaceAll(strip(s), "\r\n", "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// strip removes escape sequences; an unfinished one is left and spelled out
// later.
func strip(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := sequence(s)
		if n == 0 {
			b.WriteByte(s[0])
			n = 1
		}
		s = s[n:]
	}
	return b.String()
}

// maxSequence bounds an escape sequence; a longer one is text.
const maxSequence = 4096

// sequence returns the length of the escape sequence that s begins with, or 0
// when it is not whole.
func sequence(s string) int {
	if len(s) < 2 {
		return 0
	}
	end := min(len(s), maxSequence)
	switch c := s[1]; {
	case c == '[':
		for i := 2; i < end; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return 0
			}
		}
	case strings.IndexByte("]PX^_", c) >= 0:
		for i := 2; i < end; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < end && s[i+1] == '\\' {
				return i + 2
			}
		}
	case c == '(' || c == ')' || c == '*' || c == '+':
		if len(s) > 2 {
			return 3
		}
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 0
}

// ExactTabs is Exact for a line whose tabs stay tabs.
func ExactTabs(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = Exact(p)
	}
	return strings.Join(parts, "\t")
}
