package executor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
	"kerf/internal/work/repo"
)

// WorkTree is a git work tree that one sub-agent has for itself.
type WorkTree struct {
	Dir  string // its root
	Root string // the root of the tree it was made from
	Base string // the commit that it began as
}

// NewWorkTree makes a work tree at dir that holds what the tree of cwd holds now,
// files that are not committed included, ignored ones left out.
func NewWorkTree(ctx context.Context, cwd, dir string) (*WorkTree, error) {
	root, _, ok := repo.Find(cwd)
	if !ok {
		return nil, errors.New("a work tree of its own needs a git repository, and this directory is in none")
	}
	base, err := repo.Snapshot(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("work tree: %w", err)
	}
	if err := repo.AddTree(ctx, root, dir, base); err != nil {
		return nil, fmt.Errorf("work tree: %w", err)
	}
	return &WorkTree{Dir: dir, Root: root, Base: base}, nil
}

// Leave removes the tree if it has no changes, and otherwise says where they are.
func (w *WorkTree) Leave(ctx context.Context) string {
	if d, err := repo.TreeDiff(ctx, w.Dir, w.Base); err == nil && len(d) == 0 {
		w.remove(ctx)
		return ""
	}
	return "its changes were not merged; they are in " + w.Dir
}

func (w *WorkTree) remove(ctx context.Context) string {
	if err := repo.RemoveTree(ctx, w.Root, w.Dir); err != nil {
		return fmt.Sprintf("; the work tree %s could not be removed: %v", w.Dir, err)
	}
	return ""
}

// shownConflict bounds the diffs of conflicts that the model is shown, in bytes.
const shownConflict = 8000

// conflicts reports the files that do not fit, with what the agent made of them.
func conflicts(failed []patch.FileError, text []byte, dir string) string {
	var b strings.Builder
	b.WriteString("; conflict:")
	for _, f := range failed {
		fmt.Fprintf(&b, "\n%s: %v", f.Path, f.Err)
	}
	if len(text) > shownConflict {
		text = text[:shownConflict]
	}
	fmt.Fprintf(&b, "\nThese files were left as they are here; the agent's are in %s. All that it changed:\n%s", dir, strings.ToValidUTF8(string(text), "\uFFFD"))
	return strings.TrimPrefix(b.String(), "; ")
}

// takeMerged returns the records of merges that are not in the rollout yet.
func (h *Executor) takeMerged() []history.FileChange {
	h.famMu.Lock()
	defer h.famMu.Unlock()
	list := h.merged
	h.merged = nil
	return list
}

// MergeTree brings the changes of a work tree into the session's own: file by file,
// merged with what changed here meanwhile. What does not fit is reported and stays
// in the work tree.
func (h *Executor) MergeTree(ctx context.Context, w *WorkTree, sp team.Spawn, ask func(context.Context, protocol.Approval) turn.Reply) string {
	text, err := repo.TreeDiff(ctx, w.Dir, w.Base)
	if err != nil {
		return fmt.Sprintf("not merged: %v; its changes are in %s", err, w.Dir)
	}
	if len(text) == 0 {
		return "it changed nothing" + w.remove(ctx)
	}
	p, err := patch.Parse(text)
	if err != nil {
		return fmt.Sprintf("not merged: %v; its changes are in %s", err, w.Dir)
	}
	var merged []string
	planned, failed := p.PlanEachWith(func(path string) (*delta.Image, error) {
		abs, err := h.o.Tree.Resolve(filepath.Join(w.Root, path))
		if err != nil {
			return nil, err
		}
		return h.o.Tree.ReadEntry(abs, readLimit)
	}, patch.PlanOptions{ThreeWay: func(_, id string) ([]byte, bool) { return repo.Blob(ctx, w.Root, id) },
		Merged: func(path string) { merged = append(merged, path) }})
	for i := range planned {
		for _, name := range []*string{&planned[i].Path, &planned[i].From, &planned[i].To} {
			if *name != "" {
				*name = filepath.Join(w.Root, *name)
			}
		}
	}
	if why := h.mayMerge(ctx, planned, sp, ask); why != "" {
		return fmt.Sprintf("not merged: %s; its changes are in %s", why, w.Dir)
	}
	said := ""
	if len(planned) > 0 {
		if said, err = h.commitMerge(ctx, planned, sp); err != nil {
			return fmt.Sprintf("not merged: %v; its changes are in %s", err, w.Dir)
		}
	}
	if len(merged) > 0 {
		said += "; merged with newer changes: " + strings.Join(merged, ", ")
	}
	if len(failed) > 0 {
		return said + conflicts(failed, text, w.Dir)
	}
	return said + w.remove(ctx)
}

// mayMerge asks the policy, and the user where it says so. It returns why not.
func (h *Executor) mayMerge(ctx context.Context, set delta.Set, sp team.Spawn, ask func(context.Context, protocol.Approval) turn.Reply) string {
	if len(set) == 0 {
		return ""
	}
	switch j := h.rules(sp.Settings).Change(set.Paths(), h.steering(set)); j.Verdict {
	case policy.Refuse:
		return j.Reason
	case policy.Ask:
		a := h.askedChange(set, "the work of sub-agent "+sp.Name+" is to be merged")
		if got := ask(ctx, *a).Answer; !got.Decision.Allows() {
			return "the user did not allow it (" + orWords(got.Words, "no reason given") + ")"
		}
	}
	return ""
}

func (h *Executor) commitMerge(ctx context.Context, set delta.Set, sp team.Spawn) (string, error) {
	h.famMu.Lock()
	now := h.now
	h.famMu.Unlock()
	r, done := h.Commit(ctx, protocol.CallID("merge-"+sp.Name), tool.Change{Set: set, BestEffort: true}, Manner{Settings: sp.Settings, Turn: now, Tool: "close_agent"})
	h.famMu.Lock()
	h.merged = append(h.merged, done.records...)
	h.famMu.Unlock()
	if r.Error != nil {
		return "", r.Error
	}
	var names []string
	for _, path := range done.set.Paths() {
		if name := h.relative(path); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("merged %d files: %s", len(names), strings.Join(names, ", ")), nil
}
