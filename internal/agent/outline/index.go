package outline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// The outline of a session of hundreds of thousands of turns has 100 MB. So that a turn far back
// is found without reading them, rollout.index has a short line for each of its lines: what that
// begins with, where it stands, and sums of the ids of its turns. It is made of the outline and
// of nothing else, and checked against it when something is read there.

const indexName = "rollout.index"

// indexFrom is the share of a piece that an outline has at least before it is worth an index, and
// that its end may have without one.
const indexFrom = 4

// entry is a line of the index.
type entry struct {
	head
	At   int64 `json:"at"`   // where the line begins in the outline
	Long int64 `json:"long"` // how long it is, without its line feed
	ids  []byte
}

// idDigits is how many hexadecimal digits stand for the id of a turn in an index.
const idDigits = 8

func appendID(to []byte, id protocol.TurnID) []byte {
	return fmt.Appendf(to, "%0*x", idDigits, crc32.ChecksumIEEE([]byte(id)))
}

// entryOf makes the line of an index for a line of an outline; nil where that is none.
func entryOf(at int64, line []byte) []byte {
	h, err := headOf(line)
	if err != nil {
		return nil
	}
	p, err := partOf(line)
	if err != nil {
		return nil
	}
	b, err := json.Marshal(entry{head: h, At: at, Long: int64(len(line))})
	if err != nil {
		return nil
	}
	b = append(append(b[:len(b)-1], turnsField...), '"')
	for _, t := range p.Turns {
		b = appendID(b, t.ID)
	}
	b = append(b, '"')
	return fmt.Appendf(b, `%s%08x"}`, sumField, crc32.ChecksumIEEE(b))
}

// parseEntry reads a line of an index.
func parseEntry(line []byte) (e entry, ok bool) {
	body, ok := summed(line)
	if !ok {
		return e, false
	}
	n := bytes.Index(body, []byte(turnsField))
	if n < 0 || json.Unmarshal(append(body[:n:n], '}'), &e) != nil {
		return e, false
	}
	e.ids = bytes.Trim(body[n+len(turnsField):], `"`)
	return e, e.head.sound() && len(e.ids) == idDigits*e.Count && e.At >= 0 && e.Long > 0
}

// has reports whether a turn with an id, given as its digits, may be among those of the line.
func (e entry) has(digits []byte) bool {
	for ids := range slices.Chunk(e.ids, idDigits) {
		if bytes.Equal(ids, digits) {
			return true
		}
	}
	return false
}

// line reads the line of the outline that the entry stands for.
func (e entry) line(f io.ReaderAt) ([]byte, error) {
	b := make([]byte, e.Long)
	if _, err := f.ReadAt(b, e.At); err != nil {
		return nil, errNoChain
	}
	if h, err := headOf(b); err != nil || h.From != e.From || h.Size != e.Size || h.Sum != e.Sum {
		return nil, errNoChain
	}
	return b, nil
}

// index is what is known of the lines of an outline: those of its first upTo bytes.
type index struct {
	entries []entry
	upTo    int64
}

// fits reports whether the outline has the line that the index ends with.
func (x *index) fits(f io.ReaderAt) bool {
	n := len(x.entries)
	if n == 0 {
		return true
	}
	_, err := x.entries[n-1].line(f)
	return err == nil
}

// add takes lines of an index in.
func (x *index) add(lines []byte) {
	for line := range bytes.Lines(lines) {
		if e, ok := parseEntry(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			x.entries = append(x.entries, e)
			x.upTo = e.At + e.Long + 1
		}
	}
}

// indexed is the index of the outline in f, of so many bytes, up to its end; nil where that is short.
// What was read of it stays in memory.
func (v View) indexed(f *os.File, size int64) *index {
	k := v.Kept
	if size < v.pieces(1)/indexFrom {
		k.index = nil
		return nil
	}
	if k.index == nil || k.index.upTo > size || !k.index.fits(f) {
		k.index = &index{}
		if lines, err := readBeside(v.Dir, indexName); err == nil {
			k.index.add(lines)
		}
		if k.index.upTo > size || !k.index.fits(f) {
			k.index = &index{}
			_ = os.Remove(filepath.Join(v.Dir, indexName))
		}
	}
	if size > k.index.upTo {
		k.index.add(v.missing(f, k.index.upTo))
	}
	return k.index
}

// missing are the lines of an index for an outline from a place on. They are kept where they are worth
// it.
func (v View) missing(f *os.File, from int64) []byte {
	var b bytes.Buffer
	end := from
	for at, line := range linesFrom(f, from) {
		if l := entryOf(at, line); l != nil {
			b.Write(l)
			b.WriteByte('\n')
		}
		end = at + int64(len(line)) + 1
	}
	if end-from >= v.pieces(1)/indexFrom {
		_ = appendBeside(v.Dir, indexName, append([]byte{'\n'}, b.Bytes()...)) // otherwise the next reader does it
	}
	return b.Bytes()
}

// keepIndex adds to the index what the outline has more.
func (v View) keepIndex() {
	f, err := rollout.OpenBeside(v.Dir, keptName, os.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() < v.pieces(1)/indexFrom {
		return
	}
	x := index{}
	for line, err := range backwardBeside(v.Dir, indexName) {
		if err != nil {
			return
		}
		if e, ok := parseEntry(line); ok {
			x.entries, x.upTo = []entry{e}, e.At+e.Long+1
			break
		}
	}
	if x.upTo > st.Size() || !x.fits(f) {
		_ = os.Remove(filepath.Join(v.Dir, indexName))
		x.upTo = 0
	}
	if st.Size()-x.upTo >= v.pieces(1)/indexFrom {
		v.missing(f, x.upTo)
	}
}

// maxKept bounds a line of an outline, in bytes.
const maxKept = 64 << 20

// linesFrom yields the whole lines of an outline that begin at a place or behind it, and where.
func linesFrom(f io.ReaderAt, from int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(f, from, math.MaxInt64-from), 256<<10)
		var line []byte
		for at := from; ; {
			part, err := in.ReadSlice('\n')
			if line = append(line, part...); errors.Is(err, bufio.ErrBufferFull) && len(line) < maxKept {
				continue
			}
			if err != nil || !yield(at, line[:len(line)-1]) {
				return
			}
			at, line = at+int64(len(line)), line[:0]
		}
	}
}
