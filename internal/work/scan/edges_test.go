package scan

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/work/scan/gitindex"
)

// TestRootsAreLookedAtOnce, in whatever order and however often they are named, and what is inside
// another one is not looked at by itself.
func TestRootsAreLookedAtOnce(t *testing.T) {
	w := newWorld(t, Options{}, "b/x=1", "a/in/y=2", "a-z/z=3")
	s, err := Open(Options{Store: w.store, Roots: []string{w.at("b"), w.at("a/in"), w.at("a-z"), w.at("b"), w.at("a"),
		w.at("b") + "/"}})
	w.must(err)
	want := []string{w.at("a"), w.at("a-z"), w.at("b")}
	if d := cmp.Diff(want, s.roots); d != "" {
		t.Errorf("roots (-want +got):\n%s", d)
	}
	if s.Reason() != "" {
		t.Errorf("a reason without need: %q", s.Reason())
	}
	none, err := Open(Options{Store: w.store})
	w.must(err)
	if none.Enabled() || none.Reason() == "" {
		t.Errorf("without a root: enabled %v, reason %q", none.Enabled(), none.Reason())
	}
	if _, err := Open(Options{Roots: []string{w.dir}}); err == nil {
		t.Error("without a store there is no error")
	}
}

// TestASnapCountsEachEntryOnce: files and directories, however often it is added up.
func TestASnapCountsEachEntryOnce(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "d/b=22", "d/e/c=333")
	s := w.snap()
	if s.Files != 5 || s.Held != 6 {
		t.Errorf("%d entries, %d bytes held, want 5 and 6", s.Files, s.Held)
	}
	w.plant("d/new=4444")
	w.scan.Note(w.at("d/new"), w.tree()[filepath.ToSlash(w.at("d/new"))])
	if s.Files != 6 || s.Held != 10 {
		t.Errorf("noted: %d entries, %d bytes held, want 6 and 10", s.Files, s.Held)
	}
}

// TestManyGapsAreCounted: a thousand are named, the last says how many more there are.
func TestManyGapsAreCounted(t *testing.T) {
	const dirs = maxGaps + 5
	w := newWorld(t, Options{})
	beside := t.TempDir()
	w.open(Options{Caps: Caps{Files: dirs}, Roots: []string{beside}})
	for i := range dirs {
		w.plant(fmt.Sprintf("%04d/f", i))
	}
	w.must(os.WriteFile(filepath.Join(beside, "f"), nil, 0o644)) // one more than is watched
	gaps := w.snap().Gaps
	if len(gaps) != maxGaps {
		t.Fatalf("%d gaps, want %d", len(gaps), maxGaps)
	}
	if last, want := gaps[maxGaps-1].Reason, "and 7 more files and directories"; last != want {
		t.Errorf("the last says %q, want %q", last, want)
	}
}

// TestWhatIsWatchedStaysWatched: a directory that grows a little above the limit is still
// followed; one that nobody followed yet is not.
func TestWhatIsWatchedStaysWatched(t *testing.T) {
	w := newWorld(t, Options{Caps: Caps{Files: 20}})
	for i := range 19 {
		w.plant(fmt.Sprintf("many/%02d=x", i))
	}
	before := w.snap()
	w.plant("many/19=new", "many/20=new")
	after := w.snap()
	set, gaps := w.diff(before, after)
	w.wants("grown", "many/19: none -> file 644 \"new\"\nmany/20: none -> file 644 \"new\"\n", set, gaps)
	if len(before.Gaps)+len(after.Gaps) > 0 {
		t.Errorf("gaps: %v, then %v", before.Gaps, after.Gaps)
	}
	w.open(Options{Caps: Caps{Files: 20}})
	if s := w.snap(); len(s.Gaps) != 1 || s.Gaps[0].Kind != Limit {
		t.Errorf("as many at the first look: gaps %v", s.Gaps)
	}
}

// TestRoomGoesToWhatIsNotIgnored first, and to small files before large ones.
func TestRoomGoesToWhatIsNotIgnored(t *testing.T) {
	files := []string{".gitignore=*.log\n"}
	for _, name := range []string{"a", "m", "z"} {
		files = append(files, name+".log=123", name+"=12345", name+".large=1234567")
	}
	w := newWorld(t, Options{Caps: Caps{Total: 6 + 3*5 + 3*7 + 3}}, files...)
	var lost []string
	for _, g := range w.snap().Gaps {
		lost = append(lost, filepath.Base(g.Path))
	}
	if d := cmp.Diff([]string{"m.log", "z.log"}, lost); d != "" {
		t.Errorf("not kept (-want +got):\n%s", d)
	}
}

// TestAnswersOfGit: what git says of blobs is believed only where it is in form. An answer that
// ends early is an error and not a blob that is missing.
func TestAnswersOfGit(t *testing.T) {
	w := repository(t, "a=abc")
	data, err := os.ReadFile(w.at(".git/index"))
	w.must(err)
	index, err := gitindex.Parse(data, 20)
	w.must(err)
	blob := index.Find("a").Blob
	blobs := []gitindex.OID{blob, blob}
	there := fmt.Sprintf("%s blob 3\nabc\n", blob)
	for name, c := range map[string]struct {
		text     string
		contents bool
		want     []string // "missing", or the content, or its size
		fails    bool
	}{
		"two":                   {there + there, true, []string{"abc", "abc"}, false},
		"missing":               {fmt.Sprintf("%s missing\n", blob) + there, true, []string{"missing", "abc"}, false},
		"sizes":                 {fmt.Sprintf("%[1]s blob 3\n%[1]s blob 4\n", blob), false, []string{"3", "4"}, false},
		"a tree, sizes":         {fmt.Sprintf("%[1]s tree 3\n%[1]s blob 4\n", blob), false, []string{"missing", "4"}, false},
		"ends":                  {there, true, []string{"abc"}, true},
		"ends before a newline": {there + blob.String() + " missing", true, []string{"abc"}, true},
		"ends inside":           {there + fmt.Sprintf("%s blob 30\nabc", blob), true, []string{"abc", "abc"}, true},
		"a tree":                {fmt.Sprintf("%s tree 3\nabc\n", blob) + there, true, nil, true},
		"no size":               {fmt.Sprintf("%s blob x\n", blob) + there, true, nil, true},
		"a size below nothing":  {fmt.Sprintf("%s blob -3\n", blob) + there, true, nil, true},
	} {
		var got []string
		err := answers(bufio.NewReader(strings.NewReader(c.text)), blobs, c.contents,
			func(i int, size int64, data io.Reader) error {
				switch {
				case i != len(got):
					t.Errorf("%s: the answer about %d comes as number %d", name, i, len(got))
				case size < 0:
					got = append(got, "missing")
					return nil
				case !c.contents:
					got = append(got, fmt.Sprint(size))
					return nil
				}
				content, err := io.ReadAll(data)
				got = append(got, string(content))
				return err
			})
		if d := cmp.Diff(c.want, got); d != "" || (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
	// Who does not read a content to its end gets the next one all the same.
	seen := 0
	if err := answers(bufio.NewReader(strings.NewReader(there+there)), blobs, true,
		func(int, int64, io.Reader) error { seen++; return nil }); err != nil || seen != 2 {
		t.Errorf("unread contents: %d answers, %v", seen, err)
	}
	if err := answers(bufio.NewReader(strings.NewReader(there+there)), blobs, true,
		func(int, int64, io.Reader) error { return os.ErrInvalid }); err != os.ErrInvalid {
		t.Errorf("an error of the receiver became %v", err)
	}
}

// TestGitIsAskedAgainAfterACancellation: only that it did not answer keeps it from being asked.
func TestGitIsAskedAgainAfterACancellation(t *testing.T) {
	w := repository(t, "a=1")
	w.snap()
	r := w.scan.repoAt(filepath.ToSlash(w.dir))
	config, err := pathSig(w.at(".git/config"))
	w.must(err)
	r.hash, r.configSig = 0, config // as after a first question that was called off
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if r.settings(done) || r.broken {
		t.Errorf("called off: broken %v", r.broken)
	}
	if !r.settings(t.Context()) || r.hash != 20 {
		t.Errorf("asked again: names of %d bytes, broken %v", r.hash, r.broken)
	}
}

// TestDirs tells directories that came and went, parents first, and modes.
func TestDirs(t *testing.T) {
	w := newWorld(t, Options{}, "stays/f=1", "goes/in/f=2", "becomes=a file", "was/f=a directory")
	before := w.snap()
	w.must(os.Chmod(w.at("stays"), 0o700))
	w.must(os.RemoveAll(w.at("goes")))
	w.must(os.Remove(w.at("becomes")))
	w.must(os.RemoveAll(w.at("was")))
	w.plant("comes/in/", "becomes/f=1", "was=a file")
	made, gone, modes := w.scan.Dirs(before, w.snap())
	var got []string
	rel := func(p string) string { return strings.TrimPrefix(p, filepath.ToSlash(w.dir)+"/") }
	for _, p := range made {
		got = append(got, "made "+rel(string(p)))
	}
	for _, d := range gone {
		got = append(got, fmt.Sprintf("gone %s %o", rel(string(d.Path)), d.Mode))
	}
	for _, m := range modes {
		got = append(got, fmt.Sprintf("mode %s %o to %o", rel(string(m.Path)), m.Pre, m.Post))
	}
	want := []string{"made becomes", "made comes", "made comes/in", "gone goes 755", "gone goes/in 755", "gone was 755",
		"mode stays 755 to 700"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if made, gone, modes := w.scan.Dirs(nil, before); len(made)+len(gone)+len(modes) > 0 {
		t.Errorf("without a Snap: %v %v %v", made, gone, modes)
	}
	w.plant("stays/shut/in/f=1")
	w.open(Options{Caps: Caps{Files: 8}})
	open := w.snap()
	w.open(Options{Caps: Caps{Files: 1}})
	shut := w.snap()
	none := &Snap{roots: []*node{nil}} // the root is gone
	for _, c := range [][2]*Snap{{open, shut}, {shut, open}, {shut, shut}, {open, none}, {none, open}, {none, none}, {open, nil}} {
		if made, gone, modes := w.scan.Dirs(c[0], c[1]); len(made)+len(gone)+len(modes) > 0 {
			t.Errorf("of what is not looked into: %v %v %v", made, gone, modes)
		}
	}
	if !slices.IsSorted(made) {
		t.Errorf("not in order: %v", made)
	}
}

// TestYoungFilesAreKeptOnce: they are read again, and kept only if they are others.
func TestYoungFilesAreKeptOnce(t *testing.T) {
	w := newWorld(t, Options{}, "a=1", "b=2")
	later := time.Now().Add(time.Hour) // so that no look finds them old
	w.must(os.Chtimes(w.at("a"), later, later))
	w.must(os.Chtimes(w.at("b"), later, later))
	before := w.snap()
	puts := w.store.puts
	after := w.snap()
	set, gaps := w.diff(before, after)
	w.wants("as they were", "", set, gaps)
	if w.store.puts != puts {
		t.Errorf("they were kept again: %d puts", w.store.puts-puts)
	}
	w.must(os.WriteFile(w.at("b"), []byte("3"), 0o644))
	w.must(os.Chtimes(w.at("b"), later, later))
	set, gaps = w.diff(after, w.snap())
	w.wants("another", "b: file 644 \"2\" -> file 644 \"3\"\n", set, gaps)
	if w.store.puts != puts+1 {
		t.Errorf("%d puts, want one for what is another", w.store.puts-puts)
	}
}

// TestADirectoryThatIsWatchedAgain may have changed while it was not.
func TestADirectoryThatIsWatchedAgain(t *testing.T) {
	w := newWorld(t, Options{Caps: Caps{Files: 20}})
	for i := range 30 {
		w.plant(fmt.Sprintf("many/%02d=x", i))
	}
	before := w.snap()
	for i := range 25 {
		w.must(os.Remove(w.at(fmt.Sprintf("many/%02d", i))))
	}
	after := w.snap()
	set, gaps := w.diff(before, after)
	w.wants("few again", "gap many: limit: may have changed: it is not looked into: more than 20 files are not tracked\n", set, gaps)
	w.must(os.Remove(w.at("many/29")))
	set, gaps = w.diff(after, w.snap())
	w.wants("from then on", "many/29: file 644 \"x\" -> none\n", set, gaps)
}

// TestOnlyWhatIsFilteredIsKept: attributes of some files are no reason to keep the others, which
// git has.
func TestOnlyWhatIsFilteredIsKept(t *testing.T) {
	w := newWorld(t, Options{}, ".gitattributes=\n", "a.go=clean", "d/b.go=clean, too", "f.txt=abc\n")
	w.must(os.WriteFile(w.at(".gitattributes"), []byte("*.txt filter=rot\n"), 0o644))
	w.git("init", "-q")
	w.git("config", "filter.rot.clean", "tr a-z b-za")
	w.git("config", "filter.rot.smudge", "tr b-za a-z")
	w.git("add", "-A")
	w.git("commit", "-qm", "x")
	w.settle()
	w.snap()
	if n := w.store.bytes(); n != len("abc\n") {
		t.Errorf("%d bytes were stored, want those of the filtered file", n)
	}
}

// TestLineEndsAreConverted where the configuration of git says so.
func TestLineEndsAreConverted(t *testing.T) {
	w := repository(t, "a=1")
	r := w.scan.repoAt(filepath.ToSlash(w.dir))
	if !r.settings(t.Context()) || r.convert {
		t.Errorf("without a word about them: %v", r.convert)
	}
	for _, c := range []struct {
		key, value string
		want       bool
	}{{"core.autocrlf", "true", true}, {"core.autocrlf", "input", true}, {"core.autocrlf", "false", false},
		{"core.eol", "crlf", true}, {"core.eol", "lf", false}, {"core.eol", "native", false}} {
		w.git("config", c.key, c.value)
		r.configSig = sig{} // it is another file
		if !r.settings(t.Context()) || r.convert != c.want {
			t.Errorf("%s=%s: converted %v", c.key, c.value, r.convert)
		}
		w.git("config", "--unset", c.key)
	}
}

// TestAttributesOfTheUser count, too: a program stands between a file and what git holds of it.
func TestAttributesOfTheUser(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	w := newWorld(t, Options{}, "f.txt=abc\n")
	w.must(os.Mkdir(filepath.Join(config, "git"), 0o755))
	w.must(os.WriteFile(filepath.Join(config, "git", "attributes"), []byte("*.txt filter=rot\n"), 0o644))
	w.git("init", "-q")
	w.git("config", "filter.rot.clean", "tr a-z b-za")
	w.git("config", "filter.rot.smudge", "tr b-za a-z")
	w.git("add", "-A")
	w.git("commit", "-qm", "x")
	w.settle()
	before := w.snap()
	w.must(os.Remove(w.at("f.txt")))
	set, gaps := w.diff(before, w.snap())
	w.wants("removed", "f.txt: file 644 \"abc\\n\" -> none\n", set, gaps)
}
