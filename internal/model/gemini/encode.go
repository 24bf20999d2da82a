package gemini

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

// goOn follows an answer that a broken stream left without a question.
const goOn = `{"role":"user","parts":[{"text":"Go on where you stopped."}]}`

// noSignature is the provider's own word for calls that another model made.
const noSignature = "skip_thought_signature_validator"

// body encodes r. The order of its members is fixed.
func (c *Client) body(r *model.Request) (*wire.Body, error) {
	facts, _ := c.endpoint.Facts(r.Model)
	cache := &c.contents
	if facts.Reasoning == family.ByLevel {
		cache = &c.strict
	}
	text, err := cache.Encode(r.CacheKey, r.Items)
	if err != nil {
		return nil, err
	}
	// Older models refuse a schema beside tools; they are told it in words.
	formatted := len(r.Schema) > 0 && (len(r.Tools) == 0 || facts.Reasoning == family.ByLevel)
	instructions := r.Instructions
	if len(r.Schema) > 0 && !formatted {
		instructions += "\n\nYour final message must be one JSON value that follows this schema, and nothing else:\n" +
			string(r.Schema)
	}
	head := []byte{'{'}
	if instructions != "" {
		head = wire.AppendString(append(head, `"systemInstruction":{"parts":[{"text":`...), instructions)
		head = append(head, "}]}"...)
	}
	head = append(wire.AppendName(head, "contents"), '[')
	tail, err := appendTools(prefix.Close(r.Items, goOn), r.Tools)
	if err != nil {
		return nil, err
	}
	if r.WebSearch != "" && len(r.Tools) == 0 {
		tail = append(tail, `,"tools":[{"googleSearch":{}}]`...) // refused beside tools
	}
	if tail, err = appendConfig(tail, r, facts, formatted); err != nil {
		return nil, err
	}
	return wire.NewBody(head, text.Bytes, append(tail, '}')), nil
}

func appendTools(dst []byte, tools []model.Tool) ([]byte, error) {
	if len(tools) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"tools":[{"functionDeclarations":[`...)
	for _, t := range tools {
		dst = append(wire.AppendComma(dst), '{')
		var err error
		if dst, err = wire.AppendTool(dst, t, "parametersJsonSchema"); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}]"...), nil
}

func appendConfig(dst []byte, r *model.Request, f family.Facts, formatted bool) ([]byte, error) {
	think := appendThinking(nil, r, f)
	if len(think) == 0 && !formatted {
		return dst, nil
	}
	dst = append(append(dst, `,"generationConfig":{`...), think...)
	if formatted {
		dst = append(wire.AppendComma(dst), `"responseMimeType":"application/json","responseJsonSchema":`...)
		var err error
		if dst, err = wire.AppendSchema(dst, r.Schema); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// budgets are the tokens of thought for an effort; -1 lets the model decide.
var budgets = map[string]int{"": -1, "none": 128, "minimal": 512, "low": 2048, "medium": 8192, "high": 16384,
	"xhigh": 24576, "max": 24576}

// levels are the provider's words for an effort.
var levels = map[string]string{"none": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high",
	"xhigh": "high", "max": "high"}

func appendThinking(dst []byte, r *model.Request, f family.Facts) []byte {
	if f.Reasoning == family.NoReasoning {
		return dst
	}
	dst = append(dst, `"thinkingConfig":{"includeThoughts":`...)
	dst = strconv.AppendBool(dst, r.Summary != "none")
	if f.Reasoning == family.ByBudget {
		dst = strconv.AppendInt(wire.AppendName(dst, "thinkingBudget"), int64(budgets[r.Effort]), 10)
	} else {
		dst = wire.AppendField(dst, "thinkingLevel", levels[r.Effort])
	}
	return append(dst, '}')
}

// encoder writes contents. An answer is one; the outputs of its calls are one,
// as the protocol demands; messages of the user stand alone.
type encoder struct {
	// sign gives calls of other models the word that stands for a signature.
	sign bool
	// nameless leaves out the ids of calls, which Vertex does not know.
	nameless bool
}

// appendID appends the id of a call. One that Kerf made up means nothing to the provider,
// which goes by the order of the calls.
func (e encoder) appendID(dst []byte, id string) []byte {
	if e.nameless || wire.MadeUp(id) {
		return dst
	}
	return wire.AppendField(dst, "id", id)
}

var _ prefix.Encoder = encoder{}

// End is the end of the run of items of one side.
func (encoder) End(items []*model.Item, from int) int { return prefix.EndOfSide(items, from, false) }

// Append writes the group of all[from:].
func (e encoder) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	group := all[from:]
	start := len(dst)
	role := "user"
	if prefix.SideOf(group[0]) == prefix.Assistant {
		role = "model"
	}
	dst = append(dst, `{"role":"`+role+`","parts":[`...)
	empty := len(dst)
	switch prefix.SideOf(group[0]) {
	case prefix.Assistant:
		var err error
		if dst, err = e.appendAnswer(dst, group); err != nil {
			return nil, err
		}
	case prefix.Output:
		dst = e.appendOutputs(dst, all, from)
	default:
		dst = appendParts(dst, group[0].Content)
	}
	if len(dst) == empty {
		return dst[:start], nil
	}
	return append(dst, "]}"...), nil
}

// appendAnswer writes what the model said. A signature goes with the call behind
// it, or stands alone behind a text.
func (e encoder) appendAnswer(dst []byte, group []*model.Item) ([]byte, error) {
	signature, signed := "", false
	alone := func() {
		if signature != "" {
			dst = append(wire.AppendComma(dst), `{"text":"","thoughtSignature":`...)
			dst = append(wire.AppendString(dst, signature), '}')
			signature = ""
		}
	}
	for _, i := range group {
		switch i.Kind {
		case model.Reasoning:
			alone()
			signature, _ = wire.Sealed(i, wire.GeminiTag)
		case model.Message:
			alone()
			dst = appendParts(dst, i.Content)
		case model.Call:
			if signature == "" && e.sign && !signed {
				signature = noSignature
			}
			signed = true
			dst = append(wire.AppendComma(dst), `{"functionCall":{`...)
			dst = e.appendID(dst, i.CallID)
			dst = wire.AppendField(dst, "name", wire.ToolName(i.Name))
			var err error
			if dst, err = wire.AppendRaw(wire.AppendName(dst, "args"), json.RawMessage(wire.Object(i))); err != nil {
				return nil, err
			}
			dst = wire.AppendField(append(dst, '}'), "thoughtSignature", signature)
			dst = append(dst, '}')
			signature = ""
		default:
			return nil, fmt.Errorf("item of unknown kind %q", i.Kind)
		}
	}
	alone()
	return dst, nil
}

// appendOutputs writes the outputs, and behind them the pictures they hold.
func (e encoder) appendOutputs(dst []byte, all []*model.Item, from int) []byte {
	var images []model.Part
	for _, i := range all[from:] {
		for _, p := range i.Content {
			if p.ImageURL != "" {
				images = append(images, p)
			}
		}
		dst = append(wire.AppendComma(dst), `{"functionResponse":{`...)
		dst = e.appendID(dst, i.CallID)
		dst = wire.AppendField(dst, "name", wire.ToolName(nameOf(all[:from], i.CallID)))
		dst = wire.AppendString(append(dst, `,"response":{"output":`...), i.Text())
		dst = append(dst, "}}}"...)
	}
	return appendParts(dst, images)
}

// nameOf is the tool of the call with an id.
func nameOf(items []*model.Item, id string) string {
	for _, i := range slices.Backward(items) {
		if i.Kind == model.Call && i.CallID == id {
			return i.Name
		}
	}
	return "unknown"
}

func appendParts(dst []byte, parts []model.Part) []byte {
	for _, p := range parts {
		switch mime, data, inline := wire.DataURL(p.ImageURL); {
		case inline:
			dst = append(wire.AppendComma(dst), `{"inlineData":{`...)
			dst = wire.AppendField(dst, "mimeType", mime)
			dst = append(wire.AppendField(dst, "data", data), "}}"...)
		case p.ImageURL != "":
			dst = append(wire.AppendComma(dst), `{"fileData":{`...)
			dst = append(wire.AppendField(dst, "fileUri", p.ImageURL), "}}"...)
		case strings.TrimSpace(p.Text) != "":
			dst = wire.AppendString(append(wire.AppendComma(dst), `{"text":`...), p.Text)
			dst = append(dst, '}')
		}
	}
	return dst
}
