// Package within keeps clients that say themselves where they work inside the directories
// that the user named.
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

// Bound is the directories that clients may name, and what lies below them.
type Bound struct {
	cwd  string
	dirs []string // absolute, without links
}

// New bounds clients by cwd and the others; those that are relative lie in cwd.
func New(cwd string, others ...[]string) Bound {
	b := Bound{cwd: cwd}
	for _, dir := range append([]string{cwd}, slices.Concat(others...)...) {
		b.dirs = append(b.dirs, b.real(dir))
	}
	return b
}

// real is a path without links, as far as it is there.
func (b Bound) real(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.cwd, path)
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}

// check returns an error that names the first of dirs that lies outside.
func (b Bound) check(dirs ...string) error {
	for _, dir := range dirs {
		at := b.real(dir)
		if !slices.ContainsFunc(b.dirs, func(own string) bool { return pathname.Inside(own, at) }) {
			return fmt.Errorf("DENIED: %s is outside of what this server may reach: %s. The user can start kerf mcp-server "+
				"with --add-dir %s", dir, strings.Join(b.dirs, ", "), dir)
		}
	}
	return nil
}

// Engine is e for clients whose roots lie inside.
func (b Bound) Engine(e protocol.Engine) protocol.Engine { return engine{e, b} }

type engine struct {
	protocol.Engine
	Bound
}

// Connect opens the engine for a client.
func (e engine) Connect(ctx context.Context, o protocol.EngineOptions) (protocol.EngineConn, error) {
	if err := e.check(o.Roots...); err != nil {
		return nil, err
	}
	c, err := e.Engine.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return conn{c, e.Bound}, nil
}

type conn struct {
	protocol.EngineConn
	Bound
}

// SetRoots moves the connection.
func (c conn) SetRoots(ctx context.Context, roots []string) error {
	if err := c.check(roots...); err != nil {
		return err
	}
	return c.EngineConn.SetRoots(ctx, roots)
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
	var dirs []string
	if o.Settings.Cwd != "" {
		dirs = append(dirs, o.Settings.Cwd)
	}
	if o.Resume != "" {
		info, err := s.find(ctx, o.Resume)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, info.Cwd)
	}
	if err := s.check(dirs...); err != nil {
		return nil, err
	}
	return s.Sessions.Open(ctx, o)
}
