package mcpclient

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/text/visible"
)

// What a server may tell the model of one tool, in bytes: its description, and
// the schema of its arguments.
const (
	descriptionLimit = 4 << 10
	schemaLimit      = 64 << 10
)

// anything is the schema of a tool whose own cannot be shown.
const anything = `{"type":"object"}`

// toolOf is a tool as models are told of it. What a reader would not see in its
// texts is made visible, so that they hold no words for the model alone.
func toolOf(server string, t *mcp.Tool) Tool {
	tool := Tool{Server: server, Name: t.Name, Description: visible.String(t.Description), Destructive: true}
	if len(tool.Description) > descriptionLimit {
		tool.Description = strings.ToValidUTF8(tool.Description[:descriptionLimit], "") + "…"
	}
	tool.Schema = schemaOf(t.InputSchema)
	if b, err := json.MarshalIndent(t, "", "  "); err == nil {
		tool.Definition = string(b)
	}
	if a := t.Annotations; a != nil {
		tool.ReadOnly = a.ReadOnlyHint
		tool.Destructive = a.DestructiveHint == nil || *a.DestructiveHint
	}
	return tool
}

// schemaOf is the schema of a tool's arguments, or one that takes anything where
// the tool has none or too long a one.
func schemaOf(schema any) json.RawMessage {
	b, err := json.Marshal(schema)
	if err != nil || len(b) <= 2 || b[0] != '{' || len(b) > schemaLimit {
		return json.RawMessage(anything)
	}
	if !visible.Odd(string(b)) && !strings.Contains(string(b), `\u`) {
		return b
	}
	var tree any
	if json.Unmarshal(b, &tree) != nil {
		return json.RawMessage(anything)
	}
	clean(tree)
	if b, err = json.Marshal(tree); err != nil {
		return json.RawMessage(anything)
	}
	return b
}

// clean makes the words of a schema visible. Values that arguments are compared
// with stay as they are.
func clean(tree any) {
	switch x := tree.(type) {
	case map[string]any:
		for k, v := range x {
			if s, ok := v.(string); ok && (k == "description" || k == "title" || k == "$comment") {
				x[k] = visible.String(s)
				continue
			}
			clean(v)
		}
	case []any:
		for _, v := range x {
			clean(v)
		}
	}
}
