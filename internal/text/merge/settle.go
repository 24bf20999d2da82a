package merge

import (
	"bytes"

	"kerf/internal/text/charset"
)

// Settle is Contents where settle says what stands in the place of each conflict. It
// reports false for what is no text.
func Settle(base, ours, theirs []byte, declared charset.Charset, settle func(Conflict) []byte) ([]byte, bool) {
	return settled(merger{base: base, ours: ours, theirs: theirs, settle: settle}, declared)
}

// Beside is Settle where changes that touch are made beside each other. This tells apart
// whose lines are whose; it does not say that the two changes fit together.
func Beside(base, ours, theirs []byte, declared charset.Charset, settle func(Conflict) []byte) ([]byte, bool) {
	return settled(merger{base: base, ours: ours, theirs: theirs, settle: settle, beside: true}, declared)
}

func settled(m merger, declared charset.Charset) ([]byte, bool) {
	encode := func(b []byte) ([]byte, error) { return b, nil }
	if b, err := charset.Decode(m.base, declared); err == nil && b.Known() {
		o, errOurs := charset.Decode(m.ours, declared)
		t, errTheirs := charset.Decode(m.theirs, declared)
		if errOurs == nil && errTheirs == nil && b.Same(o) && b.Same(t) {
			m.base, m.ours, m.theirs, encode = b.Bytes, o.Bytes, t.Bytes, b.Encode
		}
	}
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
