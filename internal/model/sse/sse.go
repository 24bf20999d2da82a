// Package sse reads server-sent events.
//
// It follows the event stream format of the HTML standard with three deviations:
// an event whose lines are whole is delivered at a clean end of the stream even
// without the blank line after it, lines are bounded, and a field named error, in
// which llama.cpp told errors until 2025, is an event of that name. The package starts no
// goroutine; time limits belong to whoever owns the connection.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line, and the data of one event, in bytes. A provider's
// closing event repeats the whole answer, so it is generous.
const MaxLine = 32 << 20

// ErrTooLong is returned for a line or event beyond the limit. The stream
// cannot be read any further.
var ErrTooLong = errors.New("event stream line is too long")

// Event is one event. Data belongs to the reader and is valid until the next
// call of Next.
type Event struct {
	Name string // of the event field, empty when there was none
	Data []byte // the data lines, joined by newlines
}

// Reader reads events from a stream. It is for one goroutine.
type Reader struct {
	// Alive, when not nil, is called for every whole line, comments included.
	// Half a line is no sign of life.
	Alive func()

	src io.Reader
	max int
	err error // of src, met when buf is used up

	buf        []byte
	start, end int  // unread bytes are buf[start:end]
	scanned    int  // no line end in buf[start:scanned]
	skipLF     bool // the last line ended in CR; a LF right after belongs to it
	begun      bool // the first line was read

	name    string // the last event name, kept to be used again without copying
	data    []byte
	pending bool // data holds an event that is not delivered
	named   bool // name belongs to the pending event
}

// NewReader returns a reader of src.
func NewReader(src io.Reader) *Reader { return newReader(src, MaxLine) }

func newReader(src io.Reader, limit int) *Reader { return &Reader{src: src, max: limit} }

// Next returns the next event. At a clean end it returns io.EOF; an error of
// the source comes back as it is, and the event it cut is dropped.
func (r *Reader) Next() (Event, error) {
	r.forget()
	for {
		line, err := r.line()
		if err == io.EOF && r.pending {
			return r.event(), nil
		}
		if err != nil {
			return Event{}, err
		}
		if r.Alive != nil {
			r.Alive()
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if r.pending {
			return r.event(), nil
		}
		r.forget() // a name without data is no event
	}
}

func (r *Reader) forget() {
	r.data = r.data[:0]
	r.pending, r.named = false, false
}

func (r *Reader) event() Event {
	e := Event{Data: r.data}
	if r.named {
		e.Name = r.name
	}
	r.pending = false
	return e
}

// field takes one line into the event at hand. Other fields than data and event
// (id, retry) serve reconnecting, which no provider supports.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	if string(name) == "error" && !r.pending && !r.named {
		r.name, r.named, name = "error", true, []byte("data")
	}
	switch string(name) {
	case "data":
		if r.pending {
			r.data = append(r.data, '\n')
		}
		if len(r.data)+len(value) > r.max {
			return r.tooLong()
		}
		r.data = append(r.data, value...)
		r.pending = true
	case "event":
		if r.name != string(value) {
			r.name = string(value)
		}
		r.named = true
	}
	return nil
}

// line returns the next line without its end (LF, CRLF or CR). A last line
// without an end is not a line: it may be cut.
func (r *Reader) line() ([]byte, error) {
	for {
		r.skipNewline()
		if i := lineEnd(r.buf[r.scanned:r.end]); i >= 0 {
			return r.take(r.scanned + i)
		}
		r.scanned = r.end
		if r.end-r.start > r.max {
			return nil, r.tooLong()
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

// take returns the line that ends at buf[at].
func (r *Reader) take(at int) ([]byte, error) {
	line := r.buf[r.start:at]
	r.skipLF = r.buf[at] == '\r'
	r.start = at + 1
	r.scanned = r.start
	if len(line) > r.max {
		return nil, r.tooLong()
	}
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, nil
}

func (r *Reader) skipNewline() {
	if !r.skipLF || r.start == r.end {
		return
	}
	r.skipLF = false
	if r.buf[r.start] == '\n' {
		r.start++
		r.scanned = r.start
	}
}

func (r *Reader) tooLong() error {
	r.err = fmt.Errorf("%w (limit %d bytes)", ErrTooLong, r.max)
	r.start, r.scanned, r.end = 0, 0, 0
	r.pending = false
	return r.err
}

// lineEnd returns the index of the first line end in b, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// maxEmptyReads is how often a source may return nothing before it is broken.
const maxEmptyReads = 100

// fill reads more bytes behind end, or sets err.
func (r *Reader) fill() {
	r.room()
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// room makes buf longer than end, by moving the unread bytes to the front or by
// growing. The length of a line bounds the growth, see line.
func (r *Reader) room() {
	if r.start == r.end {
		r.start, r.scanned, r.end = 0, 0, 0
	}
	if r.end < len(r.buf) {
		return
	}
	if r.start > len(r.buf)/2 {
		copy(r.buf, r.buf[r.start:r.end])
	} else {
		grown := make([]byte, max(16<<10, min(2*len(r.buf), len(r.buf)+8<<20)))
		copy(grown, r.buf[r.start:r.end])
		r.buf = grown
	}
	r.scanned -= r.start
	r.end -= r.start
	r.start = 0
}
