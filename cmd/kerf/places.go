package main

import (
	"context"
	"path/filepath"

	"kerf/internal/host"
	"kerf/internal/protocol"
)

// places opens sessions in whatever directory a client names, each with the
// configuration and the trust of that directory.
type places struct {
	*host.Host
	p *program
}

// Open opens a session where o.Settings.Cwd says.
func (x places) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	dir := o.Settings.Cwd
	if dir == "" {
		return x.Host.Open(ctx, o)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.Config.Cwd, dir)
	}
	there := *x.p
	there.dir = dir
	h, err := there.host(nil)
	if err != nil {
		return nil, err
	}
	o.Settings.Cwd = h.Config.Cwd
	return h.Open(ctx, o)
}
