// Package excerpt shows models the parts of a text that matter to a tool's answer.
package excerpt

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/text/diff"
	"kerf/internal/text/lines"
)

// Bounds of what is shown.
const (
	// Width is the most bytes of a line.
	Width       = 500
	shownDiff   = 8000 // bytes
	shownAround = 3    // lines before and after a place
	shownPlace  = 40   // lines of a place
	shortFile   = 2000 // bytes of a file that is shown whole after a change
)

// Diff is the unified diff of two texts that are plain, cut to what a refusal may show.
func Diff(name string, old, new []byte) string {
	name = strings.TrimLeft(filepath.ToSlash(name), "/")
	d := string(diff.Unified([]diff.File{{OldPath: name, NewPath: name, OldMode: 0o100644, NewMode: 0o100644,
		Old: old, New: new}}))
	if i := strings.Index(d, "--- "); i >= 0 {
		d = d[i:] // without git's own header
	}
	if len(d) > shownDiff {
		cut := strings.LastIndexByte(d[:shownDiff], '\n') + 1
		d = d[:cut] + fmt.Sprintf("… %d more lines of the diff\n", strings.Count(d[cut:], "\n"))
	}
	return d
}

// Numbered shows lines of text as read_file does, with some lines around them.
func Numbered(text []byte, r tool.LineRange, m tool.Manner) string {
	all := lines.Split(text)
	from, to := max(0, r.Start-1-shownAround), min(len(all), r.End+shownAround)
	var b strings.Builder
	for i := from; i < to; i++ {
		if i-from == shownPlace {
			fmt.Fprintf(&b, "     … up to line %d\n", to)
			break
		}
		m.Number(&b, i+1, Shorten(Chomp(all[i]), Width))
	}
	return b.String()
}

// Chomp takes the line end off.
func Chomp(line []byte) string {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return string(bytes.TrimSuffix(line, []byte{'\r'}))
}

// Shorten cuts a line after n bytes and says so; what is no text is replaced.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	cut := n
	for cut > n-4 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes in this line)", strings.ToValidUTF8(s[:cut], "\uFFFD"), len(s)-cut)
}

// Moved returns the lines of new that old does not have, as words.
func Moved(old, new []byte) string {
	var words []string
	for i, r := range Regions(old, new) {
		if i == 5 {
			words = append(words, "…")
			break
		}
		words = append(words, Span(r))
	}
	return strings.Join(words, ", ")
}

// Comparison is how a text became another one. It is made once for all that is told of it: texts
// may be large.
type Comparison struct {
	old, new []byte
	edits    []diff.Edit
}

// Compare compares two texts.
func Compare(old, new []byte) Comparison { return Comparison{old, new, diff.Lines(old, new)} }

// Regions returns the lines of new where it differs from old.
func Regions(old, new []byte) []tool.LineRange { return Compare(old, new).regions() }

func (c Comparison) regions() []tool.LineRange {
	var found []tool.LineRange
	place := counter{text: c.new}
	shift := 0
	for _, e := range c.edits {
		start := e.Start + shift
		end := start + len(e.New)
		shift += len(e.New) - (e.End - e.Start)
		first := place.line(start)
		last := first
		if len(e.New) > 0 {
			last = place.line(end - 1)
		}
		found = append(found, tool.LineRange{Start: first, End: last})
	}
	return found
}

// counter finds the lines of offsets that do not get smaller. Few of them need no index of the
// text.
type counter struct {
	text   []byte
	at     int // offset up to which line ends were counted
	passed int // line ends before that
}

// line is the 1-based line that holds the byte at offset, the last one if there is none.
func (c *counter) line(offset int) int {
	if offset = min(offset, len(c.text)-1); offset > c.at {
		c.passed += bytes.Count(c.text[c.at:offset], []byte{'\n'})
		c.at = offset
	}
	return c.passed + 1
}

// Change tells in a few words which lines of new differ from old, and how far the lines
// after them moved. Lines that are gone are counted in old, the others in new.
func Change(old, new []byte) string { return Compare(old, new).Change() }

// Change is the function Change for texts that were compared.
func (c Comparison) Change() string {
	var words []string
	was := counter{text: c.old}
	for i, r := range c.regions() {
		if i == 6 {
			words = append(words, fmt.Sprintf("%d more places", len(c.edits)-i))
			break
		}
		if e := c.edits[i]; len(e.New) == 0 {
			gone := tool.LineRange{Start: was.line(e.Start), End: was.line(e.End - 1)}
			words = append(words, "removed "+Span(gone))
			continue
		}
		words = append(words, Span(r))
	}
	moved := 0 // edits begin and end with lines
	for _, e := range c.edits {
		moved += lines.Count(e.New) - lines.Count(c.old[e.Start:e.End])
	}
	if moved != 0 {
		words = append(words, fmt.Sprintf("later lines %+d", moved))
	}
	return strings.Join(words, ", ")
}

// Across returns where the lines r of old are in new.
func Across(old, new []byte, r tool.LineRange) tool.LineRange {
	index := lines.NewIndex(old)
	from, to := index.Offset(r.Start), index.Offset(r.End+1)
	shiftFrom, shiftTo := 0, 0
	for _, e := range diff.Lines(old, new) {
		grown := len(e.New) - (e.End - e.Start)
		if e.End <= from && e.Start < from {
			shiftFrom += grown
		}
		if e.Start < to || e.End <= to {
			shiftTo += grown
		}
	}
	there := lines.NewIndex(new)
	limit := max(0, len(new)-1)
	first := there.LineOf(min(max(0, from+shiftFrom), limit))
	return tool.LineRange{Start: first, End: max(first, there.LineOf(min(max(0, to+shiftTo-1), limit)))}
}

// Span is a range of lines in words.
func Span(r tool.LineRange) string {
	if r.Start == r.End {
		return fmt.Sprintf("line %d", r.Start)
	}
	return fmt.Sprintf("lines %d-%d", r.Start, r.End)
}

// Result is what is told of a change that turned old (nil: nothing) into new: words and
// the states, or brief alone where results are short. With versions the call named one, so
// the new one is told, without the content.
func Result(m tool.Manner, words, brief string, states map[string]tool.FileState, versions bool) tool.Result {
	if !m.Short {
		return tool.Result{Output: words, UpdatedStates: states}
	}
	for name, s := range states {
		s.NewContent = ""
		states[name] = s
	}
	return tool.Result{Output: brief, UpdatedStates: states, Short: !versions && !m.Versions}
}

// State describes the new text of a file whose old text was old (nil: none); plain
// returns a content as text. The
// session adds version and hash once it is written.
func State(plain func([]byte) []byte, old, new []byte) tool.FileState {
	text := plain(new)
	if old != nil {
		return Compare(plain(old), text).State(new)
	}
	return state(tool.LineRange{Start: 1, End: max(1, lines.Count(text))}, text, new)
}

// State describes the new text of a file, whose bytes are in data, as the function State does.
func (c Comparison) State(data []byte) tool.FileState {
	affected := tool.LineRange{Start: 1}
	if r := c.regions(); len(r) > 0 {
		affected = tool.LineRange{Start: r[0].Start, End: r[len(r)-1].End}
	} else {
		affected.End = max(1, lines.Count(c.new))
	}
	return state(affected, c.new, data)
}

func state(affected tool.LineRange, text, data []byte) tool.FileState {
	s := tool.FileState{Affected: affected}
	switch {
	case len(data) > shortFile || !utf8.Valid(text):
	case utf8.Valid(data): // a byte order mark is shown with it
		s.NewContent = string(data)
	default:
		s.NewContent = string(text)
	}
	return s
}
