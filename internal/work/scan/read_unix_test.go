//go:build unix

package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/scan/gitindex"
	"kerf/internal/work/search/ignore"
)

// TestAFileIsReadUntilItHoldsStill: three times at most, and never beyond the limit.
func TestAFileIsReadUntilItHoldsStill(t *testing.T) {
	w := newWorld(t, Options{}, "a=aa", "b=bbb", "d/")
	sigs := map[string]sig{"": {}}
	for _, name := range []string{"a", "b", "d"} {
		s, err := pathSig(w.at(name))
		w.must(err)
		sigs[name] = s
	}
	gone := &fs.PathError{Op: "open", Path: "x", Err: errors.New("not today")}
	for _, c := range []struct {
		opens       string // the names that are opened, one after the other; - for an error
		want        string // whose signature is expected
		limit       int64
		data, sig   string
		err, opens2 string
	}{
		{"a", "a", 9, "aa", "a", "<nil>", "a"},
		{"a", "a", 2, "aa", "a", "<nil>", "a"},
		{"a", "a", 1, "", "a", "too large", "a"},
		{"aa", "b", 9, "aa", "a", "<nil>", "aa"},
		{"aba", "b", 9, "", "a", "changed while it was read", "aba"},
		{"abb", "b", 9, "bbb", "b", "<nil>", "abb"},
		{"ab", "b", 2, "", "b", "too large", "ab"},
		{"d", "a", 9, "", "d", "invalid argument", "d"},
		{"-", "a", 9, "", "", "could not be opened: not today", "-"},
	} {
		n := 0
		data, s, err := readStable(func() (*os.File, error) {
			n++
			if name := c.opens[n-1 : n]; name != "-" {
				return os.Open(w.at(name))
			}
			return nil, gone
		}, sigs[c.want], c.limit)
		if string(data) != c.data || s != sigs[c.sig] || fmt.Sprint(err) != c.err || c.opens[:n] != c.opens2 {
			t.Errorf("%q, %s expected, up to %d: %q, %v after %d; want %q, %s", c.opens, c.want, c.limit, data, err, n, c.data, c.err)
		}
	}
	_, _, err := readOnce(func() (*os.File, error) { return os.OpenFile(w.at("a"), os.O_WRONLY, 0) }, 9)
	if fmt.Sprint(err) != "could not be read: bad file descriptor" {
		t.Errorf("not open for reading: %v", err)
	}
}

// TestAFileIsCleanIfAllFitsThatTheIndexHas: size, both times, the inode and the kind, and it was
// written before the index.
func TestAFileIsCleanIfAllFitsThatTheIndexHas(t *testing.T) {
	f := gitindex.Entry{Mode: 0o100644, Size: 3, Ino: 7, Mtime: [2]uint32{10, 20}, Ctime: [2]uint32{30, 40}}
	s := sig{size: 3, ino: 7, mtime: 10e9 + 20, ctime: 30e9 + 40, mode: 0o644}
	for name, c := range map[string]struct {
		change func(f *gitindex.Entry, s *sig, written *int64)
		want   bool
	}{
		"as it was":         {func(*gitindex.Entry, *sig, *int64) {}, true},
		"a program":         {func(f *gitindex.Entry, _ *sig, _ *int64) { f.Mode = 0o100755 }, true},
		"a link for git":    {func(f *gitindex.Entry, _ *sig, _ *int64) { f.Mode = 0o120000 }, false},
		"a link now":        {func(_ *gitindex.Entry, s *sig, _ *int64) { s.mode = fs.ModeSymlink }, false},
		"another size":      {func(_ *gitindex.Entry, s *sig, _ *int64) { s.size++ }, false},
		"another second":    {func(_ *gitindex.Entry, s *sig, _ *int64) { s.mtime += 1e9 }, false},
		"another moment":    {func(_ *gitindex.Entry, s *sig, _ *int64) { s.mtime-- }, false},
		"another change":    {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ctime++ }, false},
		"a second later":    {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ctime += 1e9 }, false},
		"no change is told": {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ctime = 0 }, true},
		"another inode":     {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ino++ }, false},
		"no inode is told":  {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ino = 0 }, true},
		"a large inode":     {func(_ *gitindex.Entry, s *sig, _ *int64) { s.ino += 1 << 32 }, true},
		"a moment before":   {func(_ *gitindex.Entry, s *sig, w *int64) { *w = s.mtime + 1 }, true},
		"with the index":    {func(_ *gitindex.Entry, s *sig, w *int64) { *w = s.mtime }, false},
		"after the index":   {func(_ *gitindex.Entry, s *sig, w *int64) { *w = s.mtime - 1 }, false},
	} {
		entry, now, written := f, s, int64(1e18)
		c.change(&entry, &now, &written)
		if got := clean(&entry, now, written); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAStandInIsOneOfItsState: other for each state of a path that stat can tell apart by its content.
func TestAStandInIsOneOfItsState(t *testing.T) {
	seen := map[string]string{}
	for name, s := range map[string]sig{"none": {}, "dev": {dev: 1}, "ino": {ino: 1}, "size": {size: 1}, "mtime": {mtime: 1}} {
		key := standIn(s).String()
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the stand-in of %s", name, other)
		}
		seen[key] = name
		s.ctime, s.mode = 5, 0o600
		if standIn(s).String() != key {
			t.Errorf("%s: the mode changes it", name)
		}
	}
	if got := standIn(sig{dev: 1, ino: 2, size: 3, mtime: 4}).String(); got == standIn(sig{dev: 2, ino: 1, size: 3, mtime: 4}).String() {
		t.Error("numbers change places")
	}
}

// TestYoungIsWhatAChangeMayFollowUnseen: within a grain before the look, by either time.
func TestYoungIsWhatAChangeMayFollowUnseen(t *testing.T) {
	start := time.Unix(100, 0)
	edge := start.Add(-grain).UnixNano()
	for _, c := range []struct {
		s    sig
		want bool
	}{{sig{mtime: edge, ctime: 1}, true}, {sig{mtime: 1, ctime: edge}, true}, {sig{mtime: edge - 1, ctime: edge - 1}, false},
		{sig{mtime: edge + 1}, true}, {sig{mtime: start.Add(time.Hour).UnixNano()}, true}, {sig{}, false}} {
		if got := c.s.youngerThan(start); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}

func TestSizesAreSaidInFittingUnits(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1 << 10: "1 KiB", 2047: "1 KiB", 1<<20 - 1: "1023 KiB",
		1 << 20: "1 MiB", 5 << 30: "5120 MiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestAttributesThatChangeBytes: those of programs and encodings for the files that are named, line ends
// for all; others change nothing.
func TestAttributesThatChangeBytes(t *testing.T) {
	names := []string{"a", "b.txt", "d/a", "d/e/b.txt"}
	for _, c := range []struct {
		dir, text string
		filtered  string // of names
		lines     bool
	}{
		{"", "a filter=x", "a d/a", false}, {"", "a -filter", "a d/a", false}, {"", "a !ident", "a d/a", false},
		{"", "/a ident", "a", false}, {"", "*.txt working-tree-encoding=UTF-16", "b.txt d/e/b.txt", false},
		{"", "b.txt other filter", "b.txt d/e/b.txt", false}, {"d/", "a filter=x", "d/a", false},
		{"d/e/", "* ident", "d/e/b.txt", false}, {"", "[attr]m filter=x", "a b.txt d/a d/e/b.txt", false},
		{"", "\"q\" filter=x", "a b.txt d/a d/e/b.txt", false}, {"", "# a filter=x", "", false}, {"", "#a filter", "", false},
		{"", "filter", "", false}, {"", "a", "", false}, {"", "\n\n", "", false}, {"", "a text", "", true}, {"", "a -crlf", "", true},
		{"", "a eol=lf", "", true}, {"", "a diff=x merge", "", false}, {"", "a text filter\nb.txt ident", "a b.txt d/a d/e/b.txt", true},
		{"", "a filter\n", "a d/a", false}, {"", "a filter\r\n", "a d/a", false},
	} {
		r := &repo{attrs: map[string]*attributes{}}
		r.addAttributes("file", c.dir, []byte(c.text))
		var got []string
		for _, name := range names {
			if r.filtered(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.filtered || r.converts() != c.lines {
			t.Errorf("%q in %q: filtered %q, lines %v", c.text, c.dir, got, r.converts())
		}
		r.addAttributes("file", c.dir, nil)
		if len(r.attrs) > 0 || r.converts() {
			t.Errorf("%q: stays when the file is empty", c.text)
		}
		r.convert = true
		if !r.converts() {
			t.Error("the configuration does not count")
		}
	}
	for rel, want := range map[string]string{"a": "", "d/a": "d/", "d/e/a": "d/e/"} {
		if got := dirOf(rel); got != want {
			t.Errorf("%s is in %q", rel, got)
		}
	}
}

// TestWhatGitAnswersIsChecked: a content that is not what it was is lost, with the reason, and those
// after an answer without form, too.
func TestWhatGitAnswersIsChecked(t *testing.T) {
	const first, second = `read a; read b; printf '%s blob 2\n11\n' $a; `, `printf '%s blob 2\n22\n' $b`
	gone := func(a, b string) string {
		image := func(lost, text string) string {
			if lost != "" {
				return "?2"
			}
			return text
		}
		out := fmt.Sprintf("a: file 644 %s -> none\nb: file 644 %s -> none\n", image(a, `"11"`), image(b, `"22"`))
		for _, g := range [][2]string{{"a", a}, {"b", b}} {
			if g[1] != "" {
				out += "gap " + g[0] + ": " + g[1] + "\n"
			}
		}
		return out
	}
	const former = "lost: git could not give its former content: "
	for name, c := range map[string]struct {
		script, want string
		caps         Caps
	}{
		"both":         {first + second, gone("", ""), Caps{}},
		"missing":      {`read a; read b; echo $a missing; ` + second, gone("lost: git does not have its former content any more", ""), Caps{}},
		"another size": {`read a; read b; printf '%s blob 3\n111\n' $a; ` + second, gone("lost: git's content of it is not what was in the work tree", ""), Caps{}},
		"damaged":      {`read a; read b; printf '%s blob 2\n1X\n' $a; ` + second, gone("lost: git's content of it is damaged", ""), Caps{}},
		"ends":         {first, gone("", former+"git cat-file: EOF"), Caps{}},
		"ends inside":  {first + `printf '%s blob 2\n2' $b`, gone("", former+"unexpected EOF"), Caps{}},
		"no word":      {"exit 3", gone(former+"git cat-file: EOF", former+"git cat-file: EOF"), Caps{}},
		"fails late":   {first + second + "; exit 3", gone("", ""), Caps{}},
		"too much":     {first + second, gone("", "limit: not kept: the changed files are over the limit of 3 bytes"), Caps{Total: 3}},
		"just enough":  {first + second, gone("", ""), Caps{Total: 4}},
		"too large": {first + second, gone("limit: its 2 bytes are over the limit of 1 bytes a file",
			"limit: its 2 bytes are over the limit of 1 bytes a file"), Caps{FileSize: 1}},
		"not too large": {first + second, gone("", ""), Caps{FileSize: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := repository(t, "a=11", "b=22")
			w.open(Options{Caps: c.caps})
			before := w.snap()
			git := filepath.Join(t.TempDir(), "git")
			w.must(os.WriteFile(git, []byte("#!/bin/sh\ncase \"$*\" in *batch*) "+c.script+";; esac\n"), 0o755))
			w.scan.repos[filepath.ToSlash(w.dir)].git = git
			w.must(os.Remove(w.at("a")))
			w.must(os.Remove(w.at("b")))
			after := w.snap()
			set, gaps := w.diff(before, after)
			w.wants("removed", c.want, set, gaps)
		})
	}
}

// TestTheIndexIsReadAgainOnlyIfItChanged, and not at all if it is no index.
func TestTheIndexIsReadAgainOnlyIfItChanged(t *testing.T) {
	w := repository(t, "a=1", "b/c=2")
	r := w.scan.repoAt(filepath.ToSlash(w.dir))
	look := func() *gitindex.Index {
		r.stale = true
		r.refresh(t.Context())
		return r.index
	}
	w.aged()
	first := look()
	if first == nil || look() != first || r.stale {
		t.Fatalf("read again without need, or not at all: %v", first)
	}
	r.index = nil // what was found is asked for again only by whoever says so
	if r.refresh(t.Context()); r.index != nil {
		t.Error("it was not stale")
	}
	r.index = first
	if !r.tracksBelow(t.Context(), filepath.ToSlash(w.at("b"))) || r.tracksBelow(t.Context(), filepath.ToSlash(w.at("a"))) ||
		(*repo)(nil).tracksBelow(t.Context(), "b") {
		t.Error("what is tracked below b, a and in no repository")
	}
	w.plant("n=3")
	w.git("add", "n")
	if x := look(); x == nil || x == first || x.Find("n") == nil {
		t.Errorf("changed: %v", x)
	}
	index := w.at(".git/index")
	text, err := os.ReadFile(index)
	w.must(err)
	for name, change := range map[string]func() error{
		"no index": func() error { return nil },
		"a link":   func() error { return os.Symlink(w.at("a"), index) },
		"a dir":    func() error { return os.Mkdir(index, 0o755) },
		"no form":  func() error { return os.WriteFile(index, []byte("DIRC"), 0o644) },
		"very large": func() error {
			return errors.Join(os.WriteFile(index, text, 0o644), os.Truncate(index, gitindex.MaxSize+1))
		},
	} {
		w.must(os.RemoveAll(index))
		w.must(change())
		if x := look(); x != nil || r.indexSig != (sig{}) {
			t.Errorf("%s: %v", name, x)
		}
	}
	w.must(os.RemoveAll(index))
	w.must(os.WriteFile(index, text, 0o644))
	if look() == nil {
		t.Error("it is not back")
	}
	if r.git = ""; look() != nil {
		t.Error("without git there is an index")
	}
}

// TestWhatGitIsTold: of a configuration that changed, the form of names and the files of attributes.
func TestWhatGitIsTold(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	w := repository(t, "a=1")
	home := os.Getenv("HOME")
	r := w.scan.repoAt(filepath.ToSlash(w.dir))
	w.git("config", "core.attributesfile", "~/mine")
	w.must(os.WriteFile(filepath.Join(home, "mine"), []byte("a filter=x\n"), 0o644))
	w.must(os.MkdirAll(w.at(".git/info"), 0o755))
	w.must(os.WriteFile(w.at(".git/info/attributes"), []byte("b text\n"), 0o644))
	if !r.settings(t.Context()) || r.hash != 20 || !r.filtered("a") || r.filtered("b") || !r.converts() {
		t.Errorf("names of %d bytes, a filtered: %v, b: %v, lines: %v", r.hash, r.filtered("a"), r.filtered("b"), r.converts())
	}
	want := []string{"/etc/gitattributes", filepath.Join(home, ".config/git/attributes"), filepath.Join(home, "mine")}
	if d := cmp.Diff(want, r.global); d != "" {
		t.Errorf("attributes files (-want +got):\n%s", d)
	}
	r.configSig = sig{}
	w.must(os.WriteFile(w.at(".git/config"), []byte("[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n"), 0o644))
	if !r.settings(t.Context()) || r.hash != 32 || len(r.global) != 2 {
		t.Errorf("sha256: names of %d bytes, %v", r.hash, r.global)
	}
	w.must(os.WriteFile(w.at(".git/config"), []byte("[core\n"), 0o644))
	for range 2 {
		if r.settings(t.Context()) || !r.broken {
			t.Error("a configuration without form is believed")
		}
	}
}

// TestAnIgnoredDirectoryIsFollowedUpToItsLimit: of names and of bytes; one that was followed may grow
// ten times as large.
func TestAnIgnoredDirectoryIsFollowedUpToItsLimit(t *testing.T) {
	size := func(w *world, name string, n int64) {
		f, err := os.Create(w.at(name))
		w.must(err)
		w.must(errors.Join(f.Truncate(n), f.Close()))
	}
	kinds := func(s *Snap) (out []string) {
		for _, g := range s.Gaps {
			out = append(out, string(g.Kind)+" "+filepath.Base(g.Path))
		}
		return out
	}
	for _, c := range []struct {
		first, then int64
		want        string
	}{
		{ignoredBytes - 1, ignoredBytes, "[limit large] [limit large]"}, {ignoredBytes, 10 * ignoredBytes, "[limit large] [limit large]"},
		{ignoredBytes, 10*ignoredBytes + 1, "[limit large] [ignored big]"}, {ignoredBytes + 1, 1, "[ignored big] []"},
	} {
		w := newWorld(t, Options{}, ".gitignore=/big/\n", "big/")
		size(w, "big/large", c.first)
		first := kinds(w.snap())
		size(w, "big/large", c.then)
		w.plant("big/new") // so that the directory is looked at again
		if got := fmt.Sprint(first, kinds(w.snap())); got != c.want {
			t.Errorf("%d bytes, then %d: %s, want %s", c.first, c.then, got, c.want)
		}
	}
}

// TestWhatIsSpent: names are counted once, not for what is left out in the end.
func TestWhatIsSpent(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		j     job
		limit bool
		shut  string // of the node, "none" for no node
		count int64  // of 10 at most, 3 before
		used  int64
	}{
		{"few", 4, job{}, false, "none", 7, 0},
		{"all", 7, job{}, false, "none", 10, 0},
		{"one too many", 8, job{}, false, "is not looked into: more than 10 files are not tracked", 3, 0},
		{"a quarter more of what was watched", 9, job{prev: &node{}}, false, "none", 12, 0},
		{"more than that", 10, job{prev: &node{}}, false, "is not looked into: more than 10 files are not tracked", 3, 0},
		{"deep", 1, job{depth: maxDepth - 1}, false, "none", 4, 0},
		{"too deep", 1, job{depth: maxDepth}, false, "is not looked into: directories more than 200 deep are not tracked", 3, 0},
		{"ignored", 4, job{}, true, "none", 7, 4},
		{"ignored, too many", 8, job{}, true, "is not looked into: more than 10 files are not tracked", 3, 0},
		{"ignored, all of its limit", 5, job{}, true, "none", 8, 5},
		{"ignored, beyond its limit", 6, job{}, true, "", 3, 0},
	} {
		w := &walker{s: &Scanner{caps: Caps{Files: 10}}, gen: 5}
		w.count.Store(3)
		c.j.sig = sig{ino: 9}
		l := newLimit(1)
		if strings.HasSuffix(c.name, "limit") {
			l.files.Store(5)
		}
		if c.limit {
			c.j.limit = l
		}
		got := "none"
		if n := w.spend(c.j, c.n); n != nil {
			if got = n.shut; n.sig.ino != 9 || n.gen != 5 || (n.shutKind == Limit) != (n.shut != "") {
				t.Errorf("%s: the node %+v", c.name, n)
			}
		}
		if got != c.shut || w.count.Load() != c.count || l.used.Load() != c.used {
			t.Errorf("%s: %q, counted %d, used %d", c.name, got, w.count.Load(), l.used.Load())
		}
	}
	if l := newLimit(2); l.over() || l.files.Load() != 2*ignoredFiles || l.bytes.Load() != 2*ignoredBytes {
		t.Errorf("twice the limit: %d and %d", l.files.Load(), l.bytes.Load())
	}
}

// TestARootInARepositoryHasItsRules: those of the directories above it, of git's own file, and the
// attributes there.
func TestARootInARepositoryHasItsRules(t *testing.T) {
	w := newWorld(t, Options{}, ".gitignore=*.top\n", "mid/.gitignore=*.mid\n/r/only\n", "mid/r/.gitignore=*.own\n",
		"mid/.gitattributes=*.txt filter=x\n", ".gitattributes=*.bin ident\n")
	w.git("init", "-q")
	w.must(os.WriteFile(w.at(".git/info/exclude"), []byte("*.info\n"), 0o644))
	names := []string{"f.top", "f.mid", "only", "f.own", "f.info", "f", "d/only", "d/f.top"}
	for _, name := range names {
		w.plant("mid/r/" + name + "=1")
	}
	w.dir = w.at("mid/r")
	w.open(Options{})
	snap := w.snap()
	var got []string
	for _, name := range names {
		n, base := snap.roots[0], filepath.Base(name)
		if strings.HasPrefix(name, "d/") {
			n = n.entry("d").dir
		}
		if n.entry(base).ignored {
			got = append(got, name)
		}
	}
	if d := cmp.Diff([]string{"f.top", "f.mid", "only", "f.own", "f.info", "d/f.top"}, got); d != "" {
		t.Errorf("ignored (-want +got):\n%s", d)
	}
	r, level, rel := w.scan.above(filepath.ToSlash(w.dir))
	if r == nil || level == nil || rel != "mid/r" || !r.filtered("mid/r/x.txt") || r.filtered("x.txt") || !r.filtered("x.bin") ||
		!r.filtered("mid/x.bin") {
		t.Errorf("%v, %v, %q", r, level, rel)
	}
	if r, level, rel := w.scan.above(filepath.ToSlash(filepath.Dir(filepath.Dir(w.dir)))); r != nil || level != (*ignore.Level)(nil) || rel != "" {
		t.Errorf("the top itself: %v, %v, %q", r, level, rel)
	}
}

// TestDirectoriesAreEnteredToADepth, beyond which they are a gap.
func TestDirectoriesAreEnteredToADepth(t *testing.T) {
	w := newWorld(t, Options{})
	deep := strings.Repeat("d/", maxDepth-1)
	w.plant(deep+"f=1", deep+"d/g=2")
	before := w.snap()
	w.must(os.Remove(w.at(deep + "f")))
	w.must(os.Remove(w.at(deep + "d/g")))
	set, gaps := w.diff(before, w.snap())
	w.wants("deep", deep+"f: file 644 \"1\" -> none\ngap "+deep+"d: limit: may have changed: it is not looked into: directories more "+
		"than 200 deep are not tracked\n", set, gaps)
}

// TestALookAtWhatIsAsBeforeIsTheSame: of all kinds that a directory has; a change makes new nodes on
// the way to it, and no others.
func TestALookAtWhatIsAsBeforeIsTheSame(t *testing.T) {
	w := newWorld(t, Options{}, ".gitignore=*.log\n/out/\n", "x.log=1", "out/f=2", "a/b/f=3", "a/c/f=4", "l->a", "empty/")
	fifo(t, w.at("pipe"))
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-qm", "x")
	w.settle()
	first := w.snap().roots[0]
	if second := w.snap(); second.roots[0] != first {
		t.Error("nothing changed, and there is another node")
	}
	w.plant("a/b/f=33")
	now := w.snap().roots[0]
	at := func(n *node, names ...string) *node {
		for _, name := range names {
			n = n.entry(name).dir
		}
		return n
	}
	for _, names := range [][]string{{"a", "c"}, {"out"}, {"empty"}} {
		if at(now, names...) != at(first, names...) {
			t.Errorf("%v: another node", names)
		}
	}
	if now == first || at(now, "a") == at(first, "a") || at(now, "a", "b") == at(first, "a", "b") {
		t.Error("the change is in a node of before")
	}
	w.aged()
	w.snap()
	w.plant("a/c/new.log", "a/c/new.txt")
	now = w.snap().roots[0]
	if c := at(now, "a", "c"); !c.entry("new.log").ignored || c.entry("new.txt").ignored {
		t.Error("rules of a directory that is as before do not hold below it")
	}
	w.must(os.WriteFile(w.at(".gitignore"), []byte("*.txt\n/out/\n"), 0o644))
	w.plant("a/c/more.log", "a/c/more.txt")
	now = w.snap().roots[0]
	if c := at(now, "a", "c"); c.entry("more.log").ignored || !c.entry("more.txt").ignored {
		t.Error("new rules do not hold")
	}
}

// TestWhatCannotBeListedIsUnreadable, with the error of the system.
func TestWhatCannotBeListedIsUnreadable(t *testing.T) {
	w := &walker{s: &Scanner{caps: Caps{Files: 10}}, ctx: t.Context(), gen: 3}
	n, pending, err := w.dir(handle{-1}, job{path: "/x", sig: sig{ino: 4}})
	want := node{sig: sig{ino: 4}, racy: true, gen: 3, shut: "could not be read: bad file descriptor", shutKind: Unreadable}
	if d := cmp.Diff(want, *n, cmp.AllowUnexported(node{}, sig{})); d != "" || pending != nil || err != nil {
		t.Errorf("%v, %v (-want +got):\n%s", pending, err, d)
	}
}

// TestRoomIsClaimedWhole, or not at all.
func TestRoomIsClaimedWhole(t *testing.T) {
	k := &keeper{budget: new(atomic.Int64)}
	k.budget.Store(10)
	var got []bool
	for _, n := range []int64{11, 4, 7, 6, 0, 1} {
		got = append(got, k.claim(n))
	}
	if d := cmp.Diff([]bool{false, true, false, true, true, false}, got); d != "" || k.budget.Load() != 0 {
		t.Errorf("%d left (-want +got):\n%s", k.budget.Load(), d)
	}
}

// TestGitThatIsCalledOffIsNoBrokenGit: who called it off may ask again.
func TestGitThatIsCalledOffIsNoBrokenGit(t *testing.T) {
	w := repository(t, "a=1", "b=2")
	w.snap()
	r := w.scan.repoAt(filepath.ToSlash(w.dir))
	r.refresh(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	err := r.catFile(ctx, []gitindex.OID{r.index.Find("a").Blob, r.index.Find("b").Blob}, false,
		func(int, int64, io.Reader) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) || r.broken || r.index == nil {
		t.Errorf("%v, broken %v, index %v", err, r.broken, r.index)
	}
	r.git = filepath.Join(w.dir, "none")
	if err := r.catFile(t.Context(), nil, false, nil); err == nil || !strings.HasPrefix(err.Error(), "git cat-file: ") {
		t.Errorf("without a program: %v", err)
	}
}

// TestARepositoryThatIsGoneIsForgotten, and one that moved is another.
func TestARepositoryThatIsGoneIsForgotten(t *testing.T) {
	w := repository(t, "a=1")
	top := filepath.ToSlash(w.dir)
	look := func() *repo {
		w.scan.gen++
		return w.scan.repoAt(top)
	}
	first := look()
	if first == nil || w.scan.repoAt(top) != first || look() != first || !first.stale || first.gitDir != w.at(".git") || first.top != top {
		t.Errorf("%+v", first)
	}
	if first.refresh(t.Context()); w.scan.repoAt(top).stale || !look().stale {
		t.Error("the index is looked at once for each Snap")
	}
	elsewhere := filepath.Join(t.TempDir(), "git")
	w.must(os.Rename(w.at(".git"), elsewhere))
	if r := look(); r != nil || len(w.scan.repos) > 0 {
		t.Errorf("gone: %+v, %d are known", r, len(w.scan.repos))
	}
	w.must(os.WriteFile(w.at(".git"), []byte("gitdir: "+elsewhere+"\n"), 0o644))
	if r := look(); r == nil || r == first || r.gitDir != elsewhere || w.scan.repos[top] != r {
		t.Errorf("moved: %+v", r)
	}
}

// TestOnlyAttributesFilesAreRead for attributes, those of repositories.
func TestOnlyAttributesFilesAreRead(t *testing.T) {
	w := newWorld(t, Options{}, ".gitattributes=*.a filter=x\n", "f=*.b filter=x\n", "in/.gitattributes=*.c filter=x\n",
		"d/.gitattributes/g=*.d filter=x\n")
	w.snap()
	w.git("init", "-q")
	w.snap()
	var got []string
	for name := range w.scan.repos[filepath.ToSlash(w.dir)].attrs {
		got = append(got, strings.TrimPrefix(name, filepath.ToSlash(w.dir)+"/"))
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{".gitattributes", "in/.gitattributes"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAfterANoteGitIsLookedAtAgain: what it knows by then is not kept a second time.
func TestAfterANoteGitIsLookedAtAgain(t *testing.T) {
	w := repository(t, "a=1")
	w.snap()
	w.scan.Note(w.at("a"), delta.NewFile([]byte("1"), 0o644))
	w.plant("n=new")
	w.git("add", "-A")
	w.settle()
	w.store.data = nil
	if n := w.snap().roots[0].entry("n"); n.body.from != inGit || w.store.bytes() != 0 {
		t.Errorf("from %d, %d bytes were stored", n.body.from, w.store.bytes())
	}
}
