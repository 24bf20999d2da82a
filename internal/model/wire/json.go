package wire

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. The same text always gives the same
// bytes; nothing is escaped that need not be, and what is not UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[from:i]...)
			dst = append(dst, "\ufffd"...)
			from = i + 1
		}
		i += size
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendField appends "name":"value" with a comma before it unless dst ends in
// an opening brace or bracket. An empty value appends nothing.
func AppendField(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendString(AppendName(dst, name), value)
}

// AppendName appends "name": with a comma before it unless dst ends in an
// opening brace or bracket.
func AppendName(dst []byte, name string) []byte {
	dst = AppendComma(dst)
	dst = AppendString(dst, name)
	return append(dst, ':')
}

// AppendComma appends a comma unless dst is empty or ends in an opening brace,
// an opening bracket or a comma.
func AppendComma(dst []byte) []byte {
	if len(dst) == 0 || slices.Contains([]byte{'{', '[', ','}, dst[len(dst)-1]) {
		return dst
	}
	return append(dst, ',')
}

// AppendRaw appends raw without the white space around its tokens. It fails
// when raw is not JSON.
func AppendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	compact, err := compactJSON(raw)
	if err != nil {
		return dst, err
	}
	return append(dst, compact...), nil
}
