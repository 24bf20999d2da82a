package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// maxItems bounds the items of one response.
const maxItems = 10_000

// decoder turns the events of one response into chunks. The protocol has no
// items: parts of a kind that follow each other are one.
type decoder struct {
	wire.Response
	ids    *wire.CallIDs
	open   *growing
	held   []model.Chunk // calls, which count only if the model stopped well
	reason string        // why the model stopped
	usage  *model.Usage
}

// growing is the message or reasoning under way.
type growing struct {
	index int
	kind  model.Kind
	text  strings.Builder
	half  wire.Halves // of its last letter
}

func newDecoder(r *model.Request, emit func(model.Chunk) error) *decoder {
	return &decoder{Response: wire.Response{Emit: emit}, ids: wire.NewCallIDs(r.Items)}
}

type chunk struct {
	ID         string `json:"responseId"`
	Candidates []struct {
		Index   wire.Index `json:"index"`
		Content struct {
			Parts parts `json:"parts"`
		} `json:"content"`
		Reason  string `json:"finishReason"`
		Message string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
	// Inner is the chunk where a gateway wraps it.
	Inner json.RawMessage `json:"response"`
}

// parts are a list; some gateways send one part as it is.
type parts []part

// UnmarshalJSON reads parts.
func (p *parts) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		return wire.Decode(raw, (*[]part)(p))
	}
	*p = make(parts, 1)
	return wire.Decode(raw, &(*p)[0])
}

// read reads a chunk.
func read(data []byte) (c chunk, err error) {
	if err = wire.Decode(data, &c); err == nil && len(c.Inner) > 0 && c.Inner[0] == '{' && len(c.Candidates) == 0 {
		inner := c.Inner
		c = chunk{}
		err = wire.Decode(inner, &c)
	}
	return c, err
}

type part struct {
	Text      wire.Piece `json:"text"`
	Thought   bool       `json:"thought"`
	Signature string     `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// event handles one event. The protocol has no last one.
func (d *decoder) event(ev sse.Event, limits map[string]string) error {
	data := bytes.TrimSpace(ev.Data)
	if string(data) == "[DONE]" {
		return nil // of gateways
	}
	c, err := read(data)
	if err != nil {
		return &model.Error{Kind: model.Broken, Message: "unreadable event in the stream", Began: true, Err: err}
	}
	if len(c.Error) > 0 {
		if f, ok := wire.ParseFailure(data); ok {
			return f
		}
	}
	if err := d.Start(c.ID, limits); err != nil {
		return err
	}
	if c.Usage != nil {
		d.usage = c.Usage.model()
	}
	if c.Feedback.Reason != "" {
		return &wire.Failure{Code: "content_policy_violation",
			Message: "the provider blocked the prompt: " + c.Feedback.Reason + " " + c.Feedback.Message}
	}
	for _, candidate := range c.Candidates {
		if candidate.Index.Value != 0 {
			continue
		}
		for _, p := range candidate.Content.Parts {
			if err := d.part(p); err != nil {
				return err
			}
		}
		if candidate.Reason == "" {
			continue
		}
		d.reason = candidate.Reason
		if unreadable(d.reason) {
			return &wire.Failure{Code: "server_error", Message: "the model wrote a call that the provider cannot read (" +
				d.reason + ") " + candidate.Message}
		}
	}
	return nil
}

// unreadable reports whether the provider dropped what the model wrote; asked
// again it mostly does better.
func unreadable(reason string) bool {
	return reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL"
}

func (d *decoder) part(p part) error {
	if d.Taken() > maxItems {
		return &wire.Failure{Code: "server_error", Message: "the response has too many items"}
	}
	if p.Call != nil {
		return d.call(p)
	}
	kind := model.Message
	if p.Thought {
		kind = model.Reasoning
	}
	if p.Text != "" {
		if err := d.grow(kind, string(p.Text)); err != nil {
			return err
		}
	}
	if p.Signature == "" {
		return nil
	}
	if p.Thought {
		return d.close(p.Signature)
	}
	if err := d.close(""); err != nil {
		return err
	}
	return d.seal(p.Signature)
}

func (d *decoder) grow(kind model.Kind, s string) error {
	if d.open == nil || d.open.kind != kind {
		if err := d.close(""); err != nil {
			return err
		}
		d.open = &growing{index: d.Take(), kind: kind}
		begun := &model.Item{Kind: kind}
		if kind == model.Message {
			begun.Role = "assistant"
		}
		if err := d.Emit(model.ItemAdded{Index: d.open.index, Item: begun}); err != nil {
			return err
		}
	}
	if s = d.open.half.Join(s); s == "" {
		return nil
	}
	d.open.text.WriteString(s)
	if kind == model.Message {
		return d.Emit(model.TextDelta{Index: d.open.index, Text: s})
	}
	return d.Emit(model.ReasoningDelta{Index: d.open.index, Text: s})
}

// close delivers what is under way; a signature goes with reasoning.
func (d *decoder) close(signature string) error {
	g := d.open
	if g == nil {
		if signature != "" {
			return d.seal(signature)
		}
		return nil
	}
	d.open = nil
	g.text.WriteString(g.half.Rest())
	item := &model.Item{Kind: g.kind, Role: "assistant", Content: []model.Part{{Text: g.text.String()}}}
	if g.kind == model.Reasoning {
		item = &model.Item{Kind: g.kind, Summary: []string{g.text.String()}}
		if signature != "" {
			item.Encrypted = wire.GeminiTag + ":" + signature
		}
	}
	return d.Emit(model.ItemDone{Index: g.index, Item: item})
}

// seal delivers a signature alone, as reasoning that has no words.
func (d *decoder) seal(signature string) error {
	return d.Emit(model.ItemDone{Index: d.Take(), Item: &model.Item{Kind: model.Reasoning,
		Encrypted: wire.GeminiTag + ":" + signature}})
}

func (d *decoder) call(p part) error {
	thoughts := d.open != nil && d.open.kind == model.Reasoning
	signature := p.Signature
	if !thoughts {
		if err := d.close(""); err != nil {
			return err
		}
	}
	if err := d.close(signature); err != nil {
		return err
	}
	args := strings.TrimSpace(string(p.Call.Args))
	if args == "" || args == "null" {
		args = "{}"
	}
	item := &model.Item{Kind: model.Call, CallID: d.ids.Take(p.Call.ID), Name: p.Call.Name, Style: model.Function,
		Input: args}
	begun := *item
	begun.Input = ""
	index := d.Take()
	d.held = append(d.held, model.ItemAdded{Index: index, Item: &begun}, model.InputDelta{Index: index, Text: args},
		model.ItemDone{Index: index, Item: item})
	return nil
}

// end is asked when the stream stops: it is whole if the model said why.
func (d *decoder) end() (bool, error) {
	if d.reason == "" {
		return false, nil
	}
	if err := d.close(""); err != nil {
		return false, err
	}
	for _, c := range d.held {
		if err := d.Emit(c); err != nil {
			return false, err
		}
	}
	return true, d.Emit(model.Done{ResponseID: d.ID, Usage: d.usage, Incomplete: incomplete(d.reason)})
}

// filters are the reasons that name what the provider does not let through.
var filters = []string{"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
	"IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR"}

// incomplete is why the answer is not whole, or empty.
func incomplete(reason string) string {
	switch {
	case reason == "STOP", reason == "FINISH_REASON_UNSPECIFIED":
		return ""
	case reason == "MAX_TOKENS":
		return wire.CutByLength
	case slices.Contains(filters, reason):
		return "content_filter: " + strings.ToLower(reason)
	}
	return strings.ToLower(reason)
}

// usage counts thoughts beside the output, and what tools of the provider read
// beside the prompt.
type usage struct {
	Prompt   float64 `json:"promptTokenCount"`
	ToolUse  float64 `json:"toolUsePromptTokenCount"`
	Cached   float64 `json:"cachedContentTokenCount"`
	Output   float64 `json:"candidatesTokenCount"`
	Thoughts float64 `json:"thoughtsTokenCount"`
}

func (u *usage) model() *model.Usage {
	return &model.Usage{Input: wire.Tokens(u.Prompt + u.ToolUse), Cached: wire.Tokens(u.Cached),
		Output: wire.Tokens(u.Output + u.Thoughts), Reasoning: wire.Tokens(u.Thoughts)}
}

// whole makes events of an answer that is no event stream: of one response, or of a list of
// its pieces, as the server sends them when a proxy drops the query.
func whole(body []byte) [][]byte {
	var pieces []json.RawMessage
	if json.Unmarshal(body, &pieces) != nil {
		pieces = []json.RawMessage{body}
	}
	var events [][]byte
	for _, p := range pieces {
		c, err := read(p)
		if err != nil {
			return nil
		}
		if len(c.Candidates) > 0 || c.Feedback.Reason != "" || c.Usage != nil || len(c.Error) > 0 {
			events = append(events, p)
		}
	}
	return events
}
