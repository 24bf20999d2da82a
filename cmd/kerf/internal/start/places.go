package start

import (
	"context"
	"path/filepath"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/config"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

// Places opens sessions in whatever directory a client names, each with the
// configuration and the trust of that directory.
type Places struct {
	*host.Host
	Program *program.Program
	// Limit, when not nil, is asked before a session is opened under a configuration.
	Limit func(c *config.Config, o *protocol.OpenOptions) error
}

// Open opens a session where o.Settings.Cwd says.
func (x Places) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	dir := o.Settings.Cwd
	if dir == "" {
		return x.open(ctx, x.Host, o)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.Config.Cwd, dir)
	}
	h, err := x.Program.In(dir).Host(nil)
	if err != nil {
		return nil, err
	}
	o.Settings.Cwd = h.Config.Cwd
	return x.open(ctx, h, o)
}

func (x Places) open(ctx context.Context, h *host.Host, o protocol.OpenOptions) (protocol.Session, error) {
	if x.Limit != nil {
		if err := x.Limit(h.Config, &o); err != nil {
			return nil, err
		}
	}
	return h.Open(ctx, o)
}
