package browser

import (
	"context"
	"io"

	"kerf/internal/front/web"
	"kerf/internal/host"
)

// Document writes a session as one page of HTML that needs nothing else, as the pages of
// `kerf web` draw it.
func Document(ctx context.Context, h *host.Host, w io.Writer, name string) error {
	store := h.Sessions()
	info, err := store.Here(ctx, name)
	if err != nil {
		return err
	}
	turns, err := store.Transcript(ctx, string(info.ID), 0)
	if err != nil {
		return err
	}
	return web.WriteDocument(w, info, turns)
}
