package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/prefix"
	"kerf/internal/model/wire"
)

// goOn follows an answer that a broken stream left without a question: servers
// differ in what they make of a conversation that ends in one.
const goOn = `{"role":"user","content":"Go on where you stopped."}`

// body encodes r. The order of its members is fixed.
func (c *Client) body(r *model.Request) (*wire.Body, error) {
	facts, known := c.endpoint.Facts(r.Model)
	text, err := c.cache(rulesOf(c.o.Provider+" "+c.o.Name, c.o.BaseURL, r.Model, !known || facts.Images)).
		Encode(r.CacheKey, r.Items)
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
	if c.o.Router && family.QuirksOf(r.Model).CacheMark {
		tail = append(tail, `,"cache_control":{"type":"ephemeral"}`...)
	}
	if c.o.Router && r.WebSearch != "" {
		tail = append(tail, `,"plugins":[{"id":"web"}]`...)
	}
	if tail, err = appendFormat(tail, r.Schema); err != nil {
		return nil, err
	}
	if c.o.Room != nil {
		if n := c.o.Room(r.Model); n > 0 {
			tail = strconv.AppendInt(append(tail, `,"options":{"num_ctx":`...), int64(n), 10)
			tail = append(tail, '}')
		}
	}
	tail = append(tail, `,"stream":true,"stream_options":{"include_usage":true}}`...)
	return wire.NewBody(head, text.Bytes, tail), nil
}

// appendReasoning asks for an effort where one was chosen; servers that know the
// member differ in what they do without it.
func (c *Client) appendReasoning(dst []byte, r *model.Request, facts family.Facts) []byte {
	rule := c.effort
	if c.o.Router {
		rule = byRouter
	}
	switch {
	case r.Effort == "":
		return dst
	case rule == byRouter:
		dst = append(dst, `,"reasoning":{`...)
		return append(wire.AppendField(dst, "effort", r.Effort), '}')
	case rule == byFlag:
		return strconv.AppendBool(wire.AppendName(dst, "enable_thinking"), r.Effort != "none")
	case rule != byWord:
		state := "enabled"
		if r.Effort == "none" {
			state = "disabled"
		}
		dst = append(wire.AppendField(append(wire.AppendName(dst, "thinking"), '{'), "type", state), '}')
		if rule == bySwitch || r.Effort == "none" {
			return dst
		}
	case facts.Reasoning == family.NoReasoning && (r.Effort == "none" || family.QuirksOf(r.Model).RefusesEffort):
		return dst // models of OpenAI that do not reason refuse the member
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
//
// Messages of the user that follow each other are one: many templates insist on roles that
// alternate, and no server minds.
type encoder struct{ rules }

var _ prefix.Encoder = encoder{}

// End is the end of the run of items of one side.
func (e encoder) End(items []*model.Item, from int) int { return prefix.EndOfSide(items, from, true) }

// Append writes the group of all[from:].
func (e encoder) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	group := all[from:]
	switch prefix.SideOf(group[0]) {
	case prefix.Output:
		return e.outputs(dst, group), nil
	case prefix.Assistant:
		return e.appendAnswer(dst, group)
	}
	if e.strict && from > 0 && prefix.SideOf(all[from-1]) == prefix.Output {
		dst = append(dst, bridge...)
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
				text = strings.TrimPrefix(text+"\n"+wire.NoImage, "\n")
			}
		}
		dst = append(dst, `{"role":"tool"`...)
		dst = wire.AppendField(dst, "tool_call_id", e.callID(i.CallID))
		dst = append(wire.AppendString(append(dst, `,"content":`...), text), '}')
	}
	if len(images) > 0 {
		parts := append([]model.Part{{Text: "The images that the tools returned:"}}, images...)
		dst = append(dst, ',')
		if e.strict {
			dst = append(dst, bridge...)
		}
		dst = e.appendUser(dst, parts)
	}
	return dst
}

// bridge is an answer between what a tool gave and what the user says.
const bridge = `{"role":"assistant","content":"I have the results."},`

// callID is the id of a call as the server takes it.
func (e encoder) callID(id string) string {
	if e.strict {
		return wire.ShortCallID(id)
	}
	const most = 40 // of the provider whose protocol it is
	return wire.CallID(id, most)
}

// appendAnswer writes what the model said in one response. Reasoning goes back under the
// name it came by, and mostly only along with calls: that is where servers want it, and
// others refuse it elsewhere.
func (e encoder) appendAnswer(dst []byte, group []*model.Item) ([]byte, error) {
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
	said := strings.Join(texts, "\n\n")
	if e.thoughts == family.WithinTexts {
		said = thinkText(group) + said
	}
	dst = wire.AppendString(append(dst, `{"role":"assistant","content":`...), said)
	var err error
	if len(calls) > 0 || e.thoughts == family.NeverEmpty {
		if dst, err = e.appendThoughts(dst, group, len(calls) > 0); err != nil {
			return nil, err
		}
	}
	if len(calls) == 0 {
		return append(dst, '}'), nil
	}
	if dst, err = e.appendCalls(append(dst, `,"tool_calls":[`...), group); err != nil {
		return nil, err
	}
	return append(dst, "]}"...), nil
}

// appendCalls writes the calls of an answer. What came beside a call goes back with it.
func (e encoder) appendCalls(dst []byte, group []*model.Item) ([]byte, error) {
	extra, first := "", true
	for _, i := range group {
		if sealed, ok := wire.Sealed(i, wire.ChatTag); ok {
			if rest, ok := strings.CutPrefix(sealed, extraField+":"); ok {
				extra = rest
			}
		}
		if i.Kind != model.Call {
			continue
		}
		if extra == "" && first && e.signed {
			extra = unsigned
		}
		dst = append(wire.AppendComma(dst), '{')
		dst = wire.AppendField(dst, "id", e.callID(i.CallID))
		dst = append(dst, `,"type":"function","function":{`...)
		dst = wire.AppendField(dst, "name", wire.ToolName(i.Name))
		dst = wire.AppendString(wire.AppendName(dst, "arguments"), wire.Object(i))
		dst = append(dst, '}')
		if extra != "" {
			var err error
			if dst, err = wire.AppendRaw(wire.AppendName(dst, extraField), json.RawMessage(extra)); err != nil {
				return nil, fmt.Errorf("%s: %w", extraField, err)
			}
		}
		dst = append(dst, '}')
		extra, first = "", false
	}
	return dst, nil
}

// thinkText is what the model thought, as it wrote it.
func thinkText(group []*model.Item) string {
	var b strings.Builder
	for _, i := range group {
		if sealed, ok := wire.Sealed(i, wire.ChatTag); ok && sealed == thinkField {
			b.WriteString(thinkOpen + "\n" + strings.Join(i.Summary, "\n\n") + "\n" + thinkClose + "\n\n")
		}
	}
	return b.String()
}

// appendThoughts writes the reasoning of an answer as its server wants it.
func (e encoder) appendThoughts(dst []byte, group []*model.Item, calls bool) ([]byte, error) {
	if e.thoughts == family.Never {
		return dst, nil
	}
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
		return e.appendText(dst, field, text, calls), nil
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

// appendText writes reasoning that is a text. Servers that miss it with a call get what
// they take for one.
func (e encoder) appendText(dst []byte, field, text string, calls bool) []byte {
	missed := text == "" && calls
	switch {
	case missed && e.thoughts == family.EvenEmpty:
		return wire.AppendString(wire.AppendName(dst, thoughtFields[0]), "")
	case missed && e.thoughts == family.NeverEmpty:
		return wire.AppendString(wire.AppendName(dst, thoughtFields[0]), " ")
	}
	return wire.AppendField(dst, field, text)
}
