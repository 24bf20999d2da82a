package host

import (
	"context"
	"path/filepath"

	"kerf/internal/model"
	"kerf/internal/protocol"
	"kerf/internal/sessions"
	"kerf/internal/work/changes"
)

// Sessions is the store of recorded sessions.
func (h *Host) Sessions() *sessions.Store {
	return sessions.Open(sessions.Options{Dir: h.SessionsDir(), Home: h.Config.Home, Cwd: h.Config.Cwd, Version: Version,
		Redact: h.redact, Price: h.Price, Ledger: h.reading, Files: h.lookAtFiles, Open: h.openScratch})
}

// SessionsDir is where sessions live.
func (h *Host) SessionsDir() string { return filepath.Join(h.Config.Home, "sessions") }

// lookAtFiles uses a function that tells the state of files.
func (h *Host) lookAtFiles(use func(changes.Look) error) error {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Sandbox: protocol.SandboxFull})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(changes.LookIn(ws.Tree))
}

// openScratch opens a session that asks m, in a home of its own, without servers and
// hooks, and returns its directory, too.
func (h *Host) openScratch(ctx context.Context, home string, set protocol.Settings, m model.Client) (protocol.Session, string, error) {
	cfg := *h.Config
	cfg.Home, cfg.Cwd, cfg.Root = home, set.Cwd, set.Cwd
	cfg.MCPServers, cfg.Hooks = nil, nil
	scratch := &Host{Config: &cfg, Env: h.Env, Client: m}
	s, err := scratch.Open(ctx, protocol.OpenOptions{Settings: set, Headless: true, Source: "replay"})
	if err != nil {
		return nil, "", err
	}
	return s, scratch.Sessions().DirOf(s.ID()), nil
}
