// Package arguments decodes the arguments of tool calls strictly and tells models their
// schema.
//
// Arguments are structs. Each exported field is one argument:
//
//	FilePath string `json:"file_path" doc:"The file."`
//	Limit    int    `json:"limit,omitempty" doc:"…" min:"1"`
//	Status   string `json:"status" doc:"…" enum:"pending,completed"`
//
// A field is required unless it has omitempty. Types are string, int, bool,
// pointers to them (nil when absent), structs, and slices and maps of those. An
// optional argument may be null. Both the decoder and the schema follow these tags.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"kerf/internal/agent/tool"
	"kerf/internal/text/visible"
)

// maxArgs is the size that arguments may have; what is meant for a file fits.
const maxArgs = 64 << 20

// Decode reads raw, strictly, into args, a pointer to a struct. The error names the
// field, what was expected and what was found.
func Decode(name string, raw []byte, args any) *tool.Error {
	return new(Reader).Decode(name, raw, args)
}

// Reader reads arguments. The zero value is strict.
type Reader struct {
	// Lenient takes what has only one meaning; see lenient.go.
	Lenient bool
	// Notes tell what was left out.
	Notes []string

	plain []byte // the members of the outermost object as they were understood
}

// Plain is the object that was read last by a lenient reader, with the arguments' own names
// and as the types that they have.
func (r *Reader) Plain() json.RawMessage {
	if len(r.plain) == 0 {
		return json.RawMessage("{}")
	}
	return append(append(json.RawMessage{'{'}, r.plain...), '}')
}

// Decode is as the function of this name, as strict as the reader.
func (r *Reader) Decode(name string, raw []byte, args any) *tool.Error {
	bad := func(format string, a ...any) *tool.Error {
		return tool.Refuse(tool.InvalidArguments, name+": "+format, a...)
	}
	if len(raw) > maxArgs {
		return tool.Refuse(tool.TooLarge, "%s: the arguments have %d bytes, at most %d are taken; write the file in parts",
			name, len(raw), maxArgs)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if !utf8.Valid(raw) {
		return bad("the arguments are not valid UTF-8")
	}
	if !json.Valid(raw) {
		return bad("the arguments are not valid JSON: %s; expected one object with %s", flaw(raw),
			fieldNames(reflect.TypeOf(args).Elem()))
	}
	if loneSurrogate(raw) {
		return bad(`the arguments have half of a surrogate pair (\ud800 to \udfff alone); write the whole character`)
	}
	if err := r.object("", raw, reflect.ValueOf(args).Elem()); err != nil {
		return bad("%v", err)
	}
	return nil
}

// flaw says what is wrong with text that is not JSON.
func flaw(raw []byte) string {
	var v any
	err := json.Unmarshal(raw, &v)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "it cannot be read"
	}
	if syntax.Offset >= int64(len(raw)) && strings.Contains(syntax.Error(), "unexpected end") {
		return fmt.Sprintf("it ends early, after %d bytes", len(raw))
	}
	return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
}

// object fills the struct into from an object; path names it in errors.
func (r *Reader) object(path string, raw json.RawMessage, into reflect.Value) error {
	raw = r.unquoted(raw, '{')
	if kindOf(raw) != "an object" {
		return fmt.Errorf("%s: expected an object, found %s", orArguments(path), found(raw))
	}
	if path == "" {
		raw = r.unwrapped(into.Type(), raw)
	}
	given := map[string]bool{}
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		field, ok := r.field(into.Type(), path == "", key)
		switch {
		case !ok && r.Lenient && path == "":
			r.Notes = append(r.Notes, fmt.Sprintf("(the argument %s is unknown here and had no effect)", within(path, key)))
			return nil
		case !ok:
			return fmt.Errorf("unknown field %s; expected %s", within(path, key), fieldNames(into.Type()))
		}
		own := jsonName(field)
		if given[own] {
			return fmt.Errorf("field %s is given twice", within(path, own))
		}
		given[own] = true
		f := into.FieldByIndex(field.Index)
		if r.Lenient && path == "" {
			r.keep(own, r.meant(value, kindOfField(field.Type)))
		}
		if kindOf(value) == "null" && optional(field) {
			return nil
		}
		if err := r.value(within(path, key), value, f); err != nil {
			return err
		}
		r.word(field, f)
		return bounds(within(path, key), field, f)
	})
	if err != nil {
		return err
	}
	for _, field := range fieldsOf(into.Type()) {
		if key := jsonName(field); key != "" && !given[key] && !optional(field) {
			return fmt.Errorf("missing field %s (%s)", within(path, key), typeName(field.Type))
		}
	}
	return nil
}

// eachMember calls f for every member of an object, in order.
func eachMember(raw json.RawMessage, f func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := f(key.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// value fills into, which is settable, from raw.
func (r *Reader) value(path string, raw json.RawMessage, into reflect.Value) error {
	raw = r.meant(raw, into.Kind())
	mismatch := func() error {
		return fmt.Errorf("field %s: expected %s, found %s", path, typeName(into.Type()), found(raw))
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return r.value(path, raw, into.Elem())
	case reflect.String:
		if kindOf(raw) != "a string" {
			return mismatch()
		}
		return json.Unmarshal(raw, into.Addr().Interface())
	case reflect.Bool:
		if kindOf(raw) != "a boolean" {
			return mismatch()
		}
		into.SetBool(raw[0] == 't')
	case reflect.Int:
		n, ok := integer(raw)
		if !ok {
			return mismatch()
		}
		into.SetInt(n)
	case reflect.Struct:
		if kindOf(raw) != "an object" {
			return mismatch()
		}
		return r.object(path, raw, into)
	case reflect.Slice:
		return r.slice(path, raw, into, mismatch)
	case reflect.Map:
		if kindOf(raw) != "an object" {
			return mismatch()
		}
		into.Set(reflect.MakeMap(into.Type()))
		return eachMember(raw, func(key string, value json.RawMessage) error {
			v := reflect.New(into.Type().Elem()).Elem()
			if err := r.value(within(path, key), value, v); err != nil {
				return err
			}
			into.SetMapIndex(reflect.ValueOf(key), v)
			return nil
		})
	}
	return nil
}

func (r *Reader) slice(path string, raw json.RawMessage, into reflect.Value, mismatch func() error) error {
	if kindOf(raw) != "an array" {
		return mismatch()
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	list := reflect.MakeSlice(into.Type(), 0, 4)
	for i := 0; dec.More(); i++ {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		v := reflect.New(into.Type().Elem()).Elem()
		if err := r.value(fmt.Sprintf("%s[%d]", path, i), value, v); err != nil {
			return err
		}
		list = reflect.Append(list, v)
	}
	into.Set(list)
	return nil
}

// integer reads a JSON number without a fraction.
func integer(raw json.RawMessage) (int64, bool) {
	if kindOf(raw) != "a number" {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, n >= math.MinInt && n <= math.MaxInt
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// bounds checks the min and enum tags.
func bounds(path string, field reflect.StructField, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if least, err := strconv.Atoi(field.Tag.Get("min")); err == nil && v.Int() < int64(least) {
		return fmt.Errorf("field %s: expected at least %d, found %d", path, least, v.Int())
	}
	words := field.Tag.Get("enum")
	if words == "" {
		return nil
	}
	for _, w := range strings.Split(words, ",") {
		if v.String() == w {
			return nil
		}
	}
	return fmt.Errorf("field %s: expected one of %s, found %s", path, strings.ReplaceAll(words, ",", ", "),
		clip(strconv.Quote(v.String())))
}

func fieldByName(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range fieldsOf(t) {
		if key != "" && jsonName(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// fields are those of the structs that were asked for: they are the same for each call.
var fields sync.Map

// fieldsOf are the fields of a struct, those of embedded ones as well. The list is shared.
func fieldsOf(t reflect.Type) []reflect.StructField {
	if have, ok := fields.Load(t); ok {
		return have.([]reflect.StructField)
	}
	have, _ := fields.LoadOrStore(t, reflect.VisibleFields(t))
	return have.([]reflect.StructField)
}

// jsonName returns the argument that f is, empty for embedded structs.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func optional(f reflect.StructField) bool {
	return f.Anonymous || strings.HasSuffix(f.Tag.Get("json"), ",omitempty")
}

func fieldNames(t reflect.Type) string {
	var names []string
	for _, f := range fieldsOf(t) {
		if n := jsonName(f); n != "" {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int:
		return "an integer"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// kindOf names what a valid JSON text is.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// found describes a value in an error.
func found(raw json.RawMessage) string {
	switch k := kindOf(raw); k {
	case "a string":
		return "the string " + clip(string(raw))
	case "a number":
		return "the number " + clip(string(raw))
	case "a boolean":
		return string(raw)
	default:
		return k
	}
}

// clip shortens a quotation to what a message needs.
func clip(s string) string {
	return visible.Clip(s, 57)
}

// within names a member; keys that could be taken for other words are quoted.
func within(path, key string) string {
	plain := key != ""
	for i := range len(key) {
		c := key[i]
		plain = plain && (strings.IndexByte("_-./", c) >= 0 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' ||
			'a' <= c && c <= 'z')
	}
	if !plain {
		key = strconv.Quote(key)
	}
	if key = clip(key); path != "" {
		return path + "." + key
	}
	return key
}

func orArguments(path string) string {
	if path == "" {
		return "the arguments"
	}
	return path
}

// loneSurrogate reports whether a string in valid JSON escapes half a character,
// which decoding would silently replace.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			return false
		}
		i += n
		unit, ok := escapedUnit(raw[i:])
		if !ok {
			i += 2
			continue
		}
		i += 6
		if unit < 0xd800 || unit > 0xdfff {
			continue
		}
		low, ok := escapedUnit(raw[min(i, len(raw)):])
		if unit >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

func escapedUnit(raw []byte) (uint64, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return n, err == nil
}
