package merge

import (
	"bytes"

	"kerf/internal/text/charset"
	"kerf/internal/text/diff"
)

// Beside makes both changes of a text line by line: what either removed is gone, and what
// either added is there, at its place. It tells apart whose lines are whose, and never
// conflicts; that the two changes fit together it does not say. It reports false for what is
// no text.
func Beside(base, ours, theirs []byte, declared charset.Charset) ([]byte, bool) {
	base, ours, theirs, encode := decoded(base, ours, theirs, declared)
	for _, b := range [][]byte{base, ours, theirs} {
		if bytes.IndexByte(b, 0) >= 0 {
			return nil, false
		}
	}
	var out []byte
	add := func(text []byte) {
		if n := len(out); n > 0 && out[n-1] != '\n' && len(text) > 0 {
			out = append(out, '\n') // the last line of one side, which more follows now
		}
		out = append(out, text...)
	}
	at, a, b := 0, diff.Lines(base, ours), diff.Lines(base, theirs)
	for len(a) > 0 || len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0].Start < a[0].Start {
			from = &b
		}
		e := (*from)[0]
		*from = (*from)[1:]
		if at < e.Start {
			add(base[at:e.Start])
		}
		add(e.New)
		at = max(at, e.End)
	}
	add(base[at:])
	text, err := encode(out)
	return text, err == nil
}
