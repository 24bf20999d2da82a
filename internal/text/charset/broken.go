package charset

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeBroken is Decode for who only compares and splices: a content with the mark of
// UTF-16 that is not all UTF-16 is read too. Of such a Text.Bytes is not valid UTF-8:
// half a surrogate pair stands there as the three bytes that it would have if it were a
// character, and a byte that is left over at the end of the file is not in it. Encode
// writes both back as they were.
func DecodeBroken(content []byte, declared Charset) (Text, error) {
	t, err := Decode(content, declared)
	if err == nil || declared.Declared() {
		return t, err
	}
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(content, mark16LE):
		t, order = Text{form: formUTF16LE}, binary.LittleEndian
	case bytes.HasPrefix(content, mark16BE):
		t, order = Text{form: formUTF16BE}, binary.BigEndian
	default:
		return t, err
	}
	t.broken, t.mark = true, content[:2:2]
	body := content[2:]
	if len(body)%2 == 1 {
		t.rest = body[len(body)-1:]
		body = body[:len(body)-1]
	}
	t.Bytes = make([]byte, 0, len(body)/2+16)
	for i := 0; i < len(body); i += 2 {
		r := rune(order.Uint16(body[i:]))
		if utf16.IsSurrogate(r) && i+4 <= len(body) {
			if joined := utf16.DecodeRune(r, rune(order.Uint16(body[i+2:]))); joined != utf8.RuneError {
				r = joined
				i += 2
			}
		}
		t.Bytes = appendUnit(t.Bytes, r)
	}
	return t, nil
}

// appendUnit is utf8.AppendRune for halves of surrogate pairs too.
func appendUnit(b []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(b, r)
	}
	return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// nextUnit is utf8.DecodeRune for halves of surrogate pairs too.
func nextUnit(b []byte) (rune, int) {
	if len(b) >= 3 && b[0] == 0xed && 0xa0 <= b[1] && b[1] <= 0xbf && 0x80 <= b[2] && b[2] <= 0xbf {
		return rune(b[0]&0xf)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), 3
	}
	return utf8.DecodeRune(b)
}

// invalidUnit is invalid for text with halves of surrogate pairs.
func invalidUnit(b []byte) int {
	for at := 0; at < len(b); {
		r, n := nextUnit(b[at:])
		if r == utf8.RuneError && n < 2 {
			return at
		}
		at += n
	}
	return -1
}
