package host

import (
	"cmp"
	"context"

	"kerf/internal/doctor"
	"kerf/internal/protocol"
)

// Check looks at what Kerf needs on this machine.
func (h *Host) Check(ctx context.Context) ([]protocol.Check, error) {
	c := h.Config
	model := func(ctx context.Context) (string, error) {
		_, _, err := h.client(ctx, &protocol.Settings{Model: c.Model})
		return cmp.Or(c.Model, "the default model") + " of " + c.Providers[c.ModelProvider].Name, err
	}
	return doctor.Run(ctx, doctor.Options{Home: c.Home, Cwd: c.Cwd, Getenv: h.Getenv, Warnings: h.Warnings, Model: model}), nil
}
