package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"kerf/internal/agent/executor/files"
	"kerf/internal/agent/executor/worktree"
	"kerf/internal/agent/policy"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
	"kerf/internal/text/delta"
)

// MergeTree brings the changes of a work tree into the session's own: file by file,
// merged with what changed here meanwhile. What does not fit is reported and stays
// in the work tree.
func (h *Executor) MergeTree(ctx context.Context, w *worktree.Tree, sp team.Spawn,
	ask func(context.Context, protocol.Approval) turn.Reply) string {
	undone := func(why any) string { return fmt.Sprintf("not merged: %v; its changes are in %s", why, w.Dir) }
	text, err := w.Diff(ctx)
	if err != nil {
		return undone(err)
	}
	if len(text) == 0 {
		return "it changed nothing" + w.Remove(ctx)
	}
	plan, err := w.Plan(ctx, text, func(path string) (*delta.Image, error) {
		abs, err := h.o.Tree.Resolve(path)
		if err != nil {
			return nil, err
		}
		return h.o.Tree.ReadEntry(abs, files.ReadLimit)
	})
	if err != nil {
		return undone(err)
	}
	if why := h.mayMerge(ctx, plan.Set, sp, ask); why != "" {
		return undone(why)
	}
	var said []string
	if len(plan.Set) > 0 {
		if said, err = h.commitMerge(ctx, w, plan, sp); err != nil && len(said) == 0 {
			return undone(err)
		}
	}
	if err != nil {
		said = append(said, fmt.Sprintf("%v; all its changes are in %s", err, w.Dir))
	}
	if len(plan.Failed) > 0 {
		said = append(said, plan.Conflicts(text, w.Dir))
	}
	merged := strings.Join(said, "; ")
	if err == nil && len(plan.Failed) == 0 {
		merged += w.Remove(ctx)
	}
	return merged
}

// mayMerge asks the policy, and the user where it says so. It returns why not.
func (h *Executor) mayMerge(ctx context.Context, set delta.Set, sp team.Spawn,
	ask func(context.Context, protocol.Approval) turn.Reply) string {
	if len(set) == 0 {
		return ""
	}
	switch j := h.rules(sp.Settings).Change(set.Paths(), h.files.ControlFiles(set)); j.Verdict {
	case policy.Refuse:
		return j.Reason
	case policy.Ask:
		a := h.askedChange(set, "the work of sub-agent "+sp.Name+" is to be merged")
		if got := ask(ctx, *a).Answer; !got.Decision.Allows() {
			return "the user did not allow it (" + cmp.Or(got.Words, "no reason given") + ")"
		}
	}
	return ""
}

// commitMerge commits what fits, file by file. It tells what landed, if anything did, beside an error about
// the rest.
func (h *Executor) commitMerge(ctx context.Context, w *worktree.Tree, plan worktree.Plan,
	sp team.Spawn) ([]string, error) {
	r, done := h.Commit(ctx, protocol.CallID("merge-"+sp.Name), tool.Change{Set: plan.Set, BestEffort: true},
		RunOptions{Settings: sp.Settings, Turn: h.record.running(), Tool: "close_agent"})
	h.record.addMerged(done.records)
	said := w.Landed(plan, done.set.Paths(), h.files.Relative)
	if r.Error != nil && len(said) == 0 {
		return nil, errors.New(strings.Join(append([]string{r.Error.Error()}, done.strays...), "; "))
	}
	if said = append(said, done.strays...); r.Error != nil {
		return said, r.Error
	}
	return said, nil
}
