package merge

import (
	"bytes"

	"kerf/internal/text/charset"
)

// Settle is Contents where settle says what stands in the place of each conflict. It
// reports false for what is no text.
func Settle(base, ours, theirs []byte, declared charset.Charset, settle func(Conflict) []byte) ([]byte, bool) {
	m := merger{settle: settle}
	var encode func([]byte) ([]byte, error)
	m.base, m.ours, m.theirs, encode = decoded(base, ours, theirs, declared)
	if m.whole(m.base) || m.whole(m.ours) || m.whole(m.theirs) {
		return nil, false
	}
	all, regions, conflicts := m.three()
	if len(conflicts) > 0 || regions == nil && all == nil {
		return nil, false
	}
	content, err := encode(all)
	return content, err == nil
}

// decoded is three contents as text where they are in one encoding, and what writes such
// text in it.
func decoded(base, ours, theirs []byte, declared charset.Charset) (b, o, t []byte,
	encode func([]byte) ([]byte, error)) {
	if b, err := charset.Decode(base, declared); err == nil && b.Known() {
		o, errOurs := charset.Decode(ours, declared)
		t, errTheirs := charset.Decode(theirs, declared)
		if errOurs == nil && errTheirs == nil && b.Same(o) && b.Same(t) {
			return b.Bytes, o.Bytes, t.Bytes, b.Encode
		}
	}
	return base, ours, theirs, func(b []byte) ([]byte, error) { return b, nil }
}

// Marked is a conflict as git writes it into a file, the sides under their names.
func Marked(c Conflict, ours, theirs string) []byte {
	end := "\n"
	if bytes.Contains(c.Ours, []byte("\r\n")) || bytes.Contains(c.Theirs, []byte("\r\n")) {
		end = "\r\n"
	}
	var b bytes.Buffer
	side := func(head string, text []byte) {
		b.WriteString(head + end)
		b.Write(text)
		if len(text) > 0 && text[len(text)-1] != '\n' {
			b.WriteString(end)
		}
	}
	side("<<<<<<< "+ours, c.Ours)
	side("=======", c.Theirs)
	b.WriteString(">>>>>>> " + theirs + end)
	return b.Bytes()
}
