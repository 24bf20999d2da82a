// Package lines tells where the lines of a text are and how it is written.
//
// Only a line feed ends a line; a carriage return before it belongs to the
// ending. Nothing here rewrites a byte, and every function takes any bytes.
package lines

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// The values of Info.Ending. A text without a line feed has the ending "".
const (
	LF    = "lf"
	CRLF  = "crlf"
	Mixed = "mixed"
)

// The values of Info.Encoding.
const (
	UTF8     = "utf-8"
	UTF8BOM  = "utf-8-bom"
	UTF16LE  = "utf-16le"
	UTF16BE  = "utf-16be"
	Binary   = "binary"
	Unknown8 = "unknown-8bit" // some 8-bit encoding, or broken UTF-8
)

// Split cuts b after each line feed. The lines keep their ends, share b's
// memory and concatenate to b; an empty b has none.
func Split(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	out := make([][]byte, 0, Count(b))
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			n = len(b)
		}
		out = append(out, b[:n:n])
		b = b[n:]
	}
	return out
}

// Count returns how many lines b has: its line feeds, plus one if bytes follow
// the last of them.
func Count(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// Info is what can be known of a text without understanding it.
type Info struct {
	Lines        int
	Ending       string // LF, CRLF, Mixed, or "" without any line end
	Encoding     string
	FinalNewline bool // the last line is terminated
}

// Facts looks at the whole of b. Lines of UTF-16 are counted in its code units.
// A text in UTF-16 needs a byte order mark to be known as such; without one its
// NUL bytes make it binary.
func Facts(b []byte) Info {
	enc := encoding(b)
	lf, crlf, final := 0, 0, false
	switch enc {
	case UTF16LE, UTF16BE:
		lf, crlf, final = endings16(b, enc == UTF16BE)
		b = b[2:]
	default:
		lf = bytes.Count(b, []byte{'\n'})
		crlf = bytes.Count(b, []byte("\r\n"))
		final = len(b) > 0 && b[len(b)-1] == '\n'
		if enc == UTF8BOM {
			b = b[3:]
		}
	}
	info := Info{Lines: lf, Ending: ending(lf, crlf), Encoding: enc, FinalNewline: final}
	if len(b) > 0 && !final {
		info.Lines++
	}
	return info
}

func ending(lf, crlf int) string {
	switch {
	case lf == 0:
		return ""
	case crlf == 0:
		return LF
	case crlf == lf:
		return CRLF
	}
	return Mixed
}

// endings16 counts line feeds, and those after a carriage return, in code units.
func endings16(b []byte, big bool) (lf, crlf int, final bool) {
	hi, lo := 1, 0
	if big {
		hi, lo = 0, 1
	}
	var prev byte
	for i := 2; i+1 < len(b); i += 2 {
		final = false
		c := b[i+lo]
		if b[i+hi] != 0 {
			c = 0
		}
		if c == '\n' {
			lf++
			final = true
			if prev == '\r' {
				crlf++
			}
		}
		prev = c
	}
	return lf, crlf, final
}

func encoding(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE, 0, 0}), bytes.HasPrefix(b, []byte{0, 0, 0xFE, 0xFF}):
		return Binary // UTF-32, which nobody edits
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}) && len(b)%2 == 0:
		return UTF16LE
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}) && len(b)%2 == 0:
		return UTF16BE
	case bytes.IndexByte(b, 0) >= 0:
		return Binary
	case !utf8.Valid(b):
		return Unknown8
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return UTF8BOM
	}
	return UTF8
}

// Index maps byte offsets of a text to lines and back. It is immutable.
type Index struct {
	starts []int // the offset of each line; starts[0] is 0
	size   int
}

// NewIndex indexes b in one pass and keeps no reference to it.
func NewIndex(b []byte) *Index {
	x := &Index{size: len(b)}
	if len(b) == 0 {
		return x
	}
	x.starts = make([]int, 1, Count(b))
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], '\n') + 1
		if n == 0 || at+n == len(b) {
			return x
		}
		at += n
		x.starts = append(x.starts, at)
	}
}

// LineOf returns the 1-based line that holds the byte at offset. Offsets before
// the text are on line 1; those at its end or beyond are on the last line, as
// an unterminated line's end is.
func (x *Index) LineOf(offset int) int {
	return max(1, sort.SearchInts(x.starts, offset+1))
}

// Offset returns where the 1-based line starts. Lines beyond the last start at
// the end of the text, those before the first at 0.
func (x *Index) Offset(line int) int {
	switch {
	case line <= 1:
		return 0
	case line > len(x.starts):
		return x.size
	}
	return x.starts[line-1]
}
