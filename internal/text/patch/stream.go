package patch

import (
	"bytes"
	"strings"

	"kerf/internal/text/patch/unified"
)

// Stream follows a patch while it arrives, for display. It takes any text
// without complaint; whether the patch is valid, Parse tells in the end. For a
// valid patch that came whole, Stats equals that of the parsed patch. The zero
// value is ready; a Stream is for one goroutine.
type Stream struct {
	part  []byte // of a line
	state streamState
	found bool // in an envelope or a diff
	stats []Stat
	file  *unified.File // the diff at hand; its stat is the last of stats
	held  [2]string     // lines that may be --- and +++ of a plain diff
	// What the header of the hunk at hand still promises.
	before, after int
}

type streamState int

const (
	streamOutside   streamState = iota // before a patch, or after its end
	streamAdd                          // in an envelope, after Add File
	streamUpdate                       // in an envelope, after Update File
	streamHeader                       // in an envelope where a header must come
	streamDiff                         // in a unified diff, outside hunks
	streamHunk                         // in a hunk
	streamHunkEnd                      // after as many lines as a hunk's header says
	streamDiffNames                    // after a "diff --git" line
)

// maxStreamLine bounds the part of a line that is kept.
const maxStreamLine = 64 << 10

// Write takes the next piece; it never fails.
func (s *Stream) Write(piece []byte) (int, error) {
	n := len(piece)
	for len(piece) > 0 {
		i := bytes.IndexByte(piece, '\n') + 1
		if i == 0 {
			i = len(piece)
		}
		// Of an overlong line the beginning is enough; the line feed still ends it.
		if room := maxStreamLine - len(s.part); room > 0 {
			s.part = append(s.part, piece[:min(i, room)]...)
		}
		if piece[i-1] == '\n' {
			s.line(unified.TrimLineEnd(strings.TrimSuffix(string(s.part), "\n") + "\n"))
			s.part = s.part[:0]
		}
		piece = piece[i:]
	}
	return n, nil
}

// Close takes what is left as the last line.
func (s *Stream) Close() error {
	if len(s.part) > 0 {
		s.line(unified.TrimLineEnd(string(s.part)))
		s.part = nil
	}
	return nil
}

// Stats returns the files so far, with the lines of whole lines only. The slice
// is a copy.
func (s *Stream) Stats() []Stat { return append([]Stat(nil), s.stats...) }

func (s *Stream) line(l string) {
	if !s.found {
		l = strings.TrimPrefix(l, unified.BOM)
	}
	switch s.state {
	case streamAdd, streamUpdate, streamHeader:
		s.envelope(l)
	case streamOutside:
		if strings.TrimSpace(l) == beginPatch {
			s.state, s.found = streamHeader, true
			return
		}
		s.diff(l)
	default:
		s.diff(l)
	}
}

// envelope takes a line between the markers.
func (s *Stream) envelope(l string) {
	switch {
	case s.state == streamAdd && strings.HasPrefix(l, "+"):
		s.last().Added++
		return
	case s.state == streamUpdate && s.inUpdate(l):
		return
	}
	header := strings.TrimSpace(l)
	begin := func(op Op, path string, next streamState) {
		s.stats = append(s.stats, Stat{Op: op, Path: strings.TrimSpace(path)})
		s.state = next
	}
	switch {
	case header == endPatch:
		s.state = streamOutside
	case strings.HasPrefix(header, addFile):
		begin(Added, header[len(addFile):], streamAdd)
	case strings.HasPrefix(header, deleteFile):
		begin(Deleted, header[len(deleteFile):], streamHeader)
	case strings.HasPrefix(header, updateFile):
		begin(Updated, header[len(updateFile):], streamUpdate)
	}
}

// inUpdate takes a line of an update; false is a line that ends it.
func (s *Stream) inUpdate(l string) bool {
	f := s.last()
	switch {
	case strings.HasPrefix(l, moveTo) && f.Op == Updated:
		f.Op, f.To = Moved, strings.TrimSpace(l[len(moveTo):])
	case strings.HasPrefix(l, "***"):
		return strings.TrimRight(l, " \t") == endOfFile
	case strings.HasPrefix(l, "+"):
		f.Added++
	case strings.HasPrefix(l, "-"):
		f.Removed++
	}
	return true
}

func (s *Stream) last() *Stat { return &s.stats[len(s.stats)-1] }

// diff takes a line of a unified diff, or of the text around.
func (s *Stream) diff(l string) {
	l = unified.PlainLine(l)
	if s.state == streamHunk && s.inHunk(l) {
		return
	}
	switch {
	case strings.HasPrefix(l, "diff --git "):
		f := unified.GitHeader(l)
		s.begin(f)
		s.state = streamDiffNames
	case strings.HasPrefix(l, "--- "):
		s.held = [2]string{l, ""}
		return
	case strings.HasPrefix(l, "+++ ") && s.held[0] != "" && s.held[1] == "":
		s.held[1] = l
		if s.state == streamDiffNames {
			_ = s.file.GitNames(s.held[0][4:], l[4:])
			s.show()
		}
		return
	case strings.HasPrefix(l, "@@ -"):
		s.hunk(l)
	case s.state == streamDiffNames:
		if known, _ := s.file.Extend(strings.TrimRight(l, "\r")); known {
			s.show()
		} else {
			s.state = streamDiff
		}
	case s.state == streamHunkEnd:
		if !s.count(l) {
			s.state = streamDiff
		}
	}
	s.held = [2]string{}
}

// begin starts the stat of a diff.
func (s *Stream) begin(f unified.File) {
	s.file, s.found = &f, true
	s.stats = append(s.stats, Stat{})
	s.show()
}

// show puts what the header says so far in the stat.
func (s *Stream) show() {
	f := *s.file
	_ = f.Complete() // an incomplete header is told as far as it goes
	now, last := statOf(&f), s.last()
	last.Path, last.To, last.Op = now.Path, now.To, now.Op
}

func (s *Stream) hunk(l string) {
	_, before, _, after, ok := unified.ParseRange(l)
	if !ok {
		return
	}
	if s.held[1] != "" && s.state != streamDiffNames {
		f := unified.File{}
		if f.PlainNames(s.held[0][4:], s.held[1][4:]) != nil {
			return
		}
		s.begin(f)
	}
	if s.file == nil {
		return
	}
	s.before, s.after, s.state = before, after, streamHunk
	s.ended()
}

// inHunk takes a line of a hunk; false is a line that cannot be one.
func (s *Stream) inHunk(l string) bool {
	if strings.HasPrefix(l, `\ `) {
		return true
	}
	if l == "" || l[0] == ' ' {
		s.before--
		s.after--
	} else if !s.count(l) {
		s.state = streamDiff
		return false
	} else if l[0] == '+' {
		s.after--
	} else {
		s.before--
	}
	s.ended()
	return true
}

func (s *Stream) ended() {
	if s.before <= 0 && s.after <= 0 {
		s.state = streamHunkEnd
	}
}

// count counts a line of a hunk; false is a line that cannot be one.
func (s *Stream) count(l string) bool {
	switch {
	case strings.HasPrefix(l, "+"):
		s.last().Added++
	case strings.HasPrefix(l, "-") && (s.state == streamHunk || l != "-- " && l != "--"):
		s.last().Removed++
	case strings.HasPrefix(l, " "), strings.HasPrefix(l, `\ `):
	default:
		return false
	}
	return true
}
