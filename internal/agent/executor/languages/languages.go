// Package languages asks language servers around what an executor does: what is newly wrong
// after a change of files, and what a model wants to know about code. A server that is not
// there, starts, hangs or dies keeps no call from its end.
package languages

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/pathname"
	"kerf/internal/work/langserver"
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
	// Image gives back what a file held, by the hash that is in a record of its change.
	Image func(sum string) ([]byte, error)
	// Present are the servers whose languages are here, each with the root of a project.
	Present func(ctx context.Context) []Project
}

// Project is a directory with a server.
type Project struct {
	Server langserver.Server
	Root   string
}

// key tells projects apart.
type key struct{ server, root string }

func (p Project) key() key { return key{p.Server.Name, p.Root} }

// Servers are the language servers of a session. For each project at most one goroutine asks
// beside the calls, see debt; Close waits for their end.
type Servers struct {
	o      Options
	pool   *langserver.Pool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	bound  func(langserver.Server) time.Duration // of one question

	mu     sync.Mutex    // guards what follows
	tired  map[key]bool  // servers that are not waited for, see lease
	debts  map[key]*debt // what is still to be told
	mute   map[key]bool  // servers of which it was told that they are not used any more
	lately map[key]bool  // servers of which it was told that they did not answer yet
	large  map[key]bool  // projects with too many files to look at all, as far as is known
	notes  []string      // for the user, with the next outcome
	closed bool
}

// New returns the servers of a session. Nothing is started.
func New(o Options) *Servers {
	s := &Servers{o: o, tired: map[key]bool{}, debts: map[key]*debt{}, large: map[key]bool{}, mute: map[key]bool{}, lately: map[key]bool{},
		bound: func(s langserver.Server) time.Duration { return s.Timeout }}
	s.ctx, s.cancel = context.WithCancel(context.Background())
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
// wrong, as the servers say, and what they did not say in time after earlier changes.
func (s *Servers) Run(ctx context.Context, inner Inner, e turn.Run, l executor.Live) turn.Input {
	if e.Proposal == nil {
		return inner.Run(ctx, e, l)
	}
	var looks []look
	what := "this call"
	switch a := e.Proposal.Proposed().(type) {
	case tool.Change:
		what, looks = "this change", s.before(ctx, a)
	case tool.Command:
		what = "this command"
		if !policy.KnownSafe(a.Line) {
			looks = s.beforeCommand(ctx)
		}
	case tool.WriteStdin:
		what = "this command"
	}
	in := inner.Run(ctx, e, l)
	done, ok := in.(turn.Finished)
	if !ok || ctx.Err() != nil {
		return in
	}
	for _, o := range done.Outcome.Observed {
		s.warm(real(string(o.Path)))
	}
	done.Outcome.Text += s.redact(s.after(ctx, what, looks, s.changed(done.Outcome.Changes)) + s.late(ctx))
	done.Outcome.Warnings = append(done.Outcome.Warnings, s.takeNotes()...)
	return done
}

// Settle is what servers did not say in time, when a turn is about to end.
func (s *Servers) Settle(ctx context.Context) string { return strings.TrimSpace(s.redact(s.late(ctx))) }

func (s *Servers) redact(text string) string {
	if s.o.Redact != nil && text != "" {
		return string(s.o.Redact([]byte(text)))
	}
	return text
}

func (s *Servers) takeNotes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

// Close ends the servers.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.pool.Close()
	s.wg.Wait()
}

// lease is a server that nobody else uses for the time.
type lease struct {
	*langserver.Client
	ctx context.Context
	end func()
}

// lease gets the server of a project, and tells it what changed meanwhile. It takes at most the
// time of one question; a server that did not come to itself in that time is not waited for
// again until it has.
func (s *Servers) lease(ctx context.Context, p Project, patient bool) (*lease, error) {
	ctx, cancel := context.WithTimeout(ctx, s.bound(p.Server))
	if !patient && s.isTired(p.key()) {
		soon, stop := context.WithTimeout(ctx, time.Millisecond)
		defer stop()
		if c, err := s.pool.In(soon, p.Server, p.Root); err != nil || c.Busy() || !s.idle(soon, p.key()) {
			cancel()
			return nil, late(err)
		}
		s.tire(p.key(), false)
	}
	c, err := s.pool.In(ctx, p.Server, p.Root)
	if err == nil && !patient && !s.idle(ctx, p.key()) {
		err = langserver.ErrLate
	}
	if err != nil {
		cancel()
		s.tire(p.key(), errors.Is(err, langserver.ErrLate))
		return nil, err
	}
	l, err := s.hold(ctx, c, p)
	if err != nil {
		cancel()
		return nil, err
	}
	release := l.end
	l.end = func() { release(); cancel() }
	return l, nil
}

// hold waits for a server that others use, and tells it what changed meanwhile.
func (s *Servers) hold(ctx context.Context, c *langserver.Client, p Project) (*lease, error) {
	release, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	err = c.Refresh(ctx, func(ctx context.Context) []string { return s.o.List(ctx, p.Server, p.Root) }, s.o.Read)
	if err != nil {
		release()
		return nil, err
	}
	return &lease{c, ctx, release}, nil
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
		s.tire(key{l.Name(), l.Root()}, true)
		return
	}
	s.pool.Late(l.Name(), l.Root())
}

func (s *Servers) isTired(key key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tired[key]
}

func (s *Servers) tire(key key, is bool) {
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
