package openai

import (
	"encoding/json"
	"fmt"
	"strconv"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/prefix"
	"kerf/internal/model/wire"
)

// body encodes r. The order of its members is fixed.
func (c *Client) body(r *model.Request) (*wire.Body, error) {
	input, err := c.inputs.Encode(r.CacheKey, r.Items)
	if err != nil {
		return nil, err
	}
	head := wire.AppendString([]byte(`{"model":`), r.Model)
	head = wire.AppendField(head, "instructions", r.Instructions)
	head = append(wire.AppendName(head, "input"), '[')
	tail, err := appendTools([]byte(`],"tools":[`), r.Tools)
	if err != nil {
		return nil, err
	}
	switch r.WebSearch {
	case "live":
		tail = append(wire.AppendComma(tail), `{"type":"web_search"}`...)
	case "cached":
		tail = append(wire.AppendComma(tail), `{"type":"web_search","external_web_access":false}`...)
	}
	tail = append(tail, `],"tool_choice":"auto","parallel_tool_calls":`...)
	tail = strconv.AppendBool(tail, r.Parallel)
	facts, known := c.endpoint.Facts(r.Model)
	thinks := !known || facts.Reasoning != family.NoReasoning
	if thinks {
		tail = appendReasoning(tail, r.Effort, r.Summary) // others refuse the member
	}
	tail = append(tail, `,"store":false,"stream":true`...)
	if thinks {
		tail = append(tail, `,"include":["reasoning.encrypted_content"]`...) // others answer that they have none
	}
	tail = wire.AppendField(tail, "prompt_cache_key", r.CacheKey)
	if tail, err = appendFormat(tail, r.Schema); err != nil {
		return nil, err
	}
	return wire.NewBody(head, input.Bytes, append(tail, '}')), nil
}

func appendReasoning(dst []byte, effort, summary string) []byte {
	if summary == "none" {
		summary = "" // the provider's default, and no value of the protocol
	}
	if effort == "" && summary == "" {
		return dst
	}
	dst = append(wire.AppendName(dst, "reasoning"), '{')
	dst = wire.AppendField(dst, "effort", effort)
	dst = wire.AppendField(dst, "summary", summary)
	return append(dst, '}')
}

func appendFormat(dst []byte, schema json.RawMessage) ([]byte, error) {
	if len(schema) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"text":{"format":{"type":"json_schema","strict":true,"name":"kerf_output_schema","schema":`...)
	dst, err := wire.AppendSchema(dst, schema)
	return append(dst, "}}"...), err
}

func appendTools(dst []byte, tools []model.Tool) ([]byte, error) {
	for _, t := range tools {
		var err error
		if dst, err = appendTool(wire.AppendComma(dst), t); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendTool(dst []byte, t model.Tool) ([]byte, error) {
	if t.Schema == nil {
		dst = append(dst, `{"type":"custom"`...)
		dst = wire.AppendField(dst, "name", t.Name)
		dst = wire.AppendField(dst, "description", t.Description)
		if t.Grammar != "" {
			dst = append(dst, `,"format":{"type":"grammar","syntax":"lark","definition":`...)
			dst = append(wire.AppendString(dst, t.Grammar), '}')
		}
		return append(dst, '}'), nil
	}
	dst, err := wire.AppendTool(append(dst, `{"type":"function"`...), t, "parameters")
	return append(dst, `,"strict":false}`...), err
}

// encoder writes inputs. Reasoning goes with what the model made of it, as the provider
// demands; every other item stands alone.
type encoder struct{}

// End is behind the item, or behind the follower of reasoning.
func (encoder) End(items []*model.Item, from int) int {
	end := from
	for end < len(items) && items[end].Kind == model.Reasoning {
		end++
	}
	if end == from || end < len(items) && prefix.SideOf(items[end]) == prefix.Assistant {
		end++
	}
	return end
}

// Append writes the items. Reasoning without a follower is left out.
func (encoder) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	if all[len(all)-1].Kind == model.Reasoning {
		return dst, nil
	}
	var err error
	for _, i := range all[from:] {
		before := len(dst)
		if before > 0 {
			dst = wire.AppendComma(dst)
		}
		comma := len(dst)
		if dst, err = appendItem(dst, i); err != nil {
			return nil, err
		}
		if len(dst) == comma {
			dst = dst[:before]
		}
	}
	return dst, nil
}

// appendItem appends the encoding of i, which depends on nothing else. Ids that
// the provider gave go back with reasoning only; elsewhere they would tie the
// conversation to what the provider was told not to store.
func appendItem(dst []byte, i *model.Item) ([]byte, error) {
	switch i.Kind {
	case model.Message:
		return appendMessage(dst, i), nil
	case model.Reasoning:
		return appendReasoningItem(dst, i), nil
	case model.Call:
		return appendCall(dst, i), nil
	case model.Output:
		return appendOutput(dst, i), nil
	}
	return nil, fmt.Errorf("item of unknown kind %q", i.Kind)
}

func appendMessage(dst []byte, i *model.Item) []byte {
	dst = append(dst, `{"type":"message"`...)
	dst = wire.AppendField(dst, "role", i.Role)
	textType := "input_text"
	if i.Role == "assistant" {
		textType = "output_text"
	}
	dst = append(dst, `,"content":[`...)
	dst = appendParts(dst, i.Content, textType)
	return append(dst, "]}"...)
}

func appendParts(dst []byte, parts []model.Part, textType string) []byte {
	for _, p := range parts {
		dst = append(wire.AppendComma(dst), '{')
		if p.ImageURL != "" {
			dst = wire.AppendField(dst, "type", "input_image")
			dst = wire.AppendField(dst, "image_url", p.ImageURL)
		} else {
			dst = wire.AppendField(dst, "type", textType)
			dst = wire.AppendString(wire.AppendName(dst, "text"), p.Text)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendReasoningItem leaves out reasoning without its opaque part: the
// provider, asked not to store it, would look for it in vain and refuse the
// whole request. Reasoning of other protocols means nothing to it either.
func appendReasoningItem(dst []byte, i *model.Item) []byte {
	if i.Encrypted == "" || wire.Tagged(i.Encrypted) {
		return dst
	}
	dst = append(dst, `{"type":"reasoning"`...)
	dst = wire.AppendField(dst, "id", i.ID)
	dst = append(dst, `,"summary":[`...)
	for _, s := range i.Summary {
		dst = append(wire.AppendComma(dst), `{"type":"summary_text","text":`...)
		dst = append(wire.AppendString(dst, s), '}')
	}
	dst = append(dst, ']')
	dst = wire.AppendField(dst, "encrypted_content", i.Encrypted)
	return append(dst, '}')
}

func appendCall(dst []byte, i *model.Item) []byte {
	switch i.Style {
	case model.Shell:
		return appendShellCall(dst, i)
	case model.Freeform:
		dst = append(dst, `{"type":"custom_tool_call"`...)
		dst = wire.AppendField(dst, "call_id", callID(i.CallID))
		dst = wire.AppendField(dst, "name", wire.ToolName(i.Name))
		dst = wire.AppendString(wire.AppendName(dst, "input"), i.Input)
	default:
		dst = append(dst, `{"type":"function_call"`...)
		dst = wire.AppendField(dst, "call_id", callID(i.CallID))
		dst = wire.AppendField(dst, "name", wire.ToolName(i.Name))
		dst = wire.AppendString(wire.AppendName(dst, "arguments"), wire.Object(i))
	}
	return append(dst, '}')
}

// shellAction is what the provider's shell tool asks for, and the input of the
// call that is made of it.
type shellAction struct {
	Command    []string `json:"command"`
	WorkingDir string   `json:"working_directory,omitempty"`
	TimeoutMS  int64    `json:"timeout_ms,omitempty"`
}

// parseAction reads an action. One that cannot be read has no command, which
// whoever runs it refuses; it must not spoil the conversation.
func parseAction(raw []byte) shellAction {
	var a shellAction
	if json.Unmarshal(raw, &a) != nil {
		a = shellAction{}
	}
	if a.Command == nil {
		a.Command = []string{}
	}
	return a
}

func appendShellCall(dst []byte, i *model.Item) []byte {
	a := parseAction([]byte(i.Input))
	dst = append(dst, `{"type":"local_shell_call"`...)
	dst = wire.AppendField(dst, "call_id", callID(i.CallID))
	dst = append(dst, `,"status":"completed","action":{"type":"exec","command":[`...)
	for _, arg := range a.Command {
		dst = wire.AppendString(wire.AppendComma(dst), arg)
	}
	dst = append(dst, ']')
	dst = wire.AppendField(dst, "working_directory", a.WorkingDir)
	if a.TimeoutMS != 0 {
		dst = strconv.AppendInt(wire.AppendName(dst, "timeout_ms"), a.TimeoutMS, 10)
	}
	return append(dst, `,"env":{}}}`...)
}

// appendOutput gives text as a string and anything with images as parts.
func appendOutput(dst []byte, i *model.Item) []byte {
	kind := "function_call_output"
	if i.Style == model.Freeform {
		kind = "custom_tool_call_output"
	}
	dst = wire.AppendField(append(dst, '{'), "type", kind)
	dst = wire.AppendField(dst, "call_id", callID(i.CallID))
	dst = wire.AppendName(dst, "output")
	if !hasImage(i) {
		return append(wire.AppendString(dst, i.Text()), '}')
	}
	dst = appendParts(append(dst, '['), i.Content, "input_text")
	return append(dst, "]}"...)
}

func hasImage(i *model.Item) bool {
	for _, p := range i.Content {
		if p.ImageURL != "" {
			return true
		}
	}
	return false
}

// callID keeps ids as they are but for those that are too long for the provider.
func callID(id string) string {
	const most = 64
	if len(id) <= most {
		return id
	}
	return wire.CallID(id, most)
}
