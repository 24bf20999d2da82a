package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// maxCalls bounds the calls of one response.
const maxCalls = 1000

// detailsField and thoughtFields are the names under which servers tell what a
// model thought.
const detailsField = "reasoning_details"

// thinkField marks thoughts that the model wrote between tags, extraField what came beside a
// call and goes back with it; unsigned is the provider's own word for a call that has no
// signature of this model.
const (
	thinkField = "think"
	extraField = "extra_content"
	unsigned   = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`
)

var thoughtFields = []string{"reasoning_content", "reasoning", "thinking", "reasoning_text"}

// decoder turns the events of one response into chunks. A response is at most
// one piece of reasoning, one message, and calls.
type decoder struct {
	wire.Response
	ids   *wire.CallIDs
	ended bool // the closing chunk was emitted

	thoughts  text
	field     string // where the thoughts came from
	details   details
	halves    [2]wire.Halves // of the last letters of words and thoughts
	message   text
	scan      *scanner
	calls     []*call
	came      [2]strings.Builder // words and thoughts, as they came
	reason    string             // why the model stopped, in small letters
	stopped   string             // see wire.Stopped
	usage     *model.Usage
	delivered bool
	made      bool     // a call was delivered
	cut       []string // the tools of calls that the end of the answer cut
}

// text is a message or reasoning under way.
type text struct {
	index int
	begun bool
	body  strings.Builder
}

func newDecoder(r *model.Request, emit func(model.Chunk) error, lenient bool) *decoder {
	d := &decoder{Response: wire.Response{Emit: emit}, ids: wire.NewCallIDs(r.Items)}
	d.scan = newScanner(r.Tools, lenient)
	return d
}

// event handles one event and reports whether it was the last.
func (d *decoder) event(ev sse.Event, limits map[string]string) (done bool, err error) {
	data := bytes.TrimSpace(ev.Data)
	if string(data) == "[DONE]" {
		return true, d.finish(limits)
	}
	var c chunk
	if err := wire.Decode(data, &c); err != nil {
		// A line that is no chunk may have been part of a call.
		return false, &model.Error{Kind: model.Broken, Message: "unreadable event in the stream", Began: true, Err: err}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || c.Base.Code != 0 {
		if f, ok := wire.ParseFailure(data); ok {
			return false, f
		}
	}
	if f := bareFailure(ev.Name, data, c); f != nil {
		return false, f
	}
	if err := d.Start(c.ID, limits); err != nil {
		return false, err
	}
	if c.Usage != nil {
		d.usage = c.Usage.model()
	}
	if c.Timings != nil && d.usage == nil {
		d.usage = c.Timings.model()
	}
	for _, choice := range c.Choices {
		if choice.Index.Value != 0 {
			continue
		}
		if err := d.choice(choice); err != nil {
			return false, err
		}
	}
	return false, nil
}

// bareFailure is an error that is told by the name of an event, or as an object that is no
// chunk.
func bareFailure(name string, data []byte, c chunk) *wire.Failure {
	if len(c.Choices) > 0 || name != "error" && c.Object != "error" {
		return nil
	}
	if f, ok := wire.ParseFailure(data); ok {
		return f
	}
	return &wire.Failure{Message: "the provider ended the response: " + string(data)}
}

func (d *decoder) choice(c choice) error {
	if f, ok := wire.ParseFailure(c.Error); len(c.Error) > 0 && ok {
		return f
	}
	delta := c.Delta
	if delta == nil {
		delta = c.Message // some servers tell the last piece whole, or all of it again
	}
	if delta != nil && !d.delivered {
		if err := d.delta(delta, c.Delta == nil); err != nil {
			return err
		}
	}
	if c.Reason == "" || d.delivered {
		return nil
	}
	var failure *wire.Failure
	d.reason = strings.ToLower(c.Reason)
	if d.stopped, failure = wire.Stopped(c.Reason); failure != nil {
		return failure
	}
	switch d.reason {
	case "tool_calls", "function_call":
		if len(d.calls) == 0 {
			return nil // some servers tell the calls behind the reason
		}
	}
	return d.deliver()
}

// delta takes a piece of the answer, or, when it is whole, what is new of all of it.
func (d *decoder) delta(m *delta, whole bool) error {
	thought, field := m.thought()
	if len(m.Details) > 0 {
		d.details.add(m.Details)
		if thought == "" {
			thought = textsOf(m.Details)
		}
	}
	said, thoughtPart := contentOf(m.Content)
	if thought = d.halves[1].Join(thought + thoughtPart); whole {
		thought = strings.TrimPrefix(thought, d.came[1].String())
	}
	d.came[1].WriteString(thought)
	if thought != "" {
		if field != "" {
			d.field = field
		}
		if err := d.think(thought); err != nil {
			return err
		}
	}
	if said = d.halves[0].Join(said + m.Refusal); whole {
		said = strings.TrimPrefix(said, d.came[0].String())
	}
	d.came[0].WriteString(said)
	if said != "" {
		thoughts, shown := d.scan.add(said)
		if thoughts != "" && d.field == "" {
			d.field = thinkField
		}
		if err := d.think(thoughts); err != nil {
			return err
		}
		if err := d.say(shown); err != nil {
			return err
		}
	}
	if m.Function != nil {
		m.Calls = append(m.Calls, callDelta{Function: *m.Function})
	}
	for _, c := range m.Calls {
		if err := d.call(c); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) think(s string) error {
	return d.grow(&d.thoughts, s, &model.Item{Kind: model.Reasoning},
		func(i int, s string) model.Chunk { return model.ReasoningDelta{Index: i, Text: s} })
}

func (d *decoder) say(s string) error {
	return d.grow(&d.message, s, &model.Item{Kind: model.Message, Role: "assistant"},
		func(i int, s string) model.Chunk { return model.TextDelta{Index: i, Text: s} })
}

func (d *decoder) grow(t *text, s string, begun *model.Item, piece func(int, string) model.Chunk) error {
	if s == "" {
		return nil
	}
	if !t.begun {
		if t.body.Len() == 0 && strings.TrimSpace(s) == "" {
			return nil // servers pad with line ends
		}
		t.begun, t.index = true, d.Take()
		if err := d.Emit(model.ItemAdded{Index: t.index, Item: begun}); err != nil {
			return err
		}
	}
	t.body.WriteString(s)
	return d.Emit(piece(t.index, s))
}

// deliver emits the whole items, once the model stopped.
func (d *decoder) deliver() error {
	d.delivered = true
	leaked, err := d.closeTexts(len(d.calls) > 0)
	if err != nil {
		return err
	}
	for _, l := range leaked {
		k := &call{index: d.Take(), place: -1, name: l.name}
		k.args.WriteString(l.args)
		d.calls = append(d.calls, k)
	}
	d.part()
	for _, k := range d.calls {
		if err := d.deliverCall(k); err != nil {
			return err
		}
	}
	return nil
}

// part makes several calls of one whose arguments are those of several.
func (d *decoder) part() {
	for _, k := range slices.Clone(d.calls) {
		all := objects(strings.TrimSpace(k.args.String()))
		if k.done || len(d.calls)+len(all) > maxCalls {
			continue
		}
		k.args.Reset()
		k.args.WriteString(all[0])
		for _, args := range all[1:] {
			next := &call{index: d.Take(), place: -1, name: k.name}
			next.args.WriteString(args)
			d.calls = append(d.calls, next)
		}
	}
}

// closeTexts emits reasoning and message whole; what follows begins new ones.
// Calls written as text count only when there are no proper ones.
func (d *decoder) closeTexts(proper bool) ([]leak, error) {
	if err := d.closeHalves(); err != nil {
		return nil, err
	}
	rest := d.scan.finish(proper)
	if err := d.think(rest.thoughts); err != nil {
		return nil, err
	}
	if err := d.say(rest.shown); err != nil {
		return nil, err
	}
	if err := d.deliverThoughts(rest.moved); err != nil {
		return nil, err
	}
	if d.message.begun {
		said := d.message.body.String()
		if rest.moved != "" {
			said = rest.said // the thoughts had no opening tag and were shown
		}
		whole := &model.Item{Kind: model.Message, Role: "assistant",
			Content: []model.Part{{Text: strings.TrimRight(said, " \n\t")}}}
		if err := d.Emit(model.ItemDone{Index: d.message.index, Item: whole}); err != nil {
			return nil, err
		}
	}
	d.thoughts, d.message, d.details = text{}, text{}, details{}
	d.scan = d.scan.again()
	return rest.calls, nil
}

// closeHalves tells letters that stay halves, so that nothing is left out in silence.
func (d *decoder) closeHalves() error {
	if half := d.halves[1].Rest(); half != "" {
		if err := d.think(half); err != nil {
			return err
		}
	}
	half := d.halves[0].Rest()
	if half == "" {
		return nil
	}
	thoughts, shown := d.scan.add(half)
	if err := d.think(thoughts); err != nil {
		return err
	}
	return d.say(shown)
}

func (d *decoder) deliverThoughts(moved string) error {
	details := d.details.json()
	if !d.thoughts.begun && details == "" && moved == "" {
		return nil
	}
	if !d.thoughts.begun {
		d.thoughts.index = d.Take()
	}
	item := &model.Item{Kind: model.Reasoning}
	if moved != "" && d.field == "" {
		d.field = thinkField
	}
	if s := strings.TrimSpace(moved + d.thoughts.body.String()); s != "" {
		item.Summary = []string{s}
	}
	switch {
	case details != "":
		item.Encrypted = wire.ChatTag + ":" + detailsField + ":" + details
	case d.field != "" && len(item.Summary) > 0:
		item.Encrypted = wire.ChatTag + ":" + d.field
	}
	return d.Emit(model.ItemDone{Index: d.thoughts.index, Item: item})
}

// finish ends the response.
func (d *decoder) finish(limits map[string]string) error {
	if err := d.Start(d.ID, limits); err != nil {
		return err
	}
	if !d.delivered {
		if err := d.deliver(); err != nil {
			return err
		}
	}
	d.ended = true
	return d.Emit(model.Done{ResponseID: d.ID, Usage: d.usage, Incomplete: d.incomplete(), Cut: d.cut})
}

// end is asked when the stream stops without [DONE]: it is whole if the model
// said why it stopped.
func (d *decoder) end() (bool, error) {
	if d.reason == "" {
		return false, nil
	}
	return true, d.finish(nil)
}

// incomplete is why the answer is not whole, or empty.
func (d *decoder) incomplete() string {
	if d.stopped != "" {
		return d.stopped
	}
	switch d.reason {
	case "tool_calls", "function_call", "tool_use":
		if !d.made && !d.nameless() {
			return wire.CallAnnounced
		}
	}
	return ""
}

// nameless reports whether there is a call that names no tool.
func (d *decoder) nameless() bool {
	return slices.ContainsFunc(d.calls, func(k *call) bool { return k.name == "" })
}

// whole makes an event of an answer that was not streamed.
func whole(body []byte) [][]byte {
	var c chunk
	if json.Unmarshal(body, &c) != nil || len(c.Choices) == 0 || c.Choices[0].Message == nil {
		return nil
	}
	return [][]byte{body}
}
