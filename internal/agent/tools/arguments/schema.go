package arguments

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema returns the JSON schema of the arguments that t, a struct, takes. Its
// members are in the order of the fields, so the same type has the same bytes.
func Schema(t reflect.Type) json.RawMessage {
	return appendObject(make([]byte, 0, 1024), t)
}

func appendObject(b []byte, t reflect.Type) []byte {
	b = append(b, `{"type":"object","properties":{`...)
	var required []string
	first := true
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, name), ':')
		b = appendType(b, f.Type, f.Tag)
		if !optional(f) {
			required = append(required, name)
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = append(appendList(append(b, `,"required":[`...), required), ']')
	}
	return append(b, `,"additionalProperties":false}`...)
}

func appendType(b []byte, t reflect.Type, tag reflect.StructTag) []byte {
	switch t.Kind() {
	case reflect.Pointer:
		return appendType(b, t.Elem(), tag)
	case reflect.Struct:
		b = appendObject(b, t)
		b = b[:len(b)-1]
	case reflect.Slice:
		b = append(b, `{"type":"array","items":`...)
		b = appendType(b, t.Elem(), "")
	case reflect.Map:
		b = append(b, `{"type":"object","additionalProperties":`...)
		b = appendType(b, t.Elem(), "")
	case reflect.Bool:
		b = append(b, `{"type":"boolean"`...)
	case reflect.Int:
		b = append(b, `{"type":"integer"`...)
		if least := tag.Get("min"); least != "" {
			b = append(append(b, `,"minimum":`...), least...)
		}
	default:
		b = append(b, `{"type":"string"`...)
	}
	if words := tag.Get("enum"); words != "" {
		b = append(appendList(append(b, `,"enum":[`...), strings.Split(words, ",")), ']')
	}
	if doc := tag.Get("doc"); doc != "" {
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
