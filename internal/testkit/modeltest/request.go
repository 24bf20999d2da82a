package modeltest

import (
	"encoding/json"
	"net/http"
	"net/url"

	"kerf/internal/model/script/dialect"
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

// api is the protocol that the request speaks.
func (r *Request) api() dialect.API {
	api, _ := dialect.Of(r.Path)
	return api
}

// Input is the conversation, one object per item, as the Responses protocol has
// them whatever the request speaks.
func (r *Request) Input() []M { return r.api().Input(r.Body) }

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
		if dialect.IsOutput(item) && item["call_id"] == callID {
			return dialect.Text(item["output"]), true
		}
	}
	return "", false
}

// Outputs are all texts that tools gave back, in order.
func (r *Request) Outputs() []string {
	var all []string
	for _, item := range r.Input() {
		if dialect.IsOutput(item) {
			all = append(all, dialect.Text(item["output"]))
		}
	}
	return all
}

// Messages are the texts of the messages of a role, in order.
func (r *Request) Messages(role string) []string {
	var all []string
	for _, item := range r.Input() {
		if item["type"] == "message" && item["role"] == role {
			all = append(all, dialect.Text(item["content"]))
		}
	}
	return all
}

// Tools are the names of the offered tools, in order.
func (r *Request) Tools() []string { return r.api().Tools(r.Body) }
