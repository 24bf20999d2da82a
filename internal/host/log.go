package host

import (
	"cmp"
	"context"
	"slices"
	"time"

	"kerf/internal/protocol"
	"kerf/internal/work/changes"
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

// Changes lists what was changed in the workspace of a session since it began,
// oldest first, by whomever.
func (h *Host) Changes(ctx context.Context, id protocol.SessionID) ([]protocol.ChangeEntry, error) {
	info, err := h.Sessions().Find(ctx, string(id))
	if err != nil {
		return nil, err
	}
	var list []protocol.ChangeEntry
	err = h.reading(info.Cwd, func(r changes.Reader) error {
		entries, err := r.Log(changes.Filter{Since: info.Created, Diffs: true})
		for _, e := range slices.Backward(entries) {
			list = append(list, changeEntry(e))
		}
		return cmp.Or(err, ctx.Err())
	})
	return list, err
}

func changeEntry(e changes.LogEntry) protocol.ChangeEntry {
	d := protocol.ChangeEntry{Session: protocol.SessionID(e.Session), Turn: protocol.TurnID(e.Turn), Call: protocol.CallID(e.Call),
		Cause: e.Cause, Tool: e.Tool, Time: e.Time, Undone: e.Undone, Diff: e.Diff}
	for _, c := range e.Changes {
		pc := protocol.PathChange{Path: c.Path, Kind: protocol.Update, Moved: c.From}
		switch c.Operation {
		case "created":
			pc.Kind = protocol.Add
		case "deleted":
			pc.Kind = protocol.Delete
		}
		d.Changes = append(d.Changes, pc)
	}
	return d
}

// reading uses a reader of the workspace of root.
func (h *Host) reading(root string, use func(changes.Reader) error) error {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: root})
	if err != nil {
		return err
	}
	defer ws.Close()
	return use(ws.Changes())
}

// Retention is how the stores of all workspaces are collected.
func (h *Host) Retention() retention.Options {
	b := h.Config.Backups
	return retention.Options{Home: h.Config.Home, Sessions: h.SessionsDir(), MaxBytes: b.MaxBytes, Keep: retention.Policy{
		PerFile: b.MaxPerFile, Least: time.Duration(b.MinHours) * time.Hour, Most: time.Duration(b.MaxDays) * 24 * time.Hour}}
}
