package wire

import (
	"reflect"
	"slices"

	"kerf/internal/protocol"
)

// Schema is the JSON schema (draft 2020-12) of an event, a submission and the options of
// a session, and of the structs in more, as they are encoded: $defs has them by name, with
// all they are made of.
func Schema(more ...any) map[string]any {
	d := defs{}
	for _, t := range []reflect.Type{reflect.TypeFor[protocol.Event](), reflect.TypeFor[protocol.Submission](),
		reflect.TypeFor[protocol.OpenOptions]()} {
		d.of(t)
	}
	for _, v := range more {
		d.of(reflect.TypeOf(v))
	}
	d["text"] = map[string]any{"description": "text, or bytes that are not UTF-8", "oneOf": []any{
		map[string]any{"type": "string"}, bytesSchema}}
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":       "The words of kerf serve",
		"description": "Members that are empty are left out, but for those that are required. Readers pass over members they do not know.",
		"anyOf":       []any{ref("event"), ref("submission"), ref("open_options")}, "$defs": map[string]any(d)}
}

var bytesSchema = map[string]any{"type": "object", "title": "bytes", "required": []any{"b64"}, "properties": map[string]any{
	"b64": map[string]any{"type": "string", "contentEncoding": "base64"}}}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

// defs are the schemas of types by their names.
type defs map[string]any

// of is the schema of a type. Structs and unions are put into d, and referred to.
func (d defs) of(t reflect.Type) map[string]any {
	switch t {
	case rawType:
		return map[string]any{"description": "any JSON"}
	case timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case durationType:
		return map[string]any{"type": "integer", "description": "nanoseconds"}
	}
	switch t.Kind() {
	case reflect.Struct:
		name := snake(t.Name())
		if _, made := d[name]; !made {
			d[name] = nil // it may refer to itself
			d[name] = d.object(t, "")
		}
		return ref(name)
	case reflect.Interface:
		return d.union(t)
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "object", "additionalProperties": d.of(t.Elem())},
			map[string]any{"type": "array", "items": map[string]any{"type": "array",
				"prefixItems": []any{ref("text"), d.of(t.Elem())}}, "description": "pairs, where a key is not UTF-8"}}}
	case reflect.String:
		return ref("text")
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

// object is the schema of a struct; kind is the value of its member "type", if it has one.
func (d defs) object(t reflect.Type, kind string) map[string]any {
	members := map[string]any{}
	o := map[string]any{"type": "object", "properties": members}
	var required []any
	if kind != "" {
		members["type"] = map[string]any{"const": kind}
		required = append(required, "type")
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[*protocol.ClientServices]() || f.Type == reflect.TypeFor[*protocol.Bounds]() {
			continue // only a program of the same process can give them
		}
		members[nameOf(f)] = d.of(f.Type)
		if always(f) {
			required = append(required, nameOf(f))
		}
	}
	if required != nil {
		o["required"] = required
	}
	return o
}

func (d defs) union(t reflect.Type) map[string]any {
	name := snake(t.Name())
	if _, made := d[name]; made {
		return ref(name)
	}
	d[name] = nil
	kinds := make([]string, 0, len(unions[t]))
	for kind := range unions[t] {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	var all []any
	for _, kind := range kinds {
		d[name+"_"+kind] = d.object(unions[t][kind], kind)
		all = append(all, ref(name+"_"+kind))
	}
	d[name] = map[string]any{"oneOf": all}
	return ref(name)
}
