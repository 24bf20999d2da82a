package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// completed is the event that ends a good stream.
const completed = "response.completed"

// decoder turns the events of one response into chunks.
//
// Providers differ in which ids and indices they send, and networks repeat and
// lose events. The decoder holds on to three things: Started comes first; a
// call, known by its call id, is delivered once; and only events that arrived
// whole deliver items.
type decoder struct {
	wire.Response
	ledger *ledger
	held   []held   // calls whose arguments are not whole
	cut    []string // the tools of calls that the end of the answer cut
	marked bool     // the stream ended with the mark of another protocol
}

// held is a call that is delivered unless the answer turns out to be cut.
type held struct {
	index int
	item  *model.Item
}

func newDecoder(emit func(model.Chunk) error) *decoder {
	return &decoder{Response: wire.Response{Emit: emit}, ledger: newLedger()}
}

// event handles one event and reports whether it was the last.
func (d *decoder) event(ev sse.Event, limits map[string]string) (done bool, err error) {
	if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		d.marked = true
		return false, nil
	}
	kind := eventType(ev)
	if ev.Name == "error" {
		kind = "error"
	}
	if err := d.Start(idOf(kind, ev.Data), limits); err != nil {
		return false, err
	}
	switch kind {
	case "response.output_text.delta", "response.refusal.delta":
		return false, d.delta(ev.Data, model.Message)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, d.delta(ev.Data, model.Reasoning)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		return false, d.delta(ev.Data, model.Call)
	case "response.reasoning_summary_part.added":
		return false, d.summaryPart(ev.Data)
	case "response.output_item.added":
		return false, d.itemAdded(ev.Data)
	case "response.output_item.done":
		return false, d.itemDone(ev.Data)
	case completed, "response.incomplete", "response.done":
		return d.finish(kind, ev.Data)
	case "response.failed", "response.cancelled", "error":
		return false, failed(kind, ev.Data)
	}
	return false, nil
}

// eventType finds the type of an event. Providers put it first, where it is
// found without decoding the rest.
func eventType(ev sse.Event) string {
	rest := bytes.TrimLeft(ev.Data, " \t\n")
	for _, token := range []string{"{", `"type"`, ":", `"`} {
		var ok bool
		if rest, ok = bytes.CutPrefix(rest, []byte(token)); !ok {
			return slowEventType(ev)
		}
		if token != `"` {
			rest = bytes.TrimLeft(rest, " \t\n")
		}
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return slowEventType(ev)
	}
	if string(rest[:end]) == ev.Name {
		return ev.Name // spares a copy
	}
	return string(rest[:end])
}

func slowEventType(ev sse.Event) string {
	var typed struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(ev.Data, &typed); err != nil || typed.Type == "" {
		return ev.Name
	}
	return typed.Type
}

// idOf is the id of the response that begins with an event, or empty.
func idOf(kind string, data []byte) string {
	var ev struct {
		Response struct {
			ID string `json:"id"`
		} `json:"response"`
	}
	if kind != "response.created" && kind != "response.in_progress" || json.Unmarshal(data, &ev) != nil {
		return ""
	}
	return ev.Response.ID
}

// place is how an event names the item it is about.
type place struct {
	Index  int    `json:"output_index"`
	ItemID string `json:"item_id"`
}

// delta is for show: what cannot be read is passed over.
func (d *decoder) delta(data []byte, kind model.Kind) error {
	ev := struct {
		place
		Delta wire.Piece `json:"delta"`
	}{place: place{Index: -1}}
	if wire.Decode(data, &ev) != nil || ev.Delta == "" {
		return nil
	}
	index, known := d.ledger.find(ev.place, kind)
	if !known {
		if kind == model.Call || d.ledger.isLate(ev.place) {
			return nil // nothing to show it with, or nothing new
		}
		var err error
		if index, err = d.ledger.open(ev.place, kind); err != nil {
			return err
		}
		if err := d.Emit(model.ItemAdded{Index: index, Item: emptyItem(kind)}); err != nil {
			return err
		}
	}
	text := d.ledger.say(index, string(ev.Delta))
	switch {
	case text == "":
		return nil
	case kind == model.Message:
		return d.Emit(model.TextDelta{Index: index, Text: text})
	case kind == model.Reasoning:
		return d.Emit(model.ReasoningDelta{Index: index, Text: text})
	}
	return d.Emit(model.InputDelta{Index: index, Text: text})
}

func emptyItem(kind model.Kind) *model.Item {
	if kind == model.Message {
		return &model.Item{Kind: kind, Role: "assistant"}
	}
	return &model.Item{Kind: kind}
}

// summaryPart keeps the paragraphs of a reasoning summary apart.
func (d *decoder) summaryPart(data []byte) error {
	ev := struct {
		place
		SummaryIndex int `json:"summary_index"`
	}{place: place{Index: -1}}
	if json.Unmarshal(data, &ev) != nil || ev.SummaryIndex <= 0 {
		return nil
	}
	index, known := d.ledger.find(ev.place, model.Reasoning)
	if !known {
		return nil
	}
	return d.Emit(model.ReasoningDelta{Index: index, Text: "\n\n"})
}

type itemEvent struct {
	Index int             `json:"output_index"`
	Item  json.RawMessage `json:"item"`
}

func (d *decoder) itemAdded(data []byte) error {
	ev := itemEvent{Index: -1}
	if wire.Decode(data, &ev) != nil {
		return nil // its end will tell it whole
	}
	item, _, err := parseItem(ev.Item)
	if err != nil || item == nil {
		return nil
	}
	at := place{Index: ev.Index, ItemID: item.ID}
	if d.ledger.isOpen(at, item.Kind) || d.ledger.isDone(item) {
		return nil // told twice, or too late
	}
	index, err := d.ledger.open(at, item.Kind)
	if err != nil {
		return err
	}
	if item.Kind == model.Call && item.CallID == "" {
		item.CallID = d.callID(index)
	}
	item.Input = "" // it comes by deltas
	return d.Emit(model.ItemAdded{Index: index, Item: item})
}

func (d *decoder) itemDone(data []byte) error {
	ev := itemEvent{Index: -1}
	if err := wire.Decode(data, &ev); err != nil {
		return unreadable("response.output_item.done", err)
	}
	if query, ok := searchOf(ev.Item); ok {
		return d.Emit(model.Searched{Query: query})
	}
	return d.deliver(ev.Index, ev.Item)
}

// deliver emits the item that raw holds, unless it was delivered before or is
// cut short.
func (d *decoder) deliver(index int, raw json.RawMessage) error {
	item, whole, err := parseItem(raw)
	if err != nil {
		return unreadable("response.output_item.done", err)
	}
	if item != nil && item.Kind == model.Call && !whole {
		d.cut = append(d.cut, item.Name)
		return nil
	}
	if item == nil {
		return nil
	}
	if d.ledger.repeated(item, index, raw) {
		return nil
	}
	at, said, err := d.ledger.close(place{Index: index, ItemID: item.ID}, item.Kind)
	if err != nil {
		return err
	}
	if item.Kind == model.Message && item.Text() == "" && said != "" {
		item.Content = []model.Part{{Text: said}} // the words were in the pieces only
	}
	made := *item
	if item.Kind == model.Call && (item.CallID == "" || d.ledger.calls[item.CallID]) {
		item.CallID = d.callID(at)
	}
	d.ledger.deliver(&made)
	if item.Kind == model.Call && item.Style == model.Function && !json.Valid([]byte(item.Input)) {
		d.held = append(d.held, held{at, item})
		return nil
	}
	return d.Emit(model.ItemDone{Index: at, Item: item})
}

// callID makes up the id of a call that came without one. It is the same when
// the same response is read again.
func (d *decoder) callID(index int) string {
	return fmt.Sprintf("call_%s_%d", d.ID, index)
}

func unreadable(event string, err error) error {
	return &model.Error{Kind: model.Broken, Message: "unreadable event " + event, Began: true, Err: err}
}

// response is the closing word of the provider.
type response struct {
	ID         string            `json:"id"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

func (d *decoder) finish(kind string, data []byte) (bool, error) {
	var ev struct {
		Response response `json:"response"`
	}
	var kinds *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &ev); err != nil && (!errors.As(err, &kinds) || kinds.Field == "response") {
		return false, unreadable(kind, err)
	}
	if err := d.recover(ev.Response.Output); err != nil {
		return false, err
	}
	if err := d.untold(); err != nil {
		return false, err
	}
	if ev.Response.ID != "" {
		d.ID = ev.Response.ID
	}
	done := model.Done{ResponseID: d.ID, Usage: parseUsage(ev.Response.Usage), Incomplete: ev.Response.Incomplete.Reason}
	if known, _ := wire.Stopped(done.Incomplete); known != "" {
		done.Incomplete = known
	}
	if kind == "response.incomplete" && done.Incomplete == "" {
		done.Incomplete = "unknown"
	}
	for _, h := range d.held {
		if done.Incomplete != "" {
			d.cut = append(d.cut, h.item.Name)
			continue
		}
		if err := d.Emit(model.ItemDone{Index: h.index, Item: h.item}); err != nil {
			return false, err
		}
	}
	done.Cut = d.cut
	return true, d.Emit(done)
}

// recover delivers what the closing event lists and the stream did not tell:
// calls by their id, items of which none of their kind was told whole, and
// everything when nothing at all was told.
func (d *decoder) recover(output []json.RawMessage) error {
	silent, told := d.ledger.silent(), maps.Clone(d.ledger.kinds)
	for i, raw := range output {
		item, _, err := parseItem(raw)
		if err != nil || item == nil {
			continue
		}
		if !silent && told[item.Kind] && (item.Kind != model.Call || item.CallID == "") {
			continue
		}
		index := -1
		if silent {
			index = i
		}
		if err := d.deliver(index, raw); err != nil {
			return err
		}
	}
	return nil
}

// untold delivers messages that were streamed and that nothing tells whole.
func (d *decoder) untold() error {
	for _, e := range d.ledger.untold() {
		item := &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: e.said.String()}}}
		if err := d.Emit(model.ItemDone{Index: e.index, Item: item}); err != nil {
			return err
		}
	}
	return nil
}

// end is asked when the stream stops without the event that completes the response. It is
// whole if a gateway of another protocol marked its end, and nothing is open.
func (d *decoder) end() (bool, error) {
	if !d.marked || len(d.ledger.kinds) == 0 || len(d.ledger.opened) > 0 {
		return false, nil
	}
	_, err := d.finish(completed, []byte("{}"))
	return true, err
}

// whole makes an event of an answer that was not streamed.
func whole(body []byte) [][]byte {
	var r struct {
		Object string `json:"object"`
		Status string `json:"status"`
	}
	if json.Unmarshal(body, &r) != nil || r.Object != "response" {
		return nil
	}
	kind := completed
	if r.Status == "incomplete" {
		kind = "response.incomplete"
	}
	return [][]byte{fmt.Appendf(nil, `{"type":%q,"response":%s}`, kind, body)}
}

// failed is the error that an event tells.
func failed(kind string, data []byte) error {
	var ev struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(data, &ev) == nil && len(ev.Response) > 0 {
		if f, ok := wire.ParseFailure(ev.Response); ok {
			return f
		}
	}
	if f, ok := wire.ParseFailure(data); ok {
		return f
	}
	return &wire.Failure{Message: "the provider ended the response (" + kind + ")"}
}

func parseUsage(raw json.RawMessage) *model.Usage {
	var u *struct {
		Input   float64 `json:"input_tokens"`
		Output  float64 `json:"output_tokens"`
		InputOf struct {
			Cached     float64 `json:"cached_tokens"`
			CacheWrite float64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputOf struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u == nil {
		return nil
	}
	return &model.Usage{Input: tokens(u.Input), Cached: tokens(u.InputOf.Cached), CacheWrite: tokens(u.InputOf.CacheWrite),
		Output: tokens(u.Output), Reasoning: tokens(u.OutputOf.Reasoning)}
}

// tokens makes a count of what a provider told as one.
func tokens(n float64) int {
	const most = 1 << 40
	return int(min(max(n, 0), most))
}
