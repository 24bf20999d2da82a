package boundary

import "testing"

func TestCheck(t *testing.T) {
	refused := []string{
		".kerf", ".kerf/config.toml", "sub/.Kerf/rules", ".git", "sub/.GIT", ".git/hooks/pre-commit", ".git/config",
		".git/Config.worktree", ".git/commondir", ".git/info/attributes", ".git/info/exclude", ".git/modules/m/HEAD",
		".git/worktrees", ".git/worktrees/w/gitdir", ".git/objects/info/alternates",
		".git/objects/info/http-alternates", ".git/rebase-merge/git-rebase-todo", ".git/sequencer/todo", ".git/BISECT_RUN",
		".git/remotes/origin", ".git/branches/x",
	}
	for _, rel := range refused {
		if whyProtected(rel) == "" {
			t.Errorf("%s may be written", rel)
		}
	}
	for _, rel := range []string{"a.go", ".gitignore", ".git/HEAD", ".git/index", ".git/refs/heads/main",
		".git/objects/info/packs", "kerf", ".git/configs"} {
		if why := whyProtected(rel); why != "" {
			t.Errorf("%s: %s", rel, why)
		}
	}
}
