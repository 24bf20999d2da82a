// Package typed writes JSON schemas as types of other languages, for programs that read
// what Kerf prints: the types of clients/ are made by it.
//
// It knows the part of JSON schema that Kerf's own schemas use. What only narrows a value,
// such as a pattern or a bound, has no place in a type and is left out; so are members that
// a schema does not name.
package typed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"kerf/internal/text/order"
)

// Write returns the types of a schema as a file of a language, "typescript" or "python".
// root is the name of the type of the whole, in Pascal case; the schema that a $defs names
// has the name that it has there. The file ends with a line end.
func Write(schema []byte, root, language string) (string, error) {
	var n node
	if err := json.Unmarshal(schema, &n); err != nil {
		return "", fmt.Errorf("typed: %w", err)
	}
	r := reader{named: map[string]node{}}
	for name := range n.Defs {
		r.named[pascal(name)] = *n.Defs[name]
	}
	defs := n.Defs
	n.Defs = nil
	r.declare(root, n, root)
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		r.declare(pascal(name), *defs[name], pascal(name))
	}
	switch {
	case r.fault != nil:
		return "", fmt.Errorf("typed: %w", r.fault)
	case language == "typescript":
		return typescript(n.Title, r.decls), nil
	case language == "python":
		return python(n.Title, r.decls), nil
	}
	return "", fmt.Errorf("typed: there is no language %q; there are typescript and python", language)
}

// Languages are those that Write knows.
var Languages = []string{"python", "typescript"}

// node is a schema.
type node struct {
	Ref         string           `json:"$ref"`
	Defs        map[string]*node `json:"$defs"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Type        any              `json:"type"`
	Properties  map[string]*node `json:"properties"`
	Required    []string         `json:"required"`
	Items       *node            `json:"items"`
	Prefix      []*node          `json:"prefixItems"`
	OneOf       []*node          `json:"oneOf"`
	AnyOf       []*node          `json:"anyOf"`
	Enum        []any            `json:"enum"`
	Const       any              `json:"const"`
	Additional  *node            `json:"additionalProperties"`
	never       bool             // the schema false
}

// UnmarshalJSON takes the schemas true and false as well.
func (n *node) UnmarshalJSON(b []byte) error {
	switch string(bytes.TrimSpace(b)) {
	case "true", "false":
		n.never = b[0] == 'f'
		return nil
	}
	type plain node
	return json.Unmarshal(b, (*plain)(n))
}

// same reports whether two schemas mean the same type.
func same(a, b node) bool {
	a.Description, b.Description = "", ""
	return reflect.DeepEqual(a, b)
}

// kind says what a typ is.
type kind int

const (
	anything kind = iota
	text
	integer
	number
	boolean
	null
	literal // values
	ref     // name
	list    // of[0]
	tuple   // of
	table   // of[0] by text
	either  // of
)

// typ is a type.
type typ struct {
	kind   kind
	name   string
	values []any
	of     []typ
}

// decl is a named type: an object with members, or another name of a type.
type decl struct {
	name, about string
	object      bool
	members     []member
	is          typ
}

type member struct {
	name, about string
	required    bool
	is          typ
}

// reader finds the types of a schema.
type reader struct {
	decls []decl
	named map[string]node
	fault error
}

// declare gives a schema a name. Its variants are named after suffix.
func (r *reader) declare(name string, n node, suffix string) {
	r.named[name] = n
	if n.Properties != nil {
		r.object(name, n)
		return
	}
	at := len(r.decls)
	r.decls = append(r.decls, decl{name: name, about: n.Description})
	is := r.of(n, name, suffix)
	r.decls[at].is = is
}

// object declares an object.
func (r *reader) object(name string, n node) {
	at := len(r.decls)
	r.decls = append(r.decls, decl{name: name, about: n.Description, object: true})
	names := slices.Sorted(maps.Keys(n.Properties))
	order.Stably(names, func(a, b string) int { // what tells it from others comes first
		return boolInt(b == "type") - boolInt(a == "type")
	})
	var all []member
	for _, m := range names {
		p := n.Properties[m]
		about := p.Description
		if p.Ref != "" || p.OneOf != nil {
			about = ""
		}
		all = append(all, member{m, about, slices.Contains(n.Required, m), r.of(*p, name+pascal(m), pascal(m))})
	}
	r.decls[at].members = all
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// of is the type of a schema. An object in it gets the name short if that is free, or long.
func (r *reader) of(n node, long, short string) typ {
	switch {
	case n.Ref != "":
		name, ok := strings.CutPrefix(n.Ref, "#/$defs/")
		if _, known := r.named[pascal(name)]; !ok || !known {
			r.fault = fmt.Errorf("%s refers to %s, which is not there", long, n.Ref)
		}
		return typ{kind: ref, name: pascal(name)}
	case n.Const != nil:
		return typ{kind: literal, values: []any{n.Const}}
	case n.Enum != nil:
		return typ{kind: literal, values: n.Enum}
	case n.OneOf != nil && n.Properties == nil:
		return r.union(n.OneOf, long, short)
	case n.AnyOf != nil && n.Type == nil && n.Properties == nil:
		return r.union(n.AnyOf, long, short)
	}
	if words, ok := n.Type.([]any); ok {
		var of []typ
		for _, w := range words {
			one := n
			one.Type = w
			of = append(of, r.of(one, long, short))
		}
		order.Stably(of, func(a, b typ) int { return boolInt(a.kind == null) - boolInt(b.kind == null) })
		return typ{kind: either, of: of}
	}
	switch n.Type {
	case "string":
		return typ{kind: text}
	case "integer":
		return typ{kind: integer}
	case "number":
		return typ{kind: number}
	case "boolean":
		return typ{kind: boolean}
	case "null":
		return typ{kind: null}
	case "array":
		return r.array(n, long, short)
	case "object", nil:
		if n.Properties != nil {
			return typ{kind: ref, name: r.inner(n, long, short)}
		}
		if n.Additional != nil && !n.Additional.never {
			return typ{kind: table, of: []typ{r.of(*n.Additional, long, strings.TrimSuffix(short, "s"))}}
		}
		if n.Type != nil {
			return typ{kind: table, of: []typ{{}}}
		}
		return typ{}
	}
	r.fault = fmt.Errorf("%s has the type %v, which has no counterpart", long, n.Type)
	return typ{}
}

func (r *reader) array(n node, long, short string) typ {
	switch {
	case n.Prefix != nil:
		t := typ{kind: tuple}
		for _, p := range n.Prefix {
			t.of = append(t.of, r.of(*p, long, short))
		}
		return t
	case n.Items == nil:
		return typ{kind: list, of: []typ{{}}}
	}
	return typ{kind: list, of: []typ{r.of(*n.Items, long, strings.TrimSuffix(short, "s"))}}
}

func (r *reader) union(all []*node, long, short string) typ {
	t := typ{kind: either}
	for _, one := range all {
		if name := pascal(one.Title) + short; one.Properties != nil && one.Title != "" && one.Properties["type"] != nil {
			t.of = append(t.of, typ{kind: ref, name: r.inner(*one, name, name)})
			continue
		}
		t.of = append(t.of, r.of(*one, long, short))
	}
	return t
}

// taken are names that mean something else in one of the languages.
var taken = []string{"Error", "Any", "Literal", "Object", "String", "Number", "Boolean", "Record", "Array", "Map"}

// inner declares an object inside another and returns its name.
func (r *reader) inner(n node, long, short string) string {
	if n.Title != "" && n.Properties["type"] == nil {
		short = pascal(n.Title)
	}
	for _, name := range []string{short, long} {
		before, there := r.named[name]
		if there && same(before, n) {
			return name
		}
		if !there && !slices.Contains(taken, name) {
			r.declare(name, n, name)
			return name
		}
	}
	r.fault = fmt.Errorf("there are two of the name %s", long)
	return long
}

// pascal is a name in Pascal case: "turn.completed" is TurnCompleted.
func pascal(name string) string {
	var b strings.Builder
	up := true
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			up = true
		case up:
			b.WriteRune(unicode.ToUpper(c))
			up = false
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// plainName reports whether a member's name needs no quotes.
func plainName(s string) bool {
	for i, c := range s {
		if c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && !slices.Contains(words, s)
}

// words are those of Python, which no member of a class can have as a name.
var words = strings.Fields("False None True and as assert async await break class continue def del elif else except " +
	"finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")
