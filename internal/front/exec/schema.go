package exec

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// Schema is the JSON schema of one line of --json, made from the types that are
// printed. It admits fields it does not name, as readers must.
func Schema() *jsonschema.Schema {
	item := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/item"} }
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	failure := inferred(reflect.TypeFor[errorText]())
	usage := inferred(reflect.TypeFor[protocol.Usage]())
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "A line of kerf exec --json",
		Description: "Readers pass over types and fields they do not know.",
		OneOf: []*jsonschema.Schema{
			lineOf("thread.started", "thread_id", text()), lineOf("turn.started", "", nil),
			lineOf("item.started", "item", item()), lineOf("item.updated", "item", item()),
			lineOf("item.completed", "item", item()),
			lineOf("error", "message", text()), withUndo(lineOf("turn.completed", "usage", usage)),
			withUndo(lineOf("turn.failed", "error", failure)),
		},
		Defs: map[string]*jsonschema.Schema{"item": items()},
	}
}

// items is any of the items.
func items() *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, item := range []struct {
		kind string
		of   reflect.Type
	}{
		{"agent_message", reflect.TypeFor[textItem]()}, {"reasoning", reflect.TypeFor[textItem]()},
		{"plan", reflect.TypeFor[textItem]()}, {"web_search", reflect.TypeFor[searchItem]()},
		{"error", reflect.TypeFor[errorItem]()}, {"command_execution", reflect.TypeFor[commandItem]()},
		{"file_change", reflect.TypeFor[fileItem]()}, {"mcp_tool_call", reflect.TypeFor[toolItem]()},
		{"collab_tool_call", reflect.TypeFor[collabItem]()}, {"review", reflect.TypeFor[reviewItem]()},
		{"todo_list", reflect.TypeFor[todoItem]()},
	} {
		s.OneOf = append(s.OneOf, itemOf(item.kind, item.of))
	}
	return s
}

// lineOf is a line of a type with one field of its own, or none.
func lineOf(kind, field string, value *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Title: kind, Required: []string{"type"}, PropertyOrder: []string{"type"},
		Properties: map[string]*jsonschema.Schema{"type": {Const: jsonschema.Ptr[any](kind)}}}
	if field != "" {
		s.Properties[field] = value
		s.Required, s.PropertyOrder = append(s.Required, field), append(s.PropertyOrder, field)
	}
	return s
}

// withUndo adds what an undo of the turn covers, which a turn has that changed something.
func withUndo(s *jsonschema.Schema) *jsonschema.Schema {
	s.Properties["undo"], s.PropertyOrder = inferred(reflect.TypeFor[coverage]()), append(s.PropertyOrder, "undo")
	return s
}

// itemOf is an item of a type.
func itemOf(kind string, of reflect.Type) *jsonschema.Schema {
	s := inferred(of)
	s.Title = kind
	s.Properties["type"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](kind)}
	if status := s.Properties["status"]; status != nil {
		status.Enum = []any{string(protocol.InProgress), string(protocol.Completed), string(protocol.Failed)}
		if of == reflect.TypeFor[commandItem]() {
			status.Enum = append(status.Enum, string(protocol.Declined))
		}
	}
	if changes := s.Properties["changes"]; changes != nil {
		changes.Items.Properties["kind"].Enum = []any{string(protocol.Add), string(protocol.Delete), string(protocol.Update)}
	}
	return s
}

// inferred is the schema of a Go type whose lists are never null.
func inferred(of reflect.Type) *jsonschema.Schema {
	path := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(pathname.Schema), path); err != nil {
		panic(fmt.Sprintf("exec: a path without a schema: %v", err))
	}
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, reflect.TypeFor[pathname.Path](): path}})
	if err != nil {
		panic(fmt.Sprintf("exec: a type without a schema: %v", err))
	}
	open(s)
	return s
}

func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Items != nil {
		s.Type, s.Types = "array", nil
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	if s.AdditionalProperties != nil {
		s.Type, s.Types = "object", nil
	}
	open(s.Items)
	open(s.AdditionalProperties)
	for _, p := range s.Properties {
		open(p)
	}
}
