package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/patch"
	"kerf/internal/work/ledger"
	"kerf/internal/work/repo"
	"kerf/internal/work/txn"
)

// ErrConflict is returned when some file could not be applied; nothing was
// written.
var ErrConflict = errors.New("nothing was applied")

// ApplyOptions say what is applied, and how.
type ApplyOptions struct {
	Session string    // id, prefix or title; empty: the newest of any directory
	Patch   io.Reader // a diff to apply instead, or nil
	DryRun  bool
	Reverse bool
	Three   bool // merge where the hunks do not fit
	Out     io.Writer
}

// Apply applies the changes of a session, or a diff, to the working directory:
// all files or none.
func (h *Host) Apply(ctx context.Context, o ApplyOptions) error {
	text, err := h.patchText(o)
	if err != nil {
		return err
	}
	if o.DryRun {
		if _, err := o.Out.Write(text); err != nil {
			return err
		}
	}
	if len(text) == 0 {
		if !o.DryRun {
			fmt.Fprintln(o.Out, "nothing to apply: the session changed no file")
		}
		return nil
	}
	set, err := h.settings(protocol.Settings{Sandbox: protocol.SandboxWorkspace})
	if err != nil {
		return err
	}
	if root, _, ok := repo.Find(set.Cwd); ok && o.Patch == nil {
		set.Cwd = root // session diffs name paths relative to the repository's root
	}
	ws, err := h.openWorkspace(set, nil)
	if err != nil {
		return err
	}
	defer ws.close()
	return h.applyText(ctx, ws, text, o)
}

func (h *Host) patchText(o ApplyOptions) ([]byte, error) {
	if o.Patch != nil {
		b, err := io.ReadAll(io.LimitReader(o.Patch, 256<<20))
		if err != nil {
			return nil, fmt.Errorf("read the diff: %w", err)
		}
		return b, nil
	}
	info, err := h.find(o.Session, o.Session == "", true)
	if err != nil {
		return nil, err
	}
	return h.sessionDiff(info)
}

func (h *Host) applyText(ctx context.Context, ws *workspace, text []byte, o ApplyOptions) error {
	p, err := patch.Parse(text)
	if err != nil {
		return err
	}
	read := func(path string) (*delta.Image, error) {
		abs, err := ws.tree.Resolve(path)
		if err != nil {
			return nil, err
		}
		return ws.tree.Read(abs, 256<<20)
	}
	planned, failed := p.PlanEachWith(read, patch.PlanOptions{Reverse: o.Reverse, ThreeWay: threeWay(ws, o)})
	if len(failed) > 0 {
		for _, f := range failed {
			fmt.Fprintf(o.Out, "failed   %s: %v\n", visible(f.Path), f.Err)
		}
		return fmt.Errorf("%d of %d files do not fit: %w", len(failed), len(p.Paths()), ErrConflict)
	}
	if o.DryRun {
		return nil
	}
	set, err := absolute(ws, planned)
	if err != nil {
		return err
	}
	out, err := ws.work.Commit(ctx, set, txn.CommitOptions{Origin: txn.Origin{Tool: "apply", Client: "kerf apply", Turn: newTurn()}})
	if err != nil {
		return fmt.Errorf("%w (%w)", err, ErrConflict)
	}
	for _, c := range out.Committed {
		fmt.Fprintf(o.Out, "%-8s %s (%s)\n", "exact", visible(c.Path), c.Op())
	}
	return nil
}

// threeWay finds old contents in the store by the abbreviated git id of a diff.
func threeWay(*workspace, ApplyOptions) func(path, blob string) ([]byte, bool) { return nil }

// absolute resolves the paths of a planned set.
func absolute(ws *workspace, set delta.Set) (delta.Set, error) {
	out := make(delta.Set, len(set))
	for i, c := range set {
		for _, p := range []*string{&c.Path, &c.From, &c.To} {
			if *p == "" {
				continue
			}
			abs, err := ws.tree.Resolve(*p)
			if err != nil {
				return nil, err
			}
			*p = abs
		}
		out[i] = c
	}
	return out, nil
}

// sessionDiff is the net diff of a session, from its ledger entries.
func (h *Host) sessionDiff(info protocol.SessionInfo) ([]byte, error) {
	records, _, err := rollout.Read(filepath.Join(h.SessionsDir(), string(info.ID)))
	if err != nil {
		return nil, err
	}
	cwd := info.Cwd
	if cwd == "" {
		cwd = history.Rebuild(linesOf(records)).Meta.Cwd
	}
	return h.ledgerDiff(cwd, func(e ledger.Entry) (use, stop bool) { return e.Session == string(info.ID), false })
}

// TurnDiff is the diff of the last turn in the workspace of the working
// directory; empty when the turn changed nothing.
func (h *Host) TurnDiff() ([]byte, error) {
	var session, turn string
	found := false
	return h.ledgerDiff(h.Config.Cwd, func(e ledger.Entry) (use, stop bool) {
		if e.Cause == ledger.CauseOutside {
			return false, false
		}
		if !found {
			session, turn, found = e.Session, e.Turn, true
		}
		same := e.Session == session && e.Turn == turn
		return same, !same
	})
}

// ledgerDiff folds the entries that pick uses, reading backwards until it stops,
// into one diff. Changes from outside are left out.
func (h *Host) ledgerDiff(cwd string, pick func(ledger.Entry) (use, stop bool)) ([]byte, error) {
	ws, err := h.openWorkspace(protocol.Settings{Cwd: cwd, Sandbox: protocol.SandboxReadOnly}, nil)
	if err != nil {
		return nil, err
	}
	defer ws.close()
	var sets []delta.Set
	for e, err := range ws.ledger.Backward() {
		if err != nil {
			return nil, err
		}
		use, stop := pick(e)
		if stop {
			break
		}
		if use && e.Cause != ledger.CauseOutside {
			sets = append(sets, e.Set())
		}
	}
	slices.Reverse(sets)
	net := delta.Fold(sets...)
	for i, c := range net {
		if net[i].Pre, err = ws.load(c.Pre); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		if net[i].Post, err = ws.load(c.Post); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	base := cwd
	if root, _, ok := repo.Find(cwd); ok {
		base = root
	}
	return diff.Unified(delta.Files(net, func(abs string) string { return relativeTo(base, abs) })), nil
}

func (w *workspace) load(img *delta.Image) (*delta.Image, error) {
	if img == nil || img.Loaded {
		return img, nil
	}
	data, err := w.store.Get(img.Sum)
	if err != nil {
		return nil, err
	}
	full := *img
	full.Data, full.Loaded = data, true
	return &full, nil
}

func relativeTo(base, path string) string {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return strings.TrimPrefix(filepath.ToSlash(path), "/")
	}
	return filepath.ToSlash(rel)
}
