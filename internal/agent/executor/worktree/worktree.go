// Package worktree gives a sub-agent a git work tree of its own.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
	"kerf/internal/work/repo"
)

// Tree is a git work tree that one sub-agent has for itself.
type Tree struct {
	Dir  string // its root
	Root string // the root of the tree it was made from
	Base string // the commit that it began as
}

// New makes a work tree at dir that holds what the tree of cwd holds now,
// files that are not committed included, ignored ones and those that are hidden left out.
func New(ctx context.Context, cwd, dir string, hidden func(path string) (why string)) (*Tree, error) {
	root, _, ok := repo.Find(cwd)
	if !ok {
		return nil, errors.New("a work tree of its own needs a git repository, and this directory is in none")
	}
	base, err := repo.Snapshot(ctx, root, hidden)
	if err != nil {
		return nil, fmt.Errorf("work tree: %w", err)
	}
	if err := repo.AddTree(ctx, root, dir, base); err != nil {
		return nil, fmt.Errorf("work tree: %w", err)
	}
	return &Tree{Dir: dir, Root: root, Base: base}, nil
}

// Leave removes the tree if it has no changes, and otherwise says where they are.
func (w *Tree) Leave(ctx context.Context) string {
	if d, err := repo.TreeDiff(ctx, w.Dir, w.Base); err == nil && len(d) == 0 {
		w.Remove(ctx)
		return ""
	}
	return "its changes were not merged; they are in " + w.Dir
}

// Remove removes the tree. It returns what has to be told of that, or nothing.
func (w *Tree) Remove(ctx context.Context) string {
	if err := repo.RemoveTree(ctx, w.Root, w.Dir); err != nil {
		return fmt.Sprintf("; the work tree %s could not be removed: %v", w.Dir, err)
	}
	return ""
}

// Diff is what changed in the tree since it was made.
func (w *Tree) Diff(ctx context.Context) ([]byte, error) { return repo.TreeDiff(ctx, w.Dir, w.Base) }

// Plan plans what the diff changes in the tree that this one was made from: file by
// file, merged with what changed there meanwhile. Paths are absolute.
func (w *Tree) Plan(ctx context.Context, diff []byte, read func(path string) (*delta.Image,
	error)) (p Plan, err error) {
	parsed, err := patch.Parse(diff)
	if err != nil {
		return p, err
	}
	p.Set, p.Failed = parsed.PlanEachWith(func(path string) (*delta.Image, error) {
		return read(filepath.Join(w.Root, path))
	},
		patch.PlanOptions{ThreeWay: func(_, id string) ([]byte, bool) { return repo.Blob(ctx, w.Root, id) },
			Merged: func(path string) { p.Merged = append(p.Merged, path) }})
	for i := range p.Set {
		for _, name := range []*string{&p.Set[i].Path, &p.Set[i].From, &p.Set[i].To} {
			if *name != "" {
				*name = filepath.Join(w.Root, *name)
			}
		}
	}
	return p, nil
}

// Plan is what a merge changes, and what it cannot.
type Plan struct {
	Set    delta.Set
	Merged []string // files that were merged with newer changes
	Failed []patch.FileError
}

// Landed tells which files of a plan were written, with the names to show; nothing if none was.
func (w *Tree) Landed(p Plan, paths []string, name func(path string) string) (said []string) {
	var names, merged []string
	for _, path := range paths {
		if shown := name(path); !slices.Contains(names, shown) {
			names = append(names, shown)
		}
	}
	for _, path := range p.Merged {
		if slices.Contains(paths, filepath.Join(w.Root, path)) {
			merged = append(merged, path)
		}
	}
	if len(names) > 0 {
		said = append(said, fmt.Sprintf("merged %d files: %s", len(names), strings.Join(names, ", ")))
	}
	if len(merged) > 0 {
		said = append(said, "merged with newer changes: "+strings.Join(merged, ", "))
	}
	return said
}

// shownConflict bounds the diffs of conflicts that the model is shown, in bytes.
const shownConflict = 8000

// Conflicts reports the files that do not fit, with what the agent made of them: its diff and its directory.
func (p Plan) Conflicts(diff []byte, dir string) string {
	var b strings.Builder
	b.WriteString("conflict:")
	for _, f := range p.Failed {
		fmt.Fprintf(&b, "\n%v", f.Err)
	}
	if len(diff) > shownConflict {
		diff = diff[:shownConflict]
	}
	fmt.Fprintf(&b, "\nThese files were left as they are here; the agent's are in %s. All that it changed:\n%s", dir,
		strings.ToValidUTF8(string(diff), "\uFFFD"))
	return b.String()
}
