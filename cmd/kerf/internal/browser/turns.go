package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"kerf/internal/front/web"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/sessions/transcript"
	"kerf/internal/text/visible"
)

// keptOutlines is of how many sessions it is remembered where their turns stand. Those of
// others are looked at again.
const keptOutlines = 100

// outline is where the outline of a session is kept.
func (d *data) outline(id protocol.SessionID) *sessions.Outline {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.kept[id]
	if kept == nil {
		if len(d.kept) >= keptOutlines {
			clear(d.kept)
		}
		kept = &sessions.Outline{}
		d.kept[id] = kept
	}
	return kept
}

// pages are the parts of a session.
func (d *data) pages(ctx context.Context, id string) (parts, error) {
	info, err := d.Session(ctx, id)
	if err != nil {
		return parts{}, err
	}
	d.counting.asked.Store(time.Now().UnixNano())
	return d.pagesOf(info), nil
}

func (d *data) pagesOf(info protocol.SessionInfo) parts {
	return parts{d.store.Pages(info, d.outline(info.ID)).Soon(), d, info.ID}
}

// parts are those of a session. Where its record has to be read first, that is begun.
type parts struct {
	sessions.Pages
	d  *data
	id protocol.SessionID
}

// known makes an error of pages one that the front end knows.
func (p parts) known(err error) error {
	var counting *sessions.Counting
	if !errors.As(err, &counting) {
		return missing(err)
	}
	if failed := p.d.counting.want(p.id, p.Pages); failed != nil {
		return failed
	}
	return fmt.Errorf("%w: %w", web.ErrReading, err)
}

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sessions.ErrNoTurn) || errors.Is(err, transcript.ErrNoCall) {
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	}
	return err
}

func partOf(p transcript.Part) web.Part {
	return web.Part{PastTurn: p.PastTurn, Prompt: p.Prompt, Before: p.Before, After: p.After, Calls: p.Calls, Changes: p.Changes,
		Left: p.Left, Cut: p.Cut}
}

// Page is [web.Data].
func (d *data) Page(ctx context.Context, id string, skip, limit int, room web.Room) (page web.Page, err error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return page, err
	}
	list, err := p.Turns(ctx, skip, limit, transcript.Span{Items: room.Items, Bytes: room.Bytes})
	if err != nil {
		return page, p.known(err)
	}
	if list.Counting != nil {
		if err := p.d.counting.want(p.id, p.Pages); err != nil {
			return page, err
		}
	}
	page = web.Page{Older: list.Older, Reading: list.Counting != nil, Turns: make([]web.Part, len(list.Turns))}
	for i, part := range list.Turns {
		page.Turns[i] = partOf(part)
	}
	return page, nil
}

// Reading is [web.Data].
func (d *data) Reading(ctx context.Context, id string) (r web.Reading, err error) {
	info, err := d.Session(ctx, id)
	if err != nil {
		return r, err
	}
	p := d.pagesOf(info) // no page is made of it
	c, enough, damage, err := p.Known()
	if err == nil && !enough {
		err = d.counting.want(p.id, p.Pages)
	}
	return web.Reading{Known: c.Known, Size: c.Size, Enough: enough, Damaged: damage.Lines, At: damage.At}, missing(err)
}

// Part is [web.Data].
func (d *data) Part(ctx context.Context, id, turn string, at web.Place, room web.Room) (web.Part, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return web.Part{}, err
	}
	part, err := p.Part(ctx, protocol.TurnID(turn), transcript.Span{Before: at.Before, After: at.After,
		Call: protocol.CallID(at.Call), Items: room.Items, Bytes: room.Bytes})
	return partOf(part), p.known(err)
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
	return behind, p.known(err)
}

// TurnDiff is [web.Data].
func (d *data) TurnDiff(ctx context.Context, id, turn string) (string, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return "", err
	}
	diff, err := p.Diff(ctx, protocol.TurnID(turn))
	return diff, p.known(err)
}

// Printed is [web.Data].
func (d *data) Printed(ctx context.Context, id, turn, item string) (io.ReadCloser, error) {
	p, err := d.pages(ctx, id)
	if err != nil {
		return nil, err
	}
	text, ok, err := p.Pages.Printed(ctx, protocol.TurnID(turn), protocol.ItemID(item))
	if err == nil && !ok {
		err = fmt.Errorf("%w: the turn has no item %q", web.ErrNotFound, visible.Line(item))
	}
	return text, p.known(err)
}
