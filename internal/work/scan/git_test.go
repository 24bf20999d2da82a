package scan

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/text/delta"
	"kerf/internal/work/scan/gitindex"
)

// repository makes a world with everything committed and old enough.
func repository(t testing.TB, files ...string) *world {
	w := newWorld(t, Options{}, files...)
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-qm", "x")
	w.settle()
	return w
}

// settle makes files and index such that git and scan believe in stat.
func (w *world) settle() {
	w.aged()
	w.plant("touch")
	w.git("add", "touch")
	w.git("rm", "-q", "-f", "touch")
	w.aged()
}

func TestCleanFilesStayInGit(t *testing.T) {
	w := repository(t, "a=1", "d/b=2", "gone=3", "dirty=4", "empty")
	w.plant("dirty=4+", "untracked=5")
	s0 := w.snap()
	base := w.tree()
	if n := w.store.bytes(); n != len("4+")+len("5") {
		t.Errorf("%d bytes were stored", n)
	}
	w.git("reset", "-q", "--hard")
	w.git("clean", "-qfdx")
	w.must(os.Remove(w.at("gone")))
	w.must(os.Chmod(w.at("d/b"), 0o755))
	w.must(os.Rename(w.at("a"), w.at("d/a")))
	s1 := w.snap()
	set, gaps := w.diff(s0, s1)
	w.wants("changes", `a: file 644 "1" -> none to d/a
gone: file 644 "3" -> none
untracked: file 644 "5" -> none
d/a: none -> file 644 "1" from a
d/b: file 644 "2" -> file 755 "2"
dirty: file 644 "4+" -> file 644 "4"
`, set, gaps)
	w.reproduces(base, w.tree(), set, gaps)
}

func TestBranchSwitch(t *testing.T) {
	w := repository(t, "a=1", "b=2")
	w.git("checkout", "-qb", "other")
	w.plant("a=one", "new/c=3")
	w.git("rm", "-q", "b")
	w.git("add", "-A")
	w.git("commit", "-qm", "y")
	w.settle()
	s0, base := w.snap(), w.tree()
	w.git("checkout", "-q", "-")
	set, gaps := w.diff(s0, w.snap())
	w.wants("switch", "new/c: file 644 \"3\" -> none\na: file 644 \"one\" -> file 644 \"1\"\nb: none -> file 644 \"2\"\n",
		set, gaps)
	w.reproduces(base, w.tree(), set, gaps)
}

// TestBytesThatGitChanges has files whose bytes in the work tree are not those
// of their blobs although git calls them clean.
func TestBytesThatGitChanges(t *testing.T) {
	for _, c := range []struct {
		name, attributes string
		config           [][]string
		file             string
	}{
		{"crlf", "* text=auto\n", nil, "one\r\ntwo\r\n"},
		{"eol", "*.txt text eol=crlf\n", nil, "one\r\ntwo\r\n"},
		{"autocrlf", "", [][]string{{"core.autocrlf", "true"}}, "one\r\ntwo\r\n"},
		{"filter", "*.txt filter=rot\n", [][]string{{"filter.rot.clean", "tr a-z b-za"}, {"filter.rot.smudge", "tr b-za a-z"}}, "abc\n"},
		{"macro", "[attr]odd filter=rot\n*.txt odd\n", [][]string{{"filter.rot.clean", "tr a-z b-za"}, {"filter.rot.smudge", "tr b-za a-z"}}, "abc\n"},
		{"above the root", "sub/*.txt filter=rot\n", [][]string{{"filter.rot.clean", "tr a-z b-za"}, {"filter.rot.smudge", "tr b-za a-z"}}, "abc\n"},
		{"encoding", "*.txt working-tree-encoding=UTF-16LE\n", nil, "a\x00b\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, "sub/f.txt="+c.file)
			if c.attributes != "" {
				w.must(os.WriteFile(w.at(".gitattributes"), []byte(c.attributes), 0o644))
			}
			w.git("init", "-q")
			for _, kv := range c.config {
				w.git("config", kv[0], kv[1])
			}
			w.git("add", "-A")
			w.git("commit", "-qm", "x")
			w.settle()
			if out := w.git("status", "--porcelain"); out != "" {
				t.Fatalf("not clean: %s", out)
			}
			w.dir = w.at("sub")
			if c.name == "above the root" {
				w.open(Options{})
			}
			s0, base := w.snap(), w.tree()
			w.must(os.Remove(w.at("f.txt")))
			set, gaps := w.diff(s0, w.snap())
			w.wants("removed", fmt.Sprintf("f.txt: file 644 %q -> none\n", c.file), set, gaps)
			w.reproduces(base, w.tree(), set, gaps)
		})
	}
}

func TestKindsOfRepositories(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup [][]string
		kept  bool // git is not used and the store has the file
	}{
		{"version 4", [][]string{{"update-index", "--index-version", "4"}}, false},
		{"split", [][]string{{"update-index", "--split-index"}}, true},
		{"untracked cache", [][]string{{"update-index", "--force-untracked-cache"}}, false},
		{"extended flags", [][]string{{"update-index", "--skip-worktree", "b"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := repository(t, "a=1", "abc/def/ghi=2", "abc/def/ghj=3", "b=4")
			for _, args := range c.setup {
				w.git(args...)
			}
			w.settle()
			s0 := w.snap()
			if kept := w.store.puts > 0; kept != c.kept {
				t.Errorf("%d puts", w.store.puts)
			}
			w.must(os.Remove(w.at("abc/def/ghj")))
			set, gaps := w.diff(s0, w.snap())
			w.wants("removed", "abc/def/ghj: file 644 \"3\" -> none\n", set, gaps)
		})
	}
	t.Run("sha256", func(t *testing.T) {
		w := newWorld(t, Options{}, "a=1")
		w.git("init", "-q", "--object-format=sha256")
		w.git("add", "-A")
		w.git("commit", "-qm", "x")
		w.settle()
		s0 := w.snap()
		w.must(os.Remove(w.at("a")))
		set, gaps := w.diff(s0, w.snap())
		w.wants("removed", "a: file 644 \"1\" -> none\n", set, gaps)
	})
	t.Run("root below the top, and a nested repository", func(t *testing.T) {
		w := repository(t, ".gitignore=*.log\n", "sub/a=1", "sub/x.log=2")
		top := w.dir
		w.dir = w.at("sub/nested")
		w.plant("n=3")
		w.git("init", "-q")
		w.git("add", "-A")
		w.git("commit", "-qm", "x")
		w.settle()
		w.dir = filepath.Join(top, "sub")
		w.open(Options{})
		puts := w.store.puts
		s0 := w.snap()
		if w.store.puts != puts+1 {
			t.Errorf("%d puts, want one for the log", w.store.puts-puts)
		}
		for _, f := range []string{"a", "x.log", "nested/n"} {
			w.must(os.Remove(w.at(f)))
		}
		set, gaps := w.diff(s0, w.snap())
		w.wants("removed", "a: file 644 \"1\" -> none\nnested/n: file 644 \"3\" -> none\nx.log: file 644 \"2\" -> none\n",
			set, gaps)
	})
	t.Run("linked work tree", func(t *testing.T) {
		w := repository(t, "a=1")
		linked := filepath.Join(t.TempDir(), "linked")
		w.git("worktree", "add", "-q", linked)
		w.dir = linked
		w.settle()
		w.open(Options{})
		puts := w.store.puts
		s0 := w.snap()
		if w.store.puts != puts {
			t.Error("the store has what git has")
		}
		w.must(os.Remove(w.at("a")))
		set, gaps := w.diff(s0, w.snap())
		w.wants("removed", "a: file 644 \"1\" -> none\n", set, gaps)
	})
}

func TestTrackedFilesInIgnoredDirectories(t *testing.T) {
	w := newWorld(t, Options{}, ".gitignore=/big/\n", "big/tracked=1")
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("add", "-f", "big/tracked")
	w.git("commit", "-qm", "x")
	for i := range ignoredFiles + 1 {
		w.plant(fmt.Sprintf("big/%d", i))
	}
	s0 := w.snap()
	w.plant("big/tracked=2")
	set, gaps := w.diff(s0, w.snap())
	w.wants("tracked", "big/tracked: file 644 \"1\" -> file 644 \"2\"\n", set, gaps)
}

func TestGitThatLostItsObjects(t *testing.T) {
	w := repository(t, "a=1", "b=2")
	s0 := w.snap()
	blobs := []string{w.git("hash-object", "a"), w.git("hash-object", "b")}
	w.must(os.RemoveAll(w.at(".git")))
	w.must(os.Remove(w.at("a")))
	w.must(os.WriteFile(w.at("b"), []byte("two"), 0o644))
	set, gaps := w.diff(s0, w.snap())
	why := "lost: git could not give its former content: git cat-file: chdir " + w.at(".git") + ": no such file or directory\n"
	w.wants("no objects", "a: file 644 ?1 -> none\nb: file 644 ?1 -> file 644 \"two\"\ngap a: "+why+"gap b: "+why, set, gaps)
	for i, blob := range blobs { // what is not known is not the same everywhere
		if got := set[i].Pre.Sum; got != StandIn(strings.TrimSpace(blob)) {
			t.Errorf("%s stands in for the blob %s", got, blob)
		}
	}
}

// TestAContentThatGitLostKeepsItsName where it was read once.
func TestAContentThatGitLostKeepsItsName(t *testing.T) {
	w := newWorld(t, Options{}, "a=1")
	later := time.Now().Add(time.Hour) // so that stat proves nothing
	w.must(os.Chtimes(w.at("a"), later, later))
	w.git("init", "-q")
	w.git("add", "-A")
	s0 := w.snap()
	w.must(os.RemoveAll(w.at(".git")))
	w.must(os.Remove(w.at("a")))
	set, gaps := w.diff(s0, w.snap())
	if len(set) != 1 || set[0].Pre.Sum != delta.SumOf([]byte("1")) || len(gaps) != 1 || gaps[0].Kind != Lost {
		t.Errorf("%s", w.show(set, gaps))
	}
}

// TestNothingOfTheRepositoryRuns plants programs wherever git could be told to
// run one.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	w := repository(t, "a=1", ".gitattributes=a filter=evil\n")
	mark := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\necho ran >> " + mark + "\n"
	w.plant("evil=" + strings.ReplaceAll(script, "=", ""))
	w.must(os.WriteFile(w.at("evil"), []byte(script), 0o755))
	w.must(os.WriteFile(w.at("git"), []byte(script), 0o755))
	evil := w.at("evil")
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.gitProxy",
		"diff.external", "filter.evil.clean",
		"filter.evil.smudge", "filter.evil.process", "credential.helper", "alias.cat-file", "alias.config",
		"uploadpack.packObjectsHook", "core.alternateRefsCommand"} {
		w.git("config", key, evil)
	}
	w.git("config", "core.hooksPath", w.dir)
	w.git("config", "remote.origin.url", "ext::"+evil)
	w.git("config", "remote.origin.promisor", "true")
	w.git("config", "extensions.partialClone", "origin")
	t.Setenv("PATH", w.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	w.open(Options{})
	s0 := w.snap()
	w.must(os.RemoveAll(w.at(".git/objects")))
	w.must(os.MkdirAll(w.at(".git/objects"), 0o755))
	w.must(os.Remove(w.at("a")))
	w.must(os.Remove(w.at(".gitattributes")))
	w.diff(s0, w.snap())
	if data, err := os.ReadFile(mark); err == nil {
		t.Errorf("something ran: %s", data)
	}
}

func TestHostileTree(t *testing.T) {
	outside := t.TempDir()
	w := newWorld(t, Options{}, "l->"+outside, "a\nb=1", ".gitattributes->"+outside)
	fifo(t, w.at("pipe"))
	fifo(t, w.at(".gitignore"))
	w.plant(".git/HEAD=ref: refs/heads/x\n", ".git/objects/", ".git/refs/")
	fifo(t, w.at(".git/index"))
	w.must(os.Symlink("loop", w.at("loop")))
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(w.at("sparse"))
	w.must(err)
	w.must(sparse.Truncate(5 << 30))
	w.must(sparse.Close())
	s0 := w.snap() // a scan that waits for a FIFO runs out of time
	if !slices.ContainsFunc(s0.Gaps, func(g Gap) bool { return g.Kind == Limit && strings.HasSuffix(g.Path, "/sparse") }) {
		t.Errorf("the large file was read: %v", s0.Gaps)
	}
	w.must(os.Remove(w.at("pipe")))
	w.must(os.WriteFile(w.at("pipe"), []byte("no pipe"), 0o644))
	set, gaps := w.diff(s0, w.snap())
	w.wants("pipe", "pipe: none -> file 644 \"no pipe\"\ngap pipe: special: was not a regular file (mode prw-r--r--)\n", set, gaps)
}

func TestUnreadableIsToldOnce(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	w := newWorld(t, Options{}, "a=1", "d/f=2")
	w.must(os.Chmod(w.at("a"), 0))
	w.must(os.Chmod(w.at("d"), 0))
	defer os.Chmod(w.at("d"), 0o755)
	s0 := w.snap()
	if len(s0.Gaps) != 2 {
		t.Errorf("gaps: %v", s0.Gaps)
	}
	set, gaps := w.diff(s0, w.snap())
	w.wants("unreadable", "", set, gaps)
}

// TestIndexAgrees lets git judge the parser.
func TestIndexAgrees(t *testing.T) {
	w := repository(t, "a=1", "b/c=2", "b/c.d=3", "é=4", strings.Repeat("long/", 20)+"name=5", "l->a")
	for _, version := range []string{"2", "4"} {
		w.git("update-index", "--index-version", version)
		data, err := os.ReadFile(w.at(".git/index"))
		w.must(err)
		x, err := gitindex.Parse(data, 20)
		w.must(err)
		var got []string
		for _, f := range x.Files {
			got = append(got, fmt.Sprintf("%o %s 0\t%s", f.Mode, f.Blob, f.Path))
		}
		want := strings.Split(strings.TrimSuffix(w.git("ls-files", "-s", "-z"), "\x00"), "\x00")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("version %s (-git +ours):\n%s", version, d)
		}
	}
}

func TestGitThatDoesNotAnswer(t *testing.T) {
	w := repository(t, "a=1")
	fifo(t, w.at(".git/more"))
	w.git("config", "include.path", "more") // the last that git itself can read
	git, err := exec.LookPath("git")
	w.must(err)
	asked, counting := filepath.Join(t.TempDir(), "asked"), filepath.Join(t.TempDir(), "git")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> '%s'\nexec '%s' \"$@\"\n", asked, git)
	w.must(os.WriteFile(counting, []byte(script), 0o755))
	w.open(Options{Git: counting})
	s0 := w.snap()
	s1 := w.snap()
	set, gaps := w.diff(s0, s1)
	w.wants("nothing", "", set, gaps)
	for i := range 5 {
		w.plant(fmt.Sprintf("b%d=2", i))
		s1 = w.snap()
	}
	w.must(os.Remove(w.at("a")))
	set, gaps = w.diff(s1, w.snap())
	w.wants("removed", "a: file 644 \"1\" -> none\n", set, gaps)
	if text, err := os.ReadFile(asked); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("git was asked more than once, %v:\n%s", err, text)
	}
}

func TestIndexIsNotBelievedOfYoungFiles(t *testing.T) {
	s := sig{ino: 7, size: 3, mtime: 5_000_000_001, ctime: 5_000_000_002, mode: 0o644}
	f := gitindex.Entry{Mtime: [2]uint32{5, 1}, Ctime: [2]uint32{5, 2}, Ino: 7, Size: 3, Mode: 0o100644}
	if !clean(&f, s, s.mtime+1) {
		t.Error("an older file is not clean")
	}
	if clean(&f, s, s.mtime) {
		t.Error("a file as young as the index is clean")
	}
	for _, other := range []sig{{ino: 8, size: 3, mtime: s.mtime, ctime: s.ctime, mode: s.mode},
		{ino: 7, size: 4, mtime: s.mtime, ctime: s.ctime, mode: s.mode},
		{ino: 7, size: 3, mtime: s.mtime - 1, ctime: s.ctime, mode: s.mode},
		{ino: 7, size: 3, mtime: s.mtime, ctime: s.ctime + 1, mode: s.mode}} {
		if clean(&f, other, s.mtime+1) {
			t.Errorf("%+v is clean", other)
		}
	}
}

func FuzzIndex(f *testing.F) {
	w := repository(f, "a=1", "b/c=2", "b/d=3")
	for _, version := range []string{"2", "3", "4"} {
		w.git("update-index", "--index-version", version)
		data, err := os.ReadFile(w.at(".git/index"))
		w.must(err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 20 {
			clear(data[len(data)-20:]) // so that the checksum is no obstacle
		}
		if x, err := gitindex.Parse(data, 20); err == nil {
			x.Find("b/c")
			x.Below("b")
		}
	})
}
