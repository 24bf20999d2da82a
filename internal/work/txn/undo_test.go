package txn

import (
	"context"
	"errors"
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
	"kerf/internal/work/tree"
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
		root := filepath.ToSlash(filepath.Join(base, rapid.SampledFrom([]string{"w", largeRoot}).Draw(rt, "root")))
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
		i, err := w.Tree.ReadEntry(p, 1000)
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

// TestAHalfWrittenFileStaysInDoubt: what was written in place and cut short can only be told, and
// mended, with the contents of both sides. Without one of them recovery says so.
func TestAHalfWrittenFileStaysInDoubt(t *testing.T) {
	for _, missing := range []string{"", "before", "after"} {
		f := newFixture(t)
		f.write("a", "new and longer than it was")
		after := f.image("a")
		f.write("a", "old")
		before := f.image("a")
		for what, i := range map[string]*delta.Image{"before": before, "after": after} {
			if what != missing {
				if _, err := f.w.Store.Put(i.Data); err != nil {
					t.Fatal(err)
				}
			}
			i.Data, i.Loaded = nil, false
		}
		f.write("a", "new and lo")
		o := &op{Kind: opInPlace, Path: ledger.Path(f.path("a")), pre: before, post: after}
		stays, err := undo(f.w.Tree, f.w.Store, o)
		if missing != "" {
			if err == nil || stays || string(f.image("a").Data) != "new and lo" {
				t.Errorf("without what it was %s: %v, stays %v, it holds %q", missing, err, stays, f.image("a").Data)
			}
			continue
		}
		if err != nil || stays || string(f.image("a").Data) != "old" {
			t.Errorf("%v, stays %v, it holds %q", err, stays, f.image("a").Data)
		}
	}
}

// TestAFileThatWasReplacedIsNotMended: what somebody put in the place of a file that was written in
// place is not the file; recovery says that it cannot tell.
func TestAFileThatWasReplacedIsNotMended(t *testing.T) {
	f := newFixture(t)
	f.write("a", "new")
	after := f.image("a")
	f.write("a", "old")
	before := f.image("a")
	if err := errors.Join(os.Remove(f.path("a")), os.Mkdir(f.path("a"), 0o755)); err != nil {
		t.Fatal(err)
	}
	o := &op{Kind: opInPlace, Path: ledger.Path(f.path("a")), pre: before, post: after}
	stays, err := undo(f.w.Tree, f.w.Store, o)
	if err == nil || stays {
		t.Errorf("a directory in its place: %v, stays %v", err, stays)
	}
}

// TestADirectoryOutsideIsNotMade, and nothing else of its commit is done.
func TestADirectoryOutsideIsNotMade(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old")
	before := f.snapshot()
	outside := f.outside()
	var out *tree.OutsideError
	_, err := f.w.Commit(t.Context(), delta.Set{f.change("a", "new")},
		CommitOptions{Make: []ledger.Dir{{Path: ledger.Path(outside + "/made"), Mode: 0o755}}})
	if !errors.As(err, &out) || out.Path != outside+"/made" {
		t.Errorf("error %v", err)
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Errorf("something was done:\n%s", d)
	}
	if _, err := os.Lstat(outside + "/made"); err == nil {
		t.Error("it was made")
	}
}
