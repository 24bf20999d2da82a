package host

import (
	"context"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/work/changes/retention"
	"kerf/internal/work/workspace"
)

// FindSession finds a recorded session by id, prefix or title, in any directory;
// the newest one if name is empty.
func (h *Host) FindSession(name string) (protocol.SessionInfo, error) {
	return h.Sessions().Find(context.Background(), name)
}

// SessionWorkspace opens the workspace that a session worked in, and returns the
// full id of the session.
func (h *Host) SessionWorkspace(name string) (*workspace.Workspace, string, error) {
	info, err := h.FindSession(name)
	if err != nil {
		return nil, "", err
	}
	cwd := info.Cwd
	if cwd == "" { // the metadata is damaged; the records know too
		if cwd, err = h.Sessions().CwdOf(info.ID); err != nil {
			return nil, "", err
		}
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: cwd})
	return ws, string(info.ID), err
}

// Retention is how the stores of all workspaces are collected.
func (h *Host) Retention() retention.Options {
	b := h.Config.Backups
	return retention.Options{Home: h.Config.Home, Sessions: h.SessionsDir(), MaxBytes: b.MaxBytes, Keep: retention.Policy{
		PerFile: b.MaxPerFile, Least: time.Duration(b.MinHours) * time.Hour, Most: time.Duration(b.MaxDays) * 24 * time.Hour}}
}
