// Package brief reads long lines of records in part: their ends, or one text of them.
package brief

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"kerf/internal/agent/rollout"
)

// Line is a record of which only the beginning and the end were read. Raw has the fields that stand
// there. The one that the beginning ends in, if it is a string, has what was read of it: where Joined
// is set its end, too, behind a "\x00".
type Line struct {
	rollout.Placed
	Field  string // the name of that field, empty where there is none
	Joined bool
	Left   int64 // how many bytes of the line were not read
}

// edge is how much is read of each end of a long line, at most.
const edge = 64 << 10

// Of reads the line between two places of the record in dir by its ends. It reports false where
// the line does not begin as records do.
func Of(dir string, from, end int64) (b Line, ok bool, err error) {
	f, err := rollout.OpenRecord(dir)
	if err != nil {
		return b, false, err
	}
	defer f.Close()
	n := min(edge, (end-from)/3)
	ends := make([]byte, 2*n)
	if _, err := f.ReadAt(ends[:n], from); err != nil {
		return b, false, err
	}
	if _, err := f.ReadAt(ends[n:], end-n); err != nil && err != io.EOF {
		return b, false, err
	}
	h, ok := rollout.Head(ends[:n])
	if !ok {
		return b, false, nil
	}
	b = Line{Placed: rollout.Placed{Record: h, From: from, End: end}, Left: end - from - 2*n}
	begun := fieldsOf(ends[:n])
	ended := endOf(bytes.TrimSuffix(ends[n:], []byte{'\n'}))
	b.Field = begun.open
	text := begun.text
	if joins(begun, ended) {
		text = append(append(bytes.Clone(text), `\u0000`...), ended.text...)
		b.Joined = true
	}
	fields := begun.fields
	if b.Field != "" {
		fields = append(fields, member{b.Field, append(append([]byte{'"'}, text...), '"')})
	}
	b.Raw = object(append(fields, ended.fields...))
	return b, json.Valid(b.Raw), nil
}

// member is a field of an object, as it stands there.
type member struct {
	name  string
	value []byte
}

// object is an object of fields, the first of each name.
func object(fields []member) []byte {
	out := []byte{'{'}
	seen := map[string]bool{}
	for _, m := range fields {
		if seen[m.name] {
			continue
		}
		seen[m.name] = true
		name, err := json.Marshal(m.name)
		if err != nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}')
}

// behind are the fields that may have megabytes in one string, and those that may follow each; "" is
// none.
var behind = map[string][]string{"result": {"images", "structured", "success"}, "text": {"", "images", "marker", "partial",
	"item_id", "plan"}}

// joins reports whether the string in which the beginning of a line ends is the one in which its end
// begins: it is so where the field that comes next in a record comes next here. Kerf writes the fields
// of a record in order, each once.
func joins(begun, ended part) bool {
	next := ""
	if len(ended.fields) > 0 {
		next = ended.fields[0].name
	}
	return ended.inString && slices.Contains(behind[begun.open], next)
}

// part is what was read of a line: whole fields, and of the string that is cut what is there.
type part struct {
	fields   []member
	open     string // the name of the field whose string is cut, of a beginning
	text     []byte // what there is of it, without half an escape
	inString bool   // the end begins in a string that is a field of the record
}

// fieldsOf are those of the beginning of an object.
func fieldsOf(b []byte) (p part) {
	i := 1
	for i < len(b) && b[i] == '"' {
		end, whole := closing(b, i)
		var name string
		if !whole || json.Unmarshal(b[i:end], &name) != nil || end >= len(b) || b[end] != ':' {
			return p
		}
		from := end + 1
		if from < len(b) && b[from] == '"' {
			if end, whole = closing(b, from); !whole {
				p.open, p.text = name, wholeEscapes(b[from+1:])
				return p
			}
		} else if end, whole = valueEnd(b, from); !whole {
			return p
		}
		p.fields = append(p.fields, member{name, b[from:end]})
		if end >= len(b) || b[end] != ',' {
			return p
		}
		i = end + 1
	}
	return p
}

// closing is where the string ends that begins at a place, and whether it does.
func closing(b []byte, i int) (end int, whole bool) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return len(b), false
}

// valueEnd is where a value that is no string ends, and whether it does.
func valueEnd(b []byte, i int) (end int, whole bool) {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			end, whole := closing(b, i)
			if !whole {
				return end, false
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i, true
			}
			depth--
		case ',':
			if depth == 0 {
				return i, true
			}
		}
	}
	return len(b), false
}

// wholeEscapes is a beginning of a string without half an escape at its end.
func wholeEscapes(b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		n := 2
		if i+1 < len(b) && b[i+1] == 'u' {
			n = 6
		}
		if i+n > len(b) {
			return b[:i]
		}
		i += n - 1
	}
	n := len(b)
	for n > 0 && len(b)-n < utf8.UTFMax && !utf8.RuneStart(b[n-1]) {
		n--
	}
	if n > 0 && !utf8.FullRune(b[n-1:]) { // half a character
		return b[:n-1]
	}
	return b
}

// endOf reads the end of an object. Whether that begins in a string cannot be seen there, but read the
// wrong way round the names of fields stand outside of strings: one way is right at most.
func endOf(b []byte) part {
	safe := -1 // no escape reaches behind it
	for i, run := 0, 0; i < len(b) && i < 4096; i++ {
		if run++; b[i] == '\\' {
			run = 0
		}
		if run == 7 {
			safe = i
			break
		}
	}
	if safe < 0 {
		return part{}
	}
	b = b[safe:]
	in, inOK := endFrom(b, true)
	out, outOK := endFrom(b, false)
	switch {
	case inOK && !outOK:
		return in
	case outOK && !inOK:
		return out
	}
	return part{}
}

// endFrom reads the end of an object that begins in a string or outside of strings, and reports
// whether that can be so.
func endFrom(b []byte, inString bool) (p part, ok bool) {
	first := 0
	if inString {
		end, whole := closing(append([]byte{'"'}, b...), 0)
		if !whole {
			return p, false
		}
		first = end - 1
	}
	depth, named := 0, false
	for i := first; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			end, whole := closing(b, i)
			if !whole {
				return p, false
			}
			named, i = true, end-1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if bytes.IndexByte([]byte(`,:-+.0123456789eEtruefalsn`), c) < 0 {
				return p, false
			}
		}
	}
	if !named && !inString || len(b) == 0 || b[len(b)-1] != '}' {
		return p, false
	}
	at := -depth // how deep it begins
	if inString && at == 1 {
		p.inString = true
		p.text = bytes.TrimLeftFunc(b[:first-1], func(r rune) bool { return r == '\uFFFD' })
	}
	for i := first; i < len(b); i++ { // to the first field of the record
		switch b[i] {
		case '"':
			end, _ := closing(b, i)
			i = end - 1
		case '{', '[':
			at++
		case '}', ']':
			at--
		case ',':
			if at == 1 {
				p.fields = fieldsOf(append([]byte{'{'}, b[i+1:]...)).fields
				return p, true
			}
		}
	}
	return p, true
}
