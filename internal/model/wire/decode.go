package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode reads JSON into v. A member of another type than it should have is left out, because
// servers differ in what they send for nothing; all others are read.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return nil
	}
	return err
}

// Index is a whole number, which some servers write as a text. Others are nothing.
type Index struct {
	Value int
	Told  bool
}

// UnmarshalJSON reads an index.
func (i *Index) UnmarshalJSON(raw []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	*i = Index{n, err == nil}
	return nil
}

// Text is the string that raw holds. Halves of letters, by which a stream was cut in two, stay
// what they are; see Halves.
func Text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	if strings.ContainsRune(s, utf8.RuneError) {
		s = unquoted(raw[1 : len(raw)-1])
	}
	return s, true
}

// Piece is a piece of streamed text, see Text.
type Piece string

// UnmarshalJSON reads a piece. What is no string is an empty one.
func (p *Piece) UnmarshalJSON(raw []byte) error {
	s, _ := Text(raw)
	*p = Piece(s)
	return nil
}

// unquoted is the content of a JSON string. A half of a surrogate pair becomes three bytes, as
// if UTF-8 had a form for it; bytes that are no UTF-8 stay.
func unquoted(raw []byte) string {
	var b []byte
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 >= len(raw) {
			b = append(b, c)
			continue
		}
		i++
		if raw[i] == 'u' && i+5 <= len(raw) {
			if n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16); err == nil {
				b = appendUnit(b, rune(n))
				i += 4
				continue
			}
		}
		if at := strings.IndexByte("bfnrt", raw[i]); at >= 0 {
			b = append(b, "\b\f\n\r\t"[at])
		} else {
			b = append(b, raw[i])
		}
	}
	return string(b)
}

// appendUnit appends one unit of UTF-16, joined with the first half of a pair that is there.
func appendUnit(b []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(b, r)
	}
	if high, ok := lastHalf(b); ok {
		if pair := utf16.DecodeRune(high, r); pair != utf8.RuneError {
			return utf8.AppendRune(b[:len(b)-3], pair)
		}
	}
	return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
}

// lastHalf is the first half of a surrogate pair at the end of b.
func lastHalf(b []byte) (rune, bool) {
	if n := len(b); n >= 3 && b[n-3] == 0xED && b[n-2] >= 0xA0 && b[n-2] < 0xB0 {
		return 0xD000 | rune(b[n-2]&0x3F)<<6 | rune(b[n-1]&0x3F), true
	}
	return 0, false
}

// Halves joins letters that a server cut in two: the bytes of one, or the two halves of a
// surrogate pair. It is for the pieces of one text.
type Halves struct{ rest string }

// Join returns what is whole of the text so far and was not returned before.
func (h *Halves) Join(piece string) string {
	if h.rest == "" && utf8.ValidString(piece) {
		return piece
	}
	var b []byte
	for _, c := range []byte(h.rest + piece) {
		b = append(b, c)
		if n := len(b); n >= 6 && b[n-3] == 0xED && b[n-2] >= 0xB0 { // the second half of a pair
			if high, ok := lastHalf(b[:n-3]); ok {
				low := 0xD000 | rune(b[n-2]&0x3F)<<6 | rune(b[n-1]&0x3F)
				b = utf8.AppendRune(b[:n-6], utf16.DecodeRune(high, low))
			}
		}
	}
	whole := len(b) - tail(b)
	h.rest = string(b[whole:])
	return strings.ToValidUTF8(string(b[:whole]), "\ufffd")
}

// tail is how many bytes at the end of b may be the beginning of a letter.
func tail(b []byte) int {
	if _, ok := lastHalf(b); ok {
		return 3
	}
	for n := 1; n <= min(3, len(b)); n++ {
		if start := b[len(b)-n:]; utf8.RuneStart(start[0]) {
			if start[0] >= 0xC2 && !utf8.FullRune(start) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Rest returns what is left when the text ended.
func (h *Halves) Rest() string {
	rest := strings.ToValidUTF8(h.rest, "\ufffd")
	h.rest = ""
	return rest
}

// lines are the events of data lines that a server put into one: each line is JSON by itself.
// Anything else is one event.
func lines(data []byte) [][]byte {
	if bytes.IndexByte(data, '\n') < 0 || json.Valid(data) {
		return [][]byte{data}
	}
	var all [][]byte
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !json.Valid(line) && string(line) != "[DONE]" {
			return [][]byte{data}
		}
		if len(line) > 0 {
			all = append(all, line)
		}
	}
	return all
}
