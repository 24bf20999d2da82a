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
func Backward(path string) iter.Seq2[Record, error] { return BackwardOf(path, Back{}) }

// Back says which records of a session are read backwards.
type Back struct {
	// Want is asked for the type of each line as it is reached, nil wants all. The others are
	// passed over by their beginnings, which is some ten times as fast.
	Want func(kind string) bool
	// From is where a line ends, to begin with that one; 0 is the end of the file. To is where
	// the last one begins.
	From, To int64
	// Most is how many bytes are read at most; 0 is no bound.
	Most int64
	// Stop is asked for each record by its line, before that is looked at as a whole, which takes
	// long for megabytes: true ends the reading before it. Nil never does. It must not keep Raw.
	Stop func(Record) bool
	// End is told where the line of each record ends, before the record is yielded, if it is
	// not nil.
	End *int64
}

// OpenRecord opens the record in dir to read it.
func OpenRecord(dir string) (*os.File, error) {
	return openRegular(filepath.Join(dir, rolloutName), os.O_RDONLY)
}

// openRecords opens the records of a session, given as for Read.
func openRecords(path string) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, rolloutName)
	}
	return openRegular(path, os.O_RDONLY)
}

// BackwardOf is Backward for the records that o names.
func BackwardOf(path string, o Back) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := openRecords(path)
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
		if o.From > 0 {
			b.at = min(b.at, o.From)
		}
		if b.floor = min(b.at, max(0, o.To)); o.Most > 0 && b.at-o.Most > b.floor {
			b.floor, b.cut = b.at-o.Most, true
		}
		for {
			line, err := b.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("read %s: %w", path, err))
				return
			}
			began, asked := parseHead(line)
			if asked && o.Want != nil && !o.Want(began.kind) {
				continue
			}
			if o.End != nil {
				*o.End = b.begun() + int64(len(line)+1)
			}
			if asked && o.Stop != nil && o.Stop(Record{began.seq, began.time, began.kind, line}) {
				return
			}
			h, ok := parse(line)
			if !ok || o.Want != nil && !o.Want(h.kind) {
				continue
			}
			if !yield(Record{h.seq, h.time, h.kind, slices.Clone(line)}, nil) {
				return
			}
		}
	}
}

// begun is where the line begins that was returned last.
func (b *backward) begun() int64 {
	if b.over { // the first line: no line feed stands before it
		return b.floor
	}
	return b.at + int64(len(b.held)+1)
}

// backward cuts a file into lines from its end.
type backward struct {
	f  io.ReaderAt
	at int64 // what lies before is not read yet
	// floor is where the reading ends. Cut says that no line begins there.
	floor int64
	cut   bool

	held []byte // what was read and not yet returned; it begins at at
	ends []int  // where lines end in held, looked for forwards: that is much faster
	long bool   // the line under way is longer than maxLine
	over bool
}

// next returns the line before those returned already, without its line feed.
// It is valid until the next call.
func (b *backward) next() ([]byte, error) {
	for {
		if last := len(b.ends) - 1; last >= 0 {
			i := b.ends[last]
			line := b.held[i+1:]
			b.held, b.ends = b.held[:i], b.ends[:last]
			if b.long || len(line) >= maxLine {
				b.long, line = false, nil
			}
			return line, nil
		}
		if b.at <= b.floor {
			if b.over || b.cut {
				return nil, io.EOF
			}
			b.over = true
			line := b.held
			if b.long || len(line) >= maxLine {
				line = nil
			}
			return line, nil
		}
		if len(b.held) > maxLine {
			b.held, b.long = b.held[:0], true
		}
		n := min(b.at-b.floor, int64(max(backBlock, len(b.held)))) // doubling keeps long lines linear
		grown := make([]byte, int(n)+len(b.held))
		copy(grown[n:], b.held)
		if _, err := b.f.ReadAt(grown[:n], b.at-n); err != nil {
			return nil, err
		}
		b.at -= n
		b.held = grown
		for i := 0; ; i++ { // what was held has none
			next := bytes.IndexByte(grown[i:n], '\n')
			if next < 0 {
				break
			}
			i += next
			b.ends = append(b.ends, i)
		}
	}
}
