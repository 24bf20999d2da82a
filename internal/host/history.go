package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/work/changes"
	"kerf/internal/work/repo"
	"kerf/internal/work/txn"
)

// UndoOptions say what is undone or redone, and how.
type UndoOptions struct {
	Redo                bool
	Session, Turn, Call string // ids or their beginnings; empty: the last turn
	Paths               []string
	DryRun              bool
	// Confirm is asked before anything is written; nil asks nothing.
	Confirm func(protocol.UndoReport) (bool, error)
}

// ErrNothing says that there is nothing to undo or redo.
var ErrNothing = changes.ErrNothing

// ErrDeclined says that the user did not want it.
var ErrDeclined = errors.New("nothing was changed")

// Undo takes changes in the workspace of the working directory back, or, with
// Redo, brings them back. A report with a Problem means that nothing was written.
func (h *Host) Undo(ctx context.Context, o UndoOptions) (protocol.UndoReport, error) {
	report := protocol.UndoReport{Redo: o.Redo, DryRun: o.DryRun}
	c := changes.Choice{Redo: o.Redo, Session: o.Session, Turn: o.Turn, Call: o.Call}
	root := h.historyRoot()
	if o.Session != "" {
		if info, err := h.find(o.Session, false, true); err == nil {
			c.Session = string(info.ID)
			if info.Cwd != "" {
				root = info.Cwd
			}
		}
	}
	for _, p := range o.Paths {
		c.Paths = append(c.Paths, h.realPath(p))
	}
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: root, Sandbox: protocol.SandboxFull})
	if err != nil {
		return report, err
	}
	defer ws.Close()
	r := changes.Reader{Ledger: ws.Ledger, Images: ws.Store, Base: baseOf(root)}
	plan, err := r.Plan(c, changes.LookIn(ws.Tree))
	if err != nil {
		return report, err
	}
	if report, err = executor.ReportUndo(r, plan); err != nil {
		return report, err
	}
	report.DryRun = o.DryRun
	if o.DryRun || report.Problem != "" {
		return report, nil
	}
	if o.Confirm != nil {
		yes, err := o.Confirm(report)
		if err != nil {
			return report, err
		}
		if !yes {
			return report, ErrDeclined
		}
	}
	_, err = plan.Commit(ctx, ws.Txn, txn.Origin{Tool: verb(o.Redo), Client: "kerf " + verb(o.Redo)})
	return report, err
}

func verb(redo bool) string {
	if redo {
		return "redo"
	}
	return "undo"
}

// baseOf is the directory that diffs name paths relative to.
func baseOf(cwd string) string {
	if root, _, ok := repo.Find(cwd); ok {
		return root
	}
	return cwd
}

// historyRoot is the root of the workspace that the working directory is in: the
// nearest directory upwards with a ledger, or the working directory.
func (h *Host) historyRoot() string {
	for dir := h.Config.Cwd; ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(filepath.Join(txn.HomeOf(h.Config.Home, dir), "ledger.jsonl")); err == nil && st.Size() > 0 {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return h.Config.Cwd
		}
	}
}

// realPath is a path that the user gave as ledgers know it: absolute, and
// without links on the way. The file itself may be gone.
func (h *Host) realPath(p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(h.Config.Cwd, p)
	}
	p = filepath.Clean(p)
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if dir != p || rest != "" {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				return filepath.ToSlash(filepath.Join(real, rest))
			}
		}
		if filepath.Dir(dir) == dir {
			return filepath.ToSlash(p)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// prompts finds out what the user asked for in the turns of sessions.
type prompts struct {
	h     *Host
	known map[string]map[string]string // by session and turn
}

// of is the first line of what opened a turn, shortened; empty when it is not
// known.
func (p *prompts) of(session, turn string) string {
	if session == "" || turn == "" || strings.ContainsAny(session, `/\`) || session == ".." {
		return ""
	}
	turns, ok := p.known[session]
	if !ok {
		turns = map[string]string{}
		records, _, err := rollout.Read(filepath.Join(p.h.SessionsDir(), session))
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
