package outline

import (
	"context"
	"os"
	"path/filepath"

	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
)

// tails are how many pieces from the end of a record are looked at for its newest turns: more
// where those do not have enough of them. Long lines are passed over fast. The last number is for
// a record that has no turn at all in the others: one line may have 64 MB.
var tails = []int64{4, 16, 160}

// Tail is what the end of a record tells of its newest turns, as far as it takes little time:
// for a record whose outline is not known yet.
type Tail struct {
	turns []Turn
	whole bool // it is the whole record
	seen  bool // there were turns, be it that they were taken back
}

// Tail looks at the end of the record for so many turns at least.
func (v View) Tail(ctx context.Context, turns int) (t Tail, err error) {
	st, err := os.Stat(filepath.Join(v.Dir, recordName))
	if err != nil {
		return t, err
	}
	for i, n := range tails {
		if i == len(tails)-1 && t.seen {
			break
		}
		t, err = v.tail(ctx, max(0, st.Size()-v.pieces(n)))
		if err != nil || len(t.turns) >= turns || t.whole {
			break
		}
	}
	return t, err
}

// tail reads a record from a place on.
func (v View) tail(ctx context.Context, from int64) (Tail, error) {
	var p part
	seen := false
	var long []Span
	at, sure := from, from == 0 // sure: the turn that begins next begins there
	g := grower{view: v, part: &p, tail: true}
	wants := func(r rollout.Placed) bool {
		if r.From <= from && from > 0 { // the first line is a part of one
			return false
		}
		if r.End-r.From >= piece {
			long = append(long, Span{r.From, r.End})
		}
		return g.wants(r)
	}
	for r, err := range rollout.Forward(v.Dir, rollout.Ahead{From: from, Want: wants, End: &at, Done: ctx.Done()}) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = g.take(r)
		}
		if err != nil {
			return Tail{}, err
		}
		switch { // the first turn may have begun before
		case len(p.Turns) == 0:
			sure = sure || p.Loose > 0
		case len(p.Turns) == 1 && !sure:
			p.Turns[0].Cut, sure = true, true
		}
		seen = seen || len(p.Turns) > 0
	}
	if n := len(p.Turns); n > 0 && p.Loose == 0 {
		p.Turns[n-1].End = at
	}
	for i := range p.Turns {
		p.Turns[i].Long = within(long, p.Turns[i].From, p.Turns[i].End)
	}
	return Tail{p.Turns, from == 0, seen}, nil
}

// Turns are as those of a [View], where they are known. The oldest may be cut.
func (t Tail) Turns(skip, limit int) (list []Turn, older, ok bool) {
	end := len(t.turns) - skip
	if end <= 0 && !t.whole {
		return nil, false, false
	}
	end = max(0, end)
	first := max(0, end-max(0, limit))
	return t.turns[first:end], first > 0 || !t.whole, true
}

// Find is as that of a [View].
func (t Tail) Find(id protocol.TurnID) (found Turn, after int, ok bool) {
	for i := len(t.turns) - 1; i >= 0; i-- {
		if t.turns[i].ID == id {
			return t.turns[i], len(t.turns) - 1 - i, true
		}
	}
	return Turn{}, 0, false
}

// Among are as those of a [View], of turns whose beginning is known.
func (t Tail) Among(ids map[protocol.TurnID]bool) map[protocol.TurnID]Turn {
	found := map[protocol.TurnID]Turn{}
	for _, turn := range t.turns {
		if ids[turn.ID] && !turn.Cut {
			found[turn.ID] = turn
		}
	}
	return found
}
