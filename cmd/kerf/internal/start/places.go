package start

import (
	"context"
	"path/filepath"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/host"
	"kerf/internal/protocol"
)

// Places opens sessions in whatever directory a client names, each with the
// configuration and the trust of that directory.
type Places struct {
	*host.Host
	Program *program.Program
}

// Open opens a session where o.Settings.Cwd says.
func (x Places) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	dir := o.Settings.Cwd
	if dir == "" {
		return x.Host.Open(ctx, o)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.Config.Cwd, dir)
	}
	h, err := x.Program.In(dir).Host(nil)
	if err != nil {
		return nil, err
	}
	o.Settings.Cwd = h.Config.Cwd
	return h.Open(ctx, o)
}
