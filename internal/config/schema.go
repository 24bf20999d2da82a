package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pourer fills a Config from a tree and checks the tree on the way.
type pourer struct {
	// at is the path of what is poured: "profiles.NAME" or empty.
	at []string
	// ignored is called for keys that Kerf knows but has no use for; loud ones
	// are worth a word to the user.
	ignored func(key string, v *value, loud bool)
}

// pour fills rv, which is settable, from v. tag is that of the field.
func (p *pourer) pour(rv reflect.Value, v *value, tag reflect.StructTag, path []string) error {
	if form := tag.Get("form"); form != "" {
		alternative, err := reshape(form, v)
		if err != nil {
			return p.fault(v, path, "expected %s, found %s", err, v.kind())
		}
		v = alternative
	}
	if rv.Type() == reflect.TypeFor[time.Duration]() {
		return p.duration(rv, v, tag, path)
	}
	switch rv.Kind() {
	case reflect.Struct:
		return p.fields(rv, v, path)
	case reflect.Map:
		return p.entries(rv, v, tag, path)
	case reflect.Slice:
		return p.list(rv, v, path)
	case reflect.String:
		return p.word(rv, v, tag, path)
	case reflect.Bool:
		b, ok := v.leaf.(bool)
		if !ok {
			return p.fault(v, path, "expected true or false, found %s", v.kind())
		}
		rv.SetBool(b)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := p.number(v, tag, path)
		rv.SetInt(n)
		return err
	case reflect.Float64:
		f, err := p.amount(v, path)
		rv.SetFloat(f)
		return err
	}
	panic("config: no schema for " + rv.Type().String())
}

func (p *pourer) fields(rv reflect.Value, v *value, path []string) error {
	if v.table == nil {
		return p.fault(v, path, "expected a table, found %s", v.kind())
	}
	for _, k := range v.inOrder() {
		sub, here := v.table[k], append(path[:len(path):len(path)], k)
		f, ok := fieldOf(rv.Type(), k)
		if ok {
			if err := p.pour(rv.FieldByIndex(f.Index), sub, f.Tag, here); err != nil {
				return err
			}
			continue
		}
		if rest, named := fieldOf(rv.Type(), anyKey); named && sub.table != nil {
			if err := p.entry(rv.FieldByIndex(rest.Index), k, sub, here); err != nil {
				return err
			}
			continue
		}
		known, loud := foreign(here)
		if !known {
			return p.unknown(rv.Type(), sub, here)
		}
		if p.ignored != nil {
			p.ignored(p.name(here), sub, loud)
		}
	}
	return nil
}

// anyKey is the key of a field, a map, that takes the tables whose names no other
// field has.
const anyKey = "*"

// entry pours one entry of such a map.
func (p *pourer) entry(m reflect.Value, k string, v *value, path []string) error {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	e := reflect.New(m.Type().Elem()).Elem()
	if err := p.pour(e, v, "", path); err != nil {
		return err
	}
	m.SetMapIndex(reflect.ValueOf(k), e)
	return nil
}

func (p *pourer) entries(rv reflect.Value, v *value, tag reflect.StructTag, path []string) error {
	if v.table == nil {
		return p.fault(v, path, "expected a table, found %s", v.kind())
	}
	m := reflect.MakeMapWithSize(rv.Type(), len(v.table))
	elem := rv.Type().Elem()
	for _, k := range v.inOrder() {
		sub := v.table[k]
		if elem.Kind() == reflect.Interface {
			m.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(sub.plain()))
			continue
		}
		e := reflect.New(elem).Elem()
		if err := p.pour(e, sub, entryTag(tag), append(path[:len(path):len(path)], k)); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k), e)
	}
	rv.Set(m)
	return nil
}

// entryTag is what of a map's tag holds for its entries.
func entryTag(tag reflect.StructTag) reflect.StructTag {
	if enum := tag.Get("enum"); enum != "" {
		return reflect.StructTag(`enum:"` + enum + `"`)
	}
	return ""
}

func (p *pourer) list(rv reflect.Value, v *value, path []string) error {
	items, ok := v.leaf.([]any)
	if !ok {
		return p.fault(v, path, "expected an array of strings, found %s", v.kind())
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i], ok = item.(string); !ok {
			return p.fault(v, path, "expected only strings in the array, found %s", (&value{leaf: item}).kind())
		}
	}
	rv.Set(reflect.ValueOf(list))
	return nil
}

func (p *pourer) word(rv reflect.Value, v *value, tag reflect.StructTag, path []string) error {
	s, ok := v.leaf.(string)
	if !ok && v.raw != "" && v.table == nil {
		s, ok = v.raw, true // -c model=5 means the text
	}
	if !ok {
		return p.fault(v, path, "expected a string, found %s", v.kind())
	}
	if strings.ContainsRune(s, 0) {
		return p.fault(v, path, "has a NUL character")
	}
	if enum := tag.Get("enum"); enum != "" {
		words := strings.Fields(enum)
		if !slices.Contains(words, s) {
			return p.fault(v, path, "expected one of %s, found %q%s", strings.Join(words, ", "), clip(s), hint(s, words))
		}
	}
	rv.SetString(s)
	return nil
}

func (p *pourer) number(v *value, tag reflect.StructTag, path []string) (int64, error) {
	n, ok := v.leaf.(int64)
	if !ok {
		return 0, p.fault(v, path, "expected a whole number, found %s", v.kind())
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt64>>10)
	if s := tag.Get("min"); s != "" {
		low, _ = strconv.ParseInt(s, 10, 64)
	}
	if s := tag.Get("max"); s != "" {
		high, _ = strconv.ParseInt(s, 10, 64)
	}
	if n < low {
		return 0, p.fault(v, path, "expected at least %d, found %d", low, n)
	}
	if n > high {
		return 0, p.fault(v, path, "expected at most %d, found %d", high, n)
	}
	return n, nil
}

// amount is a number that is not negative and may have a fraction.
func (p *pourer) amount(v *value, path []string) (float64, error) {
	f, ok := v.leaf.(float64)
	if n, whole := v.leaf.(int64); whole {
		f, ok = float64(n), true
	}
	if !ok || !(f >= 0) || math.IsInf(f, 0) {
		return 0, p.fault(v, path, "expected a number that is not negative, found %s", v.kind())
	}
	return f, nil
}

func (p *pourer) duration(rv reflect.Value, v *value, tag reflect.StructTag, path []string) error {
	unit := time.Second
	if tag.Get("unit") == "ms" {
		unit = time.Millisecond
	}
	const longest = 30 * 24 * time.Hour
	if f, ok := v.leaf.(float64); ok && f > 0 && f < longest.Seconds() {
		rv.SetInt(int64(f * float64(unit)))
		return nil
	}
	n, err := p.number(v, tag, path)
	if err != nil {
		return err
	}
	rv.SetInt(int64(min(time.Duration(n), longest/unit) * unit))
	return nil
}

// name is the dotted key of path, as it stands in the file.
func (p *pourer) name(path []string) string {
	return Key(append(p.at[:len(p.at):len(p.at)], path...)...)
}

func (p *pourer) fault(v *value, path []string, format string, args ...any) error {
	key := p.name(path)
	return &Error{v.from.file, v.from.line, key, key + ": " + fmt.Sprintf(format, args...)}
}

func (p *pourer) unknown(t reflect.Type, v *value, path []string) error {
	last := len(path) - 1
	near := hint(path[last], keysOf(t))
	if last > 0 || len(p.at) > 0 {
		near = strings.Replace(near, `"`, `"`+p.name(path[:last])+".", 1)
	}
	key := p.name(path)
	return &Error{v.from.file, v.from.line, key, fmt.Sprintf("unknown key %q%s", key, near)}
}

// reshape turns other ways to write a value into the usual one. The error is
// what was expected.
func reshape(form string, v *value) (*value, error) {
	leaf := func(x any) *value { return &value{leaf: x, from: v.from} }
	switch form {
	case "list":
		if s, ok := v.leaf.(string); ok {
			return leaf([]any{s}), nil
		}
	case "toggle":
		if v.table == nil {
			break
		}
		on, ok := v.table["enabled"]
		if !ok {
			return leaf(true), nil
		}
		if _, ok := on.leaf.(bool); !ok {
			return nil, fmt.Errorf("true, false or a table with enabled = true or false")
		}
		return on, nil
	case "yesno":
		if on, ok := v.leaf.(bool); ok {
			return leaf(map[bool]string{true: "yes", false: "no"}[on]), nil
		}
	case "search":
		if v.table != nil || v.leaf == true {
			return leaf("live"), nil
		}
		if v.leaf == false {
			return leaf("disabled"), nil
		}
	case "paths":
		if v.table == nil {
			break
		}
		flat := newTable(v.from)
		flatten(flat, v, "")
		return flat, nil
	}
	return v, nil
}

// flatten joins the keys of nested tables with slashes; "." is the table itself.
func flatten(into, v *value, prefix string) {
	for k, sub := range v.table {
		// The reference's bound on glob expansion stands among the paths.
		if prefix == "" && k == "glob_scan_max_depth" {
			continue
		}
		name := k
		if prefix != "" {
			name = strings.TrimSuffix(prefix, "/") + "/" + k
			if k == "." {
				name = prefix
			}
		}
		if sub.table != nil {
			flatten(into, sub, name)
			continue
		}
		into.table[name] = sub
	}
}

// plain returns v as maps and scalars.
func (v *value) plain() any {
	if v.table == nil {
		return v.leaf
	}
	m := make(map[string]any, len(v.table))
	for k, sub := range v.table {
		m[k] = sub.plain()
	}
	return m
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("key") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if k := t.Field(i).Tag.Get("key"); k != "" && k != anyKey {
			keys = append(keys, k)
		}
	}
	return keys
}

// lookup returns the tags that hold for path: those of the deepest field on it.
func lookup(path []string) (reflect.StructTag, bool) {
	t, tag, found := reflect.TypeFor[Config](), reflect.StructTag(""), false
	for _, k := range path {
		switch t.Kind() {
		case reflect.Struct:
			f, ok := fieldOf(t, k)
			if rest, named := fieldOf(t, anyKey); !ok && named {
				t, tag, found = rest.Type.Elem(), rest.Tag, true
				continue
			}
			if !ok {
				return tag, found && tag.Get("form") != ""
			}
			t, tag, found = f.Type, f.Tag, true
		case reflect.Map:
			t = t.Elem()
		default:
			return tag, found
		}
	}
	return tag, found
}
