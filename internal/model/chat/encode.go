package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
	"kerf/internal/model/wire"
)

// goOn follows an answer that a broken stream left without a question: servers
// differ in what they make of a conversation that ends in one.
const goOn = `{"role":"user","content":"Go on where you stopped."}`

// body encodes r. The order of its members is fixed.
func (c *Client) body(r *model.Request) (*wire.Body, error) {
	facts, known := c.endpoint.Facts(r.Model)
	cache := &c.messages
	if known && !facts.Images {
		cache = &c.blind
	}
	text, err := cache.Encode(r.CacheKey, r.Items)
	if err != nil {
		return nil, err
	}
	head := wire.AppendString([]byte(`{"model":`), r.Model)
	head = append(wire.AppendName(head, "messages"), '[')
	if r.Instructions != "" {
		head = wire.AppendString(append(head, `{"role":"system","content":`...), r.Instructions)
		head = append(head, '}')
		if len(text.Bytes) > 0 {
			head = append(head, ',')
		}
	}
	tail, err := appendTools(prefix.Close(r.Items, goOn), r)
	if err != nil {
		return nil, err
	}
	tail = c.appendReasoning(tail, r, facts)
	if c.o.CacheKey {
		tail = wire.AppendField(tail, "prompt_cache_key", r.CacheKey)
	}
	if c.o.Router && strings.Contains(r.Model, "claude") {
		tail = append(tail, `,"cache_control":{"type":"ephemeral"}`...)
	}
	if c.o.Router && r.WebSearch != "" {
		tail = append(tail, `,"plugins":[{"id":"web"}]`...)
	}
	if tail, err = appendFormat(tail, r.Schema); err != nil {
		return nil, err
	}
	tail = append(tail, `,"stream":true,"stream_options":{"include_usage":true}}`...)
	return wire.NewBody(head, text.Bytes, tail), nil
}

// appendReasoning asks for an effort where one was chosen; servers that know the
// member differ in what they do without it.
func (c *Client) appendReasoning(dst []byte, r *model.Request, facts model.Facts) []byte {
	switch {
	case r.Effort == "":
		return dst
	case c.o.Router:
		dst = append(dst, `,"reasoning":{`...)
		return append(wire.AppendField(dst, "effort", r.Effort), '}')
	case r.Effort == "none" && facts.Reasoning == model.NoReasoning:
		return dst
	}
	return wire.AppendField(dst, "reasoning_effort", r.Effort)
}

func appendTools(dst []byte, r *model.Request) ([]byte, error) {
	if len(r.Tools) == 0 {
		return dst, nil // an empty list is an error for some servers
	}
	dst = append(dst, `,"tools":[`...)
	for _, t := range r.Tools {
		dst = append(wire.AppendComma(dst), `{"type":"function","function":{`...)
		var err error
		if dst, err = wire.AppendTool(dst, t, "parameters"); err != nil {
			return nil, err
		}
		dst = append(dst, "}}"...)
	}
	dst = append(dst, `],"tool_choice":"auto"`...)
	if !r.Parallel {
		dst = append(dst, `,"parallel_tool_calls":false`...)
	}
	return dst, nil
}

func appendFormat(dst []byte, schema json.RawMessage) ([]byte, error) {
	if len(schema) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"response_format":{"type":"json_schema","json_schema":{"name":"kerf_output_schema","strict":true,"schema":`...)
	dst, err := wire.AppendSchema(dst, schema)
	return append(dst, "}}"...), err
}

// encoder writes messages. An answer with its reasoning and calls is one; every
// output is one; pictures that tools gave follow the outputs as one of the user,
// because a tool's message holds text only.
type encoder struct {
	join, images bool
}

var _ prefix.Encoder = encoder{}

// End is the end of the run of items of one side.
func (e encoder) End(items []*model.Item, from int) int { return prefix.EndOfSide(items, from, e.join) }

// Append writes the group of all[from:].
func (e encoder) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	group := all[from:]
	switch prefix.SideOf(group[0]) {
	case prefix.Output:
		return e.outputs(dst, group), nil
	case prefix.Assistant:
		return appendAnswer(dst, group)
	}
	var parts []model.Part
	for _, i := range group {
		parts = append(parts, i.Content...)
	}
	return e.appendUser(dst, parts), nil
}

func (e encoder) appendUser(dst []byte, parts []model.Part) []byte {
	if !e.images {
		parts = withoutImages(parts)
	}
	dst = append(dst, `{"role":"user","content":`...)
	if !slices.ContainsFunc(parts, isImage) {
		return append(wire.AppendString(dst, joined(parts)), '}')
	}
	dst = append(dst, '[')
	for _, p := range parts {
		dst = wire.AppendComma(dst)
		if isImage(p) {
			dst = wire.AppendString(append(dst, `{"type":"image_url","image_url":{"url":`...), p.ImageURL)
			dst = append(dst, "}}"...)
			continue
		}
		dst = append(wire.AppendString(append(dst, `{"type":"text","text":`...), p.Text), '}')
	}
	return append(dst, "]}"...)
}

func isImage(p model.Part) bool { return p.ImageURL != "" }

func withoutImages(parts []model.Part) []model.Part {
	if !slices.ContainsFunc(parts, isImage) {
		return parts
	}
	seen := slices.Clone(parts)
	for i, p := range seen {
		if isImage(p) {
			seen[i] = model.Part{Text: wire.NoImage}
		}
	}
	return seen
}

func joined(parts []model.Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

func (e encoder) outputs(dst []byte, group []*model.Item) []byte {
	var images []model.Part
	for n, i := range group {
		if n > 0 {
			dst = append(dst, ',')
		}
		text := i.Text()
		for _, p := range i.Content {
			switch {
			case !isImage(p):
			case e.images:
				images = append(images, p)
			default:
				text += wire.NoImage
			}
		}
		dst = append(dst, `{"role":"tool"`...)
		dst = wire.AppendField(dst, "tool_call_id", i.CallID)
		dst = append(wire.AppendString(append(dst, `,"content":`...), text), '}')
	}
	if len(images) > 0 {
		parts := append([]model.Part{{Text: "The images that the tools returned:"}}, images...)
		dst = e.appendUser(append(dst, ','), parts)
	}
	return dst
}

// appendAnswer writes what the model said in one response. Reasoning goes back
// under the name it came by, and only along with calls: that is where servers
// want it, and others refuse it elsewhere.
func appendAnswer(dst []byte, group []*model.Item) ([]byte, error) {
	var texts []string
	var calls []*model.Item
	for _, i := range group {
		switch {
		case i.Kind == model.Call:
			calls = append(calls, i)
		case i.Kind == model.Message && i.Text() != "":
			texts = append(texts, i.Text())
		}
	}
	if len(texts) == 0 && len(calls) == 0 {
		return dst, nil
	}
	dst = wire.AppendString(append(dst, `{"role":"assistant","content":`...), strings.Join(texts, "\n\n"))
	if len(calls) == 0 {
		return append(dst, '}'), nil
	}
	dst, err := appendThoughts(dst, group)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `,"tool_calls":[`...)
	for _, i := range calls {
		dst = append(wire.AppendComma(dst), '{')
		dst = wire.AppendField(dst, "id", i.CallID)
		dst = append(dst, `,"type":"function","function":{`...)
		dst = wire.AppendField(dst, "name", i.Name)
		dst = wire.AppendString(wire.AppendName(dst, "arguments"), wire.Object(i))
		dst = append(dst, "}}"...)
	}
	return append(dst, "]}"...), nil
}

func appendThoughts(dst []byte, group []*model.Item) ([]byte, error) {
	field, text := "", ""
	var pieces []json.RawMessage
	for _, i := range group {
		sealed, ok := wire.Sealed(i, wire.ChatTag)
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(sealed, ":")
		if name == detailsField {
			var list []json.RawMessage
			if err := json.Unmarshal([]byte(rest), &list); err != nil {
				return nil, fmt.Errorf("reasoning details: %w", err)
			}
			pieces = append(pieces, list...)
		}
		if slices.Contains(thoughtFields, name) {
			field = name
			text += strings.Join(i.Summary, "\n\n")
		}
	}
	if len(pieces) == 0 {
		return wire.AppendField(dst, field, text), nil
	}
	dst = append(wire.AppendName(dst, detailsField), '[')
	for _, p := range pieces {
		var err error
		if dst, err = wire.AppendRaw(wire.AppendComma(dst), p); err != nil {
			return nil, fmt.Errorf("reasoning details: %w", err)
		}
	}
	return append(dst, ']'), nil
}
