// Package position converts between bytes of a text and the positions of the Language
// Server Protocol: a line, and a column that counts bytes, UTF-16 units or characters.
package position

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Encoding says what the columns of a server count.
type Encoding string

// The encodings of the protocol. A server that names none counts UTF-16 units.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a place in a text, both numbers from 0.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is from Start up to End, which is not part of it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is a content with the beginnings of its lines. A mark of the byte order at its
// beginning is not part of what servers are told, and counts in no column.
type Text struct {
	data   []byte
	skip   int   // bytes of the mark
	starts []int // of the lines
}

var mark = []byte("\xef\xbb\xbf")

// Of indexes a content. It reports false for one that is not UTF-8, of which no server is told.
func Of(data []byte) (Text, bool) {
	if !utf8.Valid(data) {
		return Text{}, false
	}
	t := Text{data: data}
	if bytes.HasPrefix(data, mark) {
		t.skip = len(mark)
	}
	t.starts = []int{t.skip}
	for i := t.skip; i < len(data); i++ {
		switch {
		case data[i] == '\n', data[i] == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			t.starts = append(t.starts, i+1)
		}
	}
	return t, true
}

// Told is the content as a server is told it.
func (t Text) Told() string { return string(t.data[t.skip:]) }

// Lines is how many lines there are; the last one may be empty.
func (t Text) Lines() int { return len(t.starts) }

// Line returns a line without its end, and the offset of its first byte. It is empty where there is none.
func (t Text) Line(n int) (line []byte, start int) {
	if n < 0 || n >= len(t.starts) {
		return nil, len(t.data)
	}
	start = t.starts[n]
	end := len(t.data)
	if n+1 < len(t.starts) {
		end = t.starts[n+1]
	}
	return bytes.TrimRight(t.data[start:end], "\r\n"), start
}

// Offset is the byte at a position. A column behind the end of its line is that end, as the
// protocol has it; ok is false for a line that is not there and within a character.
func (t Text) Offset(p Position, e Encoding) (offset int, ok bool) {
	if int64(p.Line) >= int64(len(t.starts)) {
		return 0, false
	}
	line, start := t.Line(int(p.Line))
	want, have := int64(p.Character), int64(0)
	for i := 0; i < len(line); {
		if have == want {
			return start + i, true
		}
		if have > want {
			return 0, false
		}
		r, size := utf8.DecodeRune(line[i:])
		if e == UTF8 && want < have+int64(size) {
			return 0, false
		}
		have += width(r, size, e)
		i += size
	}
	return start + len(line), have <= want
}

// At is the position of a byte.
func (t Text) At(offset int, e Encoding) Position {
	offset = max(t.skip, min(offset, len(t.data)))
	n := sort.SearchInts(t.starts, offset+1) - 1
	p := Position{Line: uint32(n)}
	for i := t.starts[n]; i < offset; {
		r, size := utf8.DecodeRune(t.data[i:])
		p.Character += uint32(width(r, size, e))
		i += size
	}
	return p
}

// width is how far a character moves the column.
func width(r rune, size int, e Encoding) int64 {
	switch {
	case e == UTF8:
		return int64(size)
	case e == UTF32, r < 0x10000:
		return 1
	}
	return 2
}

// Edit is a passage that is replaced.
type Edit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// Apply makes edits, all of which are about the text as it is. It reports false where one
// lies outside of the text, or two overlap.
func (t Text) Apply(edits []Edit, e Encoding) ([]byte, bool) {
	type span struct {
		from, to int
		text     string
	}
	spans := make([]span, len(edits))
	for i, ed := range edits {
		from, ok := t.Offset(ed.Range.Start, e)
		to, ok2 := t.Offset(ed.Range.End, e)
		if !ok || !ok2 || to < from {
			return nil, false
		}
		spans[i] = span{from, to, ed.NewText}
	}
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []byte
	at := 0
	for _, s := range spans {
		if s.from < at {
			return nil, false
		}
		out = append(append(out, t.data[at:s.from]...), s.text...)
		at = s.to
	}
	return append(out, t.data[at:]...), true
}
