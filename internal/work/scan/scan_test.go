package scan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
)

// memory is a store in memory.
type memory struct {
	mu     sync.Mutex
	data   map[delta.Sum][]byte
	puts   int
	refuse bool
	// misname gives contents the name of others.
	misname bool
}

func (m *memory) Put(b []byte) (delta.Sum, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse {
		return delta.Sum{}, errors.New("no space left")
	}
	if m.data == nil {
		m.data = make(map[delta.Sum][]byte)
	}
	m.puts++
	m.data[delta.SumOf(b)] = bytes.Clone(b)
	if m.misname {
		return delta.Sum{}, nil
	}
	return delta.SumOf(b), nil
}

func (m *memory) Get(s delta.Sum) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.data[s]; ok {
		return bytes.Clone(b), nil
	}
	return nil, errors.New("not in the store")
}

func (m *memory) bytes() (n int) {
	for _, b := range m.data {
		n += len(b)
	}
	return n
}

// world is a scanned directory.
type world struct {
	testing.TB
	dir   string
	store *memory
	scan  *Scanner
}

func newWorld(t testing.TB, o Options, files ...string) *world {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir(), store: new(memory)}
	w.plant(files...)
	w.open(o)
	return w
}

func (w *world) open(o Options) {
	w.Helper()
	o.Roots, o.Store = append(o.Roots, w.dir), w.store
	var err error
	if w.scan, err = Open(o); err != nil {
		w.Fatal(err)
	}
}

// plant makes files from "path=content" or "path"; "path->target" is a link,
// "path/" a directory.
func (w *world) plant(files ...string) {
	w.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		name, target, link := strings.Cut(name, "->")
		file := w.at(name)
		parent := filepath.Dir(file)
		if strings.HasSuffix(name, "/") {
			parent = file
		}
		w.must(os.MkdirAll(parent, 0o755))
		switch {
		case link:
			w.must(os.Symlink(target, file))
		case parent != file:
			w.must(os.WriteFile(file, []byte(content), 0o644))
		}
	}
}

func (w *world) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) snap() *Snap {
	w.Helper()
	s, err := w.scan.Snapshot(w.Context())
	w.must(err)
	return s
}

func (w *world) diff(a, b *Snap) (delta.Set, []Gap) {
	w.Helper()
	set, gaps, err := w.scan.Diff(w.Context(), a, b)
	w.must(err)
	return set, gaps
}

func (w *world) git(args ...string) string {
	w.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		w.Skip("no git")
	}
	cmd := exec.Command(git, append([]string{"-c", "gc.auto=0"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// aged makes all files old enough for stat to be believed.
func (w *world) aged() { time.Sleep(grain + 15*time.Millisecond) }

// show prints a Set and gaps, relative to the root.
func (w *world) show(set delta.Set, gaps []Gap) string {
	var b strings.Builder
	image := func(i *delta.Image) string {
		switch {
		case i == nil:
			return "none"
		case !i.Loaded:
			return fmt.Sprintf("%s %o ?%d", i.Kind, i.Mode, i.Size)
		}
		return fmt.Sprintf("%s %o %q", i.Kind, i.Mode, i.Data)
	}
	rel := func(p string) string { return strings.TrimPrefix(p, filepath.ToSlash(w.dir)+"/") }
	for _, c := range set {
		fmt.Fprintf(&b, "%s: %s -> %s", rel(c.Path), image(c.Pre), image(c.Post))
		if c.From != "" {
			b.WriteString(" from " + rel(c.From))
		}
		if c.To != "" {
			b.WriteString(" to " + rel(c.To))
		}
		b.WriteString("\n")
	}
	for _, g := range gaps {
		fmt.Fprintf(&b, "gap %s: %s: %s\n", rel(g.Path), g.Kind, g.Reason)
	}
	return b.String()
}

func (w *world) wants(what, want string, set delta.Set, gaps []Gap) {
	w.Helper()
	if d := cmp.Diff(want, w.show(set, gaps)); d != "" {
		w.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// tree reads all files and links, other than those of git.
func (w *world) tree() map[string]*delta.Image {
	w.Helper()
	tree := make(map[string]*delta.Image)
	w.must(filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git":
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular():
			info, err := d.Info()
			w.must(err)
			data, err := os.ReadFile(p)
			w.must(err)
			tree[filepath.ToSlash(p)] = delta.NewFile(data, uint32(info.Mode().Perm()))
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			w.must(err)
			tree[filepath.ToSlash(p)] = delta.NewSymlink(target)
		}
		return nil
	}))
	return tree
}

// reproduces checks the law: the Set leads from one tree to the other, and back.
func (w *world) reproduces(base, now map[string]*delta.Image, set delta.Set, gaps []Gap) {
	w.Helper()
	within := func(p string) bool {
		return slices.ContainsFunc(gaps, func(g Gap) bool { return p == g.Path || strings.HasPrefix(p, g.Path+"/") })
	}
	apply := func(from map[string]*delta.Image, set delta.Set,
		pick func(delta.Change) (pre, post *delta.Image)) map[string]*delta.Image {
		to := make(map[string]*delta.Image)
		for p, i := range from {
			to[p] = i
		}
		for _, c := range set {
			pre, post := pick(c)
			if within(c.Path) {
				continue
			}
			if !pre.Same(to[c.Path]) {
				w.Errorf("%s: the tree had %+v, the set says %+v", c.Path, to[c.Path].At(), pre.At())
			}
			delete(to, c.Path)
			if post != nil {
				if !post.Loaded {
					data, err := w.store.Get(post.Sum)
					w.must(err)
					post = &delta.Image{Version: post.Version, Data: data, Loaded: true}
				}
				if delta.SumOf(post.Data) != post.Sum {
					w.Errorf("%s: the bytes are not those of the version", c.Path)
				}
				to[c.Path] = post
			}
		}
		for p := range to {
			if within(p) {
				delete(to, p)
			}
		}
		return to
	}
	strip := func(t map[string]*delta.Image) map[string]string {
		out := make(map[string]string)
		for p, i := range t {
			if !within(p) {
				out[p] = fmt.Sprintf("%s %o %q", i.Kind, i.Mode, i.Data)
			}
		}
		return out
	}
	forth := apply(base, set, func(c delta.Change) (*delta.Image, *delta.Image) { return c.Pre, c.Post })
	if d := cmp.Diff(strip(now), strip(forth)); d != "" {
		w.Errorf("base + set is not the tree (-tree +made):\n%s", d)
	}
	back := apply(now, set, func(c delta.Change) (*delta.Image, *delta.Image) { return c.Post, c.Pre })
	if d := cmp.Diff(strip(base), strip(back)); d != "" {
		w.Errorf("tree - set is not the base (-base +made):\n%s", d)
	}
}

func TestDiff(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "b/c=2", "b/d=3", "l->a", "gone=4", "moved=55", "x=6", "dir/f=7", "file=8")
	s0 := w.snap()
	base := w.tree()
	w.plant("a=one", "new/deep/file=n", "m->a")
	w.must(os.Remove(w.at("gone")))
	w.must(os.Rename(w.at("moved"), w.at("b/moved")))
	w.must(os.Chmod(w.at("x"), 0o755))
	w.must(os.Remove(w.at("l")))
	w.plant("l->b/c")
	w.must(os.RemoveAll(w.at("dir")))
	w.must(os.Remove(w.at("file")))
	w.plant("dir=now a file", "file/f=now a directory")
	s1 := w.snap()
	set, gaps := w.diff(s0, s1)
	w.wants("changes", `dir/f: file 644 "7" -> none
file: file 644 "8" -> none
gone: file 644 "4" -> none
moved: file 644 "55" -> none to b/moved
a: file 644 "1" -> file 644 "one"
b/moved: none -> file 644 "55" from moved
dir: none -> file 644 "now a file"
file/f: none -> file 644 "now a directory"
l: symlink 0 "a" -> symlink 0 "b/c"
m: none -> symlink 0 "a"
new/deep/file: none -> file 644 "n"
x: file 644 "6" -> file 755 "6"
`, set, gaps)
	w.reproduces(base, w.tree(), set, gaps)
	set, gaps = w.diff(s1, w.snap())
	w.wants("nothing", "", set, gaps)
	if len(s1.Gaps) != 0 {
		t.Errorf("gaps: %v", s1.Gaps)
	}
}

// TestYoungFileIsReadAgain changes a file so that stat does not tell.
func TestYoungFileIsReadAgain(t *testing.T) {
	w := newWorld(t, Options{}, "a=1")
	s0 := w.snap()
	n := s0.roots[0]
	w.must(os.WriteFile(w.at("a"), []byte("2"), 0o644))
	// Where the clock ticked between the writes, pretend that it did not.
	s, err := pathSig(w.at("a"))
	w.must(err)
	n.entries[0].sig = s
	set, gaps := w.diff(s0, w.snap())
	w.wants("same signature", "a: file 644 \"1\" -> file 644 \"2\"\n", set, gaps)
}

func TestUnchangedFilesAreNotRead(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "b/c=2")
	w.aged()
	s0 := w.snap()
	puts := w.store.puts
	s1 := w.snap()
	if s0.roots[0] != s1.roots[0] || w.store.puts != puts {
		t.Errorf("the tree was looked at again: %d puts", w.store.puts-puts)
	}
	now := time.Now().Add(-time.Hour)
	w.must(os.Chtimes(w.at("a"), now, now))
	set, gaps := w.diff(s1, w.snap())
	w.wants("touched", "", set, gaps)
}

func TestRefused(t *testing.T) {
	home := t.TempDir()
	for _, root := range []string{"/", home, filepath.Dir(home)} {
		s, err := Open(Options{Roots: []string{root}, Store: new(memory), Home: home})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Enabled() || s.Reason() == "" || len(snap.Gaps) != 1 || snap.Gaps[0].Kind != Refused {
			t.Errorf("%s: enabled %t, reason %q, gaps %v", root, s.Enabled(), s.Reason(), snap.Gaps)
		}
	}
	if s, err := Open(Options{Roots: []string{filepath.Join(home, "project")}, Store: new(memory),
		Home: home}); err != nil || !s.Enabled() {
		t.Errorf("a directory in the home directory: %v", err)
	}
	if _, err := Open(Options{Roots: []string{"relative"}, Store: new(memory)}); err == nil {
		t.Error("a relative root was taken")
	}
}

func TestCaps(t *testing.T) {
	w := newWorld(t, Options{Caps: Caps{FileSize: 10, Total: 12}}, "large=0123456789abc", "a=11111", "b=22222",
		"c=33333333")
	s0 := w.snap()
	var named []string
	for _, g := range s0.Gaps {
		named = append(named, strings.TrimPrefix(g.Path, filepath.ToSlash(w.dir)+"/")+" "+string(g.Kind))
	}
	if d := cmp.Diff([]string{"c limit", "large limit"}, named); d != "" {
		t.Error(d)
	}
	if s0.Held != 10 || w.store.bytes() != 10 {
		t.Errorf("held %d, stored %d", s0.Held, w.store.bytes())
	}
	base := w.tree()
	for _, f := range []string{"large", "a", "c"} {
		w.must(os.Remove(w.at(f)))
	}
	set, gaps := w.diff(s0, w.snap())
	w.wants("removed", "a: file 644 \"11111\" -> none\nc: file 644 ?8 -> none\nlarge: file 644 ?13 -> none\n"+
		"gap c: limit: not kept: the files of this workspace are over the limit of 12 bytes\n"+
		"gap large: limit: its 13 bytes are over the limit of 10 bytes a file\n", set, gaps)
	w.reproduces(base, w.tree(), set, gaps)
}

func TestTooManyFiles(t *testing.T) {
	w := newWorld(t, Options{Caps: Caps{Files: 20}}, "a=1")
	for i := range 30 {
		w.plant(fmt.Sprintf("many/%d=x", i))
	}
	s0 := w.snap()
	w.plant("a=2", "many/new=y")
	set, gaps := w.diff(s0, w.snap())
	w.wants("a directory over the cap", "a: file 644 \"1\" -> file 644 \"2\"\n"+
		"gap many: limit: may have changed: it is not looked into: more than 20 files are not tracked\n", set, gaps)
	if len(s0.Gaps) != 1 {
		t.Errorf("gaps: %v", s0.Gaps)
	}
}

func TestIgnoredDirectories(t *testing.T) {
	w := newWorld(t, Options{}, ".gitignore=/big/\n/small/\n*.log\n", "small/f=1", "x.log=2", "src=3")
	for i := range ignoredFiles + 1 {
		w.plant(fmt.Sprintf("big/sub/%d", i))
	}
	s0 := w.snap()
	if len(s0.Gaps) != 1 || s0.Gaps[0].Kind != Ignored || s0.Files > 100 {
		t.Errorf("%d files, gaps %v", s0.Files, s0.Gaps)
	}
	base := w.tree()
	w.must(os.RemoveAll(w.at("small")))
	w.must(os.Remove(w.at("x.log")))
	set, gaps := w.diff(s0, w.snap())
	w.wants("small", "small/f: file 644 \"1\" -> none\nx.log: file 644 \"2\" -> none\n", set, gaps)
	w.reproduces(base, w.tree(), set, gaps)

	w.aged()
	s1 := w.snap()
	w.must(os.RemoveAll(w.at("big")))
	set, gaps = w.diff(s1, w.snap())
	w.wants("big", "gap big: ignored: is gone; it had not been looked into: it is ignored and has more than 2000 files or "+
		"32 MiB, which are not tracked one by one\n", set, gaps)
}

func TestStoreThatRefuses(t *testing.T) {
	w := newWorld(t, Options{}, "a=1")
	w.store.refuse = true
	s0 := w.snap()
	if len(s0.Gaps) != 1 || s0.Gaps[0].Kind != Lost {
		t.Errorf("gaps: %v", s0.Gaps)
	}
	w.must(os.Remove(w.at("a")))
	set, gaps := w.diff(s0, w.snap())
	w.wants("removed", "a: file 644 ?1 -> none\ngap a: lost: not kept: no space left\n", set, gaps)
}

func TestNote(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "b=2", "d/e=3")
	s := w.snap()
	note := func(name, content string) {
		w.plant(name + "=" + content)
		w.scan.Note(w.at(name), delta.NewFile([]byte(content), 0o644))
	}
	note("a", "one")
	note("new/dir/f", "nested")
	w.must(os.RemoveAll(w.at("d")))
	w.scan.Note(w.at("d/e"), nil)
	s1 := w.snap()
	set, gaps := w.diff(s, s1)
	w.wants("Kerf's own", "", set, gaps)

	w.plant("a=dos", "b=zwei") // somebody is quicker than the note
	w.scan.Note(w.at("a"), delta.NewFile([]byte("uno"), 0o644))
	w.aged()
	set, gaps = w.diff(s1, w.snap())
	w.wants("others'", "a: file 644 \"uno\" -> file 644 \"dos\"\nb: file 644 \"2\" -> file 644 \"zwei\"\n", set, gaps)
}

func TestKerfsOwnNamesAndGitAreNotWatched(t *testing.T) {
	w := newWorld(t, Options{}, "a=1")
	s0 := w.snap()
	w.plant(".kerf-0123456789abcdef.tmp=x", ".git/config=x", "sub/.git=gitdir: nowhere")
	set, gaps := w.diff(s0, w.snap())
	w.wants("nothing but a directory", "gap sub: directory: an empty directory was made\n", set, gaps)
}

// TestWhatIsHiddenIsNotKept: commands cannot change it, so whoever did was another.
func TestWhatIsHiddenIsNotKept(t *testing.T) {
	for _, hidden := range []bool{true, false} { // the control is told and kept
		var o Options
		w := newWorld(t, o, "a=open", "d/key=old secret")
		if hidden {
			o.Hides = func(path string, below bool) bool {
				return path == w.at("d/key") || below && pathname.Under(filepath.FromSlash(path), w.at("d/key"))
			}
		}
		w.open(o)
		before := w.snap()
		w.plant("a=more", "d/key=new secret")
		set, gaps := w.diff(before, w.snap())
		kept := false
		for _, b := range w.store.data {
			kept = kept || strings.Contains(string(b), "secret")
		}
		if len(gaps) > 0 || len(set) != map[bool]int{true: 1, false: 2}[hidden] || kept == hidden {
			t.Errorf("hidden %v: changes %v, gaps %v, kept %v", hidden, set.Paths(), gaps, kept)
		}
	}
}

func TestEmptyDirectories(t *testing.T) {
	w := newWorld(t, Options{}, "a/b/", "c=1")
	s0 := w.snap()
	w.must(os.RemoveAll(w.at("a")))
	w.plant("d/e/")
	set, gaps := w.diff(s0, w.snap())
	w.wants("directories", "gap a: directory: an empty directory was removed\n"+
		"gap a/b: directory: an empty directory was removed\ngap d: directory: an empty directory was made\n"+
		"gap d/e: directory: an empty directory was made\n", set, gaps)
}

func TestRootGoesAndComes(t *testing.T) {
	w := newWorld(t, Options{}, "r/a=1")
	w.dir = w.at("r")
	w.open(Options{})
	s0 := w.snap()
	w.must(os.RemoveAll(w.dir))
	s1 := w.snap()
	set, gaps := w.diff(s0, s1)
	w.wants("gone", "a: file 644 \"1\" -> none\n", set, gaps)
	w.plant("a=2")
	set, gaps = w.diff(s1, w.snap())
	w.wants("back", "a: none -> file 644 \"2\"\n", set, gaps)
}

// script is random changes on a tree.
func script(r *rapid.T, w *world) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d/a", "d/b", "d/e/a", "é", "x.log", "out/a", "-n", "sp ace"})
	content := rapid.SampledFrom([]string{"", "1", "22", "one\ntwo\n", "\r\n", "\x00\xff", strings.Repeat("long", 20)})
	n := rapid.IntRange(1, 8).Draw(r, "changes")
	for range n {
		p, q := w.at(name.Draw(r, "p")), w.at(name.Draw(r, "q"))
		_ = os.MkdirAll(filepath.Dir(p), 0o755)
		_ = os.MkdirAll(filepath.Dir(q), 0o755)
		switch rapid.IntRange(0, 8).Draw(r, "change") {
		case 0, 1:
			_ = os.WriteFile(p, []byte(content.Draw(r, "content")), 0o644)
		case 2:
			if f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString("+")
				_ = f.Close()
			}
		case 3:
			_ = os.Rename(p, q)
		case 4:
			if i, err := os.Lstat(p); err == nil && i.Mode().IsRegular() {
				_ = os.Chmod(p, rapid.SampledFrom([]fs.FileMode{0o644, 0o755, 0o600}).Draw(r, "mode"))
			}
		case 5:
			_ = os.Symlink(rapid.SampledFrom([]string{"a", "/etc", "nowhere"}).Draw(r, "target"), p)
		case 6:
			_ = os.RemoveAll(p)
		case 7:
			_ = os.RemoveAll(p)
			_ = os.Mkdir(p, 0o755)
		case 8:
			i, err := os.Lstat(p)
			if err == nil && i.Mode().IsRegular() {
				_ = os.WriteFile(p, []byte(content.Draw(r, "content")), 0o644)
				_ = os.Chtimes(p, i.ModTime(), i.ModTime())
			}
		}
	}
}

func TestDiffReproducesTheTree(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testReproduces(t, false, Caps{}) })
	t.Run("git", func(t *testing.T) { testReproduces(t, true, Caps{}) })
	t.Run("caps", func(t *testing.T) { testReproduces(t, false, Caps{FileSize: 30, Total: 60, Files: 12}) })
}

func testReproduces(t *testing.T, git bool, caps Caps) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, Options{Caps: caps}, "a=1", "d/a=22", "x.log=3")
		defer os.RemoveAll(w.dir)
		if git {
			w.plant(".gitignore=*.log\n/out/\n")
			w.git("init", "-q")
		}
		script(r, w)
		if git {
			w.git("add", "-A")
			w.git("commit", "-qm", "x", "--allow-empty")
		}
		script(r, w)
		snap, base := w.snap(), w.tree()
		for range rapid.IntRange(1, 3).Draw(r, "rounds") {
			script(r, w)
			if git && rapid.IntRange(0, 3).Draw(r, "git") == 0 {
				args := rapid.SampledFrom([][]string{{"reset", "-q", "--hard"}, {"add", "-A"}, {"clean", "-qfdx"},
					{"commit", "-qam", "y", "--allow-empty"}, {"stash", "-q"}}).Draw(r, "change")
				w.git(args...)
			}
			next, now := w.snap(), w.tree()
			set, gaps := w.diff(snap, next)
			w.reproduces(base, now, set, gaps)
			for _, g := range gaps {
				if caps == (Caps{}) && g.Kind != Directory {
					t.Errorf("gap %v", g)
				}
			}
			if t.Failed() {
				r.Fatalf("%s", w.show(set, gaps))
			}
			snap, base = next, now
		}
	})
}
