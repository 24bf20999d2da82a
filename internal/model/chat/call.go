package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// call is a call under way.
type call struct {
	index int  // of the item
	place int  // the server's index, or -1
	done  bool // delivered
	id    string
	told  string // the server's id
	name  string
	args  strings.Builder
	half  wire.Halves // of the last letter of args
}

// call takes one piece of a call.
func (d *decoder) call(c callDelta) error {
	k := d.find(c)
	if k == nil {
		if len(d.calls) >= maxCalls {
			return &wire.Failure{Code: "server_error", Message: "the response has too many calls"}
		}
		if c.Function.Name == "" && c.ID == "" && len(c.Function.Arguments) == 0 {
			return nil
		}
		if _, err := d.closeTexts(true); err != nil {
			return err
		}
		if err := d.settle(); err != nil {
			return err
		}
		if err := d.sealExtra(c.Extra); err != nil {
			return err
		}
		k = &call{index: d.Take(), place: c.place(), told: c.ID}
		d.calls = append(d.calls, k)
	}
	if k.told == "" {
		k.told = c.ID
	}
	switch n := c.Function.Name; {
	case n == "" || n == k.name:
	case k.args.Len() == 0 && strings.HasPrefix(n, k.name):
		k.name = n // as much of it as there is by now
	default:
		k.name += n // names come in pieces too, or again and again
	}
	piece := k.half.Join(c.Function.text())
	if k.id == "" && k.name != "" && (piece != "" || c.ID != "") {
		k.id = d.ids.Take(k.told)
		begun := &model.Item{Kind: model.Call, CallID: k.id, Name: k.name, Style: model.Function}
		if err := d.Emit(model.ItemAdded{Index: k.index, Item: begun}); err != nil {
			return err
		}
	}
	if piece == "" {
		return nil
	}
	k.args.WriteString(piece)
	if k.id == "" {
		return nil
	}
	return d.Emit(model.InputDelta{Index: k.index, Text: piece})
}

// sealExtra delivers what came beside a call, as reasoning without words before it.
func (d *decoder) sealExtra(extra json.RawMessage) error {
	if len(extra) == 0 || string(extra) == "null" {
		return nil
	}
	return d.Emit(model.ItemDone{Index: d.Take(), Item: &model.Item{Kind: model.Reasoning,
		Encrypted: wire.ChatTag + ":" + extraField + ":" + string(extra)}})
}

// find returns the call that a piece belongs to, nil for a new one. The id
// counts most, then the index; servers that give neither go on with the last.
func (d *decoder) find(c callDelta) *call {
	if c.ID != "" {
		same := func(k *call) bool { return k.told == c.ID && (k.place == c.place() || c.place() < 0) }
		if i := slices.IndexFunc(d.calls, same); i >= 0 {
			return d.open(d.calls[i])
		}
	}
	if c.Index.Told {
		for _, k := range slices.Backward(d.calls) {
			if k.place == c.Index.Value {
				// Another id alone says nothing: some servers make one up for every piece.
				if c.ID != "" && k.told != "" && c.Function.Name != "" || c.fresh(k) {
					return nil // another call at the same index
				}
				return d.open(k)
			}
		}
		return nil
	}
	if len(d.calls) == 0 || c.ID != "" {
		return nil
	}
	last := d.calls[len(d.calls)-1]
	if c.fresh(last) {
		return nil
	}
	return d.open(last)
}

// open returns k, or nil when it was delivered: what comes now is another call.
func (d *decoder) open(k *call) *call {
	if k.done {
		return nil
	}
	return k
}

// fresh reports whether the piece begins a call though k has its place: it names
// a tool when k already has whole arguments.
func (c callDelta) fresh(k *call) bool {
	return c.Function.Name != "" && k.name != "" && k.args.Len() > 0 && json.Valid([]byte(k.args.String()))
}

// settle delivers the calls before a new one that are whole, so that they start
// while the others come.
func (d *decoder) settle() error {
	for _, k := range d.calls {
		if k.done || !wholeObject(k.args.String()) {
			return nil
		}
		if err := d.deliverCall(k); err != nil {
			return err
		}
	}
	return nil
}

func wholeObject(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// deliverCall emits a call. One that the end of the answer cut is not delivered: its tool
// is named in the closing chunk.
func (d *decoder) deliverCall(k *call) error {
	args := strings.TrimSpace(k.args.String() + k.half.Rest())
	switch {
	case k.done:
		return nil
	case d.stopped != "" && k.name != "" && !json.Valid([]byte(args)):
		d.cut = append(d.cut, k.name)
		k.done = true
		return nil
	}
	if args == "" || args == "null" {
		args = "{}"
	}
	k.done = true
	if k.id == "" {
		k.id = d.ids.Take(k.told)
		begun := &model.Item{Kind: model.Call, CallID: k.id, Name: k.name, Style: model.Function}
		if err := d.Emit(model.ItemAdded{Index: k.index, Item: begun}); err != nil {
			return err
		}
	}
	d.made = d.made || k.name != ""
	whole := &model.Item{Kind: model.Call, CallID: k.id, Name: k.name, Style: model.Function, Input: args}
	return d.Emit(model.ItemDone{Index: k.index, Item: whole})
}
