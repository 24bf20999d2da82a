package match

import (
	"bytes"
	"sort"
	"unicode"
	"unicode/utf8"
)

// white is what the levels call white space.
const white = " \t\r\n"

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// view is a text as a level sees it, with the way back to its bytes.
type view struct {
	text []byte
	cuts []cut // ascending; where something was left out
}

// cut says that the seen offset and those after it stand for raw and those after.
type cut struct{ seen, raw int }

// raw returns the offset in the text that the seen offset n stands for.
func (v view) raw(n int) int {
	i := sort.Search(len(v.cuts), func(i int) bool { return v.cuts[i].seen > n })
	if i == 0 {
		return n
	}
	c := v.cuts[i-1]
	return c.raw + n - c.seen
}

// foldLines reads every line end as LF and, with blanks, leaves out the blanks
// before line ends and at the end. What is left out belongs to the line end after
// it: the offset of a seen LF stands for the start of its blanks. A text that has
// nothing to fold is not copied.
func foldLines(text []byte, blanks bool) view {
	v := view{text: text}
	var out []byte
	from := 0
	leave := func(stop, next int, end string) {
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(append(out, text[from:stop]...), end...)
		from = next
		if end != "" {
			v.cuts = append(v.cuts, cut{len(out), next})
		}
	}
	for at := 0; at < len(text); {
		nl := bytes.IndexByte(text[at:], '\n')
		if nl < 0 {
			if stop := trimBlanks(text, at, len(text), blanks); stop < len(text) {
				leave(stop, len(text), "")
			}
			break
		}
		end := at + nl
		stop := end
		if stop > at && text[stop-1] == '\r' {
			stop--
		}
		stop = trimBlanks(text, at, stop, blanks)
		if stop < end {
			leave(stop, end+1, "\n")
		}
		at = end + 1
	}
	if out != nil {
		v.text = append(out, text[from:]...)
	}
	return v
}

func trimBlanks(text []byte, from, to int, blanks bool) int {
	for blanks && to > from && isBlank(text[to-1]) {
		to--
	}
	return to
}

// squeeze leaves out white space, except that a run of it between two word
// characters is one space. With quotes, all quotes are one character. Without the
// way back nothing is known of where things were.
func squeeze(text []byte, quotes, wayBack bool) view {
	v := view{text: make([]byte, 0, len(text))}
	if wayBack {
		v.cuts = make([]cut, 0, len(text)/16)
	}
	word := false // the last character was a word character
	for i := 0; i < len(text); {
		run := i
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if i > run {
			if next, _ := wordAt(text[i:]); word && next {
				v.text = append(v.text, ' ')
				run++
			}
			if run < i && wayBack {
				v.cuts = append(v.cuts, cut{len(v.text), i})
			}
			continue
		}
		from := i
		for i < len(text) && text[i] < utf8.RuneSelf && !isSpace(text[i]) {
			i++
		}
		if i == from {
			var size int
			word, size = wordAt(text[i:])
			v.text = append(v.text, text[i:i+size]...)
			i += size
			continue
		}
		word, _ = wordAt(text[i-1 : i])
		at := len(v.text)
		v.text = append(v.text, text[from:i]...)
		if quotes {
			oneQuote(v.text[at:])
		}
	}
	return v
}

func oneQuote(b []byte) {
	for i, c := range b {
		if c == '"' || c == '`' {
			b[i] = '\''
		}
	}
}

// wordAt reports whether text begins with a word character, and the size of the
// character it begins with.
func wordAt(text []byte) (bool, int) {
	if len(text) == 0 {
		return false, 0
	}
	c := text[0]
	if c < utf8.RuneSelf {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z', 1
	}
	r, size := utf8.DecodeRune(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r), size
}

// lined is a text cut into lines.
type lined struct {
	// seen has every line without the blanks at its ends, a LF before each and
	// one after the last.
	seen   []byte
	starts []int // of the lines in seen, ascending
	raw    []int // of the lines in the text, and its length
}

func (l lined) len() int { return len(l.starts) }

// lineAt returns the line that starts at the seen offset n.
func (l lined) lineAt(n int) int { return sort.SearchInts(l.starts, n) }

// cutLines cuts text. A line end at the very end starts no further line.
func cutLines(text []byte) lined {
	n := bytes.Count(text, []byte{'\n'}) + 1
	l := lined{
		seen:   make([]byte, 1, len(text)+2),
		starts: make([]int, 0, n),
		raw:    make([]int, 0, n+1),
	}
	l.seen[0] = '\n'
	for at := 0; at < len(text); {
		next := len(text)
		if nl := bytes.IndexByte(text[at:], '\n'); nl >= 0 {
			next = at + nl + 1
		}
		line := bytes.Trim(text[at:contentEnd(text, at, next)], " \t")
		l.starts = append(l.starts, len(l.seen))
		l.raw = append(l.raw, at)
		l.seen = append(append(l.seen, line...), '\n')
		at = next
	}
	l.raw = append(l.raw, len(text))
	return l
}
