// Package host is the composition root: it builds sessions and the readers of
// their logs from the configuration. It decides nothing itself.
package host

import (
	"context"
	"strings"
	"sync"

	"kerf/internal/agent/executor"
	"kerf/internal/config"
	"kerf/internal/engine"
	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/redact"
	"kerf/internal/text/visible"
	"kerf/internal/work/boundary/nested"
	"kerf/internal/work/guard"
	"kerf/internal/work/repo"
	"kerf/internal/work/sandbox/interactive"
	"kerf/internal/work/search/fuzzy"
	"kerf/internal/work/workspace"
)

// Version is Kerf's version.
const Version = executor.Version

// Host opens sessions. It implements protocol.Sessions and may be used by
// several goroutines.
type Host struct {
	Config *config.Config
	Env    []string
	Layers []nested.Layer // the overlays that this process runs over
	// Warnings are told at the start of every session.
	Warnings []string
	Client   model.Client // when set, used instead of the configured provider
	Local    bool         // asks for a model of this machine, see --oss
	// Notice, when not nil, is told what commands without a session should tell.
	Notice     func(string)
	Unrecorded bool   // lets sessions be opened that cannot be recorded
	Record     string // a file that the session is written into as a scenario

	mu      sync.Mutex
	made    *providers // of the configuration; guarded by mu
	files   fuzzy.Finder
	secrets redact.Secrets // in use, taken out of all that is recorded
}

var _ protocol.Sessions = (*Host)(nil)

// Use replaces the configuration for what is opened from now on.
func (h *Host) Use(c *config.Config, warnings []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Config, h.Warnings = c, warnings
}

// configured is what follows from the configuration and the environment.
func (h *Host) configured() configured {
	h.mu.Lock()
	defer h.mu.Unlock()
	return configured{h.Config, h.Env, h.Layers, &h.secrets}
}

func (h *Host) opener() opener {
	p := h.providers()
	h.mu.Lock()
	defer h.mu.Unlock()
	return opener{configured: configured{p.of, h.Env, h.Layers, &h.secrets}, registry: p.registry, client: h.Client, local: h.Local,
		unrecorded: h.Unrecorded, record: h.Record, warnings: h.Warnings}
}

// Open opens a new session, or goes on with an old one.
func (h *Host) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	return h.opener().open(ctx, o)
}

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

// Sessions is the store of recorded sessions.
func (h *Host) Sessions() *sessions.Store { return h.opener().store() }

// Trusted reports whether the user trusts the project.
func (h *Host) Trusted() bool { return h.configured().trusted() }

// Getenv reads from the environment the host was given.
func (h *Host) Getenv(name string) string { return h.configured().getenv(name) }

// OpenWorkspace opens a workspace as it is configured, for those who look, or commit.
func (h *Host) OpenWorkspace(o WorkspaceOptions) (*workspace.Workspace, error) {
	o.Reading = true
	ws, err := h.configured().workspace(o)
	if err == nil && h.Notice != nil && ws.Notice() != "" {
		h.Notice(ws.Notice())
	}
	return ws, err
}

// Redact takes secrets out of text that a front end keeps beyond a session.
func (h *Host) Redact(text string) string { return string(h.configured().redact([]byte(text))) }

// Engine returns the file engine. addDirs are reached beside the roots of a client.
func (h *Host) Engine(addDirs []string) protocol.Engine {
	c := h.configured()
	return engine.New(engine.Options{Home: c.Home, Cwd: c.Cwd, AddDirs: addDirs,
		Open: func(root string, more []string, tmp string, check func(string) error) (*workspace.Workspace, error) {
			return c.workspace(WorkspaceOptions{Root: root, AddDirs: more, Sandbox: protocol.SandboxWorkspace, Tmp: tmp,
				Check: check})
		},
		Executor: func(ws *workspace.Workspace, set protocol.Settings, id protocol.SessionID,
			client string) executor.Options {
			return c.executorOptions(ws, set, protocol.OpenOptions{Source: client, Headless: true}, &sessions.Log{ID: id})
		}})
}

// InGit reports whether the working directory is inside a git repository.
func (h *Host) InGit() bool {
	_, _, ok := repo.Find(h.Config.Cwd)
	return ok
}

// Clean reports whether git is sure that nothing is uncommitted. Nothing of the repository's own runs.
func (h *Host) Clean(ctx context.Context) bool {
	dirty, err := repo.Dirty(ctx, h.Config.Cwd)
	return err == nil && !dirty
}

// Sandboxed is a command as `kerf sandbox` runs it, in the configured sandbox mode if
// none is given.
func (h *Host) Sandboxed(mode string, addDirs, argv []string) (interactive.Command, error) {
	c := h.configured()
	set, err := c.settings(protocol.Settings{Sandbox: protocol.SandboxMode(mode)})
	if err != nil {
		return interactive.Command{}, err
	}
	roots, err := c.roots(set.Cwd, addDirs)
	if err != nil {
		return interactive.Command{}, err
	}
	env := func(tty bool) []string {
		list := c.childEnv("")(tty)
		if term := c.getenv("TERM"); tty && term != "" {
			list = append(list, "TERM="+term)
		}
		return list
	}
	return interactive.Command{Argv: argv, Dir: set.Cwd, Env: env, Policy: c.policy(roots, "")(set.Sandbox),
		Full: set.Sandbox == protocol.SandboxFull}, nil
}

// Guarded is a program as `kerf guard` runs it: in a sandbox mode, or without a sandbox if none is given.
func (h *Host) Guarded(mode string, addDirs, argv []string) (guard.Command, error) {
	c := h.configured()
	g := guard.Command{Argv: argv, Dir: c.Cwd, Env: h.Env, Name: visible.OneLine(h.Redact(strings.Join(argv, " ")), maxName)}
	confined := mode != "" && mode != string(protocol.SandboxFull)
	roots, err := c.roots(c.Cwd, guard.Roots(addDirs, c.Cwd, c.getenv("HOME"), confined))
	if err != nil {
		return g, err
	}
	g.Open = func() (*workspace.Workspace, error) {
		return workspace.Open(workspace.Options{Home: c.Home, Roots: roots})
	}
	if confined {
		inside, err := h.Sandboxed(mode, addDirs, argv)
		if err != nil {
			return g, err
		}
		g.Sandbox = &inside
	}
	return g, nil
}

// maxName is how much of a command line the ledger tells.
const maxName = 120
