package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"kerf/internal/text/charset"
	"kerf/internal/text/match"
)

// Bounds of what a message shows.
const (
	shownLines   = 30
	shownWidth   = 200
	shownMatches = 20
	// looseText and loosePassage bound what is searched again only to explain.
	looseText    = 4 << 20
	loosePassage = 64 << 10
)

// ambiguous says how often and where the passage stands.
func ambiguous(f charset.Text, spans []match.Span) *Error {
	return refuse(Ambiguous, "old_string occurs %d times, at lines %s, and replace_all is not set; quote more lines "+
		"around the one you mean, add beforeContext or afterContext, or set replace_all to change them all",
		len(spans), lineList(f.Bytes, spans))
}

// lineList names the lines where spans begin, the first few of them.
func lineList(text []byte, spans []match.Span) string {
	var words []string
	line, at, times := 1, 0, 0
	flush := func() {
		switch {
		case times == 1:
			words = append(words, fmt.Sprint(line))
		case times > 1:
			words = append(words, fmt.Sprintf("%d (%d times)", line, times))
		}
		times = 0
	}
	for i, s := range spans {
		if n := bytes.Count(text[at:s.Start], lf); n > 0 {
			flush()
			line += n
		}
		if len(words) == shownMatches {
			return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), len(spans)-i)
		}
		at = s.Start
		times++
	}
	flush()
	return strings.Join(words, ", ")
}

// notFound says why nothing matched: the first explanation that holds, with the
// real text and the step that would succeed.
func notFound(f charset.Text, q query, dropped []match.Span) *Error {
	if len(f.Bytes) == 0 {
		return refuse(NotFound, "old_string is not in the file: the file is empty; use write_file to fill it")
	}
	if len(dropped) > 0 {
		return refuse(NotFound, "old_string is in the file (lines %s), but not next to the given %s; copy the context "+
			"from right beside the place, or leave it out",
			lineList(f.Bytes, dropped), contextNames(q))
	}
	if e := misquoted(f, q); e != nil {
		return e
	}
	if p, ok := match.Nearest(f.Bytes, []byte(q.old)); ok {
		var b strings.Builder
		fmt.Fprintf(&b, "old_string is not in the file%s. The nearest text is at %s:\n%s", encodingNote(f),
			lineRange(p.First, p.Last), passage(f.Bytes, p.First, p.Span))
		if p.Start == 0 || f.Bytes[p.Start-1] == '\n' {
			b.WriteString(difference(string(f.Bytes[p.Start:p.End]), q.old, p.First))
		}
		b.WriteString(legend(f.Bytes[p.Start:p.End]))
		b.WriteString("Repeat the edit with old_string copied from these lines, or re-read the file if you meant another " +
			"place.")
		return &Error{NotFound, b.String()}
	}
	return refuse(NotFound, "old_string is not in the file%s, and nothing in its %d lines resembles it; re-read the "+
		"file and quote what is there", encodingNote(f), countLines(f.Bytes))
}

func encodingNote(f charset.Text) string {
	if !f.Known() {
		return " (which is not UTF-8: bytes above 127 cannot be quoted unless its encoding is given)"
	}
	return ""
}

func contextNames(q query) string {
	before, after := strings.Trim(q.before, white) != "", strings.Trim(q.after, white) != ""
	switch {
	case before && after:
		return "beforeContext and afterContext"
	case before:
		return "beforeContext"
	}
	return "afterContext"
}

// slip is a way to misquote, with the step that helps.
type slip struct{ what, step string }

// looser says what is wrong with a passage that matches only at a level.
func looser(l match.Level) slip {
	switch l {
	case match.Exact, match.LineEndings:
		return slip{"only its line ends differ", "leave normalization out, so that line ends do not count"}
	case match.Trailing:
		return slip{"only blanks at line ends differ", `quote the lines as they are, or set normalization "trailing"`}
	case match.Indentation:
		return slip{"only its indentation differs", `quote the indentation as it is, or set normalization "indentation"`}
	case match.Whitespace:
		return slip{"only white space differs", "quote the white space as it is"}
	}
	return slip{"only quotation marks or white space differ", "quote them as they are"}
}

// misquoted looks for the passage with usual slips undone.
func misquoted(f charset.Text, q query) *Error {
	if len(f.Bytes) > looseText || len(q.old) > loosePassage {
		return nil
	}
	find := func(text []byte, old string, level match.Level) match.Found {
		return match.Find(text, match.Query{Passage: []byte(old), Level: level, Before: []byte(q.before),
			After: []byte(q.after)})
	}
	if match.Somewhere(f.Bytes, []byte(q.old)) {
		if found := find(f.Bytes, q.old, match.Structural); len(found.Spans) > 0 {
			return slipped(f.Bytes, looser(found.Level), found.Spans)
		}
	}
	if old := unnumbered(q.old); old != "" {
		if found := find(f.Bytes, old, max(match.Trailing, q.level)); len(found.Spans) > 0 {
			return slipped(f.Bytes, slip{"old_string carries the line numbers that read_file shows",
				"leave the numbers and the bar out of old_string and new_string"}, found.Spans)
		}
	}
	if old := unescape(q.old); q.literal && old != q.old && old != "" {
		if found := find(f.Bytes, old, max(match.LineEndings, q.level)); len(found.Spans) > 0 {
			return slipped(f.Bytes, slip{"old_string has backslash escapes where the file has the characters themselves",
				`write the characters, or set escapeMode "interpreted"`}, found.Spans)
		}
	}
	if charset.ASCII(f.Bytes) && charset.ASCII([]byte(q.old)) {
		return nil
	}
	// Folding keeps the line ends, so the lines found are the lines meant.
	text := typewritten(string(f.Bytes))
	if found := find([]byte(text), typewritten(q.old), match.Trailing); len(found.Spans) > 0 {
		return slipped(f.Bytes, slip{"only typographic characters (quotes, dashes, unusual spaces) differ",
			"copy these characters as they are"}, sameLines(f.Bytes, []byte(text), found.Spans))
	}
	return nil
}

// slipped shows the first of the real places and the step that helps.
func slipped(text []byte, s slip, spans []match.Span) *Error {
	span := wholeLines(text, spans[0])
	first := bytes.Count(text[:span.Start], lf) + 1
	last := first + bytes.Count(text[span.Start:span.End], lf)
	more := ""
	if n := len(spans) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more places)", n)
	}
	return refuse(NotFound, "old_string is not in the file as quoted: %s. The real text is at %s%s:\n%s%sRepeat the "+
		"edit: %s.",
		s.what, lineRange(first, last), more, passage(text, first, span), legend(text[span.Start:span.End]), s.step)
}

// typewritten returns s with typographic characters as a typewriter has them. A
// text without any comes back as it is.
func typewritten(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case 0x2018 <= r && r <= 0x201b || r == 0x2032:
			return '\''
		case 0x201c <= r && r <= 0x201f || r == 0x2033:
			return '"'
		case 0x2010 <= r && r <= 0x2015 || r == 0x2212:
			return '-'
		case r == 0xa0 || r == 0x3000 || r == 0x202f || 0x2000 <= r && r <= 0x200a:
			return ' '
		case r == 0xfeff || r == 0xad || 0x200b <= r && r <= 0x200f:
			return -1
		}
		return r
	}, s)
}

// sameLines returns the stretches of text that have the lines of the spans of other,
// a text with the same line ends.
func sameLines(text, other []byte, spans []match.Span) []match.Span {
	same := make([]match.Span, len(spans))
	from, to := 0, 0 // how far other and text have been read, both at the start of a line
	skip := func(n int) {
		for range n {
			to += bytes.IndexByte(text[to:], '\n') + 1
		}
	}
	for i, s := range spans {
		if s.Start > from {
			skip(bytes.Count(other[from:s.Start], lf))
		}
		start := to
		skip(bytes.Count(other[s.Start:s.End], lf))
		from = bytes.LastIndexByte(other[:s.End], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[to:], '\n'); n >= 0 {
			end = to + n
		}
		same[i] = match.Span{Start: start, End: end}
	}
	return same
}

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *[0-9]+ \| ?`) })

// unnumbered takes line numbers off s, or returns nothing when a line has none.
func unnumbered(s string) string {
	lines := strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
	if len(numbered().FindAllStringIndex(s, -1)) != lines {
		return ""
	}
	return numbered().ReplaceAllString(s, "")
}

// wholeLines widens s to whole lines without the last line end, unless they are
// too long to be shown.
func wholeLines(text []byte, s match.Span) match.Span {
	start := bytes.LastIndexByte(text[:s.Start], '\n') + 1
	end := s.End
	if s.End == s.Start || text[s.End-1] != '\n' {
		if i := bytes.IndexByte(text[s.End:], '\n'); i >= 0 {
			end = s.End + i
		} else {
			end = len(text)
		}
	} else {
		end--
	}
	if end-start > s.End-s.Start+4*shownWidth {
		return s
	}
	return match.Span{Start: start, End: end}
}

// difference names the first line of there that differs from the passage.
func difference(there, old string, first int) string {
	have := strings.Split(there, "\n")
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if len(have) > 2000 || len(want) != len(have) {
		return ""
	}
	for i := range have {
		h, w := strings.TrimSuffix(have[i], "\r"), strings.TrimSuffix(want[i], "\r")
		before := 0 // a passage may begin and end inside a line
		if i == 0 && w != "" && !strings.ContainsAny(w[:1], blanks) {
			before = len(h) - len(strings.TrimLeft(h, blanks))
			if n := strings.Index(h, w[:min(len(w), 8)]); n > before {
				before = n
			}
			h = h[before:]
		}
		if h == w || i == len(want)-1 && strings.HasPrefix(h, w) {
			continue
		}
		at := 0
		for at < len(h) && at < len(w) && h[at] == w[at] {
			at++
		}
		for at > 0 && at < len(h) && h[at]&0xc0 == 0x80 {
			at--
		}
		return fmt.Sprintf("Line %d differs first at column %d: the file has %s, old_string has %s.\n", first+i,
			utf8.RuneCountInString(have[i][:before+at])+1, bit(h, at), bit(w, min(at, len(w))))
	}
	return ""
}

// bit shows the text from offset at on, a few characters of it.
func bit(s string, at int) string {
	if at >= len(s) {
		return "the end of the line"
	}
	n := 0
	for i := range s[at:] {
		if n++; n > 24 {
			return "`" + visible(s[at:at+i], false) + "…`"
		}
	}
	return "`" + visible(s[at:], true) + "`"
}

// passage shows a stretch of text with line numbers and visible white space.
func passage(text []byte, first int, s match.Span) string {
	var b strings.Builder
	lines := bytes.SplitN(text[s.Start:s.End], lf, shownLines+1)
	for i, l := range lines {
		if i == shownLines {
			fmt.Fprintf(&b, "     … %d more lines\n", bytes.Count(l, lf)+1)
			break
		}
		fmt.Fprintf(&b, "%4d | %s\n", first+i, cut(l))
	}
	return b.String()
}

// cut shows one line, its middle left out when it is long.
func cut(l []byte) string {
	if len(l) <= 2*shownWidth {
		return visible(string(l), true)
	}
	head, tail := string(bytes.ToValidUTF8(l[:shownWidth], nil)), string(bytes.ToValidUTF8(l[len(l)-shownWidth:], nil))
	return fmt.Sprintf("%s … %d bytes … %s", visible(head, false), len(l)-2*shownWidth, visible(tail, true))
}

// visible shows tabs as →, CR as ␍ and, at the end of a line, spaces as ·. Other
// control characters and bytes that are no text are shown as escapes.
func visible(s string, ends bool) string {
	body, tail := s, ""
	if ends {
		body = strings.TrimRight(s, " \t\r")
		tail = strings.ReplaceAll(s[len(body):], " ", "·")
	}
	var b strings.Builder
	for i, r := range body + tail {
		switch {
		case r == '\t':
			b.WriteRune('→')
		case r == '\r':
			b.WriteRune('␍')
		case r == '\uFFFD' && !strings.HasPrefix((body + tail)[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, (body + tail)[i])
		case r < ' ' || r == 0x7f || hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether r looks like nothing, like a space, or turns text around.
func hidden(r rune) bool {
	return r == 0xa0 || r == 0xad || r == 0xfeff || r == 0x3000 || 0x80 <= r && r < 0xa0 ||
		0x2000 <= r && r <= 0x200f || 0x2028 <= r && r <= 0x202f || 0x2060 <= r && r <= 0x206f
}

// legend explains the marks that stand in shown, if there are any.
func legend(shown []byte) string {
	var marks []string
	if bytes.IndexByte(shown, '\t') >= 0 {
		marks = append(marks, "→ is a tab")
	}
	if bytes.Contains(shown, []byte(" \n")) || bytes.Contains(shown, []byte(" \r\n")) ||
		bytes.HasSuffix(shown, []byte(" ")) {
		marks = append(marks, "· a space at a line's end")
	}
	if bytes.IndexByte(shown, '\r') >= 0 {
		marks = append(marks, "␍ a carriage return")
	}
	if len(marks) == 0 {
		return ""
	}
	return "(" + strings.Join(marks, ", ") + ")\n"
}

func lineRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}

func countLines(text []byte) int {
	n := bytes.Count(text, lf)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

func quoted(words []string) string { return `"` + strings.Join(words, `", "`) + `"` }
