package web

import (
	"time"

	"kerf/internal/front/web/item"
	"kerf/internal/front/web/query"
	"kerf/internal/front/web/render"
	"kerf/internal/protocol"
)

// maxPage is for how many bytes of output and diffs there is room on a page; of older items
// only the end is shown.
const maxPage = 512 << 10

// turnView is a turn as templates draw it.
type turnView struct {
	ID               protocol.TurnID
	Began            time.Time
	Ended            string
	Usage            protocol.Usage
	Items            []item.View
	Diff             *render.Diff
	DiffURL, UndoURL string
	// Prompt began the turn, where its first items are on another page. FilesURL leads to the
	// list of what the turn changed.
	Prompt                         *item.View
	EarlierURL, LaterURL, FilesURL string
	Calls, Changes                 int
	Cut                            bool // where it began is not known yet
}

// viewPart draws a part of a turn.
func viewPart(id protocol.SessionID, root string, p Part) turnView {
	v := viewTurn(id, root, p.PastTurn)
	v.Calls, v.Changes, v.Cut = p.Calls, p.Changes, p.Cut
	for i := range v.Items {
		if n := p.Left[protocol.ItemID(v.Items[i].ID)]; n > 0 {
			v.Items[i].Leave(n)
		}
	}
	if p.Prompt != nil {
		first := item.Of(*p.Prompt)
		v.Prompt = &first
	}
	if p.Changes > 0 && !p.Cut {
		v.DiffURL = query.With("/sessions/"+string(id)+"/diff", nil, "turn", string(p.ID))
		v.FilesURL = v.DiffURL + "&part=files"
		v.UndoURL = query.With("/undo", nil, "root", root, "session", string(id), "turn", string(p.ID))
	}
	return v
}

// viewTurn draws a turn of a session that worked in root.
func viewTurn(id protocol.SessionID, root string, t protocol.PastTurn) turnView {
	undo := func(more ...string) string {
		return query.With("/undo", nil, append([]string{"root", root, "session", string(id), "turn", string(t.ID)}, more...)...)
	}
	v := turnView{ID: t.ID, Began: t.Began, Ended: t.Ended, Usage: t.Usage}
	for _, i := range t.Items {
		iv := item.Of(i)
		if item.Printed(i) != "" {
			iv.Whole = query.With("/sessions/"+string(id)+"/items/"+string(i.ID), nil, "turn", string(t.ID))
		}
		if iv.Call = string(item.CallOf(i)); iv.Call != "" && len(iv.Changes) > 0 {
			iv.UndoURL = undo("call", iv.Call)
		}
		if a, ok := t.Answers[item.CallOf(i)]; ok {
			iv.Answer = &item.Answer{Outcome: a.Outcome(), By: string(a.By), Words: a.Words, Asked: a.Asked}
		}
		v.Items = append(v.Items, iv)
	}
	if t.Diff != "" {
		v.Diff = render.Parse(t.Diff)
		v.DiffURL = query.With("/sessions/"+string(id)+"/diff", nil, "turn", string(t.ID))
		v.UndoURL = undo()
	}
	return v
}
