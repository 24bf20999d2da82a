package edit

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape turns \n \t \r \\ \" \' \` and \uXXXX into their characters; surrogate
// pairs are joined. Any other backslash stays with what follows it. A surrogate
// without its other half becomes bytes that are no text, so that it can neither be
// found in a file nor be written to one.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			i++
			continue
		}
		if c := escaped(s[i+1]); c != 0 {
			out = append(out, c)
			i += 2
			continue
		}
		unit, ok := unicodeEscape(s[i:])
		if !ok {
			out = append(out, s[i], s[i+1])
			i += 2
			continue
		}
		i += 6
		if low, ok := unicodeEscape(s[i:]); ok {
			if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 6
				continue
			}
		}
		out = appendUnit(out, unit)
	}
	return string(out)
}

// escaped returns the character that backslash and c stand for, or 0.
func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case '\\', '"', '\'', '`':
		return c
	}
	return 0
}

// unicodeEscape reads a \uXXXX at the start of s.
func unicodeEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16) // admits neither signs nor underscores
	return rune(n), err == nil
}

func appendUnit(out []byte, unit rune) []byte {
	if utf16.IsSurrogate(unit) {
		return append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6)&0x3f, 0x80|byte(unit)&0x3f)
	}
	return utf8.AppendRune(out, unit)
}
