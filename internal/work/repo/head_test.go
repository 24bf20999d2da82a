package repo

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeadAndRemoteAreWhatGitSays compares what files tell with what git answers.
func TestHeadAndRemoteAreWhatGitSays(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	same := func(when string) {
		t.Helper()
		_, gitDir, ok := Find(dir)
		if !ok {
			t.Fatal("no repository")
		}
		if got, want := Head(gitDir), git("rev-parse", "HEAD"); got != want {
			t.Errorf("%s: HEAD is %q, want %q", when, got, want)
		}
	}
	git("init", "-q", "-b", "main")
	if _, gitDir, _ := Find(dir); Head(gitDir) != "" || Remote(gitDir, "main") != "" {
		t.Errorf("of a new repository: %q, %q", Head(gitDir), Remote(gitDir, "main"))
	}
	git("commit", "-q", "--allow-empty", "-m", "one")
	same("a loose reference")
	git("pack-refs", "--all")
	same("a packed reference")
	git("commit", "-q", "--allow-empty", "-m", "two")
	same("loose over packed")
	git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	git("symbolic-ref", "HEAD", "refs/heads/alias")
	same("a reference that names another")
	git("checkout", "-q", "--detach")
	same("detached")
	git("checkout", "-q", "-b", "feature/x")
	same("a branch with a slash")

	_, gitDir, _ := Find(dir)
	for _, step := range []struct{ set, want string }{
		{"remote.other.url=https://h/other", "https://h/other"},
		{"remote.origin.url=https://u:p@h/origin", "https://u:p@h/origin"},
		{"remote.My.Fork.url=git@h:fork", "https://u:p@h/origin"},
		{"branch.feature/x.remote=My.Fork", "git@h:fork"},
	} {
		key, value, _ := strings.Cut(step.set, "=")
		git("config", key, value)
		if got := Remote(gitDir, "feature/x"); got != step.want {
			t.Errorf("after %s: %q, want %q", step.set, got, step.want)
		}
		if got := git("ls-remote", "--get-url", "other"); got != "https://h/other" {
			t.Errorf("git says %q", got)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	git("worktree", "add", "-q", "--detach", linked)
	if _, linkedGit, ok := Find(linked); !ok || Head(linkedGit) != git("rev-parse", "HEAD") {
		t.Errorf("of a linked work tree: %q", Head(linkedGit))
	}
}
