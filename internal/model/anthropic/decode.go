package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/chat"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// maxBlocks bounds the blocks of one response.
const maxBlocks = 10_000

// decoder turns the events of one response into chunks. A block is delivered
// once, when it ends.
type decoder struct {
	wire.Response
	ids     *wire.CallIDs
	blocks  map[int]*block
	left    []*block // that wait for the reason, where another one has their index
	reason  string   // why the model stopped
	usage   usage
	counted bool
	called  bool         // a call was delivered
	written int          // calls that were found in texts
	texts   []model.Tool // that may be called in a text; none for models that make proper calls
	cut     []string     // the tools of calls that the end of the answer cut
}

// block is one item under way.
type block struct {
	index int
	item  *model.Item
	text  strings.Builder // of a message or of thoughts
	input strings.Builder // of a call
	whole string          // the input, when it came at once
	half  wire.Halves     // of the last letter of text or input
	seal  string
	kind  string // as it was told
	id    string
	raw   []byte // of a block of the provider's own tools, which goes back as it is
	done  bool
}

func newDecoder(r *model.Request, emit func(model.Chunk) error) *decoder {
	d := &decoder{Response: wire.Response{Emit: emit}, ids: wire.NewCallIDs(r.Items), blocks: map[int]*block{}}
	if !strings.Contains(strings.ToLower(r.Model), "claude") {
		d.texts = r.Tools
	}
	return d
}

// event is any event of a stream.
type event struct {
	Type    string     `json:"type"`
	Index   wire.Index `json:"index"`
	Message struct {
		ID    string `json:"id"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type       string          `json:"type"`
		Text       wire.Piece      `json:"text"`
		Partial    json.RawMessage `json:"partial_json"`
		Thinking   wire.Piece      `json:"thinking"`
		Signature  string          `json:"signature"`
		StopReason string          `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// beginning is a block as it begins.
type beginning struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

// event handles one event and reports whether it was the last.
func (d *decoder) event(ev sse.Event, limits map[string]string) (done bool, err error) {
	var e event
	if string(ev.Data) == "[DONE]" {
		return false, nil // of another protocol
	}
	if err := wire.Decode(ev.Data, &e); err != nil {
		return false, &model.Error{Kind: model.Broken, Message: "unreadable event " + ev.Name, Began: true, Err: err}
	}
	if e.Type == "" || ev.Name == "error" {
		e.Type = ev.Name
	}
	switch e.Type {
	case "ping":
		return false, nil
	case "error":
		if f, ok := wire.ParseFailure(ev.Data); ok {
			return false, f
		}
		return false, &wire.Failure{Message: "the provider ended the response"}
	}
	if e.Type == "message_start" {
		d.count(&e.Message.Usage)
	}
	if err := d.Start(e.Message.ID, limits); err != nil {
		return false, err
	}
	switch e.Type {
	case "content_block_start":
		return false, d.begin(e)
	case "content_block_delta":
		return false, d.delta(e)
	case "content_block_stop":
		return false, d.close(d.blocks[e.Index.Value])
	case "message_delta":
		if e.Delta.StopReason != "" {
			d.reason = e.Delta.StopReason
		}
		d.count(e.Usage)
	case "message_stop":
		return true, d.finish()
	}
	return false, nil
}

func (d *decoder) begin(e event) error {
	var c beginning
	readable := len(e.Block) == 0 || wire.Decode(e.Block, &c) == nil
	if old := d.blocks[e.Index.Value]; old != nil && !old.done {
		if old.kind == c.Type && old.id == c.ID {
			return nil // told twice
		}
		if err := d.close(old); err != nil { // its end was not told
			return err
		}
	}
	b, err := d.enter(e.Index.Value)
	if err != nil {
		return err
	}
	if b.kind, b.id = c.Type, c.ID; !readable {
		b.done = true // of no use to Kerf
		return nil
	}
	switch c.Type {
	case "text":
		b.item = &model.Item{Kind: model.Message, Role: "assistant"}
	case "thinking":
		b.item, b.seal = &model.Item{Kind: model.Reasoning}, wire.AnthropicTag+":"+c.Signature
	case "redacted_thinking":
		b.item, b.seal = &model.Item{Kind: model.Reasoning}, wire.RedactedTag+":"+c.Data
	case "tool_use":
		b.item = &model.Item{Kind: model.Call, CallID: d.ids.Take(c.ID), Name: c.Name, Style: model.Function}
		if s := strings.TrimSpace(string(c.Input)); s != "{}" && s != "null" {
			b.whole = s
		}
	case "server_tool_use", "web_search_tool_result":
		b.raw = slices.Clone(e.Block) // of a search; what it looks for comes by deltas
		return nil
	default:
		b.done = true // of no use to Kerf
		return nil
	}
	begun := *b.item
	if err := d.Emit(model.ItemAdded{Index: b.index, Item: &begun}); err != nil {
		return err
	}
	return d.grow(b, c.Text+c.Thinking)
}

// enter makes the block at an index, which some gateways give to block after block. Blocks of
// which the end was not told are delivered at the end of the response.
func (d *decoder) enter(index int) (*block, error) {
	if d.Taken() >= maxBlocks || index < 0 {
		return nil, &wire.Failure{Code: "server_error", Message: "the response has too many blocks"}
	}
	b := &block{index: d.Take()}
	if old := d.blocks[index]; old != nil && !old.done {
		d.left = append(d.left, old)
	}
	d.blocks[index] = b
	return b, nil
}

// opened is the block that a delta is for. One whose beginning was not told is made where the
// delta says what it is.
func (d *decoder) opened(e event) (*block, error) {
	if b := d.blocks[e.Index.Value]; b != nil {
		return b, nil
	}
	item := map[string]*model.Item{"text_delta": {Kind: model.Message, Role: "assistant"},
		"thinking_delta": {Kind: model.Reasoning}}[e.Delta.Type]
	if item == nil {
		return nil, nil
	}
	b, err := d.enter(e.Index.Value)
	if err != nil {
		return nil, err
	}
	b.item, b.seal = item, wire.AnthropicTag+":"
	begun := *item
	return b, d.Emit(model.ItemAdded{Index: b.index, Item: &begun})
}

func (d *decoder) delta(e event) error {
	b, err := d.opened(e)
	if err != nil || b == nil || b.done {
		return err // nothing to show it with, or nothing new
	}
	switch e.Delta.Type {
	case "text_delta":
		return d.grow(b, string(e.Delta.Text))
	case "thinking_delta":
		return d.grow(b, string(e.Delta.Thinking))
	case "signature_delta":
		b.seal += e.Delta.Signature
	case "input_json_delta":
		piece, ok := wire.Text(e.Delta.Partial)
		if !ok && len(e.Delta.Partial) > 0 && e.Delta.Partial[0] == '{' {
			piece = string(e.Delta.Partial) // the object itself
		}
		piece = b.half.Join(piece)
		b.input.WriteString(piece)
		if b.item == nil || b.item.Kind != model.Call || piece == "" {
			return nil
		}
		return d.Emit(model.InputDelta{Index: b.index, Text: piece})
	}
	return nil
}

func (d *decoder) grow(b *block, s string) error {
	if b.item == nil || b.item.Kind == model.Call {
		return nil
	}
	if s = b.half.Join(s); s == "" {
		return nil
	}
	switch b.item.Kind {
	case model.Message:
		b.text.WriteString(s)
		return d.Emit(model.TextDelta{Index: b.index, Text: s})
	case model.Reasoning:
		b.text.WriteString(s)
		return d.Emit(model.ReasoningDelta{Index: b.index, Text: s})
	}
	return nil
}

// close delivers a block. A call whose input is not whole JSON was cut, and is
// told to the model as it is unless the answer was too long.
func (d *decoder) close(b *block) error {
	if b == nil || b.done {
		return nil
	}
	b.done = true
	if b.item == nil {
		return d.served(b)
	}
	b.text.WriteString(b.half.Rest())
	item := *b.item
	switch item.Kind {
	case model.Message:
		return d.closeText(b, item)
	case model.Reasoning:
		item.Encrypted = b.seal
		if b.text.Len() > 0 {
			item.Summary = []string{b.text.String()}
		}
	case model.Call:
		item.Input = b.input.String()
		if strings.TrimSpace(item.Input) == "" {
			item.Input = b.whole
		}
		whole := json.Valid([]byte(item.Input))
		if d.reason == "" && !whole {
			b.done = false // wait for the reason
			return nil
		}
		if !whole && cut(d.reason) {
			d.cut = append(d.cut, item.Name)
			return nil
		}
		if item.Input == "" {
			item.Input = "{}"
		}
		d.called = true
	}
	return d.Emit(model.ItemDone{Index: b.index, Item: &item})
}

func cut(reason string) bool {
	incomplete, _ := wire.Stopped(reason)
	return incomplete != ""
}

func (d *decoder) finish() error {
	open := d.left
	for _, b := range d.blocks {
		if !b.done {
			open = append(open, b)
		}
	}
	slices.SortFunc(open, func(a, b *block) int { return a.index - b.index })
	if d.reason == "" {
		d.reason = "end_turn"
	}
	if _, failure := wire.Stopped(d.reason); failure != nil {
		return failure
	}
	for _, b := range open {
		if err := d.close(b); err != nil {
			return err
		}
	}
	done := model.Done{ResponseID: d.ID, Incomplete: d.incomplete(), Cut: d.cut}
	if d.counted {
		u := d.usage.model()
		done.Usage = &u
	}
	return d.Emit(done)
}

// end is asked when the stream stops without message_stop: it is whole if the
// model said why it stopped.
func (d *decoder) end() (bool, error) {
	if d.reason == "" {
		return false, nil
	}
	return true, d.finish()
}

// closeText delivers a message, and the calls of tools that a model wrote into it.
func (d *decoder) closeText(b *block, item model.Item) error {
	said, calls := chat.TextCalls(b.text.String(), d.texts)
	item.Content = []model.Part{{Text: said}}
	if err := d.Emit(model.ItemDone{Index: b.index, Item: &item}); err != nil {
		return err
	}
	for _, c := range calls {
		d.called = true
		d.written++
		made := model.Item{Kind: model.Call, CallID: d.ids.Take(""), Name: c.Name, Style: model.Function, Input: c.Args}
		if err := d.Emit(model.ItemDone{Index: maxBlocks + d.written, Item: &made}); err != nil {
			return err
		}
	}
	return nil
}

// incomplete is why the answer is not whole, or empty.
func (d *decoder) incomplete() string {
	switch d.reason {
	case "pause_turn":
		return d.reason
	case "tool_use":
		if !d.called {
			return wire.CallAnnounced
		}
	}
	incomplete, _ := wire.Stopped(d.reason)
	return incomplete
}

// usage counts what was neither read from nor written to the cache apart.
type usage struct {
	Input      float64 `json:"input_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
	Cached     float64 `json:"cache_read_input_tokens"`
	Output     float64 `json:"output_tokens"`
	OutputOf   struct {
		Thinking float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// count takes a later word on usage; each counts the whole response.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	d.counted = true
	d.usage.Input = max(d.usage.Input, u.Input)
	d.usage.CacheWrite = max(d.usage.CacheWrite, u.CacheWrite)
	d.usage.Cached = max(d.usage.Cached, u.Cached)
	d.usage.Output = max(d.usage.Output, u.Output)
	d.usage.OutputOf.Thinking = max(d.usage.OutputOf.Thinking, u.OutputOf.Thinking)
}

func (u usage) model() model.Usage {
	return model.Usage{Input: wire.Tokens(u.Input + u.CacheWrite + u.Cached), Cached: wire.Tokens(u.Cached),
		CacheWrite: wire.Tokens(u.CacheWrite),
		Output:     wire.Tokens(u.Output), Reasoning: wire.Tokens(u.OutputOf.Thinking)}
}

// served delivers a block of the provider's own tools, as reasoning without words: the
// provider wants it back when it paused.
func (d *decoder) served(b *block) error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(b.raw, &raw) != nil {
		return nil
	}
	if string(raw["type"]) == `"server_tool_use"` {
		if input := b.input.String(); json.Valid([]byte(input)) {
			raw["input"] = json.RawMessage(input)
		}
		var search struct {
			Query string `json:"query"`
		}
		_ = json.Unmarshal(raw["input"], &search) // a search without words is one all the same
		if err := d.Emit(model.Searched{Query: search.Query}); err != nil {
			return err
		}
	}
	whole, err := json.Marshal(raw)
	if err != nil {
		return nil // what came from JSON always goes back to it
	}
	return d.Emit(model.ItemDone{Index: b.index, Item: &model.Item{Kind: model.Reasoning,
		Encrypted: wire.BlockTag + ":" + string(whole)}})
}
