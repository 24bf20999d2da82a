// Package charset reads the bytes of a file as text and writes text back in kind.
//
// Reading is strict: what is made of a content encodes to the same bytes, so that
// what an edit does not touch stays as it is. A byte order mark says what a file
// is; without one it is UTF-8 if it is valid, and otherwise what it is declared to
// be, or bytes that nobody understands. The package is pure.
package charset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// form is how bytes stand for text.
type form int

const (
	formNone form = iota // not declared
	formUTF8
	formUTF16LE
	formUTF16BE
	formTable // by a table of x/text
	formBytes // not known: bytes are compared as they are
)

// The marks that files may begin with.
var (
	mark8    = []byte("\xef\xbb\xbf")
	mark16LE = []byte("\xff\xfe")
	mark16BE = []byte("\xfe\xff")
	mark32LE = []byte("\xff\xfe\x00\x00")
)

// Charset is an encoding that a file is declared to have. The zero value declares
// nothing.
type Charset struct {
	name  string
	form  form
	mark  bool // new files begin with a byte order mark
	hint  bool
	table encoding.Encoding
}

// Hint returns c as a declaration that may be wrong: valid UTF-8 beyond ASCII is
// then UTF-8 whatever is declared, and what is not as declared is read as if
// nothing were.
func (c Charset) Hint() Charset {
	c.hint = true
	return c
}

// Declared reports whether c says anything.
func (c Charset) Declared() bool { return c.form != formNone }

// String returns the name that versions show, empty if nothing is declared.
func (c Charset) String() string { return c.name }

// Named returns the charset of a name: utf-8, utf-8-bom, utf-16le, utf-16be,
// latin1, and the names that the WHATWG Encoding Standard lists, such as
// windows-1252, shift_jis, gbk or koi8-r. Encodings whose bytes depend on what
// stands before them, as those of ISO 2022 do, are refused: a splice would change
// what follows it.
func Named(name string) (Charset, error) {
	switch key := strings.ToLower(strings.TrimSpace(name)); key {
	case "utf-8", "utf8":
		return Charset{name: "utf-8", form: formUTF8}, nil
	case "utf-8-bom", "utf8-bom", "utf8bom", "utf-8-sig":
		return Charset{name: "utf-8-bom", form: formUTF8, mark: true}, nil
	case "utf-16le", "utf16le", "utf-16", "utf16":
		return Charset{name: "utf-16le", form: formUTF16LE, mark: true}, nil
	case "utf-16be", "utf16be":
		return Charset{name: "utf-16be", form: formUTF16BE, mark: true}, nil
	case "latin1", "latin-1", "iso-8859-1", "iso8859-1":
		// The web takes these for windows-1252; files mean what they say.
		return Charset{name: "iso-8859-1", form: formTable, table: charmap.ISO8859_1}, nil
	default:
		table, err := htmlindex.Get(key)
		if err != nil {
			return Charset{}, fmt.Errorf("encoding %.40q is not known; use utf-8, utf-8-bom, utf-16le, utf-16be, latin1 or a "+
				"name of the WHATWG Encoding Standard such as windows-1252, shift_jis, gb18030, euc-kr or koi8-r", name)
		}
		known, err := htmlindex.Name(table)
		if err != nil || known == "iso-2022-jp" || known == "replacement" || known == "x-user-defined" ||
			strings.HasPrefix(known, "utf-") {
			return Charset{}, fmt.Errorf("encoding %.40q is not supported for editing; convert the file with a command", name)
		}
		return Charset{name: known, form: formTable, table: table}, nil
	}
}

// Error says that a content is not in an encoding, or that an encoding cannot hold
// a text.
type Error struct {
	Encoding string
	// Offset is the first byte that cannot be read, or -1 when Char cannot be
	// written.
	Offset int
	Char   rune
}

func (e *Error) Error() string {
	if e.Offset >= 0 {
		return fmt.Sprintf("the file is not valid %s at byte %d", e.Encoding, e.Offset)
	}
	if e.Char == utf8.RuneError {
		return "the text has half of a surrogate pair or bytes that are no character, which no file encoding can hold; " +
			"write the whole character"
	}
	return fmt.Sprintf("the file's encoding, %s, cannot hold %q (U+%04X)", e.Encoding, e.Char, e.Char)
}

// Text is a content read as text. It shares the content's memory where it can.
type Text struct {
	// Bytes are UTF-8 without the byte order mark; of a content that nobody
	// understands they are the content itself.
	Bytes []byte
	mark  []byte // as it stands in the file
	form  form
	set   Charset // of formTable
	// See DecodeBroken.
	broken bool
	rest   []byte
}

// Decode reads content. A byte order mark goes before what is declared. An error
// is an *Error: the content is not what its mark or the declaration says.
func Decode(content []byte, declared Charset) (Text, error) {
	if !declared.hint {
		return decode(content, declared)
	}
	if declared.form != formTable || ASCII(content) || !utf8.Valid(content) {
		if t, err := decode(content, declared); err == nil {
			return t, nil
		}
	}
	return decode(content, Charset{})
}

func decode(content []byte, declared Charset) (Text, error) {
	switch {
	case bytes.HasPrefix(content, mark8):
		t := Text{Bytes: content[3:], mark: content[:3:3], form: formUTF8}
		if !utf8.Valid(t.Bytes) {
			t.form = formBytes
		}
		return t, nil
	case bytes.HasPrefix(content, mark32LE):
		return Text{Bytes: content, form: formBytes}, nil
	case bytes.HasPrefix(content, mark16LE):
		return decode16(content, 2, formUTF16LE)
	case bytes.HasPrefix(content, mark16BE):
		return decode16(content, 2, formUTF16BE)
	}
	switch declared.form {
	case formUTF16LE, formUTF16BE:
		return decode16(content, 0, declared.form)
	case formTable:
		return decodeTable(content, declared)
	}
	if utf8.Valid(content) {
		return Text{Bytes: content, form: formUTF8}, nil
	}
	if declared.form == formUTF8 {
		return Text{}, &Error{Encoding: "utf-8", Offset: invalid(content)}
	}
	return Text{Bytes: content, form: formBytes}, nil
}

// ASCII reports whether b is nothing but ASCII.
func ASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Plain returns content as text, as far as it is one, without its mark. What is no
// text stays as it is.
func Plain(content []byte) []byte {
	t, err := Decode(content, Charset{})
	if err != nil {
		return content
	}
	return t.Bytes
}

// New returns the empty text of a file that is to be made.
func New(declared Charset) Text {
	t := Text{form: formUTF8}
	switch declared.form {
	case formTable:
		t.form, t.set = formTable, declared
	case formUTF8:
		if declared.mark {
			t.mark = mark8
		}
	case formUTF16LE:
		t.form, t.mark = declared.form, mark16LE
	case formUTF16BE:
		t.form, t.mark = declared.form, mark16BE
	}
	return t
}

func decodeTable(content []byte, c Charset) (Text, error) {
	t := Text{form: formTable, set: c}
	// Of a table that holds ASCII as it is, ASCII needs no table.
	if ASCII(content) {
		t.Bytes = content
	} else {
		var err error
		if t.Bytes, err = c.table.NewDecoder().Bytes(content); err != nil {
			return Text{}, &Error{Encoding: c.name, Offset: 0}
		}
	}
	back, err := c.table.NewEncoder().Bytes(t.Bytes)
	if err == nil && bytes.Equal(back, content) {
		return t, nil
	}
	if err != nil { // what could be written tells how far the content is good
		back = make([]byte, len(content)+utf8.UTFMax)
		n, _, _ := c.table.NewEncoder().Transform(back, t.Bytes, true)
		back = back[:n]
	}
	at := 0
	for at < len(back) && at < len(content) && back[at] == content[at] {
		at++
	}
	return Text{}, &Error{Encoding: c.name, Offset: at}
}

func decode16(content []byte, skip int, form form) (Text, error) {
	t := Text{mark: content[:skip:skip], form: form}
	if skip == 0 {
		t.mark = nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	name := "utf-16le"
	if form == formUTF16BE {
		order, name = binary.BigEndian, "utf-16be"
	}
	body := content[skip:]
	t.Bytes = make([]byte, 0, len(body)/2+16)
	for i := 0; i < len(body); i += 2 {
		if i+1 == len(body) {
			return Text{}, &Error{Encoding: name, Offset: i + skip}
		}
		r := rune(order.Uint16(body[i:]))
		if utf16.IsSurrogate(r) {
			joined := utf8.RuneError
			if i+4 <= len(body) {
				joined = utf16.DecodeRune(r, rune(order.Uint16(body[i+2:])))
			}
			if joined == utf8.RuneError {
				return Text{}, &Error{Encoding: name, Offset: i + skip}
			}
			r = joined
			i += 2
		}
		t.Bytes = utf8.AppendRune(t.Bytes, r)
	}
	return t, nil
}

// Known reports whether the bytes are understood: Text.Bytes is then valid UTF-8.
func (t Text) Known() bool { return t.form != formBytes }

// Same reports whether t and o are written alike, so that a text of one may be put
// into the other.
func (t Text) Same(o Text) bool {
	return t.form == o.form && t.set.name == o.set.name && bytes.Equal(t.mark, o.mark) &&
		t.broken == o.broken && bytes.Equal(t.rest, o.rest)
}

// Encoding names the encoding: utf-8, utf-8-bom, utf-16le, utf-16be, the declared
// name, or unknown-8bit.
func (t Text) Encoding() string {
	switch t.form {
	case formUTF16LE:
		return "utf-16le"
	case formUTF16BE:
		return "utf-16be"
	case formTable:
		return t.set.name
	case formBytes:
		return "unknown-8bit"
	}
	if len(t.mark) > 0 {
		return "utf-8-bom"
	}
	return "utf-8"
}

// Encode returns text in t's encoding, with its byte order mark; a mark that text
// itself begins with is not doubled, unless t has it twice too. An error is an *Error that names the first
// character that cannot be held. Bytes that nobody understands are put down as
// they are.
func (t Text) Encode(text []byte) ([]byte, error) {
	if t.form == formBytes {
		return t.marked(text), nil
	}
	wrong := invalid
	if t.broken {
		wrong = invalidUnit
	}
	if wrong(text) >= 0 {
		return nil, &Error{Encoding: t.Encoding(), Offset: -1, Char: utf8.RuneError}
	}
	if t.form != formTable && len(t.mark) > 0 && !bytes.HasPrefix(t.Bytes, mark8) {
		text = bytes.TrimPrefix(text, mark8)
	}
	switch t.form {
	case formUTF16LE:
		return t.encode16(text, binary.LittleEndian), nil
	case formUTF16BE:
		return t.encode16(text, binary.BigEndian), nil
	case formTable:
		return t.encodeTable(text)
	}
	return t.marked(text), nil
}

func (t Text) marked(text []byte) []byte {
	if len(t.mark) == 0 {
		return text
	}
	return append(append(make([]byte, 0, len(t.mark)+len(text)), t.mark...), text...)
}

func (t Text) encode16(text []byte, order binary.AppendByteOrder) []byte {
	out := append(make([]byte, 0, len(t.mark)+2*len(text)+len(t.rest)), t.mark...)
	for i := 0; i < len(text); {
		r, size := nextUnit(text[i:])
		i += size
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(r1)), uint16(r2))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return append(out, t.rest...)
}

func (t Text) encodeTable(text []byte) ([]byte, error) {
	enc := t.set.table.NewEncoder()
	out, err := enc.Bytes(text)
	// What is written must read as it was meant: some tables fold characters.
	if err == nil {
		if back, err := t.set.table.NewDecoder().Bytes(out); err == nil && bytes.Equal(back, text) {
			return out, nil
		}
	}
	for _, r := range string(text) {
		one := []byte(string(r))
		if put, err := enc.Bytes(one); err == nil {
			if back, err := t.set.table.NewDecoder().Bytes(put); err == nil && bytes.Equal(back, one) {
				continue
			}
		}
		return nil, &Error{Encoding: t.set.name, Offset: -1, Char: r}
	}
	return nil, &Error{Encoding: t.set.name, Offset: -1, Char: utf8.RuneError}
}

// Size returns how many bytes a part of Text.Bytes, cut between characters, takes
// in the file; the mark counts for nothing.
func (t Text) Size(part []byte) int {
	switch t.form {
	case formUTF16LE, formUTF16BE:
		n := 0
		for i := 0; i < len(part); {
			r, size := nextUnit(part[i:])
			i += size
			n += 2
			if r > 0xffff {
				n += 2
			}
		}
		return n
	case formTable:
		if out, err := t.set.table.NewEncoder().Bytes(part); err == nil {
			return len(out)
		}
	}
	return len(part)
}

// Mark returns the number of bytes of the byte order mark.
func (t Text) Mark() int { return len(t.mark) }

// invalid returns the offset of the first byte that is no UTF-8, or -1.
func invalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n < 2 {
			return at
		}
		at += n
	}
	return -1
}
