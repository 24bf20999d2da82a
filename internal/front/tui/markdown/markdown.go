// Package markdown draws Markdown that is still being written.
//
// A [Stream] takes text as it comes. It returns the rows of a block once, when the
// block is finished, and draws the block that is still open again each time. The
// size of an open block is bounded, so the cost of a text is linear in its length.
package markdown

import (
	"strings"

	"kerf/internal/front/tui/style"
	"kerf/internal/front/tui/syntax"
)

const (
	// maxOpen is how many bytes the open block may have. A longer one is cut at
	// the end of a line: what follows is drawn as a block of its own.
	maxOpen = 8 << 10
	// maxLine is where a line that does not end is cut.
	maxLine = 4 << 10
)

// Stream is a text under way. Make it with New. However the text is cut into pieces,
// its rows are the same.
type Stream struct {
	width int
	open  []byte // text of the open block
	line  int    // bytes of its last line
	fence fence
	gap   bool // an empty row is due before the next block
	began bool
	cache []style.Line // rows of the open block, nil when it grew
}

// fence is a block of code under way.
type fence struct {
	mark  string // what closes it, empty outside code
	lexer *syntax.Lexer
	pad   string // the indentation it began with
}

// New returns a stream that draws at most width cells wide.
func New(width int) *Stream { return &Stream{width: max(width, 8)} }

// Rows draws a whole text as a stream does.
func Rows(text string, width int) []style.Line {
	s := New(width)
	rows := s.Write(text)
	return append(rows, s.Close()...)
}

// Write adds text and returns the rows that are final by it. Blocks are looked for at
// the end of each line, and where a line becomes too long.
func (s *Stream) Write(text string) []style.Line {
	s.cache = nil
	var rows []style.Line
	for text != "" {
		n := min(len(text), maxLine+1-s.line)
		ends := strings.IndexByte(text[:n], '\n')
		if ends >= 0 {
			n = ends + 1
		}
		s.open, s.line = append(s.open, text[:n]...), s.line+n
		text = text[n:]
		switch {
		case ends >= 0:
			s.line = 0
		case s.line <= maxLine:
			return rows
		}
		rows = append(rows, s.drain()...)
	}
	return rows
}

// Close returns the rows of what is still open.
func (s *Stream) Close() []style.Line {
	s.cache = nil
	rows := s.drain()
	if rest := unix(string(s.open)); strings.TrimSpace(rest) != "" || s.fence.mark != "" && rest != "" {
		rows = append(rows, s.emit(rest)...)
	}
	s.open, s.line = nil, 0
	s.fence = fence{}
	return rows
}

// Tail returns the rows of the open block as it is now.
func (s *Stream) Tail() []style.Line {
	if s.cache != nil || len(s.open) == 0 {
		return s.cache
	}
	text := unix(string(s.open))
	if s.fence.mark != "" {
		lexer := s.fence.lexer
		if lexer != nil {
			copied := *lexer // the line is not finished: its state is not kept
			lexer = &copied
		}
		s.cache = codeRows(lexer, text, s.width)
		return s.cache
	}
	rows := Render(text, s.width)
	if s.gap && len(rows) > 0 {
		rows = append([]style.Line{nil}, rows...)
	}
	s.cache = rows
	return s.cache
}

// drain takes finished blocks off the open text.
func (s *Stream) drain() []style.Line {
	var rows []style.Line
	text := string(s.open)
	at := 0
	for {
		n := s.finished(text[at:])
		if n == 0 {
			break
		}
		rows = append(rows, s.emit(unix(text[at:at+n]))...)
		at += n
	}
	if at > 0 {
		s.open = append(s.open[:0], text[at:]...)
		s.line = len(text) - 1 - strings.LastIndexByte(text, '\n')
		s.line = min(s.line, len(s.open))
	}
	return rows
}

func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// emit draws a finished piece, with the empty row between blocks.
func (s *Stream) emit(piece string) []style.Line {
	if s.fence.mark != "" {
		line := strings.TrimSuffix(piece, "\n")
		if s.closes(line) {
			s.fence = fence{}
			s.gap = true
			return nil
		}
		return codeRows(s.fence.lexer, line, s.width)
	}
	var rows []style.Line
	if mark, info, pad, ok := opens(strings.TrimSuffix(piece, "\n")); ok && strings.Count(piece, "\n") <= 1 {
		s.fence = fence{mark: mark, lexer: syntax.New(info), pad: pad}
		if s.gap || s.began {
			rows = append(rows, nil)
		}
		s.began, s.gap = true, false
		return append(rows, codeHead(info, s.width)...)
	}
	drawn := Render(piece, s.width)
	if len(drawn) == 0 {
		return nil
	}
	if s.gap {
		rows = append(rows, nil)
	}
	s.gap, s.began = strings.HasSuffix(piece, "\n\n") || strings.HasSuffix(piece, "\n"), true
	return append(rows, drawn...)
}

// finished returns how many bytes at the head of text are a piece that will not
// change any more, or 0.
func (s *Stream) finished(text string) int {
	if s.fence.mark != "" {
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i + 1
		}
		return long(text)
	}
	lead := 0
	for lead < len(text) && (text[lead] == '\n' || strings.HasPrefix(text[lead:], "\r\n")) {
		lead++
	}
	if lead > 0 {
		return lead
	}
	at := 0
	for {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		line := strings.TrimSuffix(text[at:at+i], "\r")
		end := at + i + 1
		if _, _, _, ok := opens(line); ok {
			if at > 0 {
				return at
			}
			return end
		}
		if strings.TrimSpace(line) == "" && s.over(text, end) {
			return end
		}
		if heading(line) {
			if at > 0 {
				return at
			}
			return end
		}
		at = end
		if at > maxOpen {
			return at
		}
	}
	if at > 0 && len(text)-at > maxLine {
		return at
	}
	if at > 0 {
		return 0
	}
	return long(text)
}

// over reports whether the blank line before end closes the block: an indented
// line after it would go on with a list, so its first character has to be known.
func (s *Stream) over(text string, end int) bool {
	if end >= len(text) {
		return !startsList(text)
	}
	return !strings.ContainsRune(" \t\r\n", rune(text[end])) && !(startsList(text) && startsList(text[end:]))
}

// startsList reports whether text begins with a list item.
func startsList(text string) bool {
	t := strings.TrimLeft(text, " ")
	if len(t) > 1 && strings.IndexByte("-*+", t[0]) >= 0 && t[1] == ' ' {
		return true
	}
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	return i > 0 && i+1 < len(t) && (t[i] == '.' || t[i] == ')') && t[i+1] == ' '
}

func heading(line string) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n > 0 && n <= 6 && len(line) > n && line[n] == ' '
}

// long cuts a text that goes on without an end.
func long(text string) int {
	if len(text) <= maxLine {
		return 0
	}
	if i := strings.LastIndexByte(text[:maxLine], ' '); i > maxLine/2 {
		return i + 1
	}
	n := maxLine
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

// opens reports whether a line begins a block of code.
func opens(line string) (mark, info, pad string, ok bool) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return "", "", "", false
	}
	for _, c := range []string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 {
			info = strings.TrimSpace(t[n:])
			if c == "`" && strings.Contains(info, "`") {
				return "", "", "", false
			}
			return t[:n], info, line[:len(line)-len(t)], true
		}
	}
	return "", "", "", false
}

func (s *Stream) closes(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, s.fence.mark) && strings.Trim(t, s.fence.mark[:1]) == ""
}

// codeHead is the row above a block of code whose language is known.
func codeHead(info string, width int) []style.Line {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	if name == "" {
		return nil
	}
	return []style.Line{style.Line{style.S(style.Border, "┌ "), style.S(style.Dim, name)}.Cut(width)}
}

// codeRows draws lines of code behind an edge, wrapped where they are too long.
func codeRows(x *syntax.Lexer, text string, width int) []style.Line {
	var rows []style.Line
	edge := style.S(style.Border, "│ ")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		rows = append(rows, style.Prefix(style.Wrap(x.Line(line), width-2), edge, edge)...)
	}
	return rows
}
