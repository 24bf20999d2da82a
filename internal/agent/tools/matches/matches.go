// Package matches shows the lines that a search found, as a model reads them.
package matches

import (
	"fmt"
	"strings"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools/excerpt"
)

// maxBytes bounds the text of one search.
const maxBytes = 36_000

// Show names a path for the model.
type Show = func(path string) string

// Near leaves out the context lines that are further from a match than asked for.
func Near(lines []tool.Line, before, after int) []tool.Line {
	if before == after {
		return lines
	}
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if !l.Match {
			continue
		}
		for j := i; j >= 0 && lines[j].Path == l.Path && l.Number-lines[j].Number <= before; j-- {
			keep[j] = true
		}
		for j := i; j < len(lines) && lines[j].Path == l.Path && lines[j].Number-l.Number <= after; j++ {
			keep[j] = true
		}
	}
	var kept []tool.Line
	for i, l := range lines {
		if keep[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// Lines shows lines, with -- between stretches that do not touch. More says that
// some were left out already.
func Lines(lines []tool.Line, show Show, numbered, more bool) string {
	context := false
	for _, l := range lines {
		context = context || !l.Match
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 && context && (l.Path != lines[i-1].Path || l.Number != lines[i-1].Number+1) {
			b.WriteString("--\n")
		}
		mark := byte(':')
		if !l.Match {
			mark = '-'
		}
		where := fmt.Sprintf("%s%c%d%c ", show(l.Path), mark, l.Number, mark)
		if !numbered {
			where = fmt.Sprintf("%s%c ", show(l.Path), mark)
		}
		b.WriteString(where + excerpt.Shorten(excerpt.Chomp([]byte(l.Text)), excerpt.Width) + "\n")
		if b.Len() > maxBytes && i+1 < len(lines) {
			more = true
			break
		}
	}
	if more {
		b.WriteString("(there are more matches; narrow the pattern, the path or the glob, or set limit)\n")
	}
	return b.String()
}

// Files shows the files that have matches, at most limit, with count how many each
// has.
func Files(lines []tool.Line, show Show, count bool, limit int, more bool) string {
	var order []string
	found := map[string]int{}
	for _, l := range lines {
		if !l.Match {
			continue
		}
		if found[l.Path]++; found[l.Path] == 1 {
			order = append(order, l.Path)
		}
	}
	var b strings.Builder
	for i, p := range order {
		if i == limit {
			more = true
			break
		}
		b.WriteString(show(p))
		if count {
			fmt.Fprintf(&b, ":%d", found[p])
		}
		b.WriteByte('\n')
	}
	if more {
		b.WriteString("(there are more; narrow the pattern, the path or the glob)\n")
	}
	return b.String()
}

// Missed tells in lines of their own what a search did not look at; empty for nothing.
func Missed(m tool.Missed, show Show) string {
	var b strings.Builder
	if len(m.Large) > 0 {
		var names []string
		for _, path := range m.Large {
			names = append(names, show(path))
		}
		b.WriteString("(not searched, because files over 32 MiB are passed over: " + strings.Join(names, ", "))
		if more := m.Larges - len(m.Large); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteString("; use a command for them)\n")
	}
	if m.Stopped {
		b.WriteString("(the search stopped before it had looked at all files, because there is too much to read; narrow " +
			"the path or the glob)\n")
	}
	return b.String()
}
