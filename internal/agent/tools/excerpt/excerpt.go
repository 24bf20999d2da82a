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

// Regions returns the lines of new where it differs from old.
func Regions(old, new []byte) []tool.LineRange {
	var found []tool.LineRange
	index := lines.NewIndex(new)
	shift := 0
	for _, e := range diff.Lines(old, new) {
		start := e.Start + shift
		end := start + len(e.New)
		shift += len(e.New) - (e.End - e.Start)
		first := index.LineOf(min(start, max(0, len(new)-1)))
		last := first
		if len(e.New) > 0 {
			last = index.LineOf(end - 1)
		}
		found = append(found, tool.LineRange{Start: first, End: last})
	}
	return found
}

// Change tells in a few words which lines of new differ from old, and how far the lines
// after them moved. Lines that are gone are counted in old, the others in new.
func Change(old, new []byte) string {
	var words []string
	edits := diff.Lines(old, new)
	was := lines.NewIndex(old)
	for i, r := range Regions(old, new) {
		if i == 6 {
			words = append(words, fmt.Sprintf("%d more places", len(edits)-i))
			break
		}
		if e := edits[i]; len(e.New) == 0 {
			gone := tool.LineRange{Start: was.LineOf(e.Start), End: was.LineOf(e.End - 1)}
			words = append(words, "removed "+Span(gone))
			continue
		}
		words = append(words, Span(r))
	}
	if moved := lines.Count(new) - lines.Count(old); moved != 0 {
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
	s := tool.FileState{Affected: tool.LineRange{Start: 1, End: max(1, lines.Count(text))}}
	if old != nil {
		if r := Regions(plain(old), text); len(r) > 0 {
			s.Affected = tool.LineRange{Start: r[0].Start, End: r[len(r)-1].End}
		}
	}
	switch {
	case len(new) > shortFile || !utf8.Valid(text):
	case utf8.Valid(new): // a byte order mark is shown with it
		s.NewContent = string(new)
	default:
		s.NewContent = string(text)
	}
	return s
}
