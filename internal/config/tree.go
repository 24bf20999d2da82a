package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// value is a node of the settings: a table, or a leaf with its origin.
type value struct {
	table map[string]*value // nil for leaves
	leaf  any               // string, bool, int64, float64, []any, or a date
	raw   string            // of an override: the text as it was given
	from  origin
}

// origin is where a value was written.
type origin struct {
	file string
	line int
}

func newTable(from origin) *value { return &value{table: map[string]*value{}, from: from} }

// parse reads a TOML document. A fault is an *Error with its line.
func parse(file string, data []byte) (*value, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	// A table nested deeper than this is no configuration of ours, and the
	// walks below recurse.
	const deepest = 64
	var m map[string]any
	if err := toml.Unmarshal(data, &m); err != nil {
		return nil, parseError(file, data, err)
	}
	lines, depth := keyLines(data)
	if depth > deepest {
		return nil, &Error{File: file, Message: fmt.Sprintf("tables are nested more than %d deep", deepest)}
	}
	return build(m, file, "", lines, 1), nil
}

func parseError(file string, data []byte, err error) error {
	e := &Error{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, _ = at.Position()
		e.Key = strings.Join(at.Key(), ".")
	}
	// The decoder names only some errors by position; a document that does not
	// even parse has one.
	if e.Line == 0 {
		e.Line = bytes.Count(data, []byte("\n")) + 1
	}
	return e
}

func build(m map[string]any, file, path string, lines map[string]int, line int) *value {
	t := newTable(origin{file, line})
	for k, v := range m {
		p := path + "\x00" + k
		at := line
		if n, ok := lines[p]; ok {
			at = n
		}
		if sub, ok := v.(map[string]any); ok {
			t.table[k] = build(sub, file, p, lines, at)
			continue
		}
		t.table[k] = &value{leaf: v, from: origin{file, at}}
	}
	return t
}

// keyLines returns the first line of every key and table, by its path with a
// NUL before each part, and the depth of the deepest.
func keyLines(data []byte) (map[string]int, int) {
	lines, depth := map[string]int{}, 0
	starts := lineStarts(data)
	lineAt := func(off uint32) int { return sort.SearchInts(starts, int(off)+1) }
	note := func(path string, off uint32) {
		if _, ok := lines[path]; !ok {
			lines[path] = lineAt(off)
		}
		depth = max(depth, strings.Count(path, "\x00"))
	}
	var keys func(prefix string, n *unstable.Node) string
	keys = func(prefix string, n *unstable.Node) string {
		for it := n.Key(); it.Next(); {
			prefix += "\x00" + string(it.Node().Data)
			note(prefix, it.Node().Raw.Offset)
		}
		if n.Kind == unstable.KeyValue && n.Value().Kind == unstable.InlineTable {
			for it := n.Value().Children(); it.Next(); {
				keys(prefix, it.Node())
			}
		}
		return prefix
	}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keys("", n)
		case unstable.KeyValue:
			keys(table, n)
		}
	}
	return lines, depth
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// merge lays over onto base and returns the result; neither is changed.
func merge(base, over *value) *value {
	if base == nil || base.table == nil || over.table == nil {
		return over
	}
	t := &value{table: maps.Clone(base.table), from: over.from}
	for k, v := range over.table {
		t.table[k] = merge(t.table[k], v)
	}
	return t
}

// get returns the node at path, or nil.
func (v *value) get(path ...string) *value {
	for _, k := range path {
		if v == nil {
			return nil
		}
		v = v.table[k]
	}
	return v
}

// put sets the node at path, making tables on the way.
func (v *value) put(leaf *value, path ...string) {
	for _, k := range path[:len(path)-1] {
		next := v.table[k]
		if next == nil || next.table == nil {
			next = newTable(leaf.from)
			v.table[k] = next
		}
		v = next
	}
	v.table[path[len(path)-1]] = leaf
}

// inOrder returns the keys of v as they were written.
func (v *value) inOrder() []string {
	return slices.SortedFunc(maps.Keys(v.table), func(a, b string) int {
		if d := v.table[a].from.line - v.table[b].from.line; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// kind names what v is, for messages.
func (v *value) kind() string {
	if v.table != nil {
		return "a table"
	}
	switch x := v.leaf.(type) {
	case string:
		return fmt.Sprintf("%q", clip(x))
	case bool, int64, float64:
		return fmt.Sprint(x)
	case []any:
		return "an array"
	}
	return "a date or time"
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
