package rollout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"
)

// maxLine bounds one line. Longer ones are skipped, not held.
const maxLine = 64 << 20

// Read returns the records of a session, given by its directory or by the file
// itself, in order. It changes nothing and survives any damage to the file:
// every whole record is returned, and damage, which is nil for a sound file,
// tells of the rest. The error is about the file as such: that it is not there,
// is not a regular file, cannot be read.
func Read(path string) ([]Record, *Damage, error) {
	dir := ""
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		dir, path = path, filepath.Join(path, rolloutName)
	}
	var last int64 // known before the records are read: a writer may be at work
	if dir != "" {
		last, _ = readHead(filepath.Join(dir, headName))
	}
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	s, err := scan(f)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	s.missing(last)
	if s.damage.none() {
		return s.records, nil, nil
	}
	return s.records, &s.damage, nil
}

// openRegular opens a file that must be a regular one.
func openRegular(path string, flag int) (*os.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, flag, 0)
}

// LinesBackward yields the lines of a file from the last to the first, without their line
// feeds. A line is valid until the next one. An error ends the sequence.
func LinesBackward(f io.ReaderAt, size int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for b := (backward{f: f, at: size}); ; {
			line, err := b.next()
			if err == io.EOF || !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// OpenBeside opens a file beside the record in dir that is its user's alone; flag may make it.
func OpenBeside(dir, name string, flag int) (*os.File, error) {
	return private(filepath.Join(dir, name), flag)
}

// scanner goes through a file line by line.
type scanner struct {
	records []Record
	damage  Damage
	line    int
	// whole is the offset after the last line feed.
	whole int64
	// tornOnly says that nothing is wrong before that, so that cutting the file
	// there, or ending its last line, repairs it.
	tornOnly bool
	tornGood bool // the torn line is a record that lacks its line feed
	lastHash string
	// digester condenses what is before the mark; fits says that the first record
	// is the one the mark names.
	digester Digester
	mark     mark
	fits     bool
}

func scan(r io.Reader) (*scanner, error) {
	s := &scanner{}
	return s, s.run(r)
}

// run takes in all that r has; whole is where that begins in the file.
func (s *scanner) run(r io.Reader) error {
	in := bufio.NewReaderSize(r, 256<<10)
	var buf []byte
	for {
		line, n, err := readLine(in, buf[:0])
		buf = line
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			break
		}
		s.line++
		if err != nil {
			s.torn(line, n)
			break
		}
		s.add(line, n > maxLine)
		s.whole += n
	}
	s.order()
	if n := len(s.records); n > 0 { // behind a mark there is one
		s.lastHash = hash(s.records[n-1].Raw)
	}
	return nil
}

// readLine reads to the next line feed, which it takes off. Of a line longer
// than maxLine it keeps the beginning only; n is its true length.
func readLine(in *bufio.Reader, buf []byte) (line []byte, n int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		n += int64(len(part))
		if room := maxLine - len(buf); room > 0 {
			buf = append(buf, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(buf, []byte{'\n'}), n, err
	}
}

func (s *scanner) torn(line []byte, n int64) {
	before, had := s.damage, len(s.records)
	s.add(line, n > maxLine)
	s.tornGood = s.damage == before
	s.tornOnly = before.none() && (s.tornGood || len(s.records) == had)
	if len(s.records) == had {
		s.damage = before // told as torn, not twice
	}
	s.damage.Torn = n
	s.damaged()
}

func (s *scanner) damaged() {
	if s.damage.Line == 0 {
		s.damage.Line = s.line
	}
}

// add takes what records there are from a line.
func (s *scanner) add(line []byte, long bool) {
	if long {
		s.damaged()
		s.damage.Skipped++
		return
	}
	if h, ok := parse(line); ok {
		s.cut(h, s.whole)
		s.keep(h, line)
		return
	}
	s.damaged()
	trimmed := bytes.Trim(line, "\x00\r\n\t ")
	trimmed = bytes.TrimPrefix(trimmed, []byte("\xEF\xBB\xBF"))
	if h, ok := parse(trimmed); ok {
		s.keep(h, trimmed)
		s.damage.Mended++
		return
	}
	found, lost := s.salvage(trimmed)
	if found > 0 || len(trimmed) == 0 { // an empty line, or one of NULs
		s.damage.Mended++
	}
	if lost {
		s.damage.Skipped++
	}
}

// salvage takes the records from a line in which several are glued together, or
// one is glued to the half of another. A record is recognized by how lines
// begin; those bytes cannot occur within a string of JSON. It must reach to the
// end of the line or to the next object, so that an object within a torn record
// is not taken for one. It returns how many there were, and whether anything
// else was.
func (s *scanner) salvage(b []byte) (found int, lost bool) {
	mark := []byte(`{"seq":`)
	work := 8*len(b) + 1<<16 // a hostile line may be full of marks
	for len(b) > 0 {
		at := bytes.Index(b, mark)
		if at < 0 || work < 0 {
			return found, true
		}
		lost = lost || at > 0
		b = b[at:]
		end := objectEnd(b)
		if work -= end; end == 0 {
			work -= len(b)
		}
		rest := bytes.TrimLeft(b[end:], "\x00\r\t ")
		if h, ok := parse(b[:end]); ok && (len(rest) == 0 || rest[0] == '{') {
			s.keep(h, b[:end])
			found++
			b = rest
			continue
		}
		lost = true
		b = b[len(mark):]
	}
	return found, lost
}

func (s *scanner) keep(h head, line []byte) {
	raw := slices.Clone(line)
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		s.damage.Mended++
		s.damaged()
	}
	s.records = append(s.records, Record{h.seq, h.time, h.kind, raw})
}

// order sorts the records by their numbers and drops repetitions. Different
// records of one number stay, in the order of the file.
func (s *scanner) order() {
	rising := true
	for i := 1; i < len(s.records); i++ {
		if s.records[i].Seq <= s.records[i-1].Seq {
			rising = false
			s.damage.Misplaced++
		}
	}
	if rising {
		return
	}
	s.tornOnly = false
	sort.SliceStable(s.records, func(i, j int) bool { return s.records[i].Seq < s.records[j].Seq })
	s.records = slices.CompactFunc(s.records, func(a, b Record) bool {
		return a.Seq == b.Seq && bytes.Equal(a.Raw, b.Raw)
	})
}

func (s *scanner) lastSeq() int64 {
	if len(s.records) == 0 {
		return 0
	}
	return s.records[len(s.records)-1].Seq
}

// missing compares with the head, which names the last record ever written.
func (s *scanner) missing(seq int64) {
	if last := s.lastSeq(); seq > last {
		s.damage.Missing = seq - last
	}
}

// headSize is the size of the head file: a number of 20 digits, a blank, a hash
// and a line feed. The fixed size lets it be written over in place.
const headSize = 20 + 1 + 64 + 1

func formatHead(seq int64, sum string) []byte {
	return fmt.Appendf(nil, "%020d %64s\n", seq, sum)
}

// readHead returns what the head file says, zeros when it says nothing.
func readHead(path string) (seq int64, sum string) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	b := make([]byte, headSize)
	if _, err := io.ReadFull(f, b); err != nil || b[20] != ' ' || b[headSize-1] != '\n' {
		return 0, ""
	}
	seq, err = strconv.ParseInt(string(b[:20]), 10, 64)
	if err != nil || seq < 0 {
		return 0, ""
	}
	return seq, string(bytes.TrimLeft(b[21:headSize-1], " "))
}
