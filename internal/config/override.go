package config

import (
	"errors"
	"strings"

	"kerf/internal/config/document"
)

// The names that stand for a file in the origin of what has none.
const (
	fromDefault  = "default"
	fromOverride = "-c"
	fromFlag     = "command line"
)

// override reads one -c argument, key.path=TOML, into t. A value that is no
// TOML is taken as the text it is.
func override(t *document.Value, arg string) error {
	from := document.Origin{File: fromOverride}
	path, text, err := splitOverride(arg)
	if err != nil {
		return &document.Error{File: fromOverride, Message: err.Error()}
	}
	v := &document.Value{Leaf: text, Raw: text, From: from}
	if m, ok := document.OneValue(text); ok {
		if sub, isTable := m.(map[string]any); isTable {
			v = document.FromMap(sub, from)
		} else {
			v.Leaf = m
		}
	}
	t.Put(v, path...)
	return nil
}

func splitOverride(arg string) (path []string, text string, err error) {
	cut := equalSign(arg)
	if cut < 0 {
		return nil, "", errors.New("expected key=value, found " + document.Quote(document.Clip(arg)))
	}
	path, err = document.SplitKey(arg[:cut])
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
