// Package within keeps clients that say themselves where they work inside the directories
// that the user named, and out of what is hidden.
package within

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/protocol"
)

// Bound says in which directories clients may work.
type Bound struct {
	dirs   []string // absolute, without links; nil for all
	hidden Hidden
}

// Hidden says why a directory, absolute and without links, is hidden from clients; empty if
// it is not.
type Hidden func(dir string) string

// Anywhere bounds clients by what is hidden alone.
func Anywhere(hidden Hidden) Bound { return Bound{hidden: hidden} }

// New bounds clients by cwd and the others too; those that are relative lie in cwd.
func New(hidden Hidden, cwd string, others ...[]string) Bound {
	b := Bound{hidden: hidden}
	for _, dir := range append([]string{cwd}, slices.Concat(others...)...) {
		b.dirs = append(b.dirs, real(cwd, dir))
	}
	return b
}

// real is a path without links, as far as it is there.
func real(cwd, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}

// check returns an error that says why a client may not work in dir, which has no links.
func (b Bound) check(dir string) error {
	inside := func(own string) bool { return pathname.Inside(own, dir) }
	if b.dirs != nil && !slices.ContainsFunc(b.dirs, inside) {
		return fmt.Errorf("DENIED: %s is outside of what this server may reach: %s. The user can start kerf mcp-server "+
			"with --add-dir %s", dir, strings.Join(b.dirs, ", "), dir)
	}
	if why := b.hidden(dir); why != "" {
		return fmt.Errorf("DENIED: %s is hidden from clients: %s. The user can start kerf mcp-server with --add-dir %s",
			dir, why, dir)
	}
	return nil
}

// Engine is e for clients whose roots are inside.
func (b Bound) Engine(e protocol.Engine) protocol.Engine { return engine{e, b} }

type engine struct {
	protocol.Engine
	Bound
}

// Connect opens the engine for a client.
func (e engine) Connect(ctx context.Context, o protocol.EngineOptions) (protocol.EngineConn, error) {
	o.Check = e.check
	return e.Engine.Connect(ctx, o)
}

// Finder finds the recorded session that a name means.
type Finder func(ctx context.Context, name string) (protocol.SessionInfo, error)

// Sessions is s for clients who begin sessions inside, and go on with those that were
// held there.
func (b Bound) Sessions(s protocol.Sessions, find Finder) protocol.Sessions {
	return sessions{s, b, find}
}

type sessions struct {
	protocol.Sessions
	Bound
	find Finder
}

// Open opens a session.
func (s sessions) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	o.Bounds = &protocol.Bounds{Dir: s.check}
	if o.Resume != "" {
		info, err := s.find(ctx, o.Resume)
		if err == nil {
			err = s.check(real("/", info.Cwd))
		}
		if err != nil {
			return nil, err
		}
	}
	return s.Sessions.Open(ctx, o)
}
