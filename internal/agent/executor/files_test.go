package executor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/agent/tool"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// pinned is an executor over a directory with two files of the same content and
// a link to one of them.
func pinned(t *testing.T) (root string, h *Executor) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, home := filepath.Join(base, "w"), filepath.Join(base, "home")
	for name, text := range map[string]string{"d/f": "same\n", "twin": "same\n", "e/f": "same\n"} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d/f", filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	tr, err := tree.Open(tree.Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(home, "store"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	w, err := txn.Open(txn.Options{Tree: tr, Store: s, Ledger: l, Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	h = New(Options{Cwd: root, Base: root, Tree: tr, Work: w, Images: s.Get, Keep: s.Put})
	t.Cleanup(func() { h.Close(); _ = w.Close(); _ = l.Close() })
	return root, h
}

func proposed(t *testing.T, h *Executor, path string) tool.Change {
	t.Helper()
	args, err := json.Marshal(map[string]string{"file_path": path, "old_string": "same", "new_string": "other"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := h.Propose(context.Background(), tool.Call{ID: "c1", Name: "edit_file", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := a.(tool.Change)
	if !ok {
		t.Fatalf("proposed %T: %+v", a, a)
	}
	return c
}

func contents(t *testing.T, root string, names ...string) string {
	t.Helper()
	var b strings.Builder
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(root, n))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}

// TestSEC_L4_LinkMadeBetweenApprovalAndCommit: the file that was shown is the file
// that is written, or none is.
func TestSEC_L4_LinkMadeBetweenApprovalAndCommit(t *testing.T) {
	for name, spoil := range map[string]func(root string) error{
		"file": func(root string) error {
			if err := os.Remove(filepath.Join(root, "d/f")); err != nil {
				return err
			}
			return os.Symlink("../twin", filepath.Join(root, "d/f"))
		},
		"directory": func(root string) error {
			if err := os.Rename(filepath.Join(root, "d"), filepath.Join(root, "was")); err != nil {
				return err
			}
			return os.Symlink("e", filepath.Join(root, "d"))
		},
		"nothing": func(string) error { return nil }, // the control
	} {
		t.Run(name, func(t *testing.T) {
			root, h := pinned(t)
			a := proposed(t, h, "d/f")
			if err := spoil(root); err != nil {
				t.Fatal(err)
			}
			r, _ := h.Commit(context.Background(), "c1", a, RunOptions{})
			if name == "nothing" {
				if r.Error != nil || contents(t, root, "d/f") != "other\n" {
					t.Errorf("the control: %v", r.Error)
				}
				return
			}
			if r.Error == nil {
				t.Error("committed")
			}
			if got := contents(t, root, "twin", "e/f"); got != "same\nsame\n" {
				t.Errorf("another file was written: %q", got)
			}
		})
	}
}

// TestSEC_L4_RetargetedLink: a link that was followed for the approval is pointed
// elsewhere; what was shown is written all the same.
func TestSEC_L4_RetargetedLink(t *testing.T) {
	root, h := pinned(t)
	a := proposed(t, h, "link")
	if got := a.Set.Paths()[0]; got != filepath.ToSlash(filepath.Join(root, "d/f")) {
		t.Errorf("what is shown is %s, not the file that will be written", got)
	}
	link := filepath.Join(root, "link")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("twin", link); err != nil {
		t.Fatal(err)
	}
	if r, _ := h.Commit(context.Background(), "c1", a, RunOptions{}); r.Error != nil {
		t.Fatal(r.Error)
	}
	if got := contents(t, root, "d/f", "twin"); got != "other\nsame\n" {
		t.Errorf("files are %q", got)
	}
}
