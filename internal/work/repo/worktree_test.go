package repo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func gitRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return string(out)
}

func set(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWorkTreeHoldsWhatIsThere: a work tree begins with what the first one holds, its
// diff is what was done since, and neither moves index, branches or files of the first.
func TestWorkTreeHoldsWhatIsThere(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	ctx, root, dir := context.Background(), t.TempDir(), filepath.Join(t.TempDir(), "trees", "one")
	gitRun(t, root, "init", "-q", "-b", "main")
	set(t, root+"/kept.txt", "kept\n")
	set(t, root+"/staged.txt", "old\n")
	set(t, root+"/.gitignore", "*.log\n")
	set(t, root+"/.gitattributes", "*.txt filter=evil\n")
	gitRun(t, root, "add", "-A")
	gitRun(t, root, "commit", "-q", "-m", "first")
	ran := filepath.Join(t.TempDir(), "ran")
	gitRun(t, root, "config", "filter.evil.clean", "touch "+ran+"; cat")
	gitRun(t, root, "config", "filter.evil.smudge", "touch "+ran+"; cat")
	set(t, root+"/staged.txt", "new\n")
	set(t, root+"/sub/untracked.txt", "fresh\r\n")
	set(t, root+"/build.log", "ignored\n")
	before := gitRun(t, root, "-c", "filter.evil.clean=", "status", "--porcelain", "-b") +
		gitRun(t, root, "log", "--all", "--oneline")

	base, err := Snapshot(ctx, filepath.Join(root, "sub"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := AddTree(ctx, root, dir, base); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"kept.txt": "kept\n", "staged.txt": "new\n",
		"sub/untracked.txt": "fresh\r\n", "build.log": ""} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if string(got) != want || want == "" != (err != nil) {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if d, err := TreeDiff(ctx, dir, base); err != nil || len(d) != 0 {
		t.Errorf("a tree nobody touched differs: %v\n%s", err, d)
	}
	set(t, dir+"/kept.txt", "changed\n")
	set(t, dir+"/more.txt", "more\n")
	if err := os.Remove(dir + "/staged.txt"); err != nil {
		t.Fatal(err)
	}
	d, err := TreeDiff(ctx, dir, base)
	for _, want := range []string{"+changed", "+++ b/more.txt", "deleted file mode"} {
		if err != nil || !strings.Contains(string(d), want) {
			t.Errorf("no %q, %v, in\n%s", want, err, d)
		}
	}
	if err := RemoveTree(ctx, root, dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the tree is still there")
	}
	if after := gitRun(t, root, "-c", "filter.evil.clean=", "status", "--porcelain", "-b") +
		gitRun(t, root, "log", "--all", "--oneline"); after != before {
		t.Errorf("the repository moved:\n%s\n%s", before, after)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a filter of the repository ran")
	}
}

// TestSnapshotsHaveWhatChangedInOneMoment: an edit of the same length, at the very time of git's
// index, is in the snapshot.
func TestSnapshotsHaveWhatChangedInOneMoment(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	root := t.TempDir()
	gitRun(t, root, "init", "-q", "-b", "main")
	gitRun(t, root, "config", "core.trustctime", "false")
	gitRun(t, root, "config", "core.checkStat", "minimal")
	moment := time.Now().Add(-time.Hour).Truncate(time.Second)
	at := func(path string) {
		if err := os.Chtimes(path, moment, moment); err != nil {
			t.Fatal(err)
		}
	}
	set(t, root+"/a.txt", "as committed\n")
	at(root + "/a.txt")
	gitRun(t, root, "add", "-A")
	gitRun(t, root, "commit", "-q", "-m", "first")
	set(t, root+"/a.txt", "as of now...\n")
	at(root + "/a.txt")
	at(root + "/.git/index")
	commit, err := Snapshot(context.Background(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := gitRun(t, root, "show", commit+":a.txt"); text != "as of now...\n" {
		t.Errorf("the snapshot has %q", text)
	}
}

// TestSnapshotsLeaveOutWhatIsHidden: what git adds, everybody reads who reads the repository.
func TestSnapshotsLeaveOutWhatIsHidden(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	ctx, root := context.Background(), t.TempDir()
	gitRun(t, root, "init", "-q", "-b", "main")
	set(t, root+"/open.txt", "open\n")
	set(t, root+"/tracked", "as committed\n")
	gitRun(t, root, "add", "-A")
	gitRun(t, root, "commit", "-q", "-m", "first")
	set(t, root+"/tracked", "HUSH tracked\n")
	set(t, root+"/private/*key", "HUSH key\n")
	set(t, root+"/private/:(top)x y", "HUSH odd\n")
	set(t, root+"/more.txt", "more\n")
	hidden := func(path string) string {
		if strings.Contains(path, "/private/") || strings.HasSuffix(path, "/tracked") {
			return "a rule"
		}
		return ""
	}
	// contents are all that git has.
	contents := func() (all string) {
		for line := range strings.Lines(gitRun(t, root, "cat-file", "--batch-check", "--batch-all-objects")) {
			all += gitRun(t, root, "cat-file", "-p", strings.Fields(line)[0])
		}
		return all
	}
	commit, err := Snapshot(ctx, root, hidden)
	if err != nil {
		t.Fatal(err)
	}
	if names := gitRun(t, root, "ls-tree", "-r", "--name-only", commit); names != "more.txt\nopen.txt\ntracked\n" {
		t.Errorf("the commit has %q", names)
	}
	if all := contents(); strings.Contains(all, "HUSH") || !strings.Contains(all, "more") {
		t.Errorf("git has %q", all)
	}
	if _, err := Snapshot(ctx, root, nil); err != nil {
		t.Fatal(err)
	}
	if all := contents(); strings.Count(all, "HUSH") != 3 {
		t.Errorf("control: git has %q", all)
	}
}

func TestNamesOfCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	ctx, root := context.Background(), t.TempDir()
	if _, err := MergeBase(ctx, root, "main"); err == nil {
		t.Error("a merge base outside of a repository")
	}
	gitRun(t, root, "init", "-q", "-b", "main")
	gitRun(t, root, "commit", "-q", "--allow-empty", "-m", "first")
	head := strings.TrimSpace(gitRun(t, root, "rev-parse", "HEAD"))
	gitRun(t, root, "checkout", "-q", "-b", "work")
	gitRun(t, root, "commit", "-q", "--allow-empty", "-m", "second")
	if got, err := MergeBase(ctx, root, "main"); got != head || err != nil {
		t.Errorf("merge base %q, %v, want %s", got, err, head)
	}
	if got, err := Commit(ctx, root, "HEAD~1"); got != head || err != nil {
		t.Errorf("commit %q, %v, want %s", got, err, head)
	}
	for _, name := range []string{"", "nosuch", "--all", "a b", "HEAD:file", "x\n"} {
		if got, err := Commit(ctx, root, name); err == nil {
			t.Errorf("%q names %q", name, got)
		}
		if got, err := MergeBase(ctx, root, name); err == nil {
			t.Errorf("%q has the merge base %q", name, got)
		}
	}
}
