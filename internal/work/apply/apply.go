// Package apply carries a patch out in a workspace: all of it or nothing.
package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
	"kerf/internal/work/repo"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// readLimit is the largest file that is patched.
const readLimit = 256 << 20

// ErrConflict says that some file does not fit the patch. Nothing was written.
var ErrConflict = errors.New("nothing was applied")

// Options say how a patch is applied.
type Options struct {
	// DryRun plans and writes nothing.
	DryRun bool
	// Reverse takes the changes back, as far as the patch tells what it removes.
	Reverse bool
	// ThreeWay merges where the text around a change is not as it was. It needs the
	// contents that the patch was made from: those of Blobs, if that is not nil, and
	// those of the repository that the first root is in.
	ThreeWay bool
	Blobs    Blobs
	// Tool goes into the ledger: "apply" or "apply_patch".
	Tool string
}

// Result tells what was done, or would be.
type Result struct {
	// Changed is what landed; with DryRun what would.
	Changed delta.Set
	// Merged are the paths, absolute, that only a merge made fit.
	Merged map[string]bool
	// Failed are the files that do not fit.
	Failed []patch.FileError
	// Warnings are for the user.
	Warnings []string
}

// Patch applies text to the workspace. With an error that is ErrConflict, the
// result says which files do not fit.
func Patch(ctx context.Context, t *tree.Tree, w *txn.Workspace, text []byte, o Options) (Result, error) {
	p, err := patch.Parse(text)
	if err != nil {
		return Result{}, err
	}
	merged := map[string]bool{}
	room := newRoom(t, p, o.Reverse)
	planned, failed := plan(t, p, room, patch.PlanOptions{Reverse: o.Reverse, ThreeWay: o.blob(ctx, t), Merged: func(path string) {
		if abs, err := t.Resolve(path); err == nil {
			merged[abs] = true
		}
	}, IsDir: func(path string) bool {
		abs, err := t.Resolve(path)
		st, statErr := os.Stat(abs)
		return err == nil && statErr == nil && st.IsDir()
	}})
	if len(failed) > 0 {
		return Result{Failed: failed}, fmt.Errorf("%d of %d files do not fit: %w", len(failed), len(p.Paths()), ErrConflict)
	}
	set, err := absolute(t, planned)
	if err != nil {
		return Result{Changed: set, Merged: merged}, err
	}
	out, err := w.Commit(ctx, set, txn.CommitOptions{Origin: o.origin(), Prune: room.prune(set), DryRun: o.DryRun})
	r := Result{Changed: out.Committed, Merged: merged, Warnings: out.Strays()}
	if err != nil {
		return r, fmt.Errorf("%w (%w)", err, ErrConflict)
	}
	if o.DryRun {
		r.Changed = set
	}
	return r, nil
}

func plan(t *tree.Tree, p *patch.Patch, m *room, o patch.PlanOptions) (delta.Set, []patch.FileError) {
	held, release := t.Hold()
	defer release()
	r := &reader{t: held, room: m}
	r.ahead(p.Paths())
	return p.PlanEachWith(r.read, o)
}

// blob finds contents for a merge; it is nil when nothing is merged.
func (o Options) blob(ctx context.Context, t *tree.Tree) func(path, id string) ([]byte, bool) {
	if !o.ThreeWay {
		return nil
	}
	return func(_, id string) ([]byte, bool) {
		if data, ok := o.Blobs.find(id); ok {
			return data, true
		}
		return repo.Blob(ctx, t.Roots()[0], id)
	}
}

// Root is where the diff of a session is applied for a working directory. Such
// diffs name paths relative to the root of the repository.
func Root(cwd string) string { return repo.Top(cwd) }

// origin names a turn of its own: the change is made outside of sessions.
func (o Options) origin() txn.Origin {
	turn := ""
	if id, err := uuid.NewV7(); err == nil {
		turn = id.String()
	}
	return txn.Origin{Tool: o.Tool, Client: "kerf " + strings.ReplaceAll(o.Tool, "_", "-"), Turn: turn}
}

// absolute resolves the paths of a planned set.
func absolute(t *tree.Tree, set delta.Set) (delta.Set, error) {
	out := make(delta.Set, len(set))
	for i, c := range set {
		for _, p := range []*string{&c.Path, &c.From, &c.To} {
			if *p == "" {
				continue
			}
			abs, err := t.Resolve(*p)
			if err != nil {
				return nil, err
			}
			*p = abs
		}
		out[i] = c
	}
	return out, nil
}
