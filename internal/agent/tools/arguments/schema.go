package arguments

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema returns the JSON schema of the arguments that t, a struct, takes. Its
// members are in the order of the fields, so the same type has the same bytes.
//
// A field with the tag offer:"no" is accepted and not named.
func Schema(t reflect.Type) json.RawMessage {
	return schema{closed: true}.object(make([]byte, 0, 1024), t, nil)
}

// Brief is a schema of some of the arguments, all if only is nil. It is silent about
// others, which are accepted all the same. Fields with the tag brief:"required" are
// required in it, and those with brief:"plain" are told without their documentation.
func Brief(t reflect.Type, only []string) json.RawMessage {
	return schema{}.object(make([]byte, 0, 512), t, only)
}

// schema writes schemas. Closed ones exclude what they do not name.
type schema struct{ closed bool }

func (s schema) object(b []byte, t reflect.Type, only []string) []byte {
	b = append(b, `{"type":"object","properties":{`...)
	var required []string
	first := true
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" || f.Tag.Get("offer") == "no" || only != nil && !slices.Contains(only, name) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, name), ':')
		b = s.value(b, f.Type, f.Tag)
		if !optional(f) || !s.closed && f.Tag.Get("brief") == "required" {
			required = append(required, name)
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = append(appendList(append(b, `,"required":[`...), required), ']')
	}
	if s.closed {
		b = append(b, `,"additionalProperties":false`...)
	}
	return append(b, '}')
}

func (s schema) value(b []byte, t reflect.Type, tag reflect.StructTag) []byte {
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(b, t.Elem(), tag)
	case reflect.Struct:
		b = s.object(b, t, nil)
		b = b[:len(b)-1]
	case reflect.Slice:
		b = append(b, `{"type":"array","items":`...)
		b = s.value(b, t.Elem(), "")
	case reflect.Map:
		b = append(b, `{"type":"object","additionalProperties":`...)
		b = s.value(b, t.Elem(), "")
	case reflect.Bool:
		b = append(b, `{"type":"boolean"`...)
	case reflect.Int:
		b = append(b, `{"type":"integer"`...)
		if least := tag.Get("min"); least != "" && s.closed {
			b = append(append(b, `,"minimum":`...), least...)
		}
	default:
		b = append(b, `{"type":"string"`...)
	}
	if words := tag.Get("enum"); words != "" {
		b = append(appendList(append(b, `,"enum":[`...), strings.Split(words, ",")), ']')
	}
	if doc := tag.Get("doc"); doc != "" && (s.closed || tag.Get("brief") == "") {
		b = appendString(append(b, `,"description":`...), doc)
	}
	return append(b, '}')
}

func appendList(b []byte, words []string) []byte {
	for i, w := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, w)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return append(b, q...)
}
