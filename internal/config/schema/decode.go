// Package schema reads struct tags as the schema of a TOML document: it decodes a
// document into a struct, lists its keys and gives its JSON schema.
//
// Tags: key is the TOML key, "*" that of a map which takes the tables whose names no
// other field has; enum lists the words a string may be; min and max bound a number;
// unit is that of a duration; form names another way to write the value.
package schema

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kerf/internal/config/document"
)

// Decoder fills a struct from a document and checks the document on the way.
type Decoder struct {
	// At is the path of what is decoded: "profiles.NAME" or empty.
	At []string
	// Foreign are the keys that are passed over.
	Foreign Foreign
	// Ignored, when set, is called for each of them.
	Ignored func(key string, v *document.Value, loud bool)
}

// Decode fills the struct that into points to.
func (d *Decoder) Decode(into any, v *document.Value) error {
	return d.decode(reflect.ValueOf(into).Elem(), v, "", nil)
}

// decode fills rv, which is settable, from v. tag is that of the field.
func (d *Decoder) decode(rv reflect.Value, v *document.Value, tag reflect.StructTag, path []string) error {
	form := tag.Get("form")
	if form == loose && !sameKind(rv.Type(), v.Leaf) {
		return nil
	}
	if form != "" {
		alternative, err := reshape(form, v)
		if err != nil {
			return d.Fault(v, path, "expected %s, found %s", err, v.Kind())
		}
		v = alternative
	}
	if rv.Type() == reflect.TypeFor[time.Duration]() {
		return d.duration(rv, v, tag, path)
	}
	switch rv.Kind() {
	case reflect.Interface:
		rv.Set(reflect.ValueOf(v.Plain()))
		return nil
	case reflect.Pointer:
		rv.Set(reflect.New(rv.Type().Elem()))
		return d.decode(rv.Elem(), v, tag, path)
	case reflect.Struct:
		return d.fields(rv, v, path)
	case reflect.Map:
		return d.entries(rv, v, tag, path)
	case reflect.Slice:
		return d.list(rv, v, path)
	case reflect.String:
		return d.word(rv, v, tag, path)
	case reflect.Bool:
		b, ok := v.Leaf.(bool)
		if !ok {
			return d.Fault(v, path, "expected true or false, found %s", v.Kind())
		}
		rv.SetBool(b)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := d.number(v, tag, path)
		rv.SetInt(n)
		return err
	case reflect.Float64:
		f, err := d.amount(v, path)
		rv.SetFloat(f)
		return err
	}
	panic("config: no schema for " + rv.Type().String())
}

func (d *Decoder) fields(rv reflect.Value, v *document.Value, path []string) error {
	if v.Table == nil {
		return d.Fault(v, path, "expected a table, found %s", v.Kind())
	}
	for _, k := range v.InOrder() {
		sub, here := v.Table[k], append(path[:len(path):len(path)], k)
		f, ok := fieldOf(rv.Type(), k)
		if ok {
			if err := d.decode(rv.FieldByIndex(f.Index), sub, f.Tag, here); err != nil {
				return err
			}
			continue
		}
		if rest, named := fieldOf(rv.Type(), anyKey); named && sub.Table != nil {
			if err := d.entry(rv.FieldByIndex(rest.Index), k, sub, here); err != nil {
				return err
			}
			continue
		}
		known, loud := d.Foreign.has(here)
		if !known {
			return d.unknown(rv.Type(), sub, here)
		}
		if d.Ignored != nil {
			d.Ignored(d.name(here), sub, loud)
		}
	}
	return nil
}

// anyKey is the key of a field, a map, that takes the tables whose names no other
// field has.
const anyKey = "*"

// loose is the form of a value that other agents' files may have with another type;
// such a value is passed over.
const loose = "loose"

func sameKind(t reflect.Type, leaf any) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return leaf != nil && reflect.TypeOf(leaf).Kind() == t.Kind()
}

// entry decodes one entry of such a map.
func (d *Decoder) entry(m reflect.Value, k string, v *document.Value, path []string) error {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	e := reflect.New(m.Type().Elem()).Elem()
	if err := d.decode(e, v, "", path); err != nil {
		return err
	}
	m.SetMapIndex(reflect.ValueOf(k), e)
	return nil
}

func (d *Decoder) entries(rv reflect.Value, v *document.Value, tag reflect.StructTag, path []string) error {
	if v.Table == nil {
		return d.Fault(v, path, "expected a table, found %s", v.Kind())
	}
	m := reflect.MakeMapWithSize(rv.Type(), len(v.Table))
	elem := rv.Type().Elem()
	for _, k := range v.InOrder() {
		sub := v.Table[k]
		if elem.Kind() == reflect.Interface {
			m.SetMapIndex(reflect.ValueOf(k), reflect.ValueOf(sub.Plain()))
			continue
		}
		e := reflect.New(elem).Elem()
		if err := d.decode(e, sub, entryTag(tag), append(path[:len(path):len(path)], k)); err != nil {
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

func (d *Decoder) list(rv reflect.Value, v *document.Value, path []string) error {
	items, ok := v.Leaf.([]any)
	if rv.Type().Elem().Kind() == reflect.Struct {
		return d.tables(rv, v, items, path)
	}
	if !ok {
		return d.Fault(v, path, "expected an array of strings, found %s", v.Kind())
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i], ok = item.(string); !ok {
			return d.Fault(v, path, "expected only strings in the array, found %s", (&document.Value{Leaf: item}).Kind())
		}
	}
	rv.Set(reflect.ValueOf(list))
	return nil
}

// tables decodes an array of tables.
func (d *Decoder) tables(rv reflect.Value, v *document.Value, items []any, path []string) error {
	list := reflect.MakeSlice(rv.Type(), len(items), len(items))
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return d.Fault(v, path, "expected tables, found %s", (&document.Value{Leaf: item}).Kind())
		}
		if err := d.fields(list.Index(i), document.FromMap(m, v.From), path); err != nil {
			return err
		}
	}
	if items == nil && v.Table != nil || items == nil && v.Leaf != nil {
		return d.Fault(v, path, "expected an array of tables ([[%s]]), found %s", document.Key(path...), v.Kind())
	}
	rv.Set(list)
	return nil
}

func (d *Decoder) word(rv reflect.Value, v *document.Value, tag reflect.StructTag, path []string) error {
	s, ok := v.Leaf.(string)
	if !ok && v.Raw != "" && v.Table == nil {
		s, ok = v.Raw, true // -c model=5 means the text
	}
	if !ok {
		return d.Fault(v, path, "expected a string, found %s", v.Kind())
	}
	if strings.ContainsRune(s, 0) {
		return d.Fault(v, path, "has a NUL character")
	}
	if enum := tag.Get("enum"); enum != "" {
		words := strings.Fields(enum)
		if !slices.Contains(words, s) {
			return d.Fault(v, path, "expected one of %s, found %q%s", strings.Join(words, ", "), document.Clip(s),
				document.Hint(s, words))
		}
	}
	rv.SetString(s)
	return nil
}

func (d *Decoder) number(v *document.Value, tag reflect.StructTag, path []string) (int64, error) {
	n, ok := v.Leaf.(int64)
	if !ok {
		return 0, d.Fault(v, path, "expected a whole number, found %s", v.Kind())
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt64>>10)
	if s := tag.Get("min"); s != "" {
		low, _ = strconv.ParseInt(s, 10, 64)
	}
	if s := tag.Get("max"); s != "" {
		high, _ = strconv.ParseInt(s, 10, 64)
	}
	if n < low {
		return 0, d.Fault(v, path, "expected at least %d, found %d", low, n)
	}
	if n > high {
		return 0, d.Fault(v, path, "expected at most %d, found %d", high, n)
	}
	return n, nil
}

// amount is a number that is not negative and may have a fraction.
func (d *Decoder) amount(v *document.Value, path []string) (float64, error) {
	f, ok := v.Leaf.(float64)
	if n, whole := v.Leaf.(int64); whole {
		f, ok = float64(n), true
	}
	if !ok || !(f >= 0) || math.IsInf(f, 0) {
		return 0, d.Fault(v, path, "expected a number that is not negative, found %s", v.Kind())
	}
	return f, nil
}

func (d *Decoder) duration(rv reflect.Value, v *document.Value, tag reflect.StructTag, path []string) error {
	unit := time.Second
	if tag.Get("unit") == "ms" {
		unit = time.Millisecond
	}
	const longest = 30 * 24 * time.Hour
	if f, ok := v.Leaf.(float64); ok && f > 0 && f < longest.Seconds() {
		rv.SetInt(int64(f * float64(unit)))
		return nil
	}
	n, err := d.number(v, tag, path)
	if err != nil {
		return err
	}
	rv.SetInt(int64(min(time.Duration(n), longest/unit) * unit))
	return nil
}

// name is the dotted key of path, as it stands in the file.
func (d *Decoder) name(path []string) string {
	return document.Key(append(d.At[:len(d.At):len(d.At)], path...)...)
}

func (d *Decoder) Fault(v *document.Value, path []string, format string, args ...any) error {
	key := d.name(path)
	return v.From.Fault(key, key+": "+fmt.Sprintf(format, args...))
}

func (d *Decoder) unknown(t reflect.Type, v *document.Value, path []string) error {
	last := len(path) - 1
	near := document.Hint(path[last], keysOf(t))
	if last > 0 || len(d.At) > 0 {
		near = strings.Replace(near, `"`, `"`+d.name(path[:last])+".", 1)
	}
	key := d.name(path)
	return v.From.Fault(key, fmt.Sprintf("unknown key %q%s", key, near))
}

// reshape turns other ways to write a value into the usual one. The error is
// what was expected.
func reshape(form string, v *document.Value) (*document.Value, error) {
	leaf := func(x any) *document.Value { return &document.Value{Leaf: x, From: v.From} }
	switch form {
	case "list":
		if s, ok := v.Leaf.(string); ok {
			return leaf([]any{s}), nil
		}
	case "toggle":
		if v.Table == nil {
			break
		}
		on, ok := v.Table["enabled"]
		if !ok {
			return leaf(true), nil
		}
		if _, ok := on.Leaf.(bool); !ok {
			return nil, fmt.Errorf("true, false or a table with enabled = true or false")
		}
		return on, nil
	case "yesno":
		if on, ok := v.Leaf.(bool); ok {
			return leaf(map[bool]string{true: "yes", false: "no"}[on]), nil
		}
	case "search":
		if v.Table != nil || v.Leaf == true {
			return leaf("live"), nil
		}
		if v.Leaf == false {
			return leaf("disabled"), nil
		}
	case "paths":
		if v.Table == nil {
			break
		}
		flat := document.NewTable(v.From)
		flatten(flat, v, "")
		return flat, nil
	}
	return v, nil
}

// flatten joins the keys of nested tables with slashes; "." is the table itself.
func flatten(into, v *document.Value, prefix string) {
	for k, sub := range v.Table {
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
		if sub.Table != nil {
			flatten(into, sub, name)
			continue
		}
		into.Table[name] = sub
	}
}

// fieldOf is the field of a struct that has a key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	f, ok := fieldsOf(t)[key]
	return f, ok
}

// known are the fields of structs by their keys. A document names many of them, in many tables
// of one type.
var known sync.Map // reflect.Type -> map[string]reflect.StructField

func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if have, ok := known.Load(t); ok {
		return have.(map[string]reflect.StructField)
	}
	made := make(map[string]reflect.StructField, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("key")
		if _, taken := made[key]; !taken {
			made[key] = f
		}
	}
	have, _ := known.LoadOrStore(t, made)
	return have.(map[string]reflect.StructField)
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

// Lookup returns the tags that hold for path in a struct: those of the deepest field
// on it.
func Lookup(t reflect.Type, path []string) (reflect.StructTag, bool) {
	tag, found := reflect.StructTag(""), false
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

// Keys lists every dotted key of a struct, with * for names that the user chooses,
// sorted.
func Keys(t reflect.Type) []string {
	var keys []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch {
		case t.Kind() == reflect.Struct:
			for i := range t.NumField() {
				if k := t.Field(i).Tag.Get("key"); k == anyKey {
					walk(t.Field(i).Type.Elem(), path+".*")
				} else if k != "" {
					walk(t.Field(i).Type, strings.TrimPrefix(path+"."+k, "."))
				}
			}
		case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
			walk(t.Elem(), path+".*")
		default:
			keys = append(keys, path)
		}
	}
	walk(t, "")
	slices.Sort(keys)
	return keys
}
