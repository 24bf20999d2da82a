package edit

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"kerf/internal/text/match"
)

var lf = []byte{'\n'}

// form is how the bytes of a file stand for text.
type form int

const (
	formUTF8    form = iota
	formUTF16LE      // with a byte order mark
	formUTF16BE      // with a byte order mark
	formBytes        // anything else: bytes are compared as they are
)

// file is a content as text.
type file struct {
	text []byte // without the byte order mark
	mark []byte // the byte order mark as it stands in the file
	form form
}

// decode reads content strictly: what it makes of it encodes to the same bytes.
func decode(content []byte) (file, error) {
	switch {
	case bytes.HasPrefix(content, []byte("\xef\xbb\xbf")):
		f := file{text: content[3:], mark: content[:3:3]}
		if !utf8.Valid(f.text) {
			f.form = formBytes
		}
		return f, nil
	case bytes.HasPrefix(content, []byte("\xff\xfe\x00\x00")): // UTF-32
		return file{text: content, form: formBytes}, nil
	case bytes.HasPrefix(content, []byte("\xff\xfe")):
		return decode16(content, formUTF16LE, binary.LittleEndian)
	case bytes.HasPrefix(content, []byte("\xfe\xff")):
		return decode16(content, formUTF16BE, binary.BigEndian)
	case !utf8.Valid(content):
		return file{text: content, form: formBytes}, nil
	}
	return file{text: content}, nil
}

func decode16(content []byte, form form, order binary.ByteOrder) (file, error) {
	f := file{mark: content[:2:2], form: form}
	body := content[2:]
	if len(body)%2 != 0 {
		return f, refuse(Encoding, "the file begins like UTF-16 but has an odd number of bytes, so it cannot be edited as text")
	}
	f.text = make([]byte, 0, len(body))
	for i := 0; i < len(body); i += 2 {
		r := rune(order.Uint16(body[i:]))
		if utf16.IsSurrogate(r) {
			joined := utf8.RuneError
			if i+4 <= len(body) {
				joined = utf16.DecodeRune(r, rune(order.Uint16(body[i+2:])))
			}
			if joined == utf8.RuneError {
				return f, refuse(Encoding, "the file begins like UTF-16 but is not valid at byte %d, so it cannot be edited as text", i+2)
			}
			r = joined
			i += 2
		}
		f.text = utf8.AppendRune(f.text, r)
	}
	return f, nil
}

// encode returns text in the file's form, mark included.
func (f file) encode(text []byte) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	switch f.form {
	case formUTF16BE:
		order = binary.BigEndian
	case formUTF16LE:
	default:
		if len(f.mark) == 0 {
			return text
		}
		return append(append(make([]byte, 0, len(f.mark)+len(text)), f.mark...), text...)
	}
	out := append(make([]byte, 0, 2+2*len(text)), f.mark...)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(r1)), uint16(r2))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out
}

// rawSpans returns where spans of the text lie in the content.
func (f file) rawSpans(content []byte, spans []match.Span) []match.Span {
	raw := make([]match.Span, len(spans))
	wide := f.form == formUTF16LE || f.form == formUTF16BE
	at, pos := 0, len(f.mark)
	move := func(to int) int {
		if !wide {
			return len(f.mark) + to
		}
		for at < to {
			r, size := utf8.DecodeRune(f.text[at:])
			at += size
			pos += 2 * utf16.RuneLen(r)
		}
		return pos
	}
	for i, s := range spans {
		raw[i].Start = move(s.Start)
		raw[i].End = move(s.End)
	}
	return raw
}

// holds reports whether the file's encoding can hold what would be written.
func (f file) holds(q query) error {
	if !utf8.ValidString(q.new) {
		return refuse(Encoding, "new_string has half of a surrogate pair, which no file encoding can hold; write the whole character")
	}
	if f.form != formBytes {
		return nil
	}
	for _, r := range q.new {
		// A character that was matched as these very bytes can be written as them.
		if r >= utf8.RuneSelf && !strings.ContainsRune(q.old, r) {
			return refuse(Encoding, "the file is not UTF-8, and its encoding is not known to hold %q; only ASCII text can be put into it here", r)
		}
	}
	return nil
}

// Text returns content as text without its byte order mark, UTF-16 as UTF-8. Bytes
// that are no text stay as they are. It is what Apply looks at.
func Text(content []byte) []byte {
	f, err := decode(content)
	if err != nil {
		return content
	}
	return f.text
}
