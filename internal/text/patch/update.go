package patch

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"kerf/internal/text/patch/unified"
)

// target is the text that an envelope's hunks are made for, cut into lines.
type target struct {
	bom   string
	lines []string // without their ends
	ends  []string // "\n", "\r\n" or "" after the last
	end   string   // what new lines get: the end of the first line
	seek  seeker
	raw   []byte
}

func newTarget(data []byte) *target {
	t := &target{end: "\n", raw: data}
	s := string(data)
	if rest, ok := strings.CutPrefix(s, unified.BOM); ok {
		t.bom, s = unified.BOM, rest
	}
	for s != "" {
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			i = len(s)
		}
		l := unified.TrimLineEnd(s[:i])
		t.lines, t.ends = append(t.lines, l), append(t.ends, s[len(l):i])
		s = s[i:]
	}
	if len(t.ends) > 0 && t.ends[0] != "" {
		t.end = t.ends[0]
	}
	t.seek.lines[exact] = t.lines
	return t
}

// splice replaces n lines from start by the lines of a hunk.
type splice struct {
	start, n int
	lines    []unified.Line
}

// updateText applies the hunks of an update. Hunks match forward only: each is
// sought after the one before. Lines that the hunks do not remove keep every
// byte; the last line gets an end if it has none.
func updateText(data []byte, chunks []chunk) ([]byte, *unified.Error) {
	if !utf8.Valid(data) {
		return nil, &unified.Error{Message: "the file is not UTF-8 text; hunks of this format apply to UTF-8 only, so " +
			"change it with another tool"}
	}
	t := newTarget(data)
	var splices []splice
	var tail []unified.Line // what hunks without old lines add at the end
	cursor := 0
	for i, c := range chunks {
		if t.bom != "" {
			c.lines = withoutBOM(c.lines)
		}
		at, err := t.contexts(c, cursor)
		if err == nil && len(pattern(c.lines)) == 0 {
			cursor = at
			tail = append(tail, c.lines...)
			continue
		}
		var s splice
		if err == nil {
			s, err = t.find(c, at)
		}
		if err != nil {
			err.Hunk = i + 1
			return nil, err
		}
		splices = append(splices, s)
		cursor = s.start + s.n
	}
	return t.splice(splices, tail), nil
}

func withoutBOM(ls []unified.Line) []unified.Line {
	out := make([]unified.Line, len(ls))
	for i, l := range ls {
		out[i] = unified.Line{Op: l.Op, Text: strings.TrimPrefix(l.Text, unified.BOM)}
	}
	return out
}

// pattern returns the lines that a hunk expects in the file.
func pattern(ls []unified.Line) []string {
	var old []string
	for _, l := range ls {
		if l.Op != '+' {
			old = append(old, l.Text)
		}
	}
	return old
}

// contexts seeks the lines after @@ and returns the line after the last.
func (t *target) contexts(c chunk, from int) (int, *unified.Error) {
	for _, ctx := range c.contexts {
		at, ok := t.seek.find([]string{ctx}, from, false)
		if !ok {
			e := &unified.Error{Line: c.at, Message: t.noContext(ctx, from)}
			return 0, e
		}
		from = at + 1
	}
	return from, nil
}

// find locates a hunk. A trailing empty line that the file does not have is
// forgiven: it is often only the end of the patch's text.
func (t *target) find(c chunk, from int) (splice, *unified.Error) {
	old := pattern(c.lines)
	if at, ok := t.seek.find(old, from, c.eof); ok {
		return splice{at, len(old), c.lines}, nil
	}
	if last := len(old) - 1; last >= 0 && old[last] == "" {
		if at, ok := t.seek.find(old[:last], from, c.eof); ok {
			return splice{at, last, withoutTail(c.lines)}, nil
		}
	}
	return splice{}, &unified.Error{Line: c.at, Message: t.noLines(c, old, from)}
}

// withoutTail drops the last expected line, which is empty, and the last new
// line if that is empty as well.
func withoutTail(ls []unified.Line) []unified.Line {
	out := append([]unified.Line(nil), ls...)
	last := len(out) - 1
	for out[last].Op == '+' {
		last--
	}
	switch trailing := out[last+1:]; {
	case out[last].Op == ' ' && len(trailing) > 0:
		out[last].Op = '+' // lines follow it, so it stays as a new line
	default:
		out = append(out[:last:last], trailing...)
	}
	if n := len(out) - 1; n >= 0 && out[n] == (unified.Line{Op: '+', Text: ""}) {
		out = out[:n]
	}
	return out
}

// splice builds the new text. Splices are in order and apart.
func (t *target) splice(splices []splice, tail []unified.Line) []byte {
	var b bytes.Buffer
	b.Grow(len(t.raw) + 256)
	b.WriteString(t.bom)
	keep := func(i int) {
		b.WriteString(t.lines[i])
		if t.ends[i] == "" {
			b.WriteString(t.end)
		} else {
			b.WriteString(t.ends[i])
		}
	}
	add := func(l unified.Line) {
		b.WriteString(l.Text)
		b.WriteString(t.end)
	}
	at := 0
	for _, s := range splices {
		for ; at < s.start; at++ {
			keep(at)
		}
		for _, l := range s.lines {
			switch l.Op {
			case '+':
				add(l)
			case ' ':
				keep(at)
				at++
			case '-':
				at++
			}
		}
	}
	for ; at < len(t.lines); at++ {
		keep(at)
	}
	for _, l := range tail {
		add(l)
	}
	return b.Bytes()
}

func (t *target) noContext(ctx string, from int) string {
	if strings.HasPrefix(ctx, "-") && strings.HasSuffix(strings.TrimSpace(ctx), "@@") {
		return fmt.Sprintf("this format has no line numbers: instead of %s write @@ alone, or @@ and a line of the file",
			unified.Quote("@@ "+ctx))
	}
	if at, ok := t.seek.find([]string{ctx}, 0, false); ok && from > 0 {
		return fmt.Sprintf("the context %s stands at line %d, before the previous hunk ends (line %d); put the hunks in "+
			"the order of the file", unified.Quote(ctx), at+1, from)
	}
	return fmt.Sprintf("no line is the context %s\n%s", unified.Quote(ctx),
		t.nearest([]string{ctx}, "@@ must be followed by a whole line of the file as it is, or stand alone"))
}

func (t *target) noLines(c chunk, old []string, from int) string {
	if at, ok := t.seek.find(old, 0, false); ok {
		switch {
		case c.eof:
			return fmt.Sprintf("the lines stand at line %d, not at the end of the file (%d lines); leave out '%s'", at+1,
				len(t.lines), endOfFile)
		case len(c.contexts) > 0:
			return fmt.Sprintf("the lines stand at line %d, but not after the context %s (line %d); choose a context before "+
				"them or put the hunks in the order of the file", at+1, unified.Quote(c.contexts[len(c.contexts)-1]), from)
		}
		return fmt.Sprintf("the lines stand at line %d, before the previous hunk ends (line %d); put the hunks in the "+
			"order of the file", at+1, from)
	}
	var fresh []string
	for _, l := range c.lines {
		if l.Op != '-' {
			fresh = append(fresh, l.Text)
		}
	}
	if len(fresh) > 0 {
		if at, ok := t.seek.find(fresh, 0, false); ok && strings.TrimSpace(strings.Join(fresh, "")) != "" {
			return fmt.Sprintf("the lines are not in the file, but the new ones are already at lines %d-%d; leave out the "+
				"hunk if nothing else is missing", at+1, at+len(fresh))
		}
	}
	return "the lines are not in the file:\n" + unified.Excerpt(old, 1, false) +
		t.nearest(old, "copy the lines of the hunk from it as they are")
}

// nearest shows the lines of the text that resemble want most, and says what to
// do with them.
func (t *target) nearest(want []string, step string) string {
	return unified.Nearest(t.raw, want, step)
}
