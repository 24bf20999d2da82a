package anthropic

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

const (
	cacheMark = `,"cache_control":{"type":"ephemeral"}`
	// goOn follows an answer that a broken stream left without a question: the
	// conversation must end on the user's side.
	goOn = `{"role":"user","content":[{"type":"text","text":"Go on where you stopped."}]}`
)

// webSearch is the provider's own tool; the bound is for one answer.
const webSearch = `{"type":"web_search_20250305","name":"web_search","max_uses":8}`

// defaultOutput is asked for when nothing is known of a model, maxOutput at
// most.
const (
	defaultOutput = 32_000
	maxOutput     = 64_000
)

// body encodes r. The order of its members is fixed.
func (c *Client) body(r *model.Request) (*wire.Body, error) {
	text, err := c.messages.Encode(r.CacheKey, r.Items)
	if err != nil {
		return nil, err
	}
	facts, _ := c.endpoint.Facts(r.Model)
	think := thinkingOf(r, facts)
	head := wire.AppendString([]byte(`{"model":`), r.Model)
	if version := versions[c.host]; version != "" {
		head = wire.AppendString([]byte(`{"anthropic_version":`), version)
		if c.host == bedrockHost && interleaves(think, facts) {
			head = append(head, `,"anthropic_beta":["`+interleaved+`"]`...)
		}
	}
	head = strconv.AppendInt(wire.AppendName(head, "max_tokens"), int64(outputOf(facts, think.budget)), 10)
	if r.Instructions != "" {
		head = wire.AppendString(append(head, `,"system":[{"type":"text","text":`...), r.Instructions)
		head = append(head, cacheMark+"}]"...)
	}
	head = append(head, `,"messages":[`...)
	pieces, end := closed(text, r.Items)
	tail, err := appendTools(end, r)
	if err != nil {
		return nil, err
	}
	tail = append(tail, think.json...)
	if tail, err = appendOutput(tail, r, think); err != nil {
		return nil, err
	}
	if c.host != bedrockHost { // where the path says so
		tail = append(tail, `,"stream":true`...)
	}
	tail = append(tail, '}')
	return wire.NewBody(append(append([][]byte{head}, pieces...), tail)...), nil
}

// closed are the messages and their end. When the provider paused amid a search, the search
// goes back as it came, as the last block of the answer, and nothing follows it. Elsewhere a
// search without its result is refused, so the messages have none.
func closed(text prefix.Text, items []*model.Item) (pieces [][]byte, end []byte) {
	pieces = marked(text, items)
	var search []byte
	if n := len(items); n > 0 {
		search = searchOf(items[n-1])
	}
	if search == nil {
		return pieces, prefix.Close(items, goOn)
	}
	group := 0 // of the answer that paused, in which there may be nothing else
	if n := len(text.Groups); n > 0 && prefix.SideOf(items[text.Groups[n-1].First]) == prefix.Assistant {
		group = n
	}
	if group == 0 {
		return pieces, append(append([]byte(`,{"role":"assistant","content":[`), search...), "]}]"...)
	}
	last := pieces[len(pieces)-1]
	pieces[len(pieces)-1] = last[:len(last)-len("]}")]
	return pieces, append(append([]byte{','}, search...), "]}]"...)
}

// searchOf is the block of a search of the provider's, or nil.
func searchOf(i *model.Item) []byte {
	raw, ok := wire.Sealed(i, wire.BlockTag)
	var block struct {
		Type string `json:"type"`
	}
	if !ok || json.Unmarshal([]byte(raw), &block) != nil || block.Type != "server_tool_use" {
		return nil
	}
	return []byte(raw)
}

// answered reports whether a group holds the result of a search.
func answered(group []*model.Item, search []byte) bool {
	var asked struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(search, &asked) != nil || asked.ID == "" {
		return false
	}
	return slices.ContainsFunc(group, func(i *model.Item) bool {
		raw, ok := wire.Sealed(i, wire.BlockTag)
		var result struct {
			Of string `json:"tool_use_id"`
		}
		return ok && json.Unmarshal([]byte(raw), &result) == nil && result.Of == asked.ID
	})
}

// marked cuts the messages where cache marks go: at the end of the last block of
// the last two messages of the user's side. The first of these ended the request
// before, so its cache is found however much came since.
func marked(text prefix.Text, items []*model.Item) [][]byte {
	const closing = len("}]}")
	var at []int
	for _, g := range slices.Backward(text.Groups) {
		if prefix.SideOf(items[g.First]) != prefix.Assistant && len(at) < 2 {
			at = append(at, g.End-closing)
		}
	}
	slices.Sort(at)
	var pieces [][]byte
	from := 0
	for _, n := range at {
		pieces = append(pieces, text.Bytes[from:n], []byte(cacheMark))
		from = n
	}
	return append(pieces, text.Bytes[from:])
}

func outputOf(f family.Facts, budget int) int {
	n := f.MaxOutput
	if n == 0 {
		n = defaultOutput
	}
	n = min(n, maxOutput)
	if n <= budget {
		n = budget + 4096
	}
	return n
}

// thinking is how the model is asked to think.
type thinking struct {
	json   string
	budget int
	effort string
}

// budgets are the tokens of thought for an effort.
var budgets = map[string]int{"": 8192, "minimal": 2048, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 24576,
	"max": 31999}

// efforts are the provider's words for an effort.
var efforts = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh",
	"max": "max"}

func thinkingOf(r *model.Request, f family.Facts) thinking {
	switch {
	case f.Reasoning == family.NoReasoning:
		return thinking{}
	case r.Effort == "none":
		return thinking{json: `,"thinking":{"type":"disabled"}`}
	case f.Reasoning == family.ByBudget:
		if !mayThink(r.Items) {
			return thinking{}
		}
		n := budgets[r.Effort]
		return thinking{json: `,"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(n) + "}", budget: n}
	}
	display := ""
	switch r.Summary {
	case "":
	case "none":
		display = `,"display":"omitted"`
	default:
		display = `,"display":"summarized"`
	}
	return thinking{json: `,"thinking":{"type":"adaptive"` + display + "}", effort: efforts[r.Effort]}
}

// interleaved is asked for so that a model thinks between its calls.
const interleaved = "interleaved-thinking-2025-05-14"

func interleaves(t thinking, f family.Facts) bool { return t.budget > 0 && f.Interleaved }

// mayThink reports whether a model that thinks by budget may do so now: amid
// tool calls only when the answer that made them began with its own thoughts.
func mayThink(items []*model.Item) bool {
	n := len(items)
	for n > 0 && prefix.SideOf(items[n-1]) == prefix.Output {
		n--
	}
	if n == len(items) {
		return true
	}
	for n > 0 && prefix.SideOf(items[n-1]) == prefix.Assistant {
		n--
	}
	return thought(items[n]) != nil
}

func appendTools(dst []byte, r *model.Request) ([]byte, error) {
	if len(r.Tools) == 0 && r.WebSearch == "" {
		return dst, nil
	}
	dst = append(dst, `,"tools":[`...)
	if r.WebSearch != "" {
		dst = append(dst, webSearch...)
	}
	for i, t := range r.Tools {
		dst = append(wire.AppendComma(dst), '{')
		var err error
		if dst, err = wire.AppendTool(dst, t, "input_schema"); err != nil {
			return nil, err
		}
		if i == len(r.Tools)-1 && r.Instructions == "" {
			dst = append(dst, cacheMark...)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if !r.Parallel && len(r.Tools) > 0 {
		dst = append(dst, `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`...)
	}
	return dst, nil
}

func appendOutput(dst []byte, r *model.Request, t thinking) ([]byte, error) {
	if t.effort == "" && len(r.Schema) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"output_config":{`...)
	dst = wire.AppendField(dst, "effort", t.effort)
	if len(r.Schema) > 0 {
		dst = append(wire.AppendName(dst, "format"), `{"type":"json_schema","schema":`...)
		var err error
		if dst, err = wire.AppendSchema(dst, r.Schema); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	return append(dst, '}'), nil
}

// encoder writes messages. An answer is one; the outputs of its calls are one,
// as the protocol demands; messages of the user stand alone.
type encoder struct{}

// End is the end of the run of items of one side.
func (encoder) End(items []*model.Item, from int) int { return prefix.EndOfSide(items, from, false) }

// Append writes the group of all[from:].
func (encoder) Append(dst []byte, all []*model.Item, from int) ([]byte, error) {
	group := all[from:]
	start := len(dst)
	role := "user"
	if prefix.SideOf(group[0]) == prefix.Assistant {
		role = "assistant"
	}
	dst = append(dst, `{"role":"`+role+`","content":[`...)
	empty, said := len(dst), false
	for _, i := range group {
		if search := searchOf(i); search != nil && !answered(group, search) {
			continue
		}
		var err error
		if dst, err = appendBlocks(dst, i); err != nil {
			return nil, err
		}
		said = said || len(dst) > empty && i.Kind != model.Reasoning
	}
	if !said {
		return dst[:start], nil // thoughts alone are no message
	}
	return append(dst, "]}"...), nil
}

func appendBlocks(dst []byte, i *model.Item) ([]byte, error) {
	switch i.Kind {
	case model.Message:
		return appendParts(dst, i.Content), nil
	case model.Reasoning:
		return append(dst, commaBefore(dst, thought(i))...), nil
	case model.Call:
		dst = append(wire.AppendComma(dst), `{"type":"tool_use"`...)
		dst = wire.AppendField(dst, "id", wire.CallID(i.CallID, 64))
		dst = wire.AppendField(dst, "name", wire.ToolName(i.Name))
		dst, err := wire.AppendRaw(wire.AppendName(dst, "input"), json.RawMessage(wire.Object(i)))
		return append(dst, '}'), err
	case model.Output:
		dst = append(wire.AppendComma(dst), `{"type":"tool_result"`...)
		dst = wire.AppendField(dst, "tool_use_id", wire.CallID(i.CallID, 64))
		if blocks := appendParts(nil, i.Content); len(blocks) > 0 {
			dst = append(append(append(dst, `,"content":[`...), blocks...), ']')
		}
		return append(dst, '}'), nil
	}
	return nil, fmt.Errorf("item of unknown kind %q", i.Kind)
}

func commaBefore(dst, block []byte) []byte {
	if len(block) == 0 || dst[len(dst)-1] == '[' {
		return block
	}
	return append([]byte{','}, block...)
}

// thought is the block of reasoning that came from this protocol, or nil.
func thought(i *model.Item) []byte {
	if data, ok := wire.Sealed(i, wire.RedactedTag); ok {
		return append(wire.AppendString([]byte(`{"type":"redacted_thinking","data":`), data), '}')
	}
	if raw, ok := wire.Sealed(i, wire.BlockTag); ok {
		return []byte(raw)
	}
	signature, ok := wire.Sealed(i, wire.AnthropicTag)
	if !ok {
		return nil
	}
	block := wire.AppendString([]byte(`{"type":"thinking","thinking":`), strings.Join(i.Summary, "\n\n"))
	return append(wire.AppendString(wire.AppendName(block, "signature"), signature), '}')
}

// appendParts writes text and images; blank texts are refused by the provider
// and left out.
func appendParts(dst []byte, parts []model.Part) []byte {
	for _, p := range parts {
		switch mime, data, inline := wire.DataURL(p.ImageURL); {
		case inline:
			dst = append(wire.AppendComma(dst), `{"type":"image","source":{"type":"base64"`...)
			dst = wire.AppendField(dst, "media_type", mime)
			dst = append(wire.AppendField(dst, "data", data), "}}"...)
		case p.ImageURL != "":
			dst = append(wire.AppendComma(dst), `{"type":"image","source":{"type":"url"`...)
			dst = append(wire.AppendField(dst, "url", p.ImageURL), "}}"...)
		case strings.TrimSpace(p.Text) != "":
			dst = wire.AppendString(append(wire.AppendComma(dst), `{"type":"text","text":`...), p.Text)
			dst = append(dst, '}')
		}
	}
	return dst
}
