package changes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/ledger"
	"kerf/internal/work/scan"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn"
)

// disk is a real workspace whose changes are made by tools, by commands and by
// others.
type disk struct {
	root string
	work *txn.Workspace
	scan *scan.Scanner
	snap *scan.Snap
	r    *rand.Rand
	n    int
}

func newDisk(t *testing.T, seed uint64) *disk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	d := &disk{root: filepath.ToSlash(filepath.Join(base, "w")), r: rand.New(rand.NewPCG(seed, 7))}
	must(t, os.Mkdir(d.root, 0o755))
	tr, err := tree.Open(tree.Options{Roots: []string{d.root}})
	must(t, err)
	s, err := store.Open(filepath.Join(base, "home", "store"))
	must(t, err)
	l, err := ledger.Open(filepath.Join(base, "home"))
	must(t, err)
	d.work, err = txn.Open(txn.Options{Tree: tr, Store: s, Ledger: l, Dir: filepath.Join(base, "home")})
	must(t, err)
	d.scan, err = scan.Open(scan.Options{Roots: []string{d.root}, Store: s, Git: "-", Home: base})
	must(t, err)
	t.Cleanup(func() { _ = d.work.Close(); _ = l.Close(); _ = s.Close() })
	for _, name := range []string{"a", "b", "d/e", "d/f"} {
		d.write(t, name, "one\ntwo\nthree\n")
	}
	d.snap, err = d.scan.Snapshot(t.Context())
	must(t, err)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *disk) path(name string) string { return d.root + "/" + name }

func (d *disk) write(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(d.path(name)), 0o755))
	must(t, os.WriteFile(d.path(name), []byte(text), 0o644))
}

// command makes a mess as a shell would, and records what the scanner finds of it.
func (d *disk) command(t *testing.T) {
	t.Helper()
	for range 1 + d.r.IntN(3) {
		d.mess()
	}
	now, err := d.scan.Snapshot(t.Context())
	must(t, err)
	set, _, err := d.scan.Diff(t.Context(), d.snap, now)
	must(t, err)
	o := txn.CommitOptions{Origin: d.origin(), Cause: ledger.CauseCommand, Certainty: ledger.Proven}
	o.Dirs, o.Gone, o.Modes = d.scan.Dirs(d.snap, now)
	d.snap = now
	if len(set)+len(o.Dirs)+len(o.Gone)+len(o.Modes) == 0 {
		return
	}
	_, err = d.work.Record(t.Context(), set, o)
	must(t, err)
}

// dirMode is the mode of a directory that is made, another one each time.
func (d *disk) dirMode(string) fs.FileMode { return []fs.FileMode{0o755, 0o750, 0o700}[d.r.IntN(3)] }

func (d *disk) mess() {
	names := []string{"a", "b", "d/e", "d/f", "x/y/z", "x/k", "n"}
	p, q := d.path(names[d.r.IntN(len(names))]), d.path(names[d.r.IntN(len(names))])
	d.n++
	switch d.r.IntN(11) {
	case 0, 1:
		_ = os.MkdirAll(filepath.Dir(p), d.dirMode(p))
		_ = os.WriteFile(p, fmt.Appendf(nil, "text %d\n", d.n), 0o600)
	case 2:
		_ = os.Remove(p)
	case 3:
		_ = os.MkdirAll(filepath.Dir(q), d.dirMode(q))
		_ = os.Rename(p, q)
	case 4:
		_ = os.RemoveAll(d.path([]string{"d", "x", "x/y", "empty"}[d.r.IntN(4)]))
	case 5:
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() {
			_ = os.Chmod(p, st.Mode().Perm()^0o111)
		}
	case 6:
		_ = os.Remove(p)
		_ = os.Symlink(fmt.Sprintf("target%d", d.n), p)
	case 7:
		_ = os.MkdirAll(d.path("empty/inner"), 0o700)
	case 9:
		dir := filepath.Dir(p)
		if st, err := os.Lstat(dir); err == nil && dir != d.root {
			_ = os.Chmod(dir, st.Mode().Perm()^0o055)
		}
	case 10:
		_ = os.RemoveAll(p)
		_ = os.MkdirAll(p+"/inside", d.dirMode(p))
	case 8:
		_ = os.WriteFile(p, append([]byte{0, 255}, fmt.Append(nil, d.n)...), 0o644)
	}
}

// tool commits a change as a tool does.
func (d *disk) tool(t *testing.T) {
	t.Helper()
	d.n++
	p := d.path([]string{"a", "t/u/v", "d/e"}[d.r.IntN(3)])
	now, err := d.work.Tree.ReadEntry(p, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	set := delta.Set{{Path: p, Pre: now, Post: delta.NewFile(fmt.Appendf(nil, "tool %d\n", d.n), 0)}}
	out, err := d.work.Commit(t.Context(), set, txn.CommitOptions{Origin: d.origin()})
	if err != nil {
		return
	}
	for _, c := range out.Committed {
		d.scan.Note(c.Path, c.Post)
	}
}

func (d *disk) origin() txn.Origin {
	return txn.Origin{Session: "s", Turn: fmt.Sprintf("t%d", d.n/3), Call: fmt.Sprintf("c%d", d.n)}
}

func (d *disk) reader() changes.Reader {
	return changes.Reader{Ledger: d.work.Ledger, Images: d.work.Store, Base: d.root}
}

// take undoes or redoes, and reports whether anything was done.
func (d *disk) take(t *testing.T, c changes.Choice) bool {
	t.Helper()
	p, err := d.reader().Plan(c, present.In(d.work.Tree, d.root))
	if errors.Is(err, changes.ErrNothing) {
		return false
	}
	must(t, err)
	if p.Problem != "" {
		t.Fatalf("%+v: %s\n%s", c, p.Problem, d.story(t))
	}
	out, err := p.Commit(context.Background(), d.work, txn.Origin{Tool: "undo"})
	if err != nil {
		t.Fatalf("%v\n%s", err, d.story(t))
	}
	for _, ch := range out.Committed {
		d.scan.Note(ch.Path, ch.Post)
	}
	return true
}

// picture describes everything below the root.
func (d *disk) picture(t *testing.T) map[string]string {
	t.Helper()
	got := map[string]string{}
	must(t, filepath.WalkDir(d.root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.IsDir():
			got[p] = st.Mode().String()
		case st.Mode()&fs.ModeSymlink != 0:
			got[p], err = os.Readlink(p)
		default:
			var b []byte
			b, err = os.ReadFile(p)
			got[p] = st.Mode().String() + " " + string(b)
		}
		return err
	}))
	return got
}

func (d *disk) story(t *testing.T) string {
	t.Helper()
	entries, err := d.work.Ledger.Read(0)
	must(t, err)
	s := ""
	for _, e := range entries {
		s += fmt.Sprintf("%d %s %s undoes %v dirs %v gone %v\n", e.Seq, e.Cause, e.Turn, e.Undoes, e.Dirs, e.Gone)
		for _, c := range e.Changes {
			s += fmt.Sprintf("  %s from %q to %q pre %v post %v\n", c.Path, c.From, c.To, c.Pre != nil, c.Post != nil)
		}
	}
	return s
}

// TestSEC_E9_UndoOnDisk plays histories of tools and commands on a real tree: after each
// undo a redo gives back the tree as it was, directories included, and undoing
// everything gives the beginning.
func TestSEC_E9_UndoOnDisk(t *testing.T) {
	histories := 40
	if os.Getenv("KERF_LONG") != "" {
		histories = 2000
	}
	for seed := range uint64(histories) {
		d := newDisk(t, seed)
		states := []map[string]string{d.picture(t)}
		for range 2 + d.r.IntN(5) {
			if d.r.IntN(3) == 0 {
				d.tool(t)
			} else {
				d.command(t)
			}
			d.n++
		}
		byCall := changes.Choice{ByCall: d.r.IntN(2) == 0}
		before := d.picture(t)
		for d.take(t, byCall) {
			after := d.picture(t)
			d.take(t, changes.Choice{Redo: true})
			if diff := cmp.Diff(before, d.picture(t)); diff != "" {
				t.Fatalf("history %d: undo then redo (-want +got)\n%s\n%s", seed, diff, d.story(t))
			}
			d.take(t, byCall)
			if before = d.picture(t); cmp.Diff(after, before) != "" {
				t.Fatalf("history %d: undo, redo, undo (-want +got)\n%s\n%s", seed, cmp.Diff(after, before), d.story(t))
			}
		}
		states = slices.Insert(states, 1, before)
		if diff := cmp.Diff(states[0], states[1]); diff != "" {
			t.Fatalf("history %d: undoing everything (-want +got)\n%s\n%s", seed, diff, d.story(t))
		}
		if t.Failed() {
			return
		}
	}
}
