//go:build unix

package repo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// judge runs the real git as its user would.
func judge(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newRepo(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	home := t.TempDir()
	for k, v := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"} {
		t.Setenv(k, v)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	judge(t, dir, "init", "-q", "-b", "main")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFindAndBranchAgreeWithGit(t *testing.T) {
	dir := newRepo(t)
	judge(t, dir, "commit", "--allow-empty", "-qm", "one")
	tree := filepath.Join(t.TempDir(), "linked")
	judge(t, dir, "worktree", "add", "-q", "-b", "side", tree)
	judge(t, dir, "pack-refs", "--all")
	os.MkdirAll(filepath.Join(tree, "a", ".git"), 0o755) // only the name of a repository
	for _, cwd := range []string{dir, filepath.Join(dir, ".git", ".."), tree, filepath.Join(tree, "a")} {
		root, gitDir, ok := Find(cwd)
		if !ok {
			t.Fatalf("%s: not found", cwd)
		}
		wantRoot, wantDir := judge(t, cwd, "rev-parse", "--show-toplevel"), judge(t, cwd, "rev-parse", "--absolute-git-dir")
		if root != wantRoot || gitDir != wantDir {
			t.Errorf("%s: got %s, %s, want %s, %s", cwd, root, gitDir, wantRoot, wantDir)
		}
		name, detached, unborn := Branch(gitDir)
		if want := judge(t, cwd, "branch", "--show-current"); name != want || detached || unborn {
			t.Errorf("%s: got %q %v %v, want %q", cwd, name, detached, unborn, want)
		}
		if got, want := CommonDir(gitDir), filepath.Join(dir, ".git"); got != want {
			t.Errorf("common directory %s, want %s", got, want)
		}
	}
	if _, err := Dirty(context.Background(), t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("got %v", err)
	}
}

func TestHostileHeads(t *testing.T) {
	for head, want := range map[string]string{
		"ref: refs/heads/ok\n": "ok", "ref: refs/heads/../../../etc/passwd": "", "ref: refs/heads/a\x1b]0;x\x07": "",
		"ref: refs/heads/a b": "",
		"ref: /etc/passwd":    "", "": "", "ref: refs/heads/a\nb": "", "nonsense": "", "ref: refs/heads/.invalid": "",
		"ref: refs/heads/\xff": "",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "HEAD"), head)
		if name, detached, _ := Branch(dir); name != want || detached {
			t.Errorf("%q: got %q %v", head, name, detached)
		}
	}
}

func TestFifosDoNotBlock(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, ".git"), 0o755)
	if err := unix.Mkfifo(filepath.Join(dir, ".git", "HEAD"), 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan bool, 1)
	go func() { _, _, ok := Find(dir); done <- ok }()
	select {
	case ok := <-done:
		if ok {
			t.Error("a FIFO was taken for HEAD")
		}
	case <-time.After(2 * time.Second):
		t.Fatal("blocked")
	}
}

// Every way of a configuration to run a program, at once.
func TestSEC_C4_HostileConfigurationRunsNothing(t *testing.T) {
	dir := newRepo(t)
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil.sh")
	write(t, evil, "#!/bin/sh\necho \"$0 $*\" >> "+mark+"\ncat\n")
	write(t, filepath.Join(dir, "f.txt"), "one\n")
	write(t, filepath.Join(dir, ".gitattributes"), "*.txt filter=evil diff=evil\n*.md filter=two.dots\n")
	write(t, filepath.Join(dir, "g.md"), "one\n")
	judge(t, dir, "add", ".")
	judge(t, dir, "commit", "-qm", "one")
	write(t, filepath.Join(dir, ".git", "extra"), "[filter \"two.dots\"]\n\tprocess = "+evil+"\n\tclean = "+evil+"\n")
	for _, kv := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass",
		"diff.external", "diff.evil.command", "diff.evil.textconv",
		"filter.evil.clean", "filter.evil.smudge", "credential.helper", "pager.status", "pager.config", "alias.status",
		"core.gitProxy", "gpg.program", "core.alternateRefsCommand"} {
		judge(t, dir, "config", kv, evil)
	}
	judge(t, dir, "config", "filter.evil.required", "true")
	judge(t, dir, "config", "include.path", "extra")
	judge(t, dir, "config", "core.hooksPath", dir)
	for _, hook := range []string{"post-index-change", "post-checkout", "pre-commit"} {
		os.Symlink(evil, filepath.Join(dir, hook))
	}
	write(t, filepath.Join(dir, "git"), "#!/bin/sh\necho git >> "+mark+"\n")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	touch := func() {
		later := time.Now().Add(time.Hour)
		os.Chtimes(filepath.Join(dir, "f.txt"), later, later)
		os.Chtimes(filepath.Join(dir, "g.md"), later, later)
	}
	touch()
	if dirty, err := Dirty(context.Background(), dir); err != nil || !dirty {
		t.Errorf("got %v, %v", dirty, err)
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("ran:\n%s", b)
	}

	os.Remove(filepath.Join(dir, "git"))
	touch()
	cmd := exec.Command("/usr/bin/git", "status")
	cmd.Dir = dir
	cmd.Run()
	if _, err := os.Stat(mark); err != nil {
		t.Error("control: plain git ran nothing either")
	}
}

func TestDirtyDoesNotHang(t *testing.T) {
	dir := newRepo(t)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "git"), "#!/bin/sh\nsleep 100 &\nsleep 100\n")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	start := time.Now()
	_, err := Dirty(context.Background(), dir)
	if d := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d > time.Minute {
		t.Errorf("got %v after %s", err, d)
	}
}

// TestOutputMayComeLate: the last of it may be read after git has ended.
func TestOutputMayComeLate(t *testing.T) {
	dir, bin := newRepo(t), t.TempDir()
	write(t, filepath.Join(bin, "git"), "#!/bin/sh\n(sleep 0.3; echo late) &\n")
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	if out, err := gitWith(t.Context(), dir, nil, "status"); err != nil || string(out) != "late\n" {
		t.Errorf("%q (%v)", out, err)
	}
}

func BenchmarkFind(b *testing.B) {
	dir := b.TempDir()
	os.MkdirAll(filepath.Join(dir, ".git"), 0o755)
	os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
	deep := filepath.Join(dir, "a/b/c/d")
	os.MkdirAll(deep, 0o755)
	for b.Loop() {
		_, gitDir, ok := Find(deep)
		if !ok {
			b.Fatal("not found")
		}
		Branch(gitDir)
	}
}

// TestContentsAreFound: a former content is found by its path in the index, in HEAD, in
// older commits and in a submodule whose work tree is gone; another one is not.
func TestContentsAreFound(t *testing.T) {
	dir := newRepo(t)
	inner := newRepo(t)
	write(t, filepath.Join(inner, "in"), "of the module\n")
	judge(t, inner, "add", "-A")
	judge(t, inner, "commit", "-qm", "inner")
	write(t, filepath.Join(dir, "d", "old*"), "first\n")
	judge(t, dir, "add", "-A")
	judge(t, dir, "commit", "-qm", "one")
	write(t, filepath.Join(dir, "d", "old*"), "second\n")
	judge(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "mod")
	judge(t, dir, "add", "-A")
	judge(t, dir, "commit", "-qm", "two")
	write(t, filepath.Join(dir, "d", "staged"), "third\n")
	judge(t, dir, "add", "-A")
	for _, gone := range []string{"d", "mod"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	var c Contents
	for _, x := range []struct{ path, text string }{
		{"d/old*", "first\n"}, {"d/old*", "second\n"}, {"d/staged", "third\n"}, {"mod/in", "of the module\n"},
		{"d/old*", "never!\n"}, {"d/none", "first\n"},
	} {
		got, ok := c.Find(t.Context(), filepath.Join(dir, x.path), int64(len(x.text)),
			func(_ string, data []byte) bool { return string(data) == x.text })
		if want := x.text != "never!\n" && x.path != "d/none"; ok != want || ok && string(got) != x.text {
			t.Errorf("%s: got %q %v, want %q %v", x.path, got, ok, x.text, want)
		}
	}
}
