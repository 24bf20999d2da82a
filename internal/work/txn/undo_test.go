package txn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// TestRandomCommitsUndoAndRedo commits random sets, compares the tree with a map that
// went through the same, then takes all back and does all again from the ledger alone.
func TestRandomCommitsUndoAndRedo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		if base, err = filepath.EvalSymlinks(base); err != nil {
			rt.Fatal(err)
		}
		root := filepath.ToSlash(filepath.Join(base, "w"))
		if err := os.Mkdir(root, 0o755); err != nil {
			rt.Fatal(err)
		}
		w, err := openAt(root, filepath.Join(base, "home"), false, nil)
		if err != nil {
			rt.Fatal(err)
		}
		defer w.Close()
		defer w.Ledger.Close()
		model := map[string]*delta.Image{}
		states := []map[string]string{files(rt, w, root)}
		for range rapid.IntRange(1, 4).Draw(rt, "commits") {
			set := draw(rt, root, model)
			out, err := w.Commit(context.Background(), set, CommitOptions{})
			if err != nil {
				rt.Fatalf("%v: %v", set.Paths(), err)
			}
			for _, c := range set {
				if c.Post == nil {
					delete(model, c.Path)
				} else {
					model[c.Path] = c.Post
				}
			}
			if out.Entry == nil {
				continue
			}
			states = append(states, files(rt, w, root))
			if d := cmp.Diff(describe(root, model), states[len(states)-1]); d != "" {
				rt.Fatalf("-model +tree\n%s", d)
			}
		}
		entries, err := w.Ledger.Read(0)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range slices.Backward(entries) {
			replay(rt, w, &entries[i], true)
			if d := cmp.Diff(states[i], files(rt, w, root)); d != "" {
				rt.Fatalf("undo %d: -want +got\n%s", i, d)
			}
		}
		for i := range entries {
			replay(rt, w, &entries[i], false)
			if d := cmp.Diff(states[i+1], files(rt, w, root)); d != "" {
				rt.Fatalf("redo %d: -want +got\n%s", i, d)
			}
		}
	})
}

// draw makes a set that fits the model. Names never need to be file and directory at
// once, except where the set itself makes room.
func draw(rt *rapid.T, root string, model map[string]*delta.Image) delta.Set {
	names := rapid.SampledFrom([]string{"a", "b", "d/c", "d/e/f", "g/h"})
	var set delta.Set
	seen := map[string]bool{}
	for range rapid.IntRange(1, 5).Draw(rt, "changes") {
		path := root + "/" + names.Draw(rt, "name")
		if seen[path] {
			continue
		}
		seen[path] = true
		c := delta.Change{Path: path, Pre: model[path]}
		if rapid.IntRange(0, 3).Draw(rt, "change") > 0 {
			mode := rapid.SampledFrom([]uint32{0o644, 0o755, 0o600}).Draw(rt, "mode")
			c.Post = delta.NewFile(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "data"), mode)
		} else if c.Pre == nil {
			continue
		}
		set = append(set, c)
	}
	return set
}

// replay commits an entry again, or its inverse.
func replay(rt *rapid.T, w *Workspace, e *ledger.Entry, inverse bool) {
	var set delta.Set
	o := CommitOptions{Cause: ledger.CauseRedo}
	for _, c := range e.Set() {
		if inverse {
			c.Pre, c.Post = c.Post, c.Pre
		}
		set = append(set, c)
	}
	if inverse {
		o.Cause = ledger.CauseUndo
		for _, dir := range slices.Backward(e.Dirs) {
			o.Prune = append(o.Prune, string(dir))
		}
	}
	if _, err := w.Commit(context.Background(), set, o); err != nil {
		rt.Fatal(err)
	}
}

func describe(root string, model map[string]*delta.Image) map[string]string {
	got := map[string]string{}
	for path, i := range model {
		got[strings.TrimPrefix(path, root+"/")] = fmt.Sprintf("%o %q", i.Mode, i.Data)
	}
	return got
}

// files describes the files below root, without their directories.
func files(rt *rapid.T, w *Workspace, root string) map[string]string {
	got := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := w.Tree.ReadEntry(p, 0)
		if err != nil {
			return err
		}
		got[strings.TrimPrefix(filepath.ToSlash(p), root+"/")] = fmt.Sprintf("%o %q", i.Mode, i.Data)
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	return got
}
