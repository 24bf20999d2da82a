package host

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/retention"
	"kerf/internal/work/workspace"
)

// FindSession finds a recorded session by id, prefix or title, in any directory;
// the newest one if name is empty.
func (h *Host) FindSession(name string) (protocol.SessionInfo, error) {
	return h.find(name, name == "", true)
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
		records, _, err := rollout.Read(filepath.Join(h.SessionsDir(), string(info.ID)))
		if err != nil {
			return nil, "", err
		}
		cwd = history.Rebuild(linesOf(records)).Meta.Cwd
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: cwd})
	return ws, string(info.ID), err
}

// Changes lists what was changed in the workspace of a session since it began,
// oldest first, by whomever.
func (h *Host) Changes(ctx context.Context, id protocol.SessionID) ([]protocol.Deed, error) {
	info, err := h.find(string(id), false, true)
	if err != nil {
		return nil, err
	}
	var list []protocol.Deed
	err = h.reading(info.Cwd, func(r changes.Reader) error {
		entries, err := r.Log(changes.Filter{Since: info.Created, Diffs: true})
		for _, e := range slices.Backward(entries) {
			list = append(list, changeEntry(e))
		}
		return cmp.Or(err, ctx.Err())
	})
	return list, err
}

func changeEntry(e changes.LogEntry) protocol.Deed {
	d := protocol.Deed{Session: protocol.SessionID(e.Session), Turn: protocol.TurnID(e.Turn), Call: protocol.CallID(e.Call),
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

// TurnPrompts tells what the user asked for in turns.
func (h *Host) TurnPrompts() *TurnPrompts { return &TurnPrompts{dir: h.SessionsDir()} }

// TurnPrompts finds what the user asked for in the turns of sessions. It reads each
// session once.
type TurnPrompts struct {
	dir   string
	known map[string]map[string]string // by session and turn
}

// Of is the first line of what opened a turn, shortened; empty when it is not
// known.
func (p *TurnPrompts) Of(session, turn string) string {
	if session == "" || turn == "" || strings.ContainsAny(session, `/\`) || session == ".." {
		return ""
	}
	turns, ok := p.known[session]
	if !ok {
		turns = map[string]string{}
		records, _, err := rollout.Read(filepath.Join(p.dir, session))
		if err == nil {
			for _, r := range records {
				var u history.UserInput
				if r.Type != u.Type() || json.Unmarshal(r.Raw, &u) != nil || u.Marker {
					continue
				}
				if _, had := turns[string(u.Turn)]; !had {
					turns[string(u.Turn)] = excerpt(u.Text)
				}
			}
		}
		if p.known == nil {
			p.known = map[string]map[string]string{}
		}
		p.known[session] = turns
	}
	return turns[turn]
}

// excerpt is the first line of a text, at most 60 characters.
func excerpt(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	r := []rune(visible(line))
	if len(r) > 60 {
		r, more = r[:59], true
	}
	if more {
		return string(r) + "…"
	}
	return string(r)
}
