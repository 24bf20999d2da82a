// Package languages asks language servers around what an executor does: what is newly wrong
// after a change of files, and what a model wants to know about code. A server that is not
// there, starts, hangs or dies keeps no call from its end.
package languages

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/pathname"
	"kerf/internal/work/langserver"
	"kerf/internal/work/ledger"
)

// Options make Servers.
type Options struct {
	Pool langserver.Options
	// Dir is the working directory, without links.
	Dir string
	// List names the files of a server's project.
	List func(ctx context.Context, s langserver.Server, root string) []string
	// Read reads a file as tools see it.
	Read func(path string) ([]byte, error)
	// Redact takes secrets out of what servers say; nil takes none.
	Redact func([]byte) []byte
	// Present are the servers whose languages are here, each with the root of a project.
	Present func(ctx context.Context) []Project
}

// Project is a directory with a server.
type Project struct {
	Server langserver.Server
	Root   string
}

// Servers are the language servers of a session.
type Servers struct {
	o    Options
	pool *langserver.Pool

	mu    sync.Mutex      // guards what follows
	tired map[string]bool // servers that are not waited for, see lease
	notes []string        // for the user, with the next outcome
}

// New returns the servers of a session. Nothing is started.
func New(o Options) *Servers {
	s := &Servers{o: o, tired: map[string]bool{}}
	o.Pool.Warn = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notes = append(s.notes, text)
	}
	s.pool = langserver.NewPool(o.Pool)
	return s
}

// Inner is the executor that does the work.
type Inner interface {
	Run(ctx context.Context, e turn.Run, l executor.Live) turn.Input
}

// Run has inner carry out a proposal. After a change of files the outcome tells what is newly
// wrong, as the servers say.
func (s *Servers) Run(ctx context.Context, inner Inner, e turn.Run, l executor.Live) turn.Input {
	if e.Proposal == nil {
		return inner.Run(ctx, e, l)
	}
	change, ok := e.Proposal.Proposed().(tool.Change)
	if !ok {
		return inner.Run(ctx, e, l)
	}
	looks := s.before(ctx, change)
	in := inner.Run(ctx, e, l)
	done, ok := in.(turn.Finished)
	if !ok || len(looks) == 0 {
		return in
	}
	var landed []string
	for _, c := range done.Outcome.Changes {
		if c.Cause != ledger.CauseOutside {
			landed = append(landed, string(c.Path))
		}
	}
	if len(landed) > 0 && ctx.Err() == nil {
		done.Outcome.Text += s.after(ctx, looks, landed)
	}
	done.Outcome.Warnings = append(done.Outcome.Warnings, s.takeNotes()...)
	return done
}

func (s *Servers) takeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

// Close ends the servers.
func (s *Servers) Close() { s.pool.Close() }

// lease is a server that nobody else uses for the time.
type lease struct {
	*langserver.Client
	ctx context.Context
	end func()
}

// lease gets the server of a file, and tells it what changed meanwhile. It takes at most the
// time of one question; a server that did not come to itself in that time is not waited for
// again until it has.
func (s *Servers) lease(ctx context.Context, file string, patient bool) (*lease, error) {
	server, root, ok := s.pool.For(file)
	if !ok {
		return nil, langserver.ErrNone
	}
	key := server.Name + "\x00" + root
	ctx, cancel := context.WithTimeout(ctx, server.Timeout)
	if !patient && s.isTired(key) {
		soon, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		if c, err := s.pool.Of(soon, file); err != nil || c.Busy() {
			cancel()
			return nil, late(err)
		}
		s.tire(key, false)
	}
	c, err := s.pool.Of(ctx, file)
	if err != nil {
		cancel()
		s.tire(key, errors.Is(err, langserver.ErrLate))
		return nil, err
	}
	release, err := c.Hold(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &lease{c, ctx, func() { release(); cancel() }}
	err = c.Refresh(ctx, func(ctx context.Context) []string { return s.o.List(ctx, server, root) }, s.o.Read)
	if err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

func late(err error) error {
	if err == nil {
		return langserver.ErrLate
	}
	return err
}

// judge notes whether a server answered in its time.
func (s *Servers) judge(l *lease, err error) {
	if !errors.Is(err, langserver.ErrLate) {
		s.pool.Answered(l.Name(), l.Root())
		return
	}
	if l.Busy() {
		s.tire(l.Name()+"\x00"+l.Root(), true)
		return
	}
	s.pool.Late(l.Name(), l.Root())
}

func (s *Servers) isTired(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tired[key]
}

func (s *Servers) tire(key string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tired[key] = is
}

// source reads a file for a server.
func (s *Servers) source(path string) (langserver.Source, bool) {
	data, err := s.o.Read(path)
	return langserver.Source{Path: path, Data: data}, err == nil && len(data) <= maxFile
}

// The bounds of what is looked at around a change.
const (
	maxFile      = 1 << 20
	maxBeside    = 48      // files beside those that change
	maxBytes     = 8 << 20 // of all of them
	maxProjects  = 2
	maxAsked     = 6 // names whose uses are looked for
	maxSameNames = 2000
)

// short is a path as models know it: below the working directory without that.
func (s *Servers) short(path string) string {
	return filepath.ToSlash(pathname.Short(s.o.Dir, path))
}

// sorted are paths, each once.
func sorted(paths []string) []string {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	return slices.Compact(paths)
}
