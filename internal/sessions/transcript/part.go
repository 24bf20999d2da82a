package transcript

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/outline"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/rollout/brief"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/text/visible"
)

// Part is a part of a turn: what is told of it is of the whole turn, only its items are those
// of the part. It has no diff.
type Part struct {
	protocol.PastTurn
	// Prompt is what began the turn, where the part does not begin with it.
	Prompt *protocol.Item
	// Before and After are where the part begins and ends in the record, if there are items
	// of the turn before or after it; 0 where there are none.
	Before, After  int64
	Calls, Changes int
	// Read is how many bytes of the record were read for the items.
	Read int64
	// Left is how many bytes of the records of items were not read, where that is not all.
	Left map[protocol.ItemID]int64
	// Cut says that where the turn began is not known, nor how much it has.
	Cut bool
}

// Span says which part of a turn is read. It ends where one that was read before began, or
// begins where one ended, or has a call; with none of them it is the end of the turn.
type Span struct {
	Before, After int64
	Call          protocol.CallID
	// CallEnd is where the record of the call ends; 0 is not known.
	CallEnd int64
	// CallMost is how many bytes of the turn may be looked through for the call; 0 is all.
	CallMost int64
	// Items and Bytes are about how much is read: always the items of whole responses, and
	// those of one at least.
	Items int
	Bytes int64
}

// partDiff bounds a diff file that is read for a part.
const partDiff = 1 << 20

// ErrNoCall says that a turn has no such call.
var ErrNoCall = errors.New("the turn has no such call")

// PartOf reads a part of a turn that stands where its outline says.
func PartOf(ctx context.Context, o Options, t outline.Turn, s Span) (Part, error) {
	p := Part{PastTurn: protocol.PastTurn{ID: t.ID, Began: t.Began, Ended: Endings[t.Ended], Usage: t.Usage},
		Calls: t.Calls, Changes: t.Changes, Cut: t.Cut}
	reach := int64(0) // what is read goes on at least until there
	if s.Call != "" {
		end := s.CallEnd
		if end == 0 {
			var err error
			if end, err = callEnd(ctx, o.Dir, t, s); err != nil {
				return p, err
			}
		}
		var err error
		_, s.After, err = back(ctx, o.Dir, t, end, Span{Items: s.Items / 2, Bytes: s.Bytes / 2})
		if err != nil {
			return p, err
		}
		s.After, reach = cmp.Or(s.After, t.From), end
	}
	read := func() ([]line, int64, int64, error) {
		if s.After > 0 {
			from := min(max(s.After, t.From), t.End)
			list, end, err := ahead(ctx, o.Dir, t, from, reach, s)
			return list, from, end, err
		}
		end := t.End
		if s.Before > 0 {
			end = min(max(s.Before, t.From), t.End)
		}
		list, from, err := back(ctx, o.Dir, t, end, s)
		return list, cmp.Or(from, t.From), end, err
	}
	list, from, end, err := read()
	if err != nil {
		return p, err
	}
	if t.Cut {
		p.Before = from
	} else if from > t.From {
		p.Before = from
		if p.Prompt, err = prompt(ctx, o, t); err != nil {
			return p, err
		}
	}
	if end < t.End {
		p.After = end
	}
	b := newBuilder(o.Dir, o.Cwd)
	b.one, b.maxDiff, b.turns = true, partDiff, []protocol.PastTurn{{ID: t.ID}}
	for _, l := range list {
		if l.left > 0 {
			if p.Left == nil {
				p.Left = map[protocol.ItemID]int64{}
			}
			p.Left[itemID(l.Seq)] = l.left
			p.Read -= l.left
		}
		b.record(l.rec)
	}
	p.Read += end - from
	p.Items, p.Answers = b.turns[0].Items, b.turns[0].Answers
	return p, nil
}

// measure counts how much of a turn was taken, record by record in one direction, and tells
// where it may be cut: between the items of two responses.
type measure struct {
	s     Span
	items int
	bytes int64
	round int
	edge  bool // the record that was asked for last is no part of the response before it
}

// full reports whether r begins what is not read any more.
func (m *measure) full(r records.Record) bool {
	round, item, shown := 0, true, true
	switch rec := r.Record.(type) {
	case history.AssistantMessage:
		round, shown = rec.Round, rec.Plan != "" || strings.TrimSpace(rec.Text) != ""
	case history.Reasoning:
		round = rec.Round
	case history.ToolCall:
		round = rec.Round
	case history.UserInput:
		shown = !rec.Marker
	case history.Compacted:
	default:
		item = false
	}
	m.edge = item && m.items > 0 && (round == 0 || round != m.round)
	if !item {
		return false
	}
	if over := m.items >= m.s.Items || m.bytes >= m.s.Bytes; over && m.edge {
		return true
	}
	if shown {
		m.items++
	}
	m.round = round
	return false
}

// long is the size from which on it is looked at the beginning of a line whether it is read.
const long = 1 << 10

// tooLong reports whether a line begins what is not read any more, by its beginning: it is a call of
// another response than the ones that were taken, and there is no room for it.
func (m *measure) tooLong(r rollout.Record) bool {
	if len(r.Raw) < long || r.Type != (history.ToolCall{}).Type() || m.items == 0 {
		return false
	}
	_, rest, ok := bytes.Cut(r.Raw[:long], []byte(`,"round":`))
	digits, _, _ := bytes.Cut(rest, []byte{','})
	round, err := strconv.Atoi(string(digits))
	over := m.items >= m.s.Items || m.bytes+int64(len(r.Raw)) > m.s.Bytes
	return ok && err == nil && round != m.round && over
}

// back reads backwards from the end of a line, and returns where what it read begins; 0 where
// that is the beginning of the turn.
func back(ctx context.Context, dir string, t outline.Turn, end int64, s Span) ([]line, int64, error) {
	if end <= t.From {
		return nil, 0, nil
	}
	m := measure{s: s}
	var list []line
	at, from := int64(0), int64(0)
	edge, edgeAt := 0, int64(0) // the last place between two responses
	stop := func(r rollout.Record, end int64) bool {
		if m.tooLong(r) {
			from = end
		}
		return from > 0
	}
	for l, err := range backward(dir, t, end, t.From, stop) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, 0, err
		}
		at = l.End
		if m.full(l.rec) {
			from = at
			break
		}
		if m.edge {
			edge, edgeAt = len(list), at
		}
		m.bytes += int64(len(l.Raw))
		list = append(list, l)
	}
	if t.Cut && from == 0 && edge > 0 { // of a response that is cut no part is shown
		list, from = list[:edge], edgeAt
	}
	slices.Reverse(list)
	return list, from, nil
}

// ahead reads forwards from the beginning of a line, and returns where what it read ends.
func ahead(ctx context.Context, dir string, t outline.Turn, from, reach int64, s Span) ([]line, int64, error) {
	m := measure{s: s}
	var list []line
	for l, err := range forward(dir, t, rollout.Ahead{From: from}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, 0, err
		}
		r := l.rec
		if m.full(r) {
			if l.From >= reach {
				return list, l.From, nil
			}
			m = measure{s: s}
			m.full(r)
		}
		m.bytes += int64(len(l.Raw))
		list = append(list, l)
	}
	return list, t.End, nil
}

// callEnd is where the record of a call ends.
func callEnd(ctx context.Context, dir string, t outline.Turn, s Span) (int64, error) {
	name, err := named(s.Call)
	if err != nil {
		return 0, err
	}
	wanted := func(r rollout.Placed) bool {
		return r.Type == history.ToolCall{}.Type() && bytes.Contains(r.Raw[:min(len(r.Raw), len(name)+512)], name)
	}
	for l, err := range forward(dir, t, rollout.Ahead{From: t.From, Most: s.CallMost, Want: wanted}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		if c, ok := l.rec.Record.(history.ToolCall); ok && c.Call == s.Call {
			return l.End, nil
		}
	}
	return 0, fmt.Errorf("%w %q", ErrNoCall, string(s.Call))
}

func ofType(kinds func(string) bool) func(rollout.Placed) bool {
	return func(r rollout.Placed) bool { return kinds(r.Type) }
}

// named is a call as its record names it, near the beginning of the line.
func named(call protocol.CallID) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`"call_id":`)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(call)
	return bytes.TrimSpace(b.Bytes()), err
}

// prompt is the item that began a turn.
func prompt(ctx context.Context, o Options, t outline.Turn) (*protocol.Item, error) {
	inputs := records.Types(history.UserInput{}, history.AssistantMessage{}, history.ToolCall{})
	for l, err := range forward(o.Dir, t, rollout.Ahead{From: t.From, Want: ofType(inputs)}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		r := l.rec
		if _, asked := r.Record.(history.UserInput); !asked {
			break
		}
		b := newBuilder(o.Dir, o.Cwd)
		b.record(r)
		if len(b.turns) > 0 && len(b.turns[0].Items) > 0 {
			return &b.turns[0].Items[0], nil
		}
	}
	return nil, nil
}

// DiffOf is what a turn changed, as one diff.
func DiffOf(ctx context.Context, o Options, t outline.Turn, m outline.Marks) (string, error) {
	b := newBuilder(o.Dir, o.Cwd)
	b.one, b.turns = true, []protocol.PastTurn{{ID: t.ID, Began: t.Began}}
	take := func(a rollout.Ahead) error {
		for l, err := range forward(o.Dir, t, a) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			if c, ok := l.rec.Record.(history.FileChange); ok {
				c.Turn = t.ID
				b.changed(c)
			}
		}
		return nil
	}
	wanted := ofType(records.Types(history.FileChange{}))
	err := take(rollout.Ahead{From: t.From, To: t.End, Most: m.From - t.From, Want: wanted})
	for _, at := range m.Changes {
		if err == nil {
			err = take(rollout.Ahead{From: at, To: t.End, Most: 1})
		}
	}
	if err != nil {
		return "", err
	}
	if folded := b.diffTurns(); len(folded) > 0 && o.Net != nil {
		o.Net(folded)
	}
	return b.turns[0].Diff, nil
}

// Printed is what a call of a turn printed, by the id of its item, and whether there is such a call. Only
// as much of it is read as is asked for. Sure says that t is the turn: where it is, only that is looked
// through.
func Printed(ctx context.Context, o Options, t outline.Turn, id protocol.ItemID, sure bool) (*brief.Text, bool, error) {
	seq, err := strconv.ParseInt(strings.TrimPrefix(string(id), itemPrefix), 10, 64)
	if err != nil || itemID(seq) != id {
		return nil, false, nil
	}
	past := func(at int64) int64 {
		for _, s := range t.Long {
			if s.From <= at && at < s.End {
				return s.End
			}
		}
		return 0
	}
	from, end := int64(0), int64(0)
	if sure {
		from, end = t.From, t.End
	}
	at, ok := rollout.Find(o.Dir, seq, from, end, past)
	if !ok {
		return nil, false, nil
	}
	return text(o, t.ID, at, past(at))
}

// text is what a call of a turn printed whose line begins at a place, and ends at another one or, where
// that is 0, soon.
func text(o Options, turn protocol.TurnID, at, end int64) (*brief.Text, bool, error) {
	call := false
	if end == 0 {
		for l, err := range rollout.Forward(o.Dir, rollout.Ahead{From: at, Most: 1}) {
			if err != nil {
				return nil, false, err
			}
			c, ok := records.Of(l.Record).Record.(history.ToolCall)
			call, end = ok && c.Turn == turn, l.End
		}
	} else if b, ok, err := brief.Of(o.Dir, at, end); err != nil {
		return nil, false, err
	} else if c, is := records.Of(b.Record).Record.(history.ToolCall); ok && is {
		call = c.Turn == turn
	}
	if !call {
		return nil, false, nil
	}
	t, err := brief.TextOf(o.Dir, at, end, "result")
	return t, err == nil, err
}

// PrintedIn is as Printed for any record, and reads the turn.
func PrintedIn(ctx context.Context, o Options, t outline.Turn, id protocol.ItemID) (*brief.Text, bool, error) {
	for l, err := range forward(o.Dir, t, rollout.Ahead{From: t.From, Want: ofType(records.Types(history.ToolCall{}))}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, false, err
		}
		if itemID(l.Seq) == id {
			text, err := brief.TextOf(o.Dir, l.From, l.End, "result")
			return text, err == nil, err
		}
	}
	return nil, false, nil
}

// Asked is what opened a turn: the first line of it, shortened, and the model of the turn. A few
// records are read.
func Asked(ctx context.Context, o Options, t outline.Turn) (prompt, name string, err error) {
	opening := records.Types(history.TurnContext{}, history.UserInput{}, history.AssistantMessage{}, history.ToolCall{})
	for l, err := range forward(o.Dir, t, rollout.Ahead{From: t.From, Want: ofType(opening)}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return prompt, name, err
		}
		switch rec := l.rec.Record.(type) {
		case history.TurnContext:
			name = rec.Settings.Model
		case history.UserInput:
			if !rec.Marker {
				return visible.Excerpt(rec.Text), name, nil
			}
		default:
			return prompt, name, nil
		}
	}
	return prompt, name, nil
}
