// Package outputlog keeps the whole output of commands where the model can read it by
// range.
package outputlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

const (
	// pieceSize is how much of an output is stored at a time: it bounds the memory
	// that an output of any size costs. With what the last read brings it stays below the
	// size from which the store streams, which costs more.
	pieceSize = 1<<20 - 64<<10
	// pieceRest is what stays behind of a piece without a line end, so that a
	// secret is not cut in two.
	pieceRest = 4 << 10
	// storeLimit bounds what is kept of one output; commands can print for ever.
	storeLimit = 1 << 30
	// memoryLimit is the same where nothing may be written.
	memoryLimit = 8 << 20

	outputMagic  = "kerf output 1\n"
	outputPrefix = "output:"
)

// Store keeps the outputs of one session. Without Keep it holds them in memory, within
// a bound: the oldest go first.
type Store struct {
	// Keep puts bytes away and does not hold them afterwards.
	Keep func([]byte) (delta.Sum, error)
	// Images gives back what was kept; nil has nothing.
	Images func(delta.Sum) ([]byte, error)
	// Redact takes secrets out of what is kept; nil takes none.
	Redact func([]byte) []byte

	memory memory
}

// Log is the whole output of one command, kept in pieces. A piece is stored by one
// goroutine at a time, which Name and Hint wait for.
type Log struct {
	keep   func([]byte) (delta.Sum, error)
	redact func([]byte) []byte
	limit  int64
	again  bool // room that was put away is used again
	wg     sync.WaitGroup
	spare  []byte // such room; of the goroutine, and after wg.Wait of who waited

	mu     sync.Mutex // guards what follows
	rest   []byte     // not stored yet
	total  int64
	cut    bool // the limit was reached
	pieces []*piece
}

// piece is one stored part of an output.
type piece struct {
	sum   delta.Sum
	bytes int
	ends  int  // line ends in it
	open  bool // its last line goes on in the next
	err   error
}

// New returns the log of one command.
func (s *Store) New() *Log {
	l := &Log{keep: s.Keep, redact: s.Redact, limit: storeLimit, again: s.Keep != nil}
	if l.keep == nil {
		l.keep, l.limit = s.memory.put, memoryLimit
	}
	return l
}

// Write takes output. It never fails: what cannot be kept is missed later.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := l.limit - l.total; int64(len(b)) > room {
		l.cut = true
		l.rest = append(l.rest, b[:max(room, 0)]...)
		l.total += max(room, 0)
	} else {
		l.rest = append(l.rest, b...)
		l.total += int64(len(b))
	}
	if len(l.rest) >= pieceSize {
		at := bytes.LastIndexByte(l.rest, '\n') + 1
		if at == 0 {
			at = len(l.rest) - pieceRest
		}
		l.store(at)
	}
	return len(b), nil
}

// store puts the first n bytes of the rest away. The lock is held.
func (l *Log) store(n int) {
	data := l.rest[:n:n]
	p := &piece{}
	l.pieces = append(l.pieces, p)
	l.wg.Wait() // one at a time: a fast command waits for the disk
	room := l.spare
	if room == nil {
		room = make([]byte, 0, pieceSize+pieceSize/8)
	}
	whole := l.rest
	l.rest, l.spare = append(room[:0], l.rest[n:]...), nil
	l.wg.Go(func() {
		if l.redact != nil {
			data = l.redact(data)
		}
		p.bytes, p.ends, p.open = len(data), bytes.Count(data, []byte{'\n'}), !bytes.HasSuffix(data, []byte{'\n'})
		p.sum, p.err = l.keep(data)
		if l.again {
			l.spare = whole
		}
	})
}

// Name stores what there is so far and returns the path by which it is read, or
// nothing where it cannot be kept.
func (l *Log) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.store(len(l.rest))
	}
	l.wg.Wait()
	var b strings.Builder
	b.WriteString(outputMagic)
	for _, p := range l.pieces {
		if p.err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d %d %t\n", p.sum, p.bytes, p.ends, p.open)
	}
	sum, err := l.keep([]byte(b.String()))
	if err != nil {
		return ""
	}
	return outputPrefix + sum.String()
}

// Hint names the whole output in a line for the model, if text does not show it.
func (l *Log) Hint(text string, omitted bool, budget int) string {
	if l == nil || !omitted && history.Truncate(text, budget) == text {
		return ""
	}
	name := l.Name()
	if name == "" {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bound := ""
	if l.cut {
		bound = fmt.Sprintf("; only its first %d bytes are kept", l.limit)
	}
	return fmt.Sprintf(history.WholeHint+"%d bytes%s) can be read in parts: read_file with file_path %q, "+
		"offset and limit.", l.total, bound, name)
}

// memory keeps outputs of a session that writes nothing down.
type memory struct {
	mu   sync.Mutex // guards what follows
	held map[delta.Sum][]byte
	size int
	in   []delta.Sum // oldest first
}

// put keeps data, which is its own from now on, and drops the oldest beyond a bound.
func (m *memory) put(data []byte) (delta.Sum, error) {
	sum := delta.SumOf(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		m.held = make(map[delta.Sum][]byte)
	}
	if _, ok := m.held[sum]; ok {
		return sum, nil
	}
	m.held[sum], m.in = data, append(m.in, sum)
	for m.size += len(data); m.size > 4*memoryLimit; m.in = m.in[1:] {
		m.size -= len(m.held[m.in[0]])
		delete(m.held, m.in[0])
	}
	return sum, nil
}

func (m *memory) get(sum delta.Sum) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.held[sum]
	return data, ok
}

// Lines returns lines of a kept output, from the first on (1-based), each cut
// after width bytes, and how many lines there are in all.
func (s *Store) Lines(name string, first, limit, width int) (lines []string, total int, err error) {
	pieces, err := s.pieces(name)
	if err != nil {
		return nil, 0, err
	}
	r := outputReader{first: first, limit: limit, width: width, at: 1}
	for _, p := range pieces {
		if r.passes(p) {
			continue
		}
		data, err := s.image(p.sum)
		if err != nil {
			return nil, 0, tool.Refuse(tool.NotFound, "a part of %s is no longer kept. Run the command again", name)
		}
		r.take(data)
	}
	return r.end()
}

func (s *Store) image(sum delta.Sum) ([]byte, error) {
	if data, ok := s.memory.get(sum); ok {
		return data, nil
	}
	if s.Images == nil {
		return nil, errors.New("there is no store")
	}
	return s.Images(sum)
}

// pieces reads the list of an output.
func (s *Store) pieces(name string) ([]piece, error) {
	gone := tool.Refuse(tool.NotFound, "%s is not an output that is kept. Copy the name exactly from the result of "+
		"the command, or run that again", name)
	var sum ledger.Sum
	if sum.UnmarshalText([]byte(strings.TrimPrefix(name, outputPrefix))) != nil {
		return nil, gone
	}
	list, err := s.image(delta.Sum(sum))
	text, ok := bytes.CutPrefix(list, []byte(outputMagic))
	if err != nil || !ok {
		return nil, gone
	}
	var pieces []piece
	for line := range strings.Lines(string(text)) {
		var p piece
		var hex string
		if _, err := fmt.Sscan(line, &hex, &p.bytes, &p.ends, &p.open); err != nil || sum.UnmarshalText([]byte(hex)) != nil {
			return nil, gone
		}
		p.sum = delta.Sum(sum)
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// outputReader picks lines out of pieces that may cut lines anywhere.
type outputReader struct {
	first, limit, width int

	at    int    // the line that is being read
	line  []byte // what was read of it, cut
	begun bool   // something of it was read
	cut   int    // bytes left out of it
	lines []string
}

// passes skips a piece that has none of the lines.
func (r *outputReader) passes(p piece) bool {
	if r.at+p.ends >= r.first && len(r.lines) < r.limit {
		return false
	}
	r.at += p.ends
	r.begun = p.open
	return true
}

func (r *outputReader) take(data []byte) {
	for len(data) > 0 {
		n := bytes.IndexByte(data, '\n')
		part, ended := data, false
		if n >= 0 {
			part, ended = data[:n], true
			data = data[n+1:]
		} else {
			data = nil
		}
		r.begun = true
		room := min(max(r.width-len(r.line), 0), len(part))
		r.line = append(r.line, part[:room]...)
		r.cut += len(part) - room
		if ended {
			r.next()
		}
	}
}

// next ends a line.
func (r *outputReader) next() {
	if r.at >= r.first && len(r.lines) < r.limit {
		text := strings.ToValidUTF8(strings.TrimSuffix(string(r.line), "\r"), "\uFFFD")
		if r.cut > 0 {
			text += fmt.Sprintf("[… %d more bytes]", r.cut)
		}
		r.lines = append(r.lines, text)
	}
	r.at++
	r.line, r.begun, r.cut = r.line[:0], false, 0
}

func (r *outputReader) end() ([]string, int, error) {
	if r.begun {
		r.next()
	}
	return r.lines, r.at - 1, nil
}
