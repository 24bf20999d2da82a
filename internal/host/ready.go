package host

import (
	"context"

	"kerf/internal/protocol"
)

// Ready reports whether the configured provider can be asked: it is known, and
// its key is there if it needs one. Nothing is sent.
func (h *Host) Ready() error {
	op := h.opener()
	set, err := op.settings(protocol.Settings{})
	if err != nil {
		return err
	}
	_, _, err = op.clientFor(context.Background(), &set)
	return err
}
