package history

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/pathname"
)

// Schema is the JSON schema of one line of a rollout, made from the types
// that are written. It admits fields and types it does not name, as readers must.
func Schema() (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Schema: "https://json-schema.org/draft/2020-12/schema", Title: "A line of rollout.jsonl",
		Description: "Readers pass over types and fields they do not know."}
	for _, r := range All() {
		line, err := lineSchema(r, r.Type())
		if err != nil {
			return nil, err
		}
		switch r.(type) {
		case ToolStarted:
			field(line, "event", &jsonschema.Schema{Const: jsonschema.Ptr[any](ToolBegan)})
		case QuestionAsked:
			field(line, "event", &jsonschema.Schema{Const: jsonschema.Ptr[any](Asked)})
		case EventRecord:
			line.Properties["event"] = &jsonschema.Schema{Type: "string", Not: &jsonschema.Schema{Enum: []any{ToolBegan, Asked}}}
		}
		s.OneOf = append(s.OneOf, line)
	}
	return s, nil
}

// lineSchema is the schema of a record with what every line has.
func lineSchema(record any, kind string) (*jsonschema.Schema, error) {
	path := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(pathname.Schema), path); err != nil {
		return nil, fmt.Errorf("schema of a path: %w", err)
	}
	s, err := jsonschema.ForType(reflect.TypeOf(record), &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {},
			reflect.TypeFor[pathname.Path](): path}})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", kind, err)
	}
	s.Title = kind
	unlock(s)
	field(s, "seq", &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0)})
	field(s, "timestamp", &jsonschema.Schema{Type: "string", Format: "date-time"})
	field(s, "type", &jsonschema.Schema{Const: jsonschema.Ptr[any](kind)})
	field(s, "prev", &jsonschema.Schema{Type: "string", Pattern: "^([0-9a-f]{64})?$"})
	return s, nil
}

func field(s *jsonschema.Schema, name string, value *jsonschema.Schema) {
	s.Properties[name] = value
	s.Required, s.PropertyOrder = append(s.Required, name), append(s.PropertyOrder, name)
}

// unlock lets objects have fields that the schema does not name.
func unlock(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	unlock(s.Items)
	unlock(s.AdditionalProperties)
	for _, p := range s.Properties {
		unlock(p)
	}
}
