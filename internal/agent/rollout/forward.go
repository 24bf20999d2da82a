package rollout

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Placed is a record and where its line stands in the file. End is where the next one begins.
type Placed struct {
	Record
	From, End int64
}

// Ahead says which records of a session are read forwards.
type Ahead struct {
	// From is where a line begins, and To where one ends; 0 is the end of the file.
	From, To int64
	// Most ends the reading behind the line that reaches so many bytes; 0 is no bound.
	Most int64
	// Want is asked for each line as it is reached, nil wants all. The others are passed over
	// by their beginnings. It must not keep Raw.
	Want func(Placed) bool
	// Begin and End are told where each line begins and ends, those that are passed over as well,
	// if they are not nil.
	Begin, End *int64
	// Done ends the reading when it is closed, with context.Canceled; nil never does. A line that
	// is none may be longer than any memory.
	Done <-chan struct{}
	// Damaged is told where lines begin that are no records, as far as they are looked at, if it
	// is not nil.
	Damaged func(from int64)
}

// How much is read at a time: little at first, since many want a few lines only.
const (
	aheadFirst = 32 << 10
	aheadBlock = 1 << 20
)

// Forward yields records of a session, given as for Read, in order. A line without its line
// feed is still being written and is left out; so are lines that hold no whole record. An
// error ends the sequence.
func Forward(path string, o Ahead) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) { o.forward(path, yield) }
}

func (o Ahead) forward(path string, yield func(Placed, error) bool) {
	f, err := openRecords(path)
	if err != nil {
		yield(Placed{}, err)
		return
	}
	defer f.Close()
	to := o.To
	if to == 0 {
		st, err := f.Stat()
		if err != nil {
			yield(Placed{}, err)
			return
		}
		to = st.Size()
	}
	a := ahead{r: io.NewSectionReader(f, o.From, max(0, to-o.From)), at: o.From, done: o.Done}
	for o.Most <= 0 || a.at-o.From < o.Most {
		line, from, err := a.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			yield(Placed{}, fmt.Errorf("read %s: %w", path, err))
			return
		}
		if o.End != nil {
			*o.End = a.at
		}
		if o.Begin != nil {
			*o.Begin = from
		}
		h, asked := parseHead(line)
		if asked && !o.wants(h, line, from, a.at) {
			continue
		}
		h, ok := parse(line)
		if !ok && len(line) > 0 && o.Damaged != nil {
			o.Damaged(from)
		}
		if !ok || !asked && !o.wants(h, line, from, a.at) {
			continue
		}
		if !yield(Placed{Record{h.seq, h.time, h.kind, slices.Clone(line)}, from, a.at}, nil) {
			return
		}
	}
}

func (o Ahead) wants(h head, line []byte, from, end int64) bool {
	return o.Want == nil || o.Want(Placed{Record{h.seq, h.time, h.kind, line}, from, end})
}

// ahead cuts a file into lines from a place on.
type ahead struct {
	r     io.Reader
	at    int64 // where the next line begins
	buf   []byte
	held  []byte // what was read and not yet returned, within buf
	block int    // how much was read at once
	done  <-chan struct{}
}

// next returns a line without its line feed, and where it begins. One that is longer than
// maxLine with it is returned empty. The line is valid until the next call.
func (a *ahead) next() ([]byte, int64, error) {
	from, seen, long := a.at, 0, false
	for {
		if i := bytes.IndexByte(a.held[seen:], '\n'); i >= 0 {
			line := a.held[:seen+i]
			a.held = a.held[seen+i+1:]
			a.at += int64(len(line) + 1)
			if long || len(line) >= maxLine {
				line = nil
			}
			return line, from, nil
		}
		if seen = len(a.held); seen > maxLine {
			a.at, a.held, seen, long = a.at+int64(seen), nil, 0, true
		}
		if err := a.read(); err != nil {
			return nil, 0, err
		}
	}
}

// read adds to what is held.
func (a *ahead) read() error {
	select {
	case <-a.done:
		return context.Canceled
	default:
	}
	a.block = min(max(aheadFirst, 2*a.block), aheadBlock)
	if need := len(a.held) + a.block; len(a.buf) < need {
		buf := make([]byte, need+len(a.held)) // doubling keeps long lines linear
		copy(buf, a.held)
		a.buf = buf
	} else {
		copy(a.buf, a.held)
	}
	n, err := io.ReadAtLeast(a.r, a.buf[len(a.held):len(a.held)+a.block], 1)
	a.held = a.buf[:len(a.held)+n]
	return err
}

// sumBytes is how much of a line its [LineSum] covers: lines can have megabytes.
const sumBytes = 64 << 10

// LineSum tells the line that stands between two places of the record in dir from others: it is
// the hash of the beginning of it, which names the line before. There is none where no line ends
// at the second place.
func LineSum(dir string, from, end int64) (string, error) {
	f, err := openRegular(filepath.Join(dir, rolloutName), os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return lineSum(f, from, end)
}

func lineSum(f io.ReaderAt, from, end int64) (string, error) {
	feed := make([]byte, 1)
	if from < 0 || end <= from {
		return "", fmt.Errorf("there is no line of %d bytes", end-from)
	}
	if _, err := f.ReadAt(feed, end-1); err != nil || feed[0] != '\n' {
		return "", fmt.Errorf("no line ends at %d", end)
	}
	b := make([]byte, min(end-from, sumBytes))
	if _, err := f.ReadAt(b, from); err != nil {
		return "", err
	}
	return hash(b), nil
}

// Find is where the line of a record begins in the record in dir, by its number, and whether
// there is one. It looks in few places: numbers rise. Where they do not, because the record is
// damaged, it may not find one that is there. It looks between two places, where lines begin; 0 and 0
// is everywhere. Past is asked for the end of the line that a place is in, if that is long and its
// end is known, or 0; nil knows none.
func Find(dir string, seq, from, end int64, past func(at int64) int64) (int64, bool) {
	f, err := openRegular(filepath.Join(dir, rolloutName), os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, false
	}
	low, high := from, st.Size() // the line begins at low or later, and before high
	if end > 0 {
		high = min(high, end)
	}
	for low < high {
		mid := low + (high-low)/2
		from, found, ok := firstLine(f, mid, high, past)
		switch {
		case ok && found == seq:
			return from, true
		case ok && found < seq:
			low = from + 1
		case mid > low:
			high = mid
		default:
			return 0, false
		}
	}
	return 0, false
}

// firstLine is the first line with a number that begins at a place or behind it, and before
// another one.
func firstLine(f io.ReaderAt, at, before int64, past func(int64) int64) (from, seq int64, ok bool) {
	st := at
	if at > 0 {
		st = at - 1 // a line that begins at the place is the first one
	}
	if past != nil {
		if end := past(st); end > st {
			st = end - 1
		}
	}
	a := ahead{r: io.NewSectionReader(f, st, math.MaxInt64-st), at: st}
	if at > 0 {
		if _, _, err := a.next(); err != nil {
			return 0, 0, false
		}
	}
	begin := make([]byte, headMost)
	for a.at < before {
		n, err := f.ReadAt(begin, a.at) // the line may be long
		if err != nil && err != io.EOF {
			return 0, 0, false
		}
		if h, ok := parseHead(begin[:n]); ok {
			return a.at, h.seq, true
		}
		if _, _, err := a.next(); err != nil {
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// headMost is how long the beginning of a line is at most, up to its hash.
const headMost = 512
