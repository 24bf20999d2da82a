package chat

import (
	"strings"

	"kerf/internal/model"
)

// scanner reads the text of a response as it comes and keeps apart what a model
// thought, what it says, and calls that it wrote as text. It shows text only
// when that cannot be the beginning of a call.
type scanner struct {
	tools   []model.Tool
	lenient bool
	mode    mode
	text    string          // all that is said
	written strings.Builder // what text is made of, so that each piece costs what it is long
	shown   int             // bytes of text that were shown
	open    string          // unread text, while it may still be a tag
}

type mode int

const (
	starting mode = iota // nothing but white space yet
	thinking
	saying
)

const thinkOpen, thinkClose = "<think>", "</think>"

func newScanner(tools []model.Tool, lenient bool) *scanner {
	return &scanner{tools: tools, lenient: lenient && len(tools) > 0}
}

// again is a scanner for the text behind a call.
func (s *scanner) again() *scanner {
	return &scanner{tools: s.tools, lenient: s.lenient, mode: saying}
}

// add takes a piece and returns what of it can be shown.
func (s *scanner) add(piece string) (thoughts, shown string) {
	s.open += piece
	if s.mode == starting {
		begin := strings.TrimLeft(s.open, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinkOpen):
			s.mode, s.open = thinking, begin[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, begin):
			return "", "" // also when it is empty
		default:
			s.mode = saying
		}
	}
	if s.mode == thinking {
		before, after, closed := strings.Cut(s.open, thinkClose)
		if !closed {
			keep := partial(s.open, thinkClose)
			thoughts, s.open = s.open[:len(s.open)-keep], s.open[len(s.open)-keep:]
			return thoughts, ""
		}
		thoughts, s.open, s.mode = before, strings.TrimLeft(after, "\r\n"), saying
	}
	s.take()
	return thoughts, s.show(s.safe())
}

// take adds what was read to what is said.
func (s *scanner) take() {
	s.written.WriteString(s.open)
	s.text, s.open = s.written.String(), ""
}

// partial is the length of the longest end of s that begins tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

func (s *scanner) show(end int) string {
	if end <= s.shown {
		return ""
	}
	piece := s.text[s.shown:end]
	s.shown = end
	return piece
}

// maxHeld bounds the text that is held back as a call: no call is larger.
const maxHeld = 4 << 20

// safe is the end of the text that is no call, and no beginning of one.
func (s *scanner) safe() int {
	if !s.lenient || len(s.text)-s.shown > maxHeld {
		return len(s.text)
	}
	if s.shown == 0 && wholeCall(s.text) {
		return 0
	}
	for i := s.shown; i < len(s.text); i++ {
		if c := s.text[i]; c != '<' && c != '[' && c != '`' {
			continue
		}
		for _, f := range forms {
			rest := s.text[i:]
			if (strings.HasPrefix(rest, f.open) || strings.HasPrefix(f.open, rest)) && !quoted(s.text[:i]) {
				return i
			}
		}
	}
	return len(s.text)
}

// wholeCall reports whether text may turn out to be a call and nothing else: an
// object or a list, perhaps within a fence.
func wholeCall(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return false
	}
	const bare = "call:"
	if strings.HasPrefix(text, bare) || strings.HasPrefix(bare, text) {
		return true
	}
	return text[0] == '{' || strings.HasPrefix(text, "[{") || text == "[" ||
		strings.HasPrefix("```json", text) || fenced(text)
}

func fenced(text string) bool {
	rest, ok := strings.CutPrefix(text, "```json")
	if !ok {
		rest, ok = strings.CutPrefix(text, "```")
	}
	rest = strings.TrimLeft(rest, " \t\r\n")
	return ok && (rest == "" || rest[0] == '{' || rest[0] == '[')
}

// quoted reports whether what follows before is quoted code and not meant.
func quoted(before string) bool {
	return strings.Count(before, "```")%2 == 1 || strings.HasSuffix(before, "`")
}

// remainder is what a scanner has at the end.
type remainder struct {
	thoughts string // to be shown as thoughts
	shown    string // to be shown as said
	moved    string // thoughts that were shown as said, because their opening tag was missing
	said     string // all that is said, when thoughts were moved
	calls    []leak
}

// finish ends the text. With proper calls in the response it holds none.
func (s *scanner) finish(proper bool) remainder {
	if s.mode == thinking {
		return remainder{thoughts: s.open}
	}
	s.take()
	var r remainder
	if s.lenient && !proper {
		if thoughts, said, calls, ok := readHarmony(s.text, s.tools); ok && len(said) >= s.shown {
			r.thoughts, r.calls, s.text = thoughts, calls, said
		} else if said, calls := findLeaks(s.text, s.shown, s.tools); len(calls) > 0 {
			r.calls = calls
			s.text = said
		}
	}
	r.shown = s.show(len(s.text))
	if strings.TrimSpace(r.shown) == "" && s.shown == len(r.shown) {
		r.shown = ""
	}
	if before, after, ok := strings.Cut(s.text, thinkClose); ok && !strings.Contains(before, thinkOpen) &&
		!quoted(before) {
		r.moved, r.said = before, strings.TrimLeft(after, "\r\n")
	}
	return r
}
