package document

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// OneValue decodes text if it is exactly one TOML value.
func OneValue(text string) (any, bool) {
	doc := []byte("v = " + text)
	var p unstable.Parser
	p.Reset(doc)
	n := 0
	for p.NextExpression() {
		n++
	}
	if p.Error() != nil || n != 1 {
		return nil, false
	}
	var m struct{ V any }
	if toml.Unmarshal(doc, &m) != nil {
		return nil, false
	}
	return m.V, true
}

// SplitKey parses a dotted TOML key into its parts.
func SplitKey(key string) ([]string, error) {
	bad := errors.New("expected a dotted key, found " + Quote(Clip(key)))
	// A header holds a key and nothing else.
	doc := []byte("[" + key + "]")
	if bytes.ContainsAny(doc, "\n\r#") && !strings.ContainsAny(key, `"'`) {
		return nil, bad
	}
	var p unstable.Parser
	p.Reset(doc)
	if !p.NextExpression() || p.Expression().Kind != unstable.Table {
		return nil, bad
	}
	var path []string
	for it := p.Expression().Key(); it.Next(); {
		path = append(path, string(it.Node().Data))
	}
	if p.NextExpression() || p.Error() != nil {
		return nil, bad
	}
	return path, nil
}

// Key joins parts to a dotted TOML key, quoting where needed.
func Key(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		if Bare(p) {
			b.WriteString(p)
		} else {
			b.WriteString(Quote(p))
		}
	}
	return b.String()
}

// Bare reports whether s is a key that needs no quotes.
func Bare(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}
