package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kerf/internal/agent/outline"
	"kerf/internal/protocol"
	"kerf/internal/sessions/transcript"
)

// ErrNoTurn says that a session has no such turn.
var ErrNoTurn = errors.New("the session has no turn")

// Outline is where the turns of one session stand, as it was looked at last. The zero value
// is empty.
type Outline = outline.Kept

// Pages reads parts of one session by its outline, however long it is. It may be used by
// several goroutines.
type Pages struct {
	o    transcript.Options
	kept *outline.Kept
}

// Pages is the parts of a session. Kept is its outline, as it was looked at before.
func (s *Store) Pages(info protocol.SessionInfo, kept *Outline) Pages {
	return Pages{s.reading(info), kept}
}

// Turns are the newest turns, oldest first, but for so many that are left out; at most limit.
// Older says that there are more before them. Of the newest the end has as many items as s
// says, of each other one as many as are left, and some in any case.
func (p Pages) Turns(ctx context.Context, skip, limit int, s transcript.Span) (list []transcript.Part, older bool,
	err error) {
	o, err := p.kept.Of(ctx, p.o.Dir)
	if err != nil {
		return nil, false, err
	}
	end := max(0, len(o.Turns)-skip)
	first := max(0, end-limit)
	list = make([]transcript.Part, end-first)
	least := transcript.Span{Items: max(1, s.Items/50), Bytes: s.Bytes / 50}
	for i := end - 1; i >= first; i-- {
		part, err := transcript.PartOf(ctx, p.o, o.Turns[i],
			transcript.Span{Items: max(s.Items, least.Items), Bytes: max(s.Bytes, least.Bytes)})
		if err != nil {
			return nil, false, err
		}
		s.Items, s.Bytes = s.Items-len(part.Items), s.Bytes-part.Read
		list[i-first] = part
	}
	return list, first > 0, nil
}

// Behind counts the turns that came after a turn.
func (p Pages) Behind(ctx context.Context, id protocol.TurnID) (int, error) {
	_, behind, err := p.turn(ctx, id)
	return behind, err
}

// turn finds a turn, and how many came after it.
func (p Pages) turn(ctx context.Context, id protocol.TurnID) (outline.Turn, int, error) {
	o, err := p.kept.Of(ctx, p.o.Dir)
	if err != nil {
		return outline.Turn{}, 0, err
	}
	for i, t := range slices.Backward(o.Turns) {
		if t.ID == id {
			return t, len(o.Turns) - 1 - i, nil
		}
	}
	return outline.Turn{}, 0, fmt.Errorf("%w %q", ErrNoTurn, id)
}

// Part is a part of a turn.
func (p Pages) Part(ctx context.Context, turn protocol.TurnID, s transcript.Span) (transcript.Part, error) {
	t, _, err := p.turn(ctx, turn)
	if err != nil {
		return transcript.Part{}, err
	}
	return transcript.PartOf(ctx, p.o, t, s)
}

// Diff is what a turn changed.
func (p Pages) Diff(ctx context.Context, turn protocol.TurnID) (string, error) {
	t, _, err := p.turn(ctx, turn)
	if err != nil {
		return "", err
	}
	return transcript.DiffOf(ctx, p.o, t)
}

// Item is a call of a turn, and whether there is one with this id.
func (p Pages) Item(ctx context.Context, turn protocol.TurnID, id protocol.ItemID) (protocol.Item, bool, error) {
	t, _, err := p.turn(ctx, turn)
	if err != nil {
		return protocol.Item{}, false, err
	}
	return transcript.ItemOf(ctx, p.o, t, id)
}
