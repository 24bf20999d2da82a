// Package edit writes settings into TOML files and leaves every other byte as it is.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"kerf/internal/config/document"
)

// Set writes one value into a configuration file and leaves every other byte,
// comments included, as it is. The file is made when missing. key is a dotted
// TOML key; x is a string, bool, number, slice, or a map, which becomes a table
// of its own that replaces what stood there. The edit is read back before it is
// written; what cannot be edited safely is an error and changes nothing.
func Set(file, key string, x any) error {
	path, err := document.SplitKey(key)
	if err != nil {
		return err
	}
	return Rewrite(file, func(doc []byte) ([]byte, error) { return Apply(doc, Setting{path, x}) })
}

// Unset removes a key or a whole table with what is below it. Removing what is
// not there does nothing.
func Unset(file, key string) error {
	path, err := document.SplitKey(key)
	if err != nil {
		return err
	}
	return Rewrite(file, func(doc []byte) ([]byte, error) { return Apply(doc, Setting{path, nil}) })
}

// Setting is one change of a document; a nil value removes the key.
type Setting struct {
	Path  []string
	Value any
}

// Apply applies the settings to a document, one after the other.
func Apply(doc []byte, settings ...Setting) ([]byte, error) {
	for _, s := range settings {
		next, err := edit(doc, s)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", document.Key(s.Path...), err)
		}
		doc = next
	}
	return doc, nil
}

// edit applies one setting and proves it: the new document must decode to the
// old one with just that value changed.
func edit(doc []byte, s Setting) ([]byte, error) {
	body, bom := bytes.CutPrefix(doc, []byte("\xef\xbb\xbf"))
	if _, err := document.Parse("config.toml", body); err != nil {
		return nil, err
	}
	want, err := decode(body)
	if err != nil {
		return nil, err
	}
	if s.Value == nil {
		remove(want, s.Path)
	} else if err := setIn(want, s.Path, s.Value); err != nil {
		return nil, err
	}
	e := newEditor(body)
	if err := e.apply(s); err != nil {
		return nil, err
	}
	got, err := decode(e.doc)
	if err != nil || !sameTables(got, want) {
		return nil, errors.New("this file cannot be edited safely by a program; edit it by hand")
	}
	if bom {
		return append([]byte("\xef\xbb\xbf"), e.doc...), nil
	}
	return e.doc, nil
}

func decode(doc []byte) (map[string]any, error) {
	m := map[string]any{}
	return m, toml.Unmarshal(doc, &m)
}

// sameTables compares what two documents say; empty tables say nothing.
func sameTables(a, b map[string]any) bool {
	prune(a)
	prune(b)
	x, err1 := document.Render(a)
	y, err2 := document.Render(b)
	return err1 == nil && err2 == nil && x == y
}

func prune(m map[string]any) {
	for k, v := range m {
		if sub, ok := v.(map[string]any); ok {
			if prune(sub); len(sub) == 0 {
				delete(m, k)
			}
		}
	}
}

func setIn(m map[string]any, path []string, x any) error {
	text, err := document.Render(x)
	if err != nil {
		return err
	}
	v, ok := document.OneValue(text)
	if !ok {
		return errors.New("the value cannot be written as TOML")
	}
	for _, k := range path[:len(path)-1] {
		next, ok := m[k].(map[string]any)
		if m[k] == nil {
			next = map[string]any{}
			m[k] = next
		} else if !ok {
			return fmt.Errorf("%s is not a table", k)
		}
		m = next
	}
	last := path[len(path)-1]
	_, isTable := v.(map[string]any)
	if _, was := m[last].(map[string]any); was && !isTable {
		return errors.New("it is a table")
	}
	m[last] = v
	return nil
}

func remove(m map[string]any, path []string) {
	for _, k := range path[:len(path)-1] {
		next, ok := m[k].(map[string]any)
		if !ok {
			return
		}
		m = next
	}
	delete(m, path[len(path)-1])
}

// editor splices a document by its expressions.
type editor struct {
	doc   []byte
	eol   string
	exprs []expr
}

// expr is one line (or more, for long values) of a document.
type expr struct {
	header   bool     // [table] or [[array]]
	array    bool     // below a [[header]]
	path     []string // from the top
	in       int      // how many parts of path come from the header above
	inline   bool     // the value is an inline table
	start    int      // of its first line
	end      int      // after the newline of its last line
	from, to int      // the value
}

func newEditor(doc []byte) *editor {
	e := &editor{doc: doc, eol: "\n"}
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		e.eol = "\r\n"
	}
	e.scan()
	return e
}

func (e *editor) scan() {
	e.exprs = nil
	var p unstable.Parser
	p.Reset(e.doc)
	var table []string
	array := false
	for p.NextExpression() {
		n := p.Expression()
		var keys []string
		var first, last unstable.Range
		for it := n.Key(); it.Next(); {
			if last = it.Node().Raw; keys == nil {
				first = last
			}
			keys = append(keys, string(it.Node().Data))
		}
		x := expr{start: e.lineStart(int(first.Offset))}
		if n.Kind == unstable.KeyValue {
			x.path, x.in, x.array = slices.Concat(table, keys), len(table), array
			x.inline = n.Value().Kind == unstable.InlineTable
			x.to = int(n.Raw.Offset + n.Raw.Length)
			x.from = e.valueStart(int(last.Offset + last.Length))
			x.end = e.lineEnd(x.to)
		} else {
			table = keys
			array = n.Kind == unstable.ArrayTable
			x.header, x.path, x.array = true, keys, array
			x.end = e.lineEnd(int(last.Offset + last.Length))
		}
		e.exprs = append(e.exprs, x)
	}
}

func (e *editor) lineStart(at int) int { return bytes.LastIndexByte(e.doc[:at], '\n') + 1 }

func (e *editor) lineEnd(at int) int {
	if i := bytes.IndexByte(e.doc[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(e.doc)
}

// valueStart is the offset after the equals sign and blanks behind a key.
func (e *editor) valueStart(at int) int {
	at += bytes.IndexByte(e.doc[at:], '=') + 1
	for at < len(e.doc) && (e.doc[at] == ' ' || e.doc[at] == '\t') {
		at++
	}
	return at
}

func (e *editor) splice(from, to int, text string) {
	e.doc = slices.Concat(e.doc[:from], []byte(text), e.doc[to:])
	e.scan()
}

func (e *editor) apply(s Setting) error {
	if s.Value == nil {
		return e.remove(s.Path)
	}
	if m, ok := document.StringMap(reflect.ValueOf(s.Value)); ok {
		if err := e.remove(s.Path); err != nil {
			return err
		}
		return e.appendTable(s.Path, m)
	}
	text, err := document.Render(s.Value)
	if err != nil {
		return err
	}
	for _, x := range e.exprs {
		if !x.header && slices.Equal(x.path, s.Path) && !x.array {
			e.splice(x.from, x.to, text)
			return nil
		}
		if x.inline && !x.array && hasPrefix(s.Path, x.path) {
			return e.inline(x, func(m map[string]any) error { return setIn(m, s.Path[len(x.path):], s.Value) })
		}
	}
	return e.insert(s.Path, text)
}

// insert adds a key that is not there: beside the key whose path has most in
// common with it, else below its table's header, else in a new table.
func (e *editor) insert(path []string, text string) error {
	parent := path[:len(path)-1]
	best, shared := -1, 0
	for i, x := range e.exprs {
		if x.array {
			continue
		}
		switch n := common(x.path, parent); {
		case x.header && len(x.path) == len(parent) && n == len(parent) && n >= shared:
			best, shared = i, n
		case !x.header && n >= x.in && (n > x.in || n == len(parent)) && n >= shared:
			best, shared = i, n
		}
	}
	if best < 0 {
		if len(parent) == 0 {
			e.prepend(document.Key(path...) + " = " + text)
			return nil
		}
		e.append("[" + document.Key(parent...) + "]" + e.eol + document.Key(path[len(path)-1]) + " = " + text)
		return nil
	}
	x := e.exprs[best]
	in := x.in
	if x.header {
		in = len(x.path)
	}
	line := e.indent(x) + document.Key(path[in:]...) + " = " + text + e.eol
	if x.end > 0 && e.doc[x.end-1] != '\n' {
		line = e.eol + line
	}
	e.splice(x.end, x.end, line)
	return nil
}

func (e *editor) indent(x expr) string {
	line := e.doc[x.start:x.end]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// prepend writes a line of the top table of a document that has none: above the
// comments that belong to its first header.
func (e *editor) prepend(line string) {
	if len(e.exprs) == 0 {
		e.append(line)
		return
	}
	at := e.attached(e.exprs[0].start)
	e.splice(at, at, line+e.eol+e.eol)
}

// attached is the start of the comment lines directly above at.
func (e *editor) attached(at int) int {
	for at > 0 {
		above := e.lineStart(at - 1)
		if !bytes.HasPrefix(bytes.TrimLeft(e.doc[above:at], " \t"), []byte("#")) {
			break
		}
		at = above
	}
	return at
}

// append writes text at the end, a blank line away from what is there.
func (e *editor) append(text string) {
	lead := ""
	if len(e.doc) > 0 {
		lead = e.eol
		if e.doc[len(e.doc)-1] != '\n' {
			lead += e.eol
		}
	}
	e.splice(len(e.doc), len(e.doc), lead+text+e.eol)
}

func (e *editor) appendTable(path []string, m map[string]any) error {
	for _, x := range e.exprs {
		if x.inline && !x.array && hasPrefix(path, x.path) {
			return e.inline(x, func(in map[string]any) error { return setIn(in, path[len(x.path):], m) })
		}
	}
	lines := []string{"[" + document.Key(path...) + "]"}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text, err := document.Render(m[k])
		if err != nil {
			return err
		}
		lines = append(lines, document.Key(k)+" = "+text)
	}
	e.append(strings.Join(lines, e.eol))
	return nil
}

// inline changes an inline table by writing it anew.
func (e *editor) inline(x expr, change func(map[string]any) error) error {
	v, ok := document.OneValue(string(e.doc[x.from:x.to]))
	m, isTable := v.(map[string]any)
	if !ok || !isTable {
		return errors.New("the inline table above it cannot be read")
	}
	if err := change(m); err != nil {
		return err
	}
	text, err := document.Render(m)
	if err != nil {
		return err
	}
	e.splice(x.from, x.to, text)
	return nil
}

// remove cuts every expression at or below path, last first, with the comments
// that sit directly above a header.
func (e *editor) remove(path []string) error {
	for i := len(e.exprs) - 1; i >= 0; i-- {
		x := e.exprs[i]
		switch {
		case hasPrefix(x.path, path) && !(x.array && !x.header && x.in < len(path)):
			from := x.start
			if x.header {
				from = e.attached(from)
			}
			e.splice(from, x.end, "")
		case x.inline && !x.array && hasPrefix(path, x.path):
			change := func(m map[string]any) error { remove(m, path[len(x.path):]); return nil }
			if err := e.inline(x, change); err != nil {
				return err
			}
		}
	}
	return nil
}
