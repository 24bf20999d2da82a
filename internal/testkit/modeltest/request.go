package modeltest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Request is one request as it arrived.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Remote string // address of the client: the same for requests over one connection
}

// JSON is the body as an object, nil when it is none.
func (r *Request) JSON() M {
	var m M
	if json.Unmarshal(r.Body, &m) != nil {
		return nil
	}
	return m
}

// Input is the conversation, one object per item.
func (r *Request) Input() []M {
	list, _ := r.JSON()["input"].([]any)
	items := make([]M, 0, len(list))
	for _, v := range list {
		if m, ok := v.(M); ok {
			items = append(items, m)
		}
	}
	return items
}

// RawInput is the conversation, one item's bytes each.
func (r *Request) RawInput() []string {
	var body struct {
		Input []json.RawMessage `json:"input"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	items := make([]string, len(body.Input))
	for i, raw := range body.Input {
		items[i] = string(raw)
	}
	return items
}

// Output is what the call with the given id gave back, and whether there is
// such an output.
func (r *Request) Output(callID string) (string, bool) {
	for _, item := range r.Input() {
		if isOutput(item) && item["call_id"] == callID {
			return textOf(item["output"]), true
		}
	}
	return "", false
}

// Outputs are all texts that tools gave back, in order.
func (r *Request) Outputs() []string {
	var all []string
	for _, item := range r.Input() {
		if isOutput(item) {
			all = append(all, textOf(item["output"]))
		}
	}
	return all
}

// Messages are the texts of the messages of a role, in order.
func (r *Request) Messages(role string) []string {
	var all []string
	for _, item := range r.Input() {
		if item["type"] == "message" && item["role"] == role {
			all = append(all, textOf(item["content"]))
		}
	}
	return all
}

// Tools are the names of the offered tools, in order.
func (r *Request) Tools() []string {
	list, _ := r.JSON()["tools"].([]any)
	var names []string
	for _, v := range list {
		if m, ok := v.(M); ok {
			name, _ := m["name"].(string)
			names = append(names, name)
		}
	}
	return names
}

func isOutput(item M) bool {
	kind, _ := item["type"].(string)
	return strings.HasSuffix(kind, "_output")
}

// textOf joins the texts of a string or of content parts.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	parts, _ := v.([]any)
	var b strings.Builder
	for _, p := range parts {
		if m, ok := p.(M); ok {
			s, _ := m["text"].(string)
			b.WriteString(s)
		}
	}
	return b.String()
}

// text is everything of the conversation that is text, in the order of the
// items; what a scenario expects is looked for here.
func (r *Request) text() string {
	var b strings.Builder
	for _, item := range r.Input() {
		for _, name := range []string{"content", "summary", "name", "arguments", "input", "output"} {
			if s := textOf(item[name]); s != "" {
				b.WriteString(s)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
