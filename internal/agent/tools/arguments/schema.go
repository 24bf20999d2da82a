package arguments

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Schema returns the JSON schema of the arguments that t, a struct, takes. Its
// members are in the order of the fields, so the same type has the same bytes.
//
// A field with the tag offer:"no" is accepted and not named.
//
// The result is shared, and so is that of [Brief]: nobody changes its bytes.
func Schema(t reflect.Type) json.RawMessage { return schema{closed: true}.of(t, nil) }

// Brief is a schema of some of the arguments, all if only is nil. It is silent about
// others, which are accepted all the same. Fields with the tag brief:"required" are
// required in it, and those with brief:"plain" are told without their documentation.
func Brief(t reflect.Type, only []string) json.RawMessage { return schema{}.of(t, only) }

// made are the schemas by what they are of: each request to a model has those of all tools.
var made sync.Map

// what a schema is of.
type what struct {
	t    reflect.Type
	only string // joined; "\x00" for all
	schema
}

func (s schema) of(t reflect.Type, only []string) json.RawMessage {
	key := what{t, "\x00", s}
	if only != nil {
		key.only = strings.Join(only, "\x00")
	}
	if have, ok := made.Load(key); ok {
		return have.(json.RawMessage)
	}
	have, _ := made.LoadOrStore(key, json.RawMessage(slices.Clip(s.object(make([]byte, 0, 1024), t, only))))
	return have.(json.RawMessage)
}

// schema writes schemas. Closed ones exclude what they do not name.
type schema struct{ closed bool }

func (s schema) object(b []byte, t reflect.Type, only []string) []byte {
	b = append(b, `{"type":"object","properties":{`...)
	var required []string
	first := true
	for _, f := range fieldsOf(t) {
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
