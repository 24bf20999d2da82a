package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/redact"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/retention"
	"kerf/internal/work/workspace"
)

// store is the store of recorded sessions.
func (op opener) store() *sessions.Store {
	return sessions.Open(sessions.Options{Dir: op.sessionsDir(), Home: op.Home, Cwd: op.Cwd, Version: Version,
		Redact: op.redact, Price: op.price, Ledger: op.reading, Files: op.lookAtFiles, Open: op.openScratch})
}

// SessionsDir is where sessions live.
func (h *Host) SessionsDir() string { return h.configured().sessionsDir() }

func (c configured) sessionsDir() string { return filepath.Join(c.Home, "sessions") }

// price is what tokens of a model cost in US dollars, and whether that is known.
func (op opener) price(name string, u protocol.Usage) (float64, bool) {
	return op.registry.Fixed(name).Price(name, model.Usage(u))
}

// lookAtFiles uses a function that tells the state of files.
func (c configured) lookAtFiles(use func(present.Look) error) error {
	ws, err := c.workspace(WorkspaceOptions{Sandbox: protocol.SandboxFull, Reading: true})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(present.In(ws.Tree, ws.Base()))
}

// reading uses a reader of the workspace of root.
func (c configured) reading(root string, use func(changes.Reader) error) error {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) { // the work tree of a sub-agent, for one
		return workspace.Read(c.Home, root, use)
	}
	ws, err := c.workspace(WorkspaceOptions{Root: root, Reading: true})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(ws.Changes())
}

// openScratch opens a session that asks m, in a home of its own, without servers and
// hooks, and returns its directory, too.
func (op opener) openScratch(ctx context.Context, home string, set protocol.Settings,
	m model.Client) (protocol.Session, string, error) {
	cfg := *op.Config
	cfg.Home, cfg.Cwd, cfg.Root = home, set.Cwd, set.Cwd
	cfg.MCPServers, cfg.Hooks, cfg.Plugins = nil, nil, nil
	scratch := openerFor(configured{&cfg, op.env, op.layers, &redact.Secrets{}}, m)
	s, err := scratch.open(ctx, protocol.OpenOptions{Settings: set, Headless: true, Source: "replay"})
	if err != nil {
		return nil, "", err
	}
	return s, scratch.store().DirOf(s.ID()), nil
}

// FindSession finds a recorded session by id, prefix or title, in any directory;
// the newest one if name is empty.
func (h *Host) FindSession(name string) (protocol.SessionInfo, error) {
	return h.Sessions().Find(context.Background(), name)
}

// ReadSession uses a reader of the workspace that a session worked in, which may be gone.
func (h *Host) ReadSession(name string, use func(r changes.Reader, id string) error) error {
	info, err := h.FindSession(name)
	if err != nil {
		return err
	}
	if info.Cwd == "" { // the metadata is damaged; the records know too
		if info.Cwd, err = h.Sessions().CwdOf(info.ID); err != nil {
			return err
		}
	}
	return h.configured().reading(info.Cwd, func(r changes.Reader) error { return use(r, string(info.ID)) })
}

// Retention is how the stores of all workspaces are collected.
func (h *Host) Retention() retention.Options {
	b := h.Config.Backups
	return retention.Options{Home: h.Config.Home, Sessions: h.SessionsDir(), MaxBytes: b.MaxBytes, Keep: retention.Policy{
		PerFile: b.MaxPerFile, Least: time.Duration(b.MinHours) * time.Hour, Most: time.Duration(b.MaxDays) * 24 * time.Hour}}
}
