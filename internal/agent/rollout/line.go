package rollout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// maxSeq bounds the number of a record, so that no damage to one can make the
// next overflow. It is the largest that every reader of JSON holds exactly.
const maxSeq = 1 << 53

// hash is what prev says of a line.
func hash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// appendLine appends the line of a record, without its line feed. Body is a
// compact JSON object.
func appendLine(to []byte, seq int64, now time.Time, kind, prev string, body []byte) []byte {
	to = append(to, `{"seq":`...)
	to = strconv.AppendInt(to, seq, 10)
	to = append(to, `,"timestamp":"`...)
	to = now.UTC().AppendFormat(to, timeLayout)
	to = append(to, `","type":"`...)
	to = append(to, kind...)
	to = append(to, `","prev":"`...)
	to = append(to, prev...)
	to = append(to, '"')
	if len(body) > 2 {
		to = append(to, ',')
		body = body[1:]
	} else {
		body = []byte{'}'}
	}
	return append(to, body...)
}

// encode returns the body of e as it may be written: redacted, valid JSON,
// valid UTF-8, on one line.
func encode(e Entry, redact func([]byte) []byte) ([]byte, error) {
	if !plainWord(e.Type) {
		return nil, fmt.Errorf("record type %q is not a plain word", e.Type)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.Body); err != nil {
		return nil, fmt.Errorf("record %s: %w", e.Type, err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
	if len(b) == 0 || b[0] != '{' {
		return nil, fmt.Errorf("record %s: the body is not an object", e.Type)
	}
	if !utf8.Valid(b) { // json.RawMessage may carry anything within strings
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	b, err := redactJSON(b, redact)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", e.Type, err)
	}
	if key := reservedKey(b); key != "" {
		return nil, fmt.Errorf("record %s: the body has a field %q of its own", e.Type, key)
	}
	return b, nil
}

func plainWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return s != ""
}

// redactJSON redacts b and keeps it JSON. A secret may look like JSON itself, or
// begin in the midst of an escape; then the strings are redacted one by one.
func redactJSON(b []byte, redact func([]byte) []byte) ([]byte, error) {
	out := redact(b)
	if len(out) == len(b) && bytes.Equal(out, b) {
		return b, nil
	}
	if len(out) > 0 && out[0] == '{' && json.Valid(out) {
		return out, nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(redactValue(v, redact))
}

func redactValue(v any, redact func([]byte) []byte) any {
	switch v := v.(type) {
	case string:
		return string(redact([]byte(v)))
	case json.Number:
		if s := string(redact([]byte(v))); s != string(v) {
			return s
		}
		return v
	case []any:
		for i := range v {
			v[i] = redactValue(v[i], redact)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[string(redact([]byte(k)))] = redactValue(x, redact)
		}
		return out
	}
	return v
}

// reservedKey returns a top-level key of the object b that a reader could take
// for one of those that begin every line, or "".
func reservedKey(b []byte) string {
	depth, wantKey := 0, false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
			wantKey = depth == 1
		case '}', ']':
			depth--
		case ',':
			wantKey = depth == 1
		case '"':
			end := stringEnd(b, i)
			if wantKey {
				var key string
				if json.Unmarshal(b[i:end], &key) == nil {
					for _, r := range []string{"seq", "timestamp", "type", "prev"} {
						if strings.EqualFold(key, r) {
							return key
						}
					}
				}
				wantKey = false
			}
			i = end - 1
		}
	}
	return ""
}

// stringEnd returns where the string that starts at b[i] has ended.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// objectEnd returns where the object that starts at b[0] has ended, or 0.
func objectEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			i = stringEnd(b, i) - 1
		}
	}
	return 0
}

// head is how every line begins.
type head struct {
	seq  int64
	time time.Time
	kind string
	prev string
}

// parse reads one line, which must be a whole record and nothing else.
func parse(line []byte) (head, bool) {
	h, ok := parseHead(line)
	if ok {
		return h, h.seq <= maxSeq && json.Valid(line)
	}
	var v struct {
		Seq       *int64
		Timestamp string
		Type      string
		Prev      string
	}
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &v) != nil || v.Seq == nil || *v.Seq < 1 ||
		*v.Seq > maxSeq || v.Type == "" {
		return head{}, false
	}
	t, _ := time.Parse(time.RFC3339, v.Timestamp) // a bad time loses no record
	return head{*v.Seq, t, v.Type, v.Prev}, true
}

// Head is what the beginning of a line tells of its record, without Raw. It reports false where a line
// does not begin as Kerf's do.
func Head(line []byte) (Record, bool) {
	h, ok := parseHead(line)
	return Record{Seq: h.seq, Time: h.time, Type: h.kind}, ok
}

// parseHead reads the beginning of a line as appendLine writes it.
func parseHead(b []byte) (h head, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte(`{"seq":`))
	if !ok {
		return h, false
	}
	n := 0
	for n < len(rest) && n < 18 && rest[n] >= '0' && rest[n] <= '9' {
		h.seq = h.seq*10 + int64(rest[n]-'0')
		n++
	}
	if n == 0 || rest[0] == '0' {
		return h, false
	}
	rest = rest[n:]
	stamp, rest, ok1 := field(rest, `,"timestamp":"`)
	kind, rest, ok2 := field(rest, `,"type":"`)
	prev, _, ok3 := field(rest, `,"prev":"`)
	if !ok1 || !ok2 || !ok3 || kind == "" {
		return h, false
	}
	t, err := time.Parse(time.RFC3339, stamp)
	h.time, h.kind, h.prev = t, kind, prev
	return h, err == nil
}

// field cuts a string without escapes, introduced by intro, from b.
func field(b []byte, intro string) (value string, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(intro))
	if !ok {
		return "", nil, false
	}
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return "", nil, false
	}
	return string(b[:end]), b[end+1:], true
}
