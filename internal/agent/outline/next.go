package outline

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// next is the last part with more of the record, where it has room for that, or else the part
// that follows. It is the last part where no more of the record is there.
func (v View) next(ctx context.Context) (part, error) {
	k := v.Kept
	p := k.part
	if v.grows() { // others read the old slices
		p.Turns, p.Used = slices.Clone(p.Turns), slices.Clone(p.Used)
		p.Calls, p.Changes = slices.Clone(p.Calls), slices.Clone(p.Changes)
	} else {
		p = part{head: head{From: p.Size, Size: p.Size, Last: p.Last, Sum: p.Sum, Keep: p.Keep, Loose: p.Loose, Model: p.Model,
			Damage: p.Damage}}
		if n := len(k.part.Turns); n > 0 {
			p.Keep, p.Turns = k.part.Keep+n-1, []Turn{k.part.Turns[n-1]}
		}
	}
	at, last := p.Size, p.Size
	g := grower{view: v, part: &p}
	what := rollout.Ahead{From: p.Size, Most: v.pieces(1), Want: g.wants, Begin: &last, End: &at, Done: ctx.Done(),
		Damaged: g.damaged}
	for r, err := range rollout.Forward(v.Dir, what) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = g.take(r)
		}
		if err != nil {
			return part{}, err
		}
	}
	if at == p.Size {
		return k.part, nil
	}
	var err error
	if p.Sum, err = rollout.LineSum(v.Dir, last, at); err != nil {
		return part{}, err
	}
	p.Size, p.Last = at, at-last
	if n := len(p.Turns); n > 0 && p.Loose == 0 {
		p.Turns[n-1].End = at
	}
	return p, nil
}

// grower adds records to a part.
type grower struct {
	view View
	*part
	tail bool // what is before the part is not known
}

var (
	contextType = history.TurnContext{}.Type()
	eventType   = history.EventRecord{}.Type()
	usageType   = history.TokenUsage{}.Type()
	changeType  = history.FileChange{}.Type()
	callType    = history.ToolCall{}.Type()
	metaType    = history.SessionMeta{}.Type()
)

// wants is asked for each record as it is reached. Of calls it reads the beginning only: they
// may have megabytes.
func (g grower) wants(r rollout.Placed) bool {
	if len(g.Turns) == 0 {
		return true
	}
	switch r.Type {
	case callType:
		t := &g.Turns[len(g.Turns)-1]
		t.Calls++
		if id, ok := calledIn(r.Raw); ok && r.End-t.From > g.view.pieces(marked) {
			g.Calls = append(g.Calls, mark{id, r.End})
		}
	case contextType, eventType, usageType, changeType:
		return true
	}
	return false
}

// damaged counts a line that is no record.
func (g grower) damaged(at int64) {
	if g.Lines == 0 {
		g.At = at
	}
	g.Lines++
}

// callField comes before the id of a call, near the beginning of its record.
const callField = `,"call_id":"`

// calledIn is the id of the call that a record tells of.
func calledIn(line []byte) (id protocol.CallID, ok bool) {
	_, rest, ok := bytes.Cut(line[:min(len(line), 1024)], []byte(callField))
	if !ok {
		return "", false
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '"':
			err := json.Unmarshal(append([]byte{'"'}, rest[:i+1]...), &id)
			return id, err == nil
		}
	}
	return "", false
}

// told is what an outline takes from a record.
type told struct {
	Turn     protocol.TurnID    `json:"turn_id"`
	Event    string             `json:"event"`
	Cause    string             `json:"cause"`
	Usage    protocol.Usage     `json:"usage"`
	Agent    protocol.SessionID `json:"agent"`
	Model    string             `json:"model"`
	Settings struct {
		Model string `json:"model"`
	} `json:"settings"`
}

// take takes the next record.
func (g grower) take(r rollout.Placed) error {
	var t told
	if json.Unmarshal(r.Raw, &t) != nil {
		return nil
	}
	g.spend(r, t)
	var last *Turn
	if n := len(g.Turns); n > 0 {
		last = &g.Turns[n-1]
	}
	event := r.Type == eventType
	switch {
	case r.Type == contextType:
		if last == nil || last.Ended != "" || last.ID != t.Turn || g.Loose > 0 { // not told again
			g.begin(t.Turn, r)
		}
	case event && t.Event == history.Rewound:
		return g.rewind(t.Turn, r.End)
	case last == nil:
		if t.Turn != "" && !event { // a record whose turn was never opened
			g.begin(t.Turn, r)
		}
	case event && (history.EventRecord{What: t.Event}).EndsTurn():
		last.Ended = t.Event
	case r.Type == usageType:
		last.Usage = last.Usage.Add(t.Usage)
	case r.Type == changeType && t.Cause != "outside":
		last.Changes++
		if r.From-last.From >= g.view.pieces(marked) {
			g.Changes = append(g.Changes, r.From)
		}
	}
	return nil
}

// spend takes what a request used, and which model the next one uses.
func (g grower) spend(r rollout.Placed, t told) {
	switch r.Type {
	case metaType:
		g.Model = t.Model
	case contextType:
		g.Model = t.Settings.Model
	case usageType:
		if t.Agent == "" { // otherwise it is in the session of the sub-agent, too
			g.Used = spent(g.Used, Used{stamp(r.Time).Truncate(span), g.Model, 1, t.Usage})
		}
	}
}

// stamp is a time that can be written down: records of others may have any.
func stamp(t time.Time) time.Time {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}

// begin opens a turn.
func (g grower) begin(id protocol.TurnID, r rollout.Placed) {
	from := r.From
	if n := len(g.Turns); g.Loose > 0 {
		from, g.Loose = g.Loose, 0
	} else if n > 0 {
		g.Turns[n-1].End = r.From
	}
	g.Turns = append(g.Turns, Turn{ID: id, Began: stamp(r.Time), From: from})
}

// rewind takes a turn back, and those that came after it. The turn before it may stand in an
// earlier part.
func (g grower) rewind(id protocol.TurnID, end int64) error {
	at := -1
	for i, t := range slices.Backward(g.Turns) {
		if t.ID == id {
			at = g.Keep + i
			break
		}
	}
	if at < 0 && g.Keep > 0 {
		var err error
		if _, at, err = g.view.find(id, g.Keep); err != nil {
			return err
		}
	}
	if at < 0 && g.tail {
		at = 0 // it began before
	}
	if at < 0 {
		return nil
	}
	g.Loose = end
	if at > g.Keep || at == 0 {
		g.Keep, g.Turns = min(at, g.Keep), g.Turns[:max(0, at-g.Keep)]
		return nil
	}
	before, err := g.view.between(at-1, at)
	g.Keep, g.Turns = at-1, before
	return err
}
