package brief

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"kerf/internal/agent/rollout"
)

// Text is a field of a record that is a string, read as it is needed: however long it is, little of it
// is in memory.
type Text struct {
	f  *os.File
	in *bufio.Reader
	// rest is what was decoded and not yet returned; over says that the string has ended.
	rest []byte
	over bool
	err  error // behind the rest
}

// errNoText says that a record has no such string.
var errNoText = errors.New("the record has no such text")

// TextOf opens a field of the record whose line stands between two places of the record in dir. Where
// there is none that is a string, it is empty.
func TextOf(dir string, from, end int64, name string) (*Text, error) {
	f, err := rollout.OpenRecord(dir)
	if err != nil {
		return nil, err
	}
	t := &Text{f: f, in: bufio.NewReaderSize(io.NewSectionReader(f, from, end-from), 64<<10)}
	switch err := t.find(name); {
	case errors.Is(err, errNoText), errors.Is(err, io.EOF):
		t.over = true
	case err != nil:
		f.Close()
		return nil, err
	}
	return t, nil
}

// Close closes the record.
func (t *Text) Close() error { return t.f.Close() }

// Read is [io.Reader]. The text is valid UTF-8.
func (t *Text) Read(to []byte) (int, error) {
	for len(t.rest) == 0 {
		if t.over {
			return 0, io.EOF
		}
		if t.err != nil {
			return 0, t.err
		}
		t.err = t.decode()
	}
	n := copy(to, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// find goes to the beginning of the string of a field.
func (t *Text) find(name string) error {
	if c, err := t.in.ReadByte(); err != nil || c != '{' {
		return errNoText
	}
	for {
		if c, err := t.in.ReadByte(); err != nil || c != '"' {
			return errNoText
		}
		key, err := t.key()
		if err != nil {
			return err
		}
		if c, err := t.in.ReadByte(); err != nil || c != ':' {
			return errNoText
		}
		if c, err := t.in.Peek(1); err == nil && c[0] == '"' && key == name {
			_, err := t.in.ReadByte()
			return err
		}
		if err := t.skip(); err != nil {
			return err
		}
	}
}

// key is the name of a field; one with escapes, or a long one, is none that is looked for.
func (t *Text) key() (string, error) {
	var b []byte
	for {
		c, err := t.in.ReadByte()
		switch {
		case err != nil:
			return "", err
		case c == '"':
			return string(b), nil
		case c == '\\':
			b = append(b, c)
			if c, err = t.in.ReadByte(); err != nil {
				return "", err
			}
		}
		if b = append(b, c); len(b) > 1<<10 {
			return "", errNoText
		}
	}
}

// skip passes over a value and the comma behind it.
func (t *Text) skip() error {
	depth, inString := 0, false
	for {
		c, err := t.in.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case inString && c == '\\':
			if _, err := t.in.ReadByte(); err != nil {
				return err
			}
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return errNoText
			}
		case c == ',' && depth == 0:
			return nil
		}
	}
}

// decode adds some of the string to what is decoded.
func (t *Text) decode() error {
	const much = 32 << 10
	t.rest = t.rest[:0]
	for len(t.rest) < much {
		c, err := t.in.ReadByte()
		switch {
		case err != nil:
		case c == '"':
			t.over = true
			t.valid()
			return nil
		case c == '\\':
			err = t.escape()
		default:
			t.rest = append(t.rest, c)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // also within an escape
		}
		if err != nil {
			t.valid()
			return err
		}
	}
	for t.rest[len(t.rest)-1] >= utf8.RuneSelf { // not within a character
		c, err := t.in.Peek(1)
		if err != nil || utf8.RuneStart(c[0]) {
			break
		}
		if _, err := t.in.ReadByte(); err != nil {
			return err
		}
		t.rest = append(t.rest, c[0])
	}
	t.valid()
	return nil
}

func (t *Text) valid() {
	if !utf8.Valid(t.rest) {
		t.rest = []byte(string([]rune(string(t.rest))))
	}
}

// escapes are what stands behind a backslash, but for u.
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '/': '/'}

func (t *Text) escape() error {
	c, err := t.in.ReadByte()
	if err != nil {
		return err
	}
	if c != 'u' {
		t.rest = append(t.rest, escapes[c])
		return nil
	}
	r, err := t.unit()
	if err != nil {
		return err
	}
	if next, err := t.in.Peek(6); utf16.IsSurrogate(r) && err == nil && next[0] == '\\' && next[1] == 'u' {
		low, err := strconv.ParseUint(string(next[2:]), 16, 16)
		if both := utf16.DecodeRune(r, rune(low)); err == nil && both != utf8.RuneError {
			r = both
			if _, err := t.in.Discard(6); err != nil {
				return err
			}
		}
	}
	t.rest = utf8.AppendRune(t.rest, r) // half a pair is U+FFFD
	return nil
}

func (t *Text) unit() (rune, error) {
	var b [4]byte
	if _, err := io.ReadFull(t.in, b[:]); err != nil {
		return 0, err
	}
	u, err := strconv.ParseUint(string(b[:]), 16, 16)
	if err != nil {
		return utf8.RuneError, nil
	}
	return rune(u), nil
}
