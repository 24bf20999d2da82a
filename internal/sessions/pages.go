package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"kerf/internal/agent/outline"
	"kerf/internal/protocol"
	"kerf/internal/sessions/transcript"
)

// ErrNoTurn says that a session has no such turn.
var ErrNoTurn = errors.New("the session has no turn")

// Outline is where the turns of one session stand, as it was looked at last. The zero value
// is empty.
type Outline = outline.Kept

// Counting says that a record was not read so far that it could be told what was asked for,
// see [Pages.Count].
type Counting = outline.Behind

// Pages reads parts of one session by its outline, however long it is. It may be used by
// several goroutines.
type Pages struct {
	o transcript.Options
	v outline.View
}

// Pages is the parts of a session. Kept is its outline, as it was looked at before.
func (s *Store) Pages(info protocol.SessionInfo, kept *Outline) Pages {
	o := s.reading(info)
	return Pages{o, outline.View{Kept: kept, Dir: o.Dir}}
}

// Soon are pages that take little time: where the outline of the session is far behind its
// record, they tell what the end of the record tells, and otherwise return a [*Counting].
func (p Pages) Soon() Pages {
	p.v.Most = outline.Soon
	return p
}

// CountSome reads a piece of what has to be read before [Pages.Soon] tell all that is asked for,
// and reports whether that was all.
func (p Pages) CountSome(ctx context.Context) (done bool, err error) {
	return p.Soon().v.CountSome(ctx)
}

// Damage says how many lines of a record cannot be read.
type Damage = outline.Damage

// Known is how much of the record is read, whether that is enough for all pages, and what is
// damaged in it.
func (p Pages) Known() (c Counting, enough bool, d Damage, err error) {
	c, ahead, d, err := p.Soon().v.Known()
	return c, !ahead, d, err
}

// Page is some turns of a session, oldest first.
type Page struct {
	Turns []transcript.Part
	Older bool // there are more before them
	// Counting is not nil where the oldest of them may be cut, and nothing is known of those
	// before.
	Counting *Counting
}

// Turns are the newest turns but for so many that are left out; at most limit. Of the newest the
// end has as many items as s says, of each other one as many as are left, and some in any case.
func (p Pages) Turns(ctx context.Context, skip, limit int, s transcript.Span) (page Page, err error) {
	turns, older, err := p.v.Turns(ctx, skip, limit)
	if errors.As(err, &page.Counting) {
		tail, tailErr := p.v.Tail(ctx, skip+limit)
		ok := false
		if turns, older, ok = tail.Turns(skip, limit); ok || tailErr != nil {
			err = tailErr
		}
	}
	if err != nil {
		return page, err
	}
	page.Older, page.Turns = older, make([]transcript.Part, len(turns))
	least := transcript.Span{Items: max(1, s.Items/50), Bytes: s.Bytes / 50}
	for i := len(turns) - 1; i >= 0; i-- {
		part, err := transcript.PartOf(ctx, p.o, turns[i],
			transcript.Span{Items: max(s.Items, least.Items), Bytes: max(s.Bytes, least.Bytes)})
		if err != nil {
			return Page{}, err
		}
		s.Items, s.Bytes = s.Items-len(part.Items), s.Bytes-part.Read
		page.Turns[i] = part
	}
	return page, nil
}

// Behind counts the turns that came after a turn.
func (p Pages) Behind(ctx context.Context, id protocol.TurnID) (int, error) {
	_, behind, err := p.turn(ctx, id)
	return behind, err
}

// turn finds a turn, and how many came after it.
func (p Pages) turn(ctx context.Context, id protocol.TurnID) (outline.Turn, int, error) {
	t, behind, ok, err := p.v.Find(ctx, id)
	var counting *Counting
	if errors.As(err, &counting) {
		tail, tailErr := p.v.Tail(ctx, 1)
		if t, behind, ok = tail.Find(id); ok || tailErr != nil {
			err = tailErr
		}
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w %q", ErrNoTurn, id)
	}
	return t, behind, err
}

// whole finds a turn of which the beginning is known.
func (p Pages) whole(ctx context.Context, id protocol.TurnID) (outline.Turn, error) {
	t, _, err := p.turn(ctx, id)
	if err == nil && t.Cut {
		c, _, _, err := p.v.Known()
		return t, errors.Join(err, &c)
	}
	return t, err
}

// Part is a part of a turn.
func (p Pages) Part(ctx context.Context, turn protocol.TurnID, s transcript.Span) (transcript.Part, error) {
	find := p.whole
	if s.Before == 0 && s.After == 0 && s.Call == "" { // its end
		find = func(ctx context.Context, id protocol.TurnID) (outline.Turn, error) {
			t, _, err := p.turn(ctx, id)
			return t, err
		}
	}
	t, err := find(ctx, turn)
	if err != nil {
		return transcript.Part{}, err
	}
	if s.Call != "" {
		m, err := p.marks(ctx, t)
		if err != nil {
			return transcript.Part{}, err
		}
		s.CallEnd, s.CallMost = m.Calls[s.Call], m.From-t.From
	}
	return transcript.PartOf(ctx, p.o, t, s)
}

// marks are those of a turn; of one that only the end of the record tells of, there are none.
func (p Pages) marks(ctx context.Context, t outline.Turn) (outline.Marks, error) {
	m, err := p.v.Marks(ctx, t)
	var counting *Counting
	if errors.As(err, &counting) {
		return outline.Marks{From: t.End}, nil
	}
	return m, err
}

// Diff is what a turn changed.
func (p Pages) Diff(ctx context.Context, turn protocol.TurnID) (string, error) {
	t, err := p.whole(ctx, turn)
	if err != nil {
		return "", err
	}
	m, err := p.marks(ctx, t)
	if err != nil {
		return "", err
	}
	return transcript.DiffOf(ctx, p.o, t, m)
}

// Printed is what a call of a turn printed, by the id of its item, and whether there is such a call.
func (p Pages) Printed(ctx context.Context, turn protocol.TurnID, id protocol.ItemID) (io.ReadCloser, bool, error) {
	t, err := p.whole(ctx, turn)
	var counting *Counting
	behind := errors.As(err, &counting)
	if err != nil && !behind {
		return nil, false, err
	}
	if behind {
		t = outline.Turn{ID: turn}
	}
	text, ok, findErr := transcript.Printed(ctx, p.o, t, id, !behind)
	if findErr == nil && !ok {
		if behind {
			return nil, false, err
		}
		text, ok, findErr = transcript.PrintedIn(ctx, p.o, t, id) // the record is damaged, or there is none
	}
	return text, ok, findErr
}

// Asked is what opened turns: the first line of it, shortened. Turns that are not known are left
// out.
func (p Pages) Asked(ctx context.Context, ids map[protocol.TurnID]bool) (map[protocol.TurnID]string, error) {
	turns, err := p.v.Among(ctx, ids)
	var counting *Counting
	if errors.As(err, &counting) {
		var tail outline.Tail
		if tail, err = p.v.Tail(ctx, 1); err != nil {
			return nil, err
		}
		turns = tail.Among(ids)
	}
	asked := map[protocol.TurnID]string{}
	for id, t := range turns {
		if err == nil {
			asked[id], _, err = transcript.Asked(ctx, p.o, t)
		}
	}
	if err == nil && counting != nil && len(turns) < len(ids) {
		err = counting
	}
	return asked, err
}
