package config

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// The names that stand for a file in the origin of what has none.
const (
	fromDefault  = "default"
	fromOverride = "-c"
	fromFlag     = "command line"
)

// override reads one -c argument, key.path=TOML, into t. A value that is no
// TOML is taken as the text it is.
func override(t *value, arg string) error {
	from := origin{file: fromOverride}
	path, text, err := splitOverride(arg)
	if err != nil {
		return &Error{File: fromOverride, Message: err.Error()}
	}
	v := &value{leaf: text, raw: text, from: from}
	if m, ok := oneValue(text); ok {
		if sub, isTable := m.(map[string]any); isTable {
			v = build(sub, fromOverride, "", nil, 0)
		} else {
			v.leaf = m
		}
	}
	t.put(v, path...)
	return nil
}

func splitOverride(arg string) (path []string, text string, err error) {
	cut := equalSign(arg)
	if cut < 0 {
		return nil, "", errors.New("expected key=value, found " + quote(clip(arg)))
	}
	path, err = SplitKey(arg[:cut])
	return path, strings.TrimSpace(arg[cut+1:]), err
}

// equalSign finds the first = outside quotes.
func equalSign(s string) int {
	var in byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case in == '"' && c == '\\':
			i++
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '"' || c == '\'':
			in = c
		case c == '=':
			return i
		}
	}
	return -1
}

// oneValue decodes text if it is exactly one TOML value.
func oneValue(text string) (any, bool) {
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
	bad := errors.New("expected a dotted key, found " + quote(clip(key)))
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
		if bare(p) {
			b.WriteString(p)
		} else {
			b.WriteString(quote(p))
		}
	}
	return b.String()
}

func bare(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}
