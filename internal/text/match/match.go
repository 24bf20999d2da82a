// Package match finds where a quoted passage occurs in a text.
//
// It looks for the very characters first and then, level by level, as loosely as
// the caller asked for. The first level that has a match decides; an exact match
// is never ambiguous with a loose one. The package is pure and never changes the
// bytes it is given.
package match

import "bytes"

// Level says how loosely a passage may be matched. Each level includes the
// tolerance of the ones before it, except that Indentation compares whole lines.
type Level int

// The levels, from strict to loose.
const (
	Exact       Level = iota // the same bytes
	LineEndings              // CRLF and LF are one
	Trailing                 // blanks before a line end are left out
	Indentation              // whole lines, blanks at both ends left out
	Whitespace               // white space only separates words
	Structural               // as Whitespace, and all quotes are one
)

var levelNames = [...]string{"exact", "line-endings", "trailing", "indentation", "whitespace", "structural"}

// String returns the name of l as callers write it.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return "unknown"
	}
	return levelNames[l]
}

// Risky reports whether l may match a passage of different meaning.
func (l Level) Risky() bool { return l >= Indentation }

// ParseLevel returns the level with the given name.
func ParseLevel(name string) (Level, bool) {
	for i, n := range levelNames {
		if n == name {
			return Level(i), true
		}
	}
	return 0, false
}

// Levels returns the names of all levels, from strict to loose.
func Levels() []string { return append([]string(nil), levelNames[:]...) }

// Span is a stretch of bytes, End exclusive.
type Span struct{ Start, End int }

// Query says what to look for.
type Query struct {
	Passage []byte
	// Level is the loosest level to try.
	Level Level
	// Before and After, where they are more than white space, must stand next to
	// a match with nothing but white space between.
	Before, After []byte
}

// Found is the outcome of a search.
type Found struct {
	// Level is the level that decided, meaningless without Spans.
	Level Level
	// Spans are the matches, ascending, not overlapping.
	Spans []Span
	// Dropped are the matches that only the context ruled out, at the first level
	// that had any.
	Dropped []Span
}

// Find looks for q in text. The time is linear in the text for each level tried.
// An empty passage matches nothing.
func Find(text []byte, q Query) Found {
	var f Found
	if len(q.Passage) == 0 {
		return f
	}
	before, after := context(q.Before), context(q.After)
	for l := Exact; l <= q.Level && l <= Structural; l++ {
		all := findAt(text, q.Passage, l)
		fit := all
		if before != nil || after != nil {
			fit = fitting(text, all, before, after)
		}
		if len(fit) > 0 {
			return Found{Level: l, Spans: fit}
		}
		if len(f.Dropped) == 0 {
			f.Dropped = all
		}
	}
	return f
}

// Somewhere reports whether passage is in text at any level, whatever the context.
// It costs a fraction of a search that tries them all. A passage of nothing but
// white space may be there all the same.
func Somewhere(text, passage []byte) bool {
	want := squeeze(bytes.Trim(passage, white), true, false).text
	return len(want) == 0 || bytes.Contains(squeeze(text, true, false).text, want)
}

// findAt returns the matches of exactly one level.
func findAt(text, passage []byte, l Level) []Span {
	switch l {
	case Exact:
		return exact(text, passage)
	case LineEndings:
		return lineEndings(text, passage)
	case Trailing:
		return trailing(text, passage)
	case Indentation:
		return indentation(text, passage)
	case Whitespace:
		return whitespace(text, passage, false)
	default:
		return whitespace(text, passage, true)
	}
}

func exact(text, passage []byte) []Span {
	var spans []Span
	off := rarest(text, passage)
	for at := 0; ; {
		i := index(text[at:], passage, off)
		if i < 0 {
			return spans
		}
		at += i + len(passage)
		spans = append(spans, Span{at - len(passage), at})
	}
}

func lineEndings(text, passage []byte) []Span {
	if bytes.IndexByte(passage, '\r') < 0 && bytes.IndexByte(passage, '\n') < 0 {
		return exact(text, passage) // nothing to fold inside the passage
	}
	want := foldLines(passage, false).text
	if bytes.IndexByte(want, '\r') < 0 && allCRLF(text) {
		// Every line end is CRLF, so the passage can be bent instead of the text.
		return exact(text, bytes.ReplaceAll(want, []byte{'\n'}, []byte("\r\n")))
	}
	seen := foldLines(text, false)
	spans := exact(seen.text, want)
	for i, s := range spans {
		spans[i] = Span{seen.raw(s.Start), seen.raw(s.End)}
	}
	return spans
}

// allCRLF reports whether every line end of text is CRLF.
func allCRLF(text []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return true
		}
		if at += i; at == 0 || text[at-1] != '\r' {
			return false
		}
		at++
	}
}

// trailing matches with blanks before line ends left out. When the passage itself
// ends in blanks it has to end where the content of a line does; a line end that
// is appended to both sides and kept out of the region says so.
func trailing(text, passage []byte) []Span {
	want := foldLines(passage, true).text
	if len(want) == 0 {
		return nil
	}
	seen := foldLines(text, true)
	if !isBlank(passage[len(passage)-1]) {
		spans := exact(seen.text, want)
		for i, s := range spans {
			spans[i] = Span{seen.raw(s.Start), seen.raw(s.End)}
		}
		return spans
	}
	hay := append(append(make([]byte, 0, len(seen.text)+1), seen.text...), '\n')
	needle := append(append(make([]byte, 0, len(want)+1), want...), '\n')
	var spans []Span
	for at := 0; ; {
		i := bytes.Index(hay[at:], needle)
		if i < 0 {
			return spans
		}
		start := at + i
		at = start + len(want)
		end := seen.raw(at)
		for end < len(text) && isBlank(text[end]) {
			end++
		}
		spans = append(spans, Span{seen.raw(start), end})
	}
}

// indentation matches runs of whole lines, compared without the blanks at their
// ends. Both sides are joined with a line end before and after every line, so that
// a plain search finds only whole lines.
func indentation(text, passage []byte) []Span {
	want, have := cutLines(passage), cutLines(text)
	if len(bytes.Trim(want.seen, "\n")) == 0 || have.len() == 0 {
		return nil
	}
	ended := passage[len(passage)-1] == '\n'
	var spans []Span
	for at := 0; ; {
		i := bytes.Index(have.seen[at:], want.seen)
		if i < 0 {
			return spans
		}
		first := have.lineAt(at + i + 1)
		last := first + want.len() - 1
		at += i + len(want.seen) - 1
		start, end := have.raw[first], have.raw[last+1]
		content := contentEnd(text, start, end)
		if !ended {
			end = content
		} else if content == end {
			continue // the passage ends in a line end, the file here does not
		}
		spans = append(spans, Span{start, end})
	}
}

// contentEnd returns where the line that ends at end stops without its line end.
func contentEnd(text []byte, start, end int) int {
	if end > start && text[end-1] == '\n' {
		end--
		if end > start && text[end-1] == '\r' {
			end--
		}
	}
	return end
}

func whitespace(text, passage []byte, quotes bool) []Span {
	want := squeeze(bytes.Trim(passage, white), quotes, false).text
	if len(want) == 0 {
		return nil
	}
	seen := squeeze(text, quotes, true)
	spans := exact(seen.text, want)
	for i, s := range spans {
		spans[i] = Span{seen.raw(s.Start), seen.raw(s.End-1) + 1}
	}
	return spans
}

// context returns c ready for comparison: trimmed, line ends as LF; nil for none.
func context(c []byte) []byte {
	c = bytes.Trim(c, white)
	if len(c) == 0 {
		return nil
	}
	return foldLines(c, false).text
}

// fitting returns the spans that stand beside the contexts.
func fitting(text []byte, spans []Span, before, after []byte) []Span {
	var fit []Span
	for _, s := range spans {
		if endsIn(text[:s.Start], before) && beginsWith(text[s.End:], after) {
			fit = append(fit, s)
		}
	}
	return fit
}

// endsIn reports whether text, without white space at its end, ends in c.
func endsIn(text, c []byte) bool {
	if c == nil {
		return true
	}
	i := len(text)
	for i > 0 && isSpace(text[i-1]) {
		i--
	}
	for j := len(c) - 1; j >= 0; j-- {
		i--
		if i < 0 || text[i] != c[j] {
			return false
		}
		if text[i] == '\n' && i > 0 && text[i-1] == '\r' {
			i--
		}
	}
	return true
}

// beginsWith reports whether text, without white space at its start, begins with c.
func beginsWith(text, c []byte) bool {
	if c == nil {
		return true
	}
	i := 0
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	for _, b := range c {
		if b == '\n' && i+1 < len(text) && text[i] == '\r' && text[i+1] == '\n' {
			i++
		}
		if i >= len(text) || text[i] != b {
			return false
		}
		i++
	}
	return true
}
