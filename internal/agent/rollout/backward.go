package rollout

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
)

// backBlock is how much is read at a time, from the end towards the beginning.
const backBlock = 256 << 10

// Backward yields the records of a session, given as for Read, from the last to
// the first, and reads only as much of the file as is asked for. Lines that hold
// no whole record are passed over. An error ends the sequence.
func Backward(path string) iter.Seq2[Record, error] {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, rolloutName)
	}
	return func(yield func(Record, error) bool) {
		f, err := openRegular(path, os.O_RDONLY)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			yield(Record{}, err)
			return
		}
		b := backward{f: f, at: st.Size()}
		for {
			line, err := b.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("read %s: %w", path, err))
				return
			}
			h, ok := parse(line)
			if ok && !yield(Record{h.seq, h.time, h.kind, slices.Clone(line)}, nil) {
				return
			}
		}
	}
}

// backward cuts a file into lines from its end.
type backward struct {
	f    io.ReaderAt
	at   int64  // what lies before is not read yet
	held []byte // what was read and not yet returned; it begins at at
	long bool   // the line under way is longer than maxLine
	over bool
}

// next returns the line before those returned already, without its line feed.
// It is valid until the next call.
func (b *backward) next() ([]byte, error) {
	from := len(b.held)
	for {
		if i := bytes.LastIndexByte(b.held[:from], '\n'); i >= 0 {
			line := b.held[i+1:]
			b.held = b.held[:i]
			if b.long {
				b.long, line = false, nil
			}
			return line, nil
		}
		if b.at == 0 {
			if b.over {
				return nil, io.EOF
			}
			b.over = true
			line := b.held
			b.held = nil
			if b.long {
				line = nil
			}
			return line, nil
		}
		if len(b.held) > maxLine {
			b.held, b.long = b.held[:0], true
		}
		n := min(b.at, int64(max(backBlock, len(b.held)))) // doubling keeps long lines linear
		grown := make([]byte, int(n)+len(b.held))
		copy(grown[n:], b.held)
		if _, err := b.f.ReadAt(grown[:n], b.at-n); err != nil {
			return nil, err
		}
		b.at -= n
		b.held, from = grown, int(n)
	}
}
