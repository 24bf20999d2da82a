package sandbox

import (
	"strings"
	"testing"
)

// What git cannot do inside fails without a trace, and the model is told the one
// step that works.
func TestWhatGitCannotDoInsideIsExplained(t *testing.T) {
	one(t, func(t *testing.T) {
		for command, script := range map[string]string{
			"git worktree": "git worktree add ../w2 2>&1 || git worktree add w2",
			"git submodule add": "git init -q lib; git -C lib commit -q --allow-empty -m x; git -c " +
				"protocol.file.allow=always submodule add ./lib sub",
			"git config":       "git config core.pager x",
			"git init":         "rm -rf fresh; git init -q .",
			"installing hooks": "cp f .git/hooks/pre-commit",
		} {
			s := newSite(t)
			if command != "git init" {
				s.repository()
			}
			s.write(s.work+"/f", "x")
			text, code := s.inside(script)
			advice := Advice([]byte(text))
			if code == 0 || !strings.HasPrefix(advice, command) || !strings.Contains(advice, "require_escalated") {
				t.Errorf("%s: %d %q\nadvice %q", command, code, text, advice)
			}
			if text, code := s.outside("test ! -e .git || { git fsck && git status && test ! -e .git/worktrees -a ! -e " +
				".git/modules; }"); code != 0 {
				t.Errorf("%s: left a trace: %s", command, text)
			}
		}
	})
	for _, text := range []string{"", "error: permission denied", "see .git/config for more",
		"Read-only file system: /usr"} {
		if advice := Advice([]byte(text)); advice != "" {
			t.Errorf("%q: %q", text, advice)
		}
	}
}
