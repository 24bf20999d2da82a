package search

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxPattern = 4096
	maxText    = 500 // characters shown of a line
)

// pattern finds lines in a text.
type pattern struct {
	line *regexp.Regexp
	// whole is the pattern for a whole text: its first match begins in or before
	// the first line that matches. It is nil where the pattern speaks of the
	// beginning or end of its input.
	whole *regexp.Regexp
	// literal is contained in every match, or is empty.
	literal string
}

func compile(q Query) (*pattern, error) {
	if len(q.Pattern) > maxPattern {
		return nil, &PatternError{q.Pattern[:100] + "...", "is longer than 4096 bytes"}
	}
	expr := q.Pattern
	if q.IgnoreCase {
		expr = "(?i)" + expr
	}
	line, err := regexp.Compile(expr)
	if err != nil {
		return nil, &PatternError{q.Pattern, reason(err)}
	}
	p := &pattern{line: line}
	tree, err := syntax.Parse("(?m)"+expr, syntax.Perl)
	if err != nil {
		return p, nil
	}
	p.literal = literal(tree)
	if !edged(tree) {
		p.whole, _ = regexp.Compile("(?m)" + expr)
	}
	return p, nil
}

func reason(err error) string {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return string(e.Code) + ": `" + e.Expr + "` (RE2 syntax; escape special characters with a backslash)"
	}
	return err.Error()
}

// literal finds the longest string that every match of re contains.
func literal(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		// The replacement character also matches bytes that are not UTF-8.
		if re.Flags&syntax.FoldCase != 0 || strings.ContainsRune(s, utf8.RuneError) {
			return ""
		}
		return s
	case syntax.OpCapture, syntax.OpPlus:
		return literal(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literal(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := literal(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// edged reports whether re looks at the beginning or the end of its input.
func edged(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
		return true
	}
	for _, sub := range re.Sub {
		if edged(sub) {
			return true
		}
	}
	return false
}

// search returns the first limit matching lines of data and those around them,
// without paths. Data with a NUL gives none, unless it is UTF-16 with a mark.
func (p *pattern) search(ctx context.Context, data []byte, around, limit int) []Line {
	if !p.may(data) {
		return nil
	}
	data, ok := plain(data)
	if !ok {
		return nil
	}
	c := cutter{data: data, around: min(max(around, 0), maxContext), number: 1}
	for at := 0; at < len(data) && limit > 0 && ctx.Err() == nil; {
		start := at
		if p.whole != nil {
			m := p.whole.FindIndex(data[at:])
			if m == nil {
				break
			}
			start = bytes.LastIndexByte(data[:at+m[0]], '\n') + 1
			if start >= len(data) {
				break
			}
		}
		end := lineEnd(data, start)
		if m := p.line.FindIndex(data[start:end]); m != nil {
			c.match(start, end, m)
			limit--
		}
		at = end + 1
	}
	c.after(len(data))
	return c.lines
}

// may reports whether a line of data can match, for all that a look at its bytes tells. Most
// files are done with then.
func (p *pattern) may(data []byte) bool {
	return wideMark(data) || bytes.Contains(data, []byte(p.literal))
}

// wideMark reports whether data begins like UTF-16.
func wideMark(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// plain makes data UTF-8 with line feeds; it may write to data. It reports false
// for binary data.
func plain(data []byte) ([]byte, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return wide(data[2:], 1, 0), true
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return wide(data[2:], 0, 1), true
	case bytes.IndexByte(data, 0) >= 0:
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(data, '\r') < 0 {
		return data, true
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), true
}

// wide decodes UTF-16 whose units have their high byte at hi, their low at lo.
func wide(data []byte, hi, lo int) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i+hi])<<8 | uint16(data[2*i+lo])
	}
	text := []byte(string(utf16.Decode(units)))
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

func lineEnd(data []byte, start int) int {
	if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
		return start + i
	}
	return len(data)
}

// cutter turns places of matches, in order, into lines with their numbers.
type cutter struct {
	data   []byte
	around int
	lines  []Line

	at     int // start of a line
	number int // of the line at at
	shown  int // start of the first line that is not shown
	owed   int // lines still to be shown after the last match
}

func (c *cutter) match(start, end int, m []int) {
	c.after(start)
	from := start
	for range c.around {
		if from <= c.shown {
			break
		}
		from = bytes.LastIndexByte(c.data[:from-1], '\n') + 1
	}
	from = max(from, c.shown)
	for from < start {
		from = c.show(from)
	}
	c.seek(start)
	c.lines = append(c.lines, Line{Number: c.number, Text: shorten(c.data[start:end], m), Match: true})
	c.shown = end + 1
	c.owed = c.around
}

// after shows the lines owed to the last match that begin before limit.
func (c *cutter) after(limit int) {
	for at := c.shown; c.owed > 0 && at < limit; c.owed-- {
		at = c.show(at)
		c.shown = at
	}
	c.owed = 0
}

// show shows the line at start as context and returns where the next begins.
func (c *cutter) show(start int) int {
	c.seek(start)
	end := lineEnd(c.data, start)
	c.lines = append(c.lines, Line{Number: c.number, Text: shorten(c.data[start:end], []int{0, 0})})
	return end + 1
}

func (c *cutter) seek(start int) {
	c.number += bytes.Count(c.data[c.at:start], []byte("\n"))
	c.at = start
}

// shorten cuts a line so that the match at m is seen.
func shorten(line []byte, m []int) string {
	if len(line) <= maxText {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	text, head := line, ""
	if m[1] > maxText && m[0] > 100 {
		text, head = line[m[0]-100:], "..."
		for len(text) > 0 && !utf8.RuneStart(text[0]) && len(text) > len(line)-m[0]+97 {
			text = text[1:]
		}
	}
	// Four bytes are the most that a character takes.
	s := []rune(strings.ToValidUTF8(string(text[:min(len(text), 4*maxText)]), "\uFFFD"))
	if len(s) <= maxText && len(text) <= 4*maxText {
		return head + string(s)
	}
	return head + string(s[:min(len(s), maxText)]) + "..."
}
