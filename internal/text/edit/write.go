package edit

import (
	"bytes"
	"strings"

	"kerf/internal/text/match"
)

const (
	blanks = " \t"
	white  = " \t\r\n"
)

// writer knows what stands in place of a region.
type writer struct {
	put []byte // what is written wherever nothing depends on the region
	// At the indentation level: the indentation that old_string has and the line of
	// it that shows the file's.
	shift  bool
	indent string
	nth    int
}

// newWriter prepares q's new text for a file and the level that matched.
func newWriter(text []byte, q query, matched match.Level) writer {
	fresh := q.new
	if matched >= match.Whitespace {
		fresh = dropEdges(fresh, q.old)
	}
	if q.level != match.Exact {
		fresh = withLineEnd(fresh, lineEnd(text))
	}
	w := writer{put: []byte(fresh)}
	if matched != match.Indentation {
		return w
	}
	lines := strings.Split(q.old, "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, blanks)
		if i+1 < len(lines) {
			rest = strings.TrimSuffix(rest, "\r") // of a line end
		}
		if rest = strings.TrimRight(rest, blanks); rest != "" {
			w.shift, w.indent, w.nth = true, l[:strings.Index(l, rest)], i
			break
		}
	}
	return w
}

// replacement returns what is written in place of region.
func (w writer) replacement(region []byte) []byte {
	if !w.shift {
		return w.put
	}
	there := w.fileIndent(region)
	if there == w.indent {
		return w.put
	}
	var out []byte
	for line := range bytes.Lines(w.put) {
		if len(bytes.Trim(line, white)) > 0 && bytes.HasPrefix(line, []byte(w.indent)) {
			out = append(out, there...)
			line = line[len(w.indent):]
		}
		out = append(out, line...)
	}
	return out
}

// fileIndent returns the indentation of the region's nth line.
func (w writer) fileIndent(region []byte) string {
	for range w.nth {
		region = region[bytes.IndexByte(region, '\n')+1:]
	}
	return string(region[:len(region)-len(bytes.TrimLeft(region, blanks))])
}

// lineEnd returns the first line end of text, or nothing.
func lineEnd(text []byte) string {
	i := bytes.IndexByte(text, '\n')
	switch {
	case i < 0:
		return ""
	case i > 0 && text[i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}

// withLineEnd returns s with every line end as end, or as it is when end is empty.
func withLineEnd(s, end string) string {
	if end == "" {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if end != "\n" {
		s = strings.ReplaceAll(s, "\n", end)
	}
	return s
}

// dropEdges takes from s the white space that old begins and ends with, where s has
// all of it: loose levels leave it out of the region. Line ends count as LF.
func dropEdges(s, old string) string {
	old = withLineEnd(old, "\n")
	lead := old[:len(old)-len(strings.TrimLeft(old, white))]
	tail := old[len(strings.TrimRight(old, white)):]
	if n, ok := prefixLen(s, lead); ok {
		s = s[n:]
	}
	if n, ok := suffixLen(s, tail); ok {
		s = s[:len(s)-n]
	}
	return s
}

// prefixLen returns how many bytes of s stand for edge, CRLF read as LF.
func prefixLen(s, edge string) (int, bool) {
	i := 0
	for _, c := range []byte(edge) {
		if c == '\n' && strings.HasPrefix(s[i:], "\r\n") {
			i++
		}
		if i >= len(s) || s[i] != c {
			return 0, false
		}
		i++
	}
	return i, true
}

func suffixLen(s, edge string) (int, bool) {
	i := len(s)
	for j := len(edge) - 1; j >= 0; j-- {
		if i == 0 || s[i-1] != edge[j] {
			return 0, false
		}
		i--
		if edge[j] == '\n' && i > 0 && s[i-1] == '\r' {
			i--
		}
	}
	return len(s) - i, true
}
