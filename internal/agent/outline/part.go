package outline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// part tells of a part of a record. Its turns are those that begin there, and, first, the last
// one of those before, as it became.
type part struct {
	head
	Turns []Turn `json:"turns"`
	// Calls and Changes are marks, see [Marks].
	Calls   []mark  `json:"calls,omitempty"`
	Changes []int64 `json:"changes,omitempty"`
}

// head is what stands first in the line of a part.
type head struct {
	Format int   `json:"v"`
	From   int64 `json:"from"`
	Size   int64 `json:"size"` // where the part ends
	// Last is how long the last line is, with its line feed, and Sum its sum.
	Last int64  `json:"last"`
	Sum  string `json:"sum"`
	// Keep is how many of the turns of the parts before still count; then come those of this one.
	Keep  int `json:"keep"`
	Count int `json:"count"`
	// Loose is where records begin that belong to the next turn because the one before them
	// was taken back; 0 where there are none.
	Loose int64  `json:"loose,omitempty"`
	Model string `json:"model,omitempty"`
	Used  []Used `json:"used,omitempty"` // in this part
	Damage
}

// mark is where the record of a call ends.
type mark struct {
	Call protocol.CallID `json:"call"`
	End  int64           `json:"end"`
}

// count is how many turns there are up to the end of the part.
func (p *part) count() int { return p.Keep + len(p.Turns) }

// fits reports whether the record has the line that the part ends with.
func (h head) fits(dir string) bool {
	if h.Size == 0 {
		return true
	}
	sum, err := rollout.LineSum(dir, h.Size-h.Last, h.Size)
	return err == nil && sum == h.Sum
}

// The line of a part is a JSON object whose last field is the sum of what stands before it.
const (
	sumField   = `,"check":"`
	sumLength  = len(sumField) + 8 + len(`"}`)
	turnsField = `,"turns":`
)

// line is the part as it is kept.
func (p part) line() []byte {
	p.Format, p.Count = format, len(p.Turns)
	if p.Turns == nil {
		p.Turns = []Turn{}
	}
	b, err := json.Marshal(p)
	if err != nil { // a time out of the range of years
		return nil
	}
	b = b[:len(b)-1]
	return fmt.Appendf(b, `%s%08x"}`, sumField, crc32.ChecksumIEEE(b))
}

// errLine says that a line is none of an outline.
var errLine = errors.New("no line of an outline")

// summed is what stands in a line before its sum, and whether that is right.
func summed(line []byte) ([]byte, bool) {
	n := len(line) - sumLength
	if n < 0 || string(line[n:]) != fmt.Sprintf(`%s%08x"}`, sumField, crc32.ChecksumIEEE(line[:n])) {
		return nil, false
	}
	return line[:n], true
}

// headOf reads the beginning of a line whose sum is right.
func headOf(line []byte) (h head, err error) {
	if _, ok := summed(line); !ok {
		return h, errLine
	}
	n := bytes.Index(line, []byte(turnsField)) // in a string the quotes would have backslashes
	if n < 0 {
		return h, errLine
	}
	if err = json.Unmarshal(append(line[:n:n], '}'), &h); err != nil || !h.sound() {
		return h, errLine
	}
	return h, nil
}

// sound reports whether a head can be one.
func (h head) sound() bool {
	return h.Format == format && h.From >= 0 && h.Size > h.From && h.Last > 0 && h.Last <= h.Size && h.Keep >= 0 &&
		h.Count >= 0
}

// partOf reads a line of which headOf read the beginning.
func partOf(line []byte) (p part, err error) {
	if err := json.Unmarshal(line, &p); err != nil || len(p.Turns) != p.Count {
		return p, errLine
	}
	return p, nil
}

// backwardBeside yields the lines of a file beside the record in dir, the last one first; none
// where it is not there.
func backwardBeside(dir, name string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		st, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !st.Mode().IsRegular() {
			return
		}
		f, err := rollout.OpenBeside(dir, name, os.O_RDONLY)
		if err != nil {
			return // as if there were none
		}
		defer f.Close()
		for line, err := range rollout.LinesBackward(f, st.Size()) {
			if !yield(line, err) {
				return
			}
		}
	}
}

// tries is how many lines of the file may fit no record before it is given up.
const tries = 64

// newest is the last part of the file that fits the record.
func newest(dir string) (part, bool) {
	n := 0
	for line, err := range backwardBeside(dir, keptName) {
		if err != nil {
			break
		}
		h, err := headOf(line)
		if err != nil {
			continue
		}
		if h.fits(dir) {
			p, err := partOf(line)
			return p, err == nil
		}
		if n++; n == tries {
			break
		}
	}
	return part{}, false
}

// add appends lines to the file. They are written at once, behind a line feed: what is there
// may end in a torn line.
func add(dir string, lines [][]byte) error {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteByte('\n')
		b.Write(l)
	}
	b.WriteByte('\n')
	return appendBeside(dir, keptName, b.Bytes())
}

// appendBeside adds to a file beside the record in dir, at once.
func appendBeside(dir, name string, text []byte) error {
	if st, err := os.Lstat(filepath.Join(dir, name)); err == nil && !st.Mode().IsRegular() {
		return fs.ErrInvalid
	}
	f, err := rollout.OpenBeside(dir, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// maxIndex bounds an index that is read, in bytes.
const maxIndex = 256 << 20

// readBeside reads a file beside the record in dir.
func readBeside(dir, name string) ([]byte, error) {
	st, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxIndex {
		return nil, fs.ErrInvalid
	}
	f, err := rollout.OpenBeside(dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, st.Size()))
}
