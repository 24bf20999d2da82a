// Package document holds TOML documents as trees whose values know where they were
// written.
package document

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

	"kerf/internal/text/visible"
)

// Value is a node of the settings: a table, or a leaf with its origin.
type Value struct {
	Table map[string]*Value // nil for leaves
	Leaf  any               // string, bool, int64, float64, []any, or a date
	Raw   string            // of an override: the text as it was given
	From  Origin
}

// Origin is where a value was written.
type Origin struct {
	File string
	Line int // 1-based, 0 when it does not apply
}

// String gives "file:line".
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// NewTable returns an empty table.
func NewTable(from Origin) *Value { return &Value{Table: map[string]*Value{}, From: from} }

// Parse reads a TOML document. A fault is an *Error with its line.
func Parse(file string, data []byte) (*Value, error) {
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

// FromMap is a table whose values were all written at one place.
func FromMap(m map[string]any, from Origin) *Value {
	return build(m, from.File, "", nil, from.Line)
}

func build(m map[string]any, file, path string, lines map[string]int, line int) *Value {
	t := NewTable(Origin{file, line})
	for k, v := range m {
		p := path + "\x00" + k
		at := line
		if n, ok := lines[p]; ok {
			at = n
		}
		if sub, ok := v.(map[string]any); ok {
			t.Table[k] = build(sub, file, p, lines, at)
			continue
		}
		t.Table[k] = &Value{Leaf: v, From: Origin{file, at}}
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

// Merge lays over onto base and returns the result; neither is changed.
func Merge(base, over *Value) *Value {
	if base == nil || base.Table == nil || over.Table == nil {
		return over
	}
	t := &Value{Table: maps.Clone(base.Table), From: over.From}
	for k, v := range over.Table {
		t.Table[k] = Merge(t.Table[k], v)
	}
	return t
}

// Get returns the node at path, or nil.
func (v *Value) Get(path ...string) *Value {
	for _, k := range path {
		if v == nil {
			return nil
		}
		v = v.Table[k]
	}
	return v
}

// Put sets the node at path, making tables on the way.
func (v *Value) Put(leaf *Value, path ...string) {
	for _, k := range path[:len(path)-1] {
		next := v.Table[k]
		if next == nil || next.Table == nil {
			next = NewTable(leaf.From)
			v.Table[k] = next
		}
		v = next
	}
	v.Table[path[len(path)-1]] = leaf
}

// InOrder returns the keys of v as they were written.
func (v *Value) InOrder() []string {
	if v == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(v.Table), func(a, b string) int {
		if d := v.Table[a].From.Line - v.Table[b].From.Line; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// Kind names what v is, for messages.
func (v *Value) Kind() string {
	if v.Table != nil {
		return "a table"
	}
	switch x := v.Leaf.(type) {
	case string:
		return fmt.Sprintf("%q", Clip(x))
	case bool, int64, float64:
		return fmt.Sprint(x)
	case []any:
		return "an array"
	}
	return "a date or time"
}

// Plain returns v as maps and scalars.
func (v *Value) Plain() any {
	if v.Table == nil {
		return v.Leaf
	}
	m := make(map[string]any, len(v.Table))
	for k, sub := range v.Table {
		m[k] = sub.Plain()
	}
	return m
}

// Clip shortens s for a message.
func Clip(s string) string { return visible.Clip(s, 60) }
