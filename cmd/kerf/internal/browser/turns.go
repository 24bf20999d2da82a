package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"kerf/internal/front/web"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/sessions/transcript"
	"kerf/internal/text/visible"
)

// keptOutlines is of how many sessions it is remembered where their turns stand. Those of
// others are looked at again.
const keptOutlines = 100

// pages are the parts of a session.
func (d *data) pages(ctx context.Context, id string) (sessions.Pages, error) {
	info, err := d.Session(ctx, id)
	if err != nil {
		return sessions.Pages{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.kept[info.ID]
	if kept == nil {
		if len(d.kept) >= keptOutlines {
			clear(d.kept)
		}
		kept = &sessions.Outline{}
		d.kept[info.ID] = kept
	}
	return d.store.Pages(info, kept), nil
}

// missing makes an error of pages one that the front end knows.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sessions.ErrNoTurn) || errors.Is(err, transcript.ErrNoCall) {
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	}
	return err
}

func partOf(p transcript.Part) web.Part {
	return web.Part{PastTurn: p.PastTurn, Prompt: p.Prompt, Before: p.Before, After: p.After, Calls: p.Calls, Changes: p.Changes}
}

// Page is [web.Data].
func (d *data) Page(ctx context.Context, id string, skip, limit int, room web.Room) ([]web.Part, bool, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return nil, false, err
	}
	parts, older, err := p.Turns(ctx, skip, limit, transcript.Span{Items: room.Items, Bytes: room.Bytes})
	list := make([]web.Part, len(parts))
	for i, part := range parts {
		list[i] = partOf(part)
	}
	return list, older, missing(err)
}

// Part is [web.Data].
func (d *data) Part(ctx context.Context, id, turn string, at web.Place, room web.Room) (web.Part, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return web.Part{}, err
	}
	part, err := p.Part(ctx, protocol.TurnID(turn), transcript.Span{Before: at.Before, After: at.After,
		Call: protocol.CallID(at.Call), Items: room.Items, Bytes: room.Bytes})
	return partOf(part), missing(err)
}

// Whole is [web.Data].
func (d *data) Whole(ctx context.Context, id string) ([]protocol.PastTurn, error) {
	turns, err := d.store.Transcript(ctx, id, 0)
	return turns, found(err)
}

// Behind is [web.Data].
func (d *data) Behind(ctx context.Context, id, turn string) (int, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return 0, err
	}
	behind, err := p.Behind(ctx, protocol.TurnID(turn))
	return behind, missing(err)
}

// TurnDiff is [web.Data].
func (d *data) TurnDiff(ctx context.Context, id, turn string) (string, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return "", err
	}
	diff, err := p.Diff(ctx, protocol.TurnID(turn))
	return diff, missing(err)
}

// Item is [web.Data].
func (d *data) Item(ctx context.Context, id, turn, item string) (protocol.Item, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return protocol.Item{}, err
	}
	i, ok, err := p.Item(ctx, protocol.TurnID(turn), protocol.ItemID(item))
	if err == nil && !ok {
		err = fmt.Errorf("%w: the turn has no item %q", web.ErrNotFound, visible.Line(item))
	}
	return i, missing(err)
}
