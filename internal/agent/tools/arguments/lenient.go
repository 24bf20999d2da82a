package arguments

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// field is the argument that a key names. A lenient reader also takes another spelling of
// its name (filePath), and another name that its tag lists:
//
//	FilePath string `json:"file_path" also:"path,filename"`
//
// and that in the outermost object only, where what an argument is about is certain.
func (r *Reader) field(t reflect.Type, outermost bool, key string) (reflect.StructField, bool) {
	if f, ok := fieldByName(t, key); ok || !r.Lenient || !outermost {
		return f, ok
	}
	var found []reflect.StructField
	for _, f := range fieldsOf(t) {
		name := jsonName(f)
		if name == "" || !alike(name, key) && !slices.Contains(strings.Split(f.Tag.Get("also"), ","), key) {
			continue
		}
		found = append(found, f)
	}
	if len(found) != 1 || key == "" {
		return reflect.StructField{}, false
	}
	return found[0], true
}

// wrappers are members under which models put all arguments of a call, as its template has it.
var wrappers = []string{"arguments", "parameters", "args", "params", "input"}

// unwrapped is the object within a wrapper that is the only member and no argument of the tool;
// raw otherwise.
func (r *Reader) unwrapped(t reflect.Type, raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if !r.Lenient || json.Unmarshal(raw, &members) != nil || len(members) != 1 {
		return raw
	}
	for name, inner := range members {
		if _, own := r.field(t, true, name); own || !slices.Contains(wrappers, name) {
			break
		}
		if inner = r.unquoted(inner, '{'); kindOf(inner) == "an object" {
			return inner
		}
	}
	return raw
}

// keep takes a member into the plain form.
func (r *Reader) keep(name string, value json.RawMessage) {
	if len(r.plain) > 0 {
		r.plain = append(r.plain, ',')
	}
	r.plain = append(append(appendString(r.plain, name), ':'), value...)
}

// kindOfField is what a value of a type is, be it given or not.
func kindOfField(t reflect.Type) reflect.Kind {
	if t.Kind() == reflect.Pointer {
		return t.Elem().Kind()
	}
	return t.Kind()
}

// alike reports whether two names differ in their case, or in how words are parted.
func alike(a, b string) bool { return plain(a) == plain(b) }

func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// meant is a value as a kind of argument where it can only mean that: a string that holds a
// number, a truth, or a list or an object that was encoded twice; the one object of a list.
func (r *Reader) meant(raw json.RawMessage, kind reflect.Kind) json.RawMessage {
	if !r.Lenient {
		return raw
	}
	if kind == reflect.Slice && raw[0] == '{' {
		return slices.Concat([]byte{'['}, raw, []byte{']'})
	}
	if raw[0] != '"' {
		return raw
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	switch kind {
	case reflect.Int:
		whole := strings.TrimSuffix(s, ".0")
		if n, err := strconv.Atoi(whole); err == nil && strconv.Itoa(n) == whole {
			return json.RawMessage(whole)
		}
	case reflect.Bool:
		switch s {
		case "true", "True", "TRUE":
			return json.RawMessage("true")
		case "false", "False", "FALSE":
			return json.RawMessage("false")
		}
	case reflect.Slice:
		return r.unquoted(raw, '[')
	case reflect.Struct, reflect.Map:
		return r.unquoted(raw, '{')
	}
	return raw
}

// unquoted is the JSON text that a string holds, if it begins with first; raw otherwise.
func (r *Reader) unquoted(raw json.RawMessage, first byte) json.RawMessage {
	var s string
	if !r.Lenient || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return raw
	}
	s = strings.TrimSpace(s)
	if s == "" || s[0] != first || !json.Valid([]byte(s)) || loneSurrogate([]byte(s)) {
		return raw
	}
	return json.RawMessage(s)
}

// word puts the word of a list in the place of another spelling of it.
func (r *Reader) word(field reflect.StructField, v reflect.Value) {
	words := field.Tag.Get("enum")
	if words == "" || !r.Lenient {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for _, w := range strings.Split(words, ",") {
		if v.Kind() == reflect.String && alike(w, v.String()) {
			v.SetString(w)
		}
	}
}
