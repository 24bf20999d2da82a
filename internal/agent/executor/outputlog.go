package executor

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
	// that an output of any size costs.
	pieceSize = 1 << 20
	// pieceRest is what stays behind of a piece without a line end, so that a
	// secret is not cut in two.
	pieceRest = 4 << 10
	// spillLimit bounds what is kept of one output; commands can print for ever.
	spillLimit = 1 << 30
	// fleetingLimit is the same where nothing may be written.
	fleetingLimit = 8 << 20

	outputMagic  = "kerf output 1\n"
	outputPrefix = "output:"
)

// spill keeps the whole output of a command, in pieces, where the model can read
// it by range. A piece is stored by one goroutine at a time, which end waits for.
type spill struct {
	keep   func([]byte) (delta.Sum, error)
	redact func([]byte) []byte
	limit  int64
	wg     sync.WaitGroup

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

// newSpill returns where the output of one command goes, nil without a store.
func (h *Executor) newSpill() *spill {
	s := &spill{keep: h.o.Keep, redact: h.o.Redact, limit: spillLimit}
	if h.o.Fleeting || s.keep == nil {
		s.keep, s.limit = h.fleeting.put, fleetingLimit
	}
	return s
}

// Write takes output. It never fails: what cannot be kept is missed later.
func (s *spill) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := s.limit - s.total; int64(len(b)) > room {
		s.cut = true
		s.rest = append(s.rest, b[:max(room, 0)]...)
		s.total += max(room, 0)
	} else {
		s.rest = append(s.rest, b...)
		s.total += int64(len(b))
	}
	if len(s.rest) >= pieceSize {
		at := bytes.LastIndexByte(s.rest, '\n') + 1
		if at == 0 {
			at = len(s.rest) - pieceRest
		}
		s.store(at)
	}
	return len(b), nil
}

// store puts the first n bytes of the rest away. The lock is held.
func (s *spill) store(n int) {
	data := s.rest[:n:n]
	s.rest = append(make([]byte, 0, pieceSize+pieceSize/8), s.rest[n:]...)
	p := &piece{}
	s.pieces = append(s.pieces, p)
	s.wg.Wait() // one at a time: a fast command waits for the disk
	s.wg.Go(func() {
		if s.redact != nil {
			data = s.redact(data)
		}
		p.bytes, p.ends, p.open = len(data), bytes.Count(data, []byte{'\n'}), !bytes.HasSuffix(data, []byte{'\n'})
		p.sum, p.err = s.keep(data)
	})
}

// name stores what there is so far and returns the path by which it is read, or
// nothing where it cannot be kept.
func (s *spill) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		s.store(len(s.rest))
	}
	s.wg.Wait()
	var b strings.Builder
	b.WriteString(outputMagic)
	for _, p := range s.pieces {
		if p.err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d %d %t\n", p.sum, p.bytes, p.ends, p.open)
	}
	sum, err := s.keep([]byte(b.String()))
	if err != nil {
		return ""
	}
	return outputPrefix + sum.String()
}

// hint names the whole output in a line for the model, if text does not show it.
func (s *spill) hint(text string, omitted bool, budget int) string {
	if s == nil || !omitted && history.Truncate(text, budget) == text {
		return ""
	}
	name := s.name()
	if name == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bound := ""
	if s.cut {
		bound = fmt.Sprintf("; only its first %d bytes are kept", s.limit)
	}
	return fmt.Sprintf("\nThe whole output so far (%d bytes%s) can be read in parts: read_file with file_path %q, offset and limit.", s.total, bound, name)
}

// fleeting keeps outputs of a session that writes nothing down.
type fleeting struct {
	mu   sync.Mutex // guards what follows
	held map[delta.Sum][]byte
	size int
	in   []delta.Sum // oldest first
}

// put keeps data and drops the oldest beyond a bound.
func (f *fleeting) put(data []byte) (delta.Sum, error) {
	sum := delta.SumOf(data)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = make(map[delta.Sum][]byte)
	}
	if _, ok := f.held[sum]; ok {
		return sum, nil
	}
	f.held[sum], f.in = bytes.Clone(data), append(f.in, sum)
	for f.size += len(data); f.size > 4*fleetingLimit; f.in = f.in[1:] {
		f.size -= len(f.held[f.in[0]])
		delete(f.held, f.in[0])
	}
	return sum, nil
}

func (f *fleeting) get(sum delta.Sum) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.held[sum]
	return data, ok
}

// Output returns lines of a kept output, from the first on (1-based), each cut
// after width bytes, and how many lines there are in all.
func (h *Executor) Output(name string, first, limit, width int) (lines []string, total int, err error) {
	pieces, err := h.pieces(name)
	if err != nil {
		return nil, 0, err
	}
	r := outputReader{first: first, limit: limit, width: width, at: 1}
	for _, p := range pieces {
		if r.passes(p) {
			continue
		}
		data, err := h.image(p.sum)
		if err != nil {
			return nil, 0, tool.Refuse(tool.NotFound, "a part of %s is no longer kept. Run the command again", name)
		}
		r.take(data)
	}
	return r.end()
}

func (h *Executor) image(sum delta.Sum) ([]byte, error) {
	if data, ok := h.fleeting.get(sum); ok {
		return data, nil
	}
	if h.o.Images == nil {
		return nil, errors.New("there is no store")
	}
	return h.o.Images(sum)
}

// pieces reads the list of an output.
func (h *Executor) pieces(name string) ([]piece, error) {
	gone := tool.Refuse(tool.NotFound, "%s is not an output that is kept. Copy the name exactly from the result of the command, or run that again", name)
	var sum ledger.Sum
	if sum.UnmarshalText([]byte(strings.TrimPrefix(name, outputPrefix))) != nil {
		return nil, gone
	}
	list, err := h.image(delta.Sum(sum))
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
