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

	"kerf/internal/testkit/ordinary"
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// fixture is a workspace with a root and a home, side by side.
type fixture struct {
	t    *testing.T
	root string
	home string
	w    *Workspace
}

func newFixture(t *testing.T) *fixture { return newFixtureIn(t, "w") }

// largeRoot is the name of roots in which hardly any content is small enough to be loaded.
const largeRoot = "large"

func newFixtureIn(t *testing.T, root string) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, root: filepath.Join(base, root), home: filepath.Join(base, "home")}
	if err := os.Mkdir(f.root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // closed directories could not be removed
		_ = filepath.WalkDir(base, func(p string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	f.w = f.open(true, nil)
	return f
}

// open returns another workspace over the same places, as another process would.
func (f *fixture) open(durable bool, hook func(op, path string) error) *Workspace {
	f.t.Helper()
	w, err := openAt(f.root, f.home, durable, hook)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = w.Close(); _ = w.Ledger.Close() })
	return w
}

func openAt(root, home string, durable bool, hook func(op, path string) error) (*Workspace, error) {
	o := tree.Options{Roots: []string{root}, Before: hook}
	if filepath.Base(root) == largeRoot {
		o.Whole = 2
	}
	t, err := tree.Open(o)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(filepath.Join(home, "store"))
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(home)
	if err != nil {
		return nil, err
	}
	s.Hook, l.Hook = hook, hook
	return Open(Options{Tree: t, Store: s, Ledger: l, Dir: filepath.Join(home, "journal"), Durable: durable, Before: hook})
}

func (f *fixture) path(name string) string { return filepath.ToSlash(filepath.Join(f.root, name)) }

// write puts files there behind the workspace's back. A name that ends in * makes
// the file executable.
func (f *fixture) write(files ...string) {
	f.t.Helper()
	for i := 0; i < len(files); i += 2 {
		name, mode := strings.CutSuffix(files[i], "*")
		p := f.path(name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			f.t.Fatal(err)
		}
		perm := os.FileMode(0o644)
		if mode {
			perm = 0o751
		}
		if err := os.WriteFile(p, []byte(files[i+1]), perm); err != nil {
			f.t.Fatal(err)
		}
		if err := os.Chmod(p, perm); err != nil {
			f.t.Fatal(err)
		}
	}
}

// outside makes a directory beside the root with a victim in it.
func (f *fixture) outside() string {
	f.t.Helper()
	out := filepath.Join(filepath.Dir(f.root), "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "victim"), []byte("victim"), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fixture) image(name string) *delta.Image {
	f.t.Helper()
	i, err := f.w.Tree.ReadEntry(f.path(name), 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return i
}

// change makes a change from what is on disk now to text, or to nothing.
func (f *fixture) change(name string, text ...string) delta.Change {
	f.t.Helper()
	c := delta.Change{Path: f.path(name), Pre: f.image(name)}
	if len(text) > 0 {
		mode := uint32(0o644)
		if c.Pre != nil && c.Pre.Kind == delta.File {
			mode = c.Pre.Mode
		}
		c.Post = delta.NewFile([]byte(text[0]), mode)
	}
	return c
}

// move makes the two halves of a move.
func (f *fixture) move(from, to string) delta.Set {
	src := f.change(from)
	src.To = f.path(to)
	dst := delta.Change{Path: f.path(to), Pre: f.image(to), Post: src.Pre, From: f.path(from)}
	return delta.Set{dst, src}
}

func (f *fixture) snapshot() map[string]string { return snapshot(f.t, f.root) }

// snapshot describes every name below root: mode and content. It looks into closed directories,
// too.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	var closed []func() error // those to be closed again, the outermost first
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if perm := st.Mode().Perm(); d.IsDir() && perm&0o500 != 0o500 && ordinary.Bound() {
			if err := os.Chmod(p, perm|0o700); err != nil {
				return err
			}
			closed = append(closed, func() error { return os.Chmod(p, st.Mode()) })
		}
		if p == root {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		text := st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case st.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text += " " + target
		}
		got[rel] = text
		return nil
	})
	for _, again := range slices.Backward(closed) {
		err = errors.Join(err, again())
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (f *fixture) commit(set ...delta.Change) Outcome {
	f.t.Helper()
	out, err := f.w.Commit(context.Background(), set, CommitOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.checkClean()
	return out
}

// checkClean fails if anything but the files is left.
func (f *fixture) checkClean() {
	f.t.Helper()
	for name := range f.snapshot() {
		if strings.Contains(name, ".kerf-") {
			f.t.Errorf("stray %s", name)
		}
	}
	if f.w.journal.Pending() {
		f.t.Error("journal is not empty")
	}
}

func (f *fixture) entries() []ledger.Entry {
	f.t.Helper()
	e, err := f.w.Ledger.Read(0)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

func TestCommitWritesAllKinds(t *testing.T) {
	f := newFixture(t)
	f.write("a", "old\n", "gone", "x", "run*", "#!\n", "from", "moved")
	set := delta.Set{
		f.change("a", "new\n"),
		f.change("deep/er/new", "fresh"),
		f.change("gone"),
		f.change("run", "#!/bin/sh\n"),
	}
	set = append(set, f.move("from", "to")...)
	out := f.commit(set...)
	want := map[string]string{
		"a": "-rw-r--r-- new\n", "deep": "drwxr-xr-x", "deep/er": "drwxr-xr-x", "deep/er/new": "-rw-r--r-- fresh",
		"run": "-rwxr-x--x #!/bin/sh\n", "to": "-rw-r--r-- moved",
	}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff(set, out.Committed); d != "" || !out.Exact || len(out.Failed) > 0 {
		t.Errorf("outcome %+v\n%s", out, d)
	}
	entries := f.entries()
	if len(entries) != 1 || out.Entry == nil || entries[0].Seq != out.Entry.Seq || !entries[0].Exact {
		t.Fatalf("entries %+v", entries)
	}
	if d := cmp.Diff(ledger.ChangesOf(set), entries[0].Changes); d != "" {
		t.Errorf("entry -want +got\n%s", d)
	}
	if d := cmp.Diff([]ledger.Path{ledger.Path(f.path("deep")), ledger.Path(f.path("deep/er"))},
		entries[0].Dirs); d != "" {
		t.Errorf("dirs\n%s", d)
	}
	for _, c := range set {
		for _, i := range []*delta.Image{c.Pre, c.Post} {
			if i == nil {
				continue
			}
			if b, err := f.w.Store.Get(i.Sum); err != nil || string(b) != string(i.Data) {
				t.Errorf("%s: image not in the store: %v", c.Path, err)
			}
		}
	}
}

func TestMismatchWritesNothing(t *testing.T) {
	for name, spoil := range map[string]func(f *fixture){
		"content": func(f *fixture) { f.write("b", "theirs") },
		"mode":    func(f *fixture) { f.write("b*", "b") },
		"gone":    func(f *fixture) { os.Remove(f.path("b")) },
		"new":     func(f *fixture) { f.write("n", "theirs") },
		"link":    func(f *fixture) { os.Remove(f.path("b")); os.Symlink("a", f.path("b")) },
		"dir":     func(f *fixture) { os.Remove(f.path("b")); os.Mkdir(f.path("b"), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("a", "a", "b", "b")
			set := delta.Set{f.change("a", "A"), f.change("b", "B"), f.change("n", "N"), f.change("d/e", "E")}
			spoil(f)
			before := f.snapshot()
			out, err := f.w.Commit(context.Background(), set, CommitOptions{})
			var mm *MismatchError
			if err == nil || name != "dir" && !errors.As(err, &mm) {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(before, f.snapshot()); d != "" || len(out.Committed) > 0 || out.Entry != nil || !out.Exact {
				t.Errorf("%+v\n%s", out, d)
			}
			f.checkClean()
		})
	}
}

func TestMismatchTellsBothVersions(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	c := f.change("a", "mine")
	f.write("a", "theirs")
	_, err := f.w.Commit(context.Background(), delta.Set{c}, CommitOptions{})
	var mm *MismatchError
	if !errors.As(err, &mm) {
		t.Fatal(err)
	}
	want := &MismatchError{f.path("a"), c.Pre.Version, delta.NewFile([]byte("theirs"), 0o644).Version}
	if d := cmp.Diff(want, mm); d != "" {
		t.Error(d)
	}
}

func TestFileAndDirectoryTradePlaces(t *testing.T) {
	f := newFixture(t)
	f.write("d/x", "x", "d/y/z", "z", "file", "text")
	set := delta.Set{
		f.change("d/x"), f.change("d/y/z"), {Path: f.path("d"), Post: delta.NewFile([]byte("now a file"), 0o644)},
		f.change("file"), {Path: f.path("file/in"), Post: delta.NewFile([]byte("in"), 0o600)},
	}
	f.commit(set...)
	want := map[string]string{"d": "-rw-r--r-- now a file", "file": "drwxr-xr-x", "file/in": "-rw------- in"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestDirectoryWithMoreInItStays(t *testing.T) {
	f := newFixture(t)
	f.write("d/x", "x", "d/other", "o", "a", "a")
	before := f.snapshot()
	set := delta.Set{f.change("a", "A"), f.change("d/x"), {Path: f.path("d"), Post: delta.NewFile(nil, 0o644)}}
	if _, err := f.w.Commit(context.Background(), set, CommitOptions{}); err == nil {
		t.Fatal("committed")
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
	f.checkClean()
}

func TestRepeatedPathsAreFolded(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	c1 := f.change("a", "2")
	c2 := delta.Change{Path: c1.Path, Pre: c1.Post, Post: delta.NewFile([]byte("3"), 0o644)}
	out := f.commit(c1, c2)
	if len(out.Committed) != 1 || string(out.Committed[0].Pre.Data) != "1" || string(out.Committed[0].Post.Data) != "3" {
		t.Errorf("%+v", out.Committed)
	}
	bad := delta.Change{Path: c1.Path, Pre: c1.Pre, Post: nil}
	if _, err := f.w.Commit(context.Background(), delta.Set{f.change("a", "x"), bad}, CommitOptions{}); !errors.Is(err,
		ErrBadSet) {
		t.Errorf("got %v", err)
	}
}

func TestNothingToDoIsNoEntry(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	out := f.commit(f.change("a", "1"))
	if len(out.Committed) != 0 || out.Entry != nil || len(f.entries()) != 0 {
		t.Errorf("%+v", out)
	}
}

func TestCommitKeepsWhatIsNotContent(t *testing.T) {
	f := newFixture(t)
	f.write("a*", "1", "h1", "hard")
	if err := os.Link(f.path("h1"), f.path("h2")); err != nil {
		t.Skip(err)
	}
	f.commit(f.change("a", "2"), f.change("h1", "soft and longer"))
	want := map[string]string{
		"a": "-rwxr-x--x 2", "h1": "-rw-r--r-- soft and longer", "h2": "-rw-r--r-- soft and longer"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
	a, _ := os.Stat(f.path("h1"))
	b, _ := os.Stat(f.path("h2"))
	if !os.SameFile(a, b) {
		t.Error("the names have parted")
	}
	f.commit(f.change("h1", "x"))
	if got := f.snapshot()["h2"]; got != "-rw-r--r-- x" {
		t.Errorf("h2 is %q", got)
	}
}

func TestSEC_L7_LinkInsideIsFollowed(t *testing.T) {
	f := newFixture(t)
	f.write("dir/real", "1")
	for _, link := range [][2]string{{"dir/real", "rel"}, {f.path("dir/real"), "abs"}, {"dir", "d"}, {"rel", "twice"}} {
		if err := os.Symlink(link[0], f.path(link[1])); err != nil {
			t.Skip(err)
		}
	}
	for i, name := range []string{"rel", "abs", "d/real", "twice"} {
		img, err := f.w.Tree.Read(f.path(name), 0)
		if err != nil {
			t.Fatal(err)
		}
		post := delta.NewFile(fmt.Appendf(nil, "edit %d", i), 0o644)
		out := f.commit(delta.Change{Path: f.path(name), Pre: img, Post: post})
		if got := f.snapshot(); got["dir/real"] != "-rw-r--r-- "+string(post.Data) || !strings.HasPrefix(got["rel"], "L") {
			t.Errorf("%s: %v", name, got)
		}
		if out.Committed[0].Path != f.path("dir/real") {
			t.Errorf("%s: committed %s", name, out.Committed[0].Path)
		}
	}
	// Removing the name removes the link, not the file.
	img, err := f.w.Tree.Read(f.path("twice"), 0)
	if err != nil {
		t.Fatal(err)
	}
	out := f.commit(delta.Change{Path: f.path("twice"), Pre: img})
	if _, ok := f.snapshot()["twice"]; ok || f.image("dir/real") == nil || out.Committed[0].Pre.Kind != delta.Symlink {
		t.Errorf("%+v", out.Committed)
	}
}

func TestLinksAreMadeAndRemoved(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	f.commit(delta.Change{Path: f.path("l"), Post: delta.NewSymlink("a")})
	f.commit(delta.Change{Path: f.path("l"), Pre: f.image("l"), Post: delta.NewSymlink("b")})
	if got := f.snapshot()["l"]; !strings.HasSuffix(got, " b") || got[0] != 'L' {
		t.Fatal(got)
	}
	f.commit(delta.Change{Path: f.path("l"), Pre: f.image("l"), Post: delta.NewFile([]byte("x"), 0o644)})
	f.commit(f.change("l"))
	if got := f.snapshot(); len(got) != 1 {
		t.Error(got)
	}
}

func TestUndoRestoresEverything(t *testing.T) {
	f := newFixture(t)
	f.write("a*", "old", "gone", "x")
	if err := os.Chmod(f.path("gone"), 0o666); err != nil {
		t.Fatal(err)
	}
	before := f.snapshot()
	out := f.commit(f.change("a", "new"), f.change("gone"), f.change("p/q/r", "1"))
	var back delta.Set
	for _, c := range out.Entry.Set() { // images not loaded: the bytes come from the store
		back = append(back, delta.Change{Path: c.Path, Pre: c.Post, Post: c.Pre})
	}
	o := CommitOptions{Cause: ledger.CauseUndo, Origin: Origin{Undoes: []int64{out.Entry.Seq}}}
	for i := len(out.Entry.Dirs) - 1; i >= 0; i-- {
		o.Prune = append(o.Prune, string(out.Entry.Dirs[i]))
	}
	if _, err := f.w.Commit(context.Background(), back, o); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, f.snapshot()); d != "" {
		t.Error(d)
	}
	last := f.entries()[1]
	if last.Cause != ledger.CauseUndo || len(last.Undoes) != 1 || last.Undoes[0] != 1 {
		t.Errorf("%+v", last)
	}
}

func TestSEC_E5_BestEffortReportsTheCommittedPrefix(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1", "b", "2", "c", "3", "src", "s", "dst", "d")
	set := delta.Set{f.change("a", "A"), f.change("b", "B"), f.change("c", "C")}
	set = append(set, f.move("src", "dst")...)
	f.write("b", "theirs", "dst", "theirs")
	out, err := f.w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if err != nil {
		t.Fatal(err)
	}
	f.checkClean()
	if d := cmp.Diff([]string{f.path("a"), f.path("c")}, out.Committed.Paths()); d != "" || !out.Exact {
		t.Error(d)
	}
	var failed []string
	for _, e := range out.Failed {
		failed = append(failed, e.Path)
	}
	if d := cmp.Diff([]string{f.path("b"), f.path("dst"), f.path("src")}, failed); d != "" {
		t.Error(d)
	}
	want := map[string]string{"a": "-rw-r--r-- A", "b": "-rw-r--r-- theirs", "c": "-rw-r--r-- C",
		"src": "-rw-r--r-- s", "dst": "-rw-r--r-- theirs"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
}

// TestWhatCannotMoveStays: when a path cannot get the content of another one, file by file, that one is not given
// other content, nor removed, nor made a directory, and so on along the moves. What was only copied may change.
func TestWhatCannotMoveStays(t *testing.T) {
	image := func(text string) *delta.Image { return delta.NewFile([]byte(text), 0o644) }
	f := newFixture(t)
	f.write("a", "A", "b", "B", "c", "C", "copied", "P", "dir", "D")
	set := delta.Set{
		{Path: f.path("new"), Post: image("A"), From: f.path("a")},
		{Path: f.path("a"), Pre: image("A"), Post: image("B"), From: f.path("b")},
		{Path: f.path("b"), Pre: image("B"), Post: image("C"), From: f.path("c")},
		{Path: f.path("c"), Pre: image("C"), To: f.path("b")},
		{Path: f.path("copy"), Post: image("P"), From: f.path("copied")},
		{Path: f.path("copied"), Pre: image("P"), Post: image("changed")},
		{Path: f.path("away"), Post: image("D"), From: f.path("dir")},
		{Path: f.path("dir"), Pre: image("D"), To: f.path("away")},
		{Path: f.path("dir/x"), Post: image("X")},
		{Path: f.path("free"), Post: image("F")},
	}
	f.write("new", "theirs", "copy", "theirs", "away", "theirs")
	out, err := f.w.Commit(context.Background(), set, CommitOptions{BestEffort: true})
	if err != nil || !out.Exact {
		t.Fatalf("%+v, %v", out, err)
	}
	f.checkClean()
	want := map[string]string{"a": "-rw-r--r-- A", "b": "-rw-r--r-- B", "c": "-rw-r--r-- C", "dir": "-rw-r--r-- D",
		"copied": "-rw-r--r-- changed", "free": "-rw-r--r-- F", "new": "-rw-r--r-- theirs", "copy": "-rw-r--r-- theirs",
		"away": "-rw-r--r-- theirs"}
	if d := cmp.Diff(want, f.snapshot()); d != "" {
		t.Error(d)
	}
	failed := map[string]string{}
	for _, e := range out.Failed {
		failed[strings.TrimPrefix(e.Path, f.path("")+"/")] = e.Err.Error()
	}
	if len(failed) != 8 || !strings.HasPrefix(failed["c"], "its content did not get to "+f.path("b")) {
		t.Errorf("%q", failed)
	}
}

func TestRecord(t *testing.T) {
	f := newFixture(t)
	set := delta.Set{{Path: f.path("x"), Pre: delta.NewFile([]byte("1"), 0o644),
		Post: &delta.Image{Version: delta.NewFile([]byte("2"), 0o644).Version}}}
	e, err := f.w.Record(context.Background(), set, CommitOptions{Cause: ledger.CauseCommand, Inexact: true})
	if err != nil || e.Seq != 1 || e.Exact || e.Cause != ledger.CauseCommand {
		t.Fatalf("%+v %v", e, err)
	}
	if !f.w.Store.Has(set[0].Pre.Sum) || f.w.Store.Has(set[0].Post.Sum) {
		t.Error("images")
	}
}

func TestCancelledCommitWritesNothing(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.w.Commit(ctx, delta.Set{f.change("a", "1")}, CommitOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(f.snapshot()) != 0 {
		t.Error("something was written")
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("durable=%v", durable), func(b *testing.B) {
			base, err := filepath.EvalSymlinks(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			root := filepath.Join(base, "w")
			if err := os.Mkdir(root, 0o755); err != nil {
				b.Fatal(err)
			}
			w, err := openAt(root, filepath.Join(base, "home"), durable, nil)
			if err != nil {
				b.Fatal(err)
			}
			body := strings.Repeat("a line of text in a file\n", 400)
			var pre *delta.Image
			for i := 0; b.Loop(); i++ {
				post := delta.NewFile(fmt.Appendf(nil, "%d\n%s", i, body), 0o644)
				c := delta.Change{Path: root + "/f", Pre: pre, Post: post}
				if _, err := w.Commit(context.Background(), delta.Set{c}, CommitOptions{}); err != nil {
					b.Fatal(err)
				}
				pre = post
			}
		})
	}
}

// TestSEC_E11_StaleVersionIsRefused: the content, the mode, the absence and the kind
// that a change was made for must be what is there.
func TestSEC_E11_StaleVersionIsRefused(t *testing.T) {
	f := newFixture(t)
	f.write("a", "now", "mode", "same", "there", "x")
	post := delta.NewFile([]byte("new"), 0o644)
	for name, pre := range map[string]*delta.Image{
		"a":     delta.NewFile([]byte("old"), 0o644),
		"mode":  delta.NewFile([]byte("same"), 0o600),
		"there": nil,
		"gone":  delta.NewFile([]byte("old"), 0o644),
	} {
		before, have := f.snapshot(), f.image(name).At()
		out, err := f.w.Commit(context.Background(), delta.Set{{Path: f.path(name), Pre: pre, Post: post}}, CommitOptions{})
		var stale *MismatchError
		if !errors.As(err, &stale) || stale.Have != have || stale.Want != pre.At() || len(out.Committed) > 0 {
			t.Errorf("%s: %+v %v", name, out, err)
		}
		if d := cmp.Diff(before, f.snapshot()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	f.commit(f.change("a", "new")) // the control: with what is there it goes through
}
