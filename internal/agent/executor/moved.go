package executor

import (
	"context"

	"kerf/internal/agent/turn"
	"kerf/internal/model"
)

// Gather finds what the model is told before a turn: what is new around it, what was
// undone, the news of the session, and files that changed.
func (h *Executor) Gather(ctx context.Context, e turn.Gather, news []*model.Item) turn.Gathered {
	h.record.begin(e.Turn)
	h.aim.Take(e.Goal)
	var in turn.Gathered
	if h.o.Instructions != nil {
		in = h.o.Instructions.Gather(ctx, e)
	}
	h.head.Tell(&in, e.Before)
	h.servers.Tell(ctx, &in, e.Input)
	in.Notices = append(append(in.Notices, h.takeNotes()...), news...)
	if it := h.files.Changed(); it != nil && e.Again == 0 {
		in.Notices = append(in.Notices, it)
	}
	return in
}
