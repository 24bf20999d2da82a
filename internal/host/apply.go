package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/work/apply"
	"kerf/internal/work/changes"
	"kerf/internal/work/repo"
	"kerf/internal/work/txn"
)

// ApplyOptions say what is applied, and how.
type ApplyOptions struct {
	Session string    // id, prefix or title; empty: the newest of any directory
	Patch   io.Reader // a diff to apply instead, or nil
	DryRun  bool
	Reverse bool
	Three   bool // merge where the hunks do not fit
	JSON    bool // tell the outcomes as one JSON object
	Out     io.Writer
	Err     io.Writer // for the outcomes of a dry run, whose result is the diff
}

// maxPatch bounds a diff read from standard input.
const maxPatch = 256 << 20

// Apply applies the changes of a session, or a diff, to the working directory:
// all files or none.
func (h *Host) Apply(ctx context.Context, o ApplyOptions) error {
	text, err := h.patchText(o)
	if err != nil {
		return err
	}
	if o.DryRun && !o.JSON {
		if _, err := o.Out.Write(text); err != nil {
			return err
		}
	}
	if len(text) == 0 && o.Patch == nil {
		switch {
		case o.JSON:
			return o.tell(apply.Report{DryRun: o.DryRun, Applied: !o.DryRun, Files: []apply.FileOutcome{}})
		case !o.DryRun:
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
	return h.applyTo(ctx, set, text, o)
}

func (h *Host) patchText(o ApplyOptions) ([]byte, error) {
	if o.Patch != nil {
		b, err := io.ReadAll(io.LimitReader(o.Patch, maxPatch))
		if err != nil {
			return nil, fmt.Errorf("read the diff: %w", err)
		}
		return b, nil
	}
	info, err := h.find(o.Session, o.Session == "", true)
	if err != nil {
		return nil, err
	}
	cwd := info.Cwd
	if cwd == "" { // the metadata is damaged; the records know too
		records, _, err := rollout.Read(filepath.Join(h.SessionsDir(), string(info.ID)))
		if err != nil {
			return nil, err
		}
		cwd = history.Rebuild(linesOf(records)).Meta.Cwd
	}
	return h.read(cwd, func(r changes.Reader) ([]byte, error) { return r.Session(string(info.ID)) })
}

func (h *Host) applyTo(ctx context.Context, set protocol.Settings, text []byte, o ApplyOptions) error {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: set.Cwd, Sandbox: set.Sandbox})
	if err != nil {
		return err
	}
	defer ws.Close()
	ao := apply.Options{DryRun: o.DryRun, Reverse: o.Reverse, Origin: txn.Origin{Tool: "apply", Client: "kerf apply", Turn: newTurn()}}
	if o.Three {
		own, err := h.sessionBlobs(o)
		if err != nil {
			return err
		}
		ao.Blob = func(path, id string) ([]byte, bool) {
			if data, ok := own(id); ok {
				return data, true
			}
			return repo.Blob(ctx, set.Cwd, id)
		}
	}
	r, err := apply.Patch(ctx, ws.Tree, ws.Txn, text, ao)
	if told := o.tell(apply.NewReport(set.Cwd, r, o.DryRun, err)); told != nil {
		return errors.Join(err, told)
	}
	return err
}

// ApplyPatch applies a patch in the *** Begin Patch format below the working
// directory: all of it or nothing.
func (h *Host) ApplyPatch(ctx context.Context, text string, w io.Writer) error {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: h.Config.Cwd, Sandbox: protocol.SandboxWorkspace})
	if err != nil {
		return err
	}
	defer ws.Close()
	r, err := apply.Patch(ctx, ws.Tree, ws.Txn, []byte(text),
		apply.Options{Origin: txn.Origin{Tool: "apply_patch", Client: "kerf apply-patch", Turn: newTurn()}})
	for _, f := range r.Failed {
		return f.Err
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "Success. Updated the following files:")
	letters := map[string]string{"created": "A", "modified": "M", "deleted": "D"}
	for _, c := range r.Changed {
		fmt.Fprintf(w, "%s %s\n", letters[c.Op()], visible(changes.Relative(h.Config.Cwd, c.Path)))
	}
	return nil
}

// TurnDiff is the diff of the last turn in the workspace of the working
// directory.
func (h *Host) TurnDiff() ([]byte, error) {
	return h.read(h.Config.Cwd, changes.Reader.LastTurn)
}

// read uses a reader of the workspace of cwd.
func (h *Host) read(cwd string, use func(changes.Reader) ([]byte, error)) ([]byte, error) {
	ws, err := h.OpenWorkspace(WorkspaceOptions{Root: cwd, Sandbox: protocol.SandboxReadOnly})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	r := changes.Reader{Ledger: ws.Ledger, Images: ws.Store, Base: cwd}
	if root, _, ok := repo.Find(cwd); ok {
		r.Base = root
	}
	return use(r)
}
