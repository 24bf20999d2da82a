package schema

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// JSON is the JSON schema of a document that decodes into t. It admits whatever a
// Decoder with the same foreign keys admits.
func JSON(t reflect.Type, foreign Foreign) *jsonschema.Schema {
	return (&describer{slices.Concat(foreign.Quiet, foreign.Loud)}).table(t, nil)
}

// describer makes schemas; foreign are the keys that it lets pass.
type describer struct{ foreign [][]string }

// passedOver is the schema of what another agent reads.
func passedOver() *jsonschema.Schema {
	return &jsonschema.Schema{Description: "a key of other agents' files; ignored"}
}

// nothing is the schema that nothing obeys.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// table is the schema of a table whose keys are the fields of t. path is
// where it stands; entries of maps are "*".
func (d *describer) table(t reflect.Type, path []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: nothing()}
	for i := range t.NumField() {
		f := t.Field(i)
		if key := f.Tag.Get("key"); key != "" {
			s.Properties[key] = d.value(f.Type, f.Tag, append(path[:len(path):len(path)], key))
			s.PropertyOrder = append(s.PropertyOrder, key)
		}
	}
	if _, named := fieldOf(t, anyKey); named {
		s.AdditionalProperties = &jsonschema.Schema{Type: "object", Description: "a role of another agent's file; ignored"}
	}
	for _, k := range d.foreign {
		last := len(k) - 1
		if k[last] == "*" && slices.Equal(k[:last], path) {
			s.AdditionalProperties = passedOver()
			continue
		}
		if slices.Equal(k[:last], path) && s.Properties[k[last]] == nil {
			s.Properties[k[last]] = passedOver()
			s.PropertyOrder = append(s.PropertyOrder, k[last])
		}
	}
	return s
}

// value is the schema of one value, with the other ways to write it.
func (d *describer) value(t reflect.Type, tag reflect.StructTag, path []string) *jsonschema.Schema {
	s := d.usual(t, tag, path)
	other := &jsonschema.Schema{}
	switch tag.Get("form") {
	case loose:
		other = passedOver()
	case "list":
		other.Type = "string"
	case "toggle":
		other = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"enabled": {Type: "boolean"}}}
	case "yesno":
		other.Type = "boolean"
	case "search":
		other.Types = []string{"boolean", "object"}
	case "paths":
		other = pathsSchema(s.AdditionalProperties)
		return other
	default:
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, other}}
}

// pathsSchema is that of tables that nest as directories do.
func pathsSchema(leaf *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"glob_scan_max_depth": {}},
		AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{leaf, {Type: "object"}}}}
}

func (d *describer) usual(t reflect.Type, tag reflect.StructTag, path []string) *jsonschema.Schema {
	if t == reflect.TypeFor[time.Duration]() {
		return durationSchema(tag)
	}
	switch t.Kind() {
	case reflect.Interface:
		return &jsonschema.Schema{}
	case reflect.Pointer:
		return d.usual(t.Elem(), tag, path)
	case reflect.Struct:
		return d.table(t, path)
	case reflect.Map:
		s := &jsonschema.Schema{Type: "object"}
		if t.Elem().Kind() != reflect.Interface {
			s.AdditionalProperties = d.value(t.Elem(), entryTag(tag), append(path[:len(path):len(path)], "*"))
		}
		return s
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return &jsonschema.Schema{Type: "array", Items: d.table(t.Elem(), path)}
		}
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		s := &jsonschema.Schema{Type: "integer", Minimum: bound(tag, "min", math.MinInt32)}
		if tag.Get("max") != "" {
			s.Maximum = bound(tag, "max", 0)
		}
		return s
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number", Minimum: jsonschema.Ptr(0.0)}
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, word := range strings.Fields(tag.Get("enum")) {
		s.Enum = append(s.Enum, word)
	}
	return s
}

// durationSchema is that of a time: a number, which may have a fraction.
func durationSchema(tag reflect.StructTag) *jsonschema.Schema {
	unit := "seconds"
	if tag.Get("unit") == "ms" {
		unit = "milliseconds"
	}
	return &jsonschema.Schema{Type: "number", ExclusiveMinimum: jsonschema.Ptr(0.0), Description: unit}
}

func bound(tag reflect.StructTag, name string, usual float64) *float64 {
	if n, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
		usual = n
	}
	return &usual
}
