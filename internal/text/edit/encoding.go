package edit

import (
	"strings"
	"unicode/utf8"

	"kerf/internal/text/charset"
	"kerf/internal/text/match"
)

var lf = []byte{'\n'}

// decode reads content strictly: what it makes of it encodes to the same bytes, also
// where the content is not all what its byte order mark says.
func decode(content []byte, declared charset.Charset) (charset.Text, error) {
	t, err := charset.DecodeBroken(content, declared)
	switch {
	case err == nil:
		return t, nil
	case declared.Declared():
		return t, refuse(Encoding, "%v, though that is the encoding given; name the right one, or leave it out to change "+
			"only what can be quoted as ASCII", err)
	}
	return t, refuse(Encoding, "%v, as its byte order mark says, so it cannot be edited as text", err)
}

// rawSpans returns where spans of the text lie in the content.
func rawSpans(f charset.Text, spans []match.Span) []match.Span {
	raw := make([]match.Span, len(spans))
	at, pos := 0, f.Mark()
	move := func(to int) int {
		pos += f.Size(f.Bytes[at:to])
		at = to
		return pos
	}
	for i, s := range spans {
		raw[i].Start = move(s.Start)
		raw[i].End = move(s.End)
	}
	return raw
}

// holds reports whether what would be written is text, and what a file that nobody
// understands can hold of it. Encodings that are known speak for themselves.
func holds(f charset.Text, q query) error {
	if !utf8.ValidString(q.new) {
		return refuse(Encoding, "new_string has half of a surrogate pair, which no file encoding can hold; write the "+
			"whole character")
	}
	if f.Known() {
		return nil
	}
	for _, r := range q.new {
		// A character that was matched as these very bytes can be written as them.
		if r >= utf8.RuneSelf && !strings.ContainsRune(q.old, r) {
			return refuse(Encoding, "the file is not UTF-8, and its encoding is not known to hold %q; name its encoding "+
				"(windows-1252, shift_jis, ...), or put only ASCII text into it", r)
		}
	}
	return nil
}
