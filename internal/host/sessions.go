package host

import (
	"context"
	"path/filepath"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/text/redact"
	"kerf/internal/work/changes"
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
func (c configured) lookAtFiles(use func(changes.Look) error) error {
	ws, err := c.workspace(WorkspaceOptions{Sandbox: protocol.SandboxFull})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(changes.LookIn(ws.Tree))
}

// reading uses a reader of the workspace of root.
func (c configured) reading(root string, use func(changes.Reader) error) error {
	ws, err := c.workspace(WorkspaceOptions{Root: root})
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
	cfg.MCPServers, cfg.Hooks = nil, nil
	scratch := openerFor(configured{&cfg, op.env, &redact.Secrets{}}, m)
	s, err := scratch.open(ctx, protocol.OpenOptions{Settings: set, Headless: true, Source: "replay"})
	if err != nil {
		return nil, "", err
	}
	return s, scratch.store().DirOf(s.ID()), nil
}
