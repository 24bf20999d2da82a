package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunsKnowsWhatGitWouldStart: wherever the settings of a repository have git start a
// program while it only reads, Runs says so. The control is git itself, which starts it.
func TestRunsKnowsWhatGitWouldStart(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir, trap string) (at string)
		read []string // with which git starts the trap, nil if only the setting is asked about
		runs bool
	}{
		{"plain", func(t *testing.T, dir, _ string) string { return dir }, []string{"status"}, false},
		{"below", func(t *testing.T, dir, _ string) string {
			write(t, filepath.Join(dir, "a/b/c"), "x")
			return filepath.Join(dir, "a/b")
		}, []string{"status"}, false},
		{"user and remote", func(t *testing.T, dir, _ string) string {
			for _, s := range []string{"user.name x", "remote.origin.url /x", "branch.main.remote origin", "core.autocrlf input",
				"core.fsmonitor false", "pull.rebase true", "color.ui always"} {
				name, value, _ := strings.Cut(s, " ")
				judge(t, dir, "config", name, value)
			}
			return dir
		}, []string{"status"}, false},
		{"fsmonitor", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "core.fsmonitor", trap)
			return dir
		}, []string{"status"}, true},
		{"external diff", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "diff.external", trap)
			return dir
		}, []string{"diff"}, true},
		{"textconv", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "diff.d.textconv", trap)
			write(t, filepath.Join(dir, ".gitattributes"), "* diff=d\n")
			return dir
		}, []string{"diff"}, true},
		{"filter", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "filter.f.clean", trap)
			write(t, filepath.Join(dir, ".gitattributes"), "* filter=f\n")
			return dir
		}, []string{"diff"}, true},
		{"signatures", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "gpg.program", trap)
			judge(t, dir, "config", "log.showSignature", "true")
			return dir
		}, nil, true},
		{"included", func(t *testing.T, dir, trap string) string {
			write(t, filepath.Join(dir, "more"), "[core]\n\tfsmonitor = "+trap+"\n")
			judge(t, dir, "config", "include.path", "../more")
			return dir
		}, []string{"status"}, true},
		{"settings of a work tree", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "extensions.worktreeConfig", "true")
			write(t, filepath.Join(dir, ".git/config.worktree"), "[core] fsmonitor = "+trap+"\n")
			return dir
		}, []string{"status"}, true},
		{"odd spelling", func(t *testing.T, dir, trap string) string {
			data, _ := os.ReadFile(filepath.Join(dir, ".git/config"))
			write(t, filepath.Join(dir, ".git/config"), string(data)+"[CORE]FSMonitor="+trap+"\n")
			return dir
		}, []string{"status"}, true},
		{"continued", func(t *testing.T, dir, trap string) string {
			data, _ := os.ReadFile(filepath.Join(dir, ".git/config"))
			write(t, filepath.Join(dir, ".git/config"), string(data)+"[user] name = a\\\n\n[core] fsmonitor \\\n = "+trap+"\n")
			return dir
		}, nil, true},
		{"embedded bare repository", func(t *testing.T, dir, trap string) string {
			emb := filepath.Join(dir, "emb")
			judge(t, dir, "init", "-q", "--bare", emb)
			write(t, filepath.Join(emb, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+
				dir+"\n\tfsmonitor = "+trap+"\n")
			return emb
		}, []string{"status"}, true},
		{"submodule", func(t *testing.T, dir, trap string) string {
			sub := filepath.Join(dir, "sub")
			judge(t, dir, "init", "-q", sub)
			judge(t, sub, "commit", "-q", "--allow-empty", "-m", "x")
			judge(t, dir, "add", "sub")
			judge(t, sub, "config", "core.fsmonitor", trap)
			return dir
		}, []string{"status"}, true},
		{"two headers in one line", func(t *testing.T, dir, trap string) string {
			data, _ := os.ReadFile(filepath.Join(dir, ".git/config"))
			write(t, filepath.Join(dir, ".git/config"), string(data)+"[user][core] fsmonitor = "+trap+"\n")
			return dir
		}, []string{"status"}, true},
		{"submodule in a work tree elsewhere", func(t *testing.T, dir, trap string) string {
			elsewhere := filepath.Join(dir, "elsewhere")
			judge(t, dir, "init", "-q", filepath.Join(elsewhere, "m"))
			judge(t, elsewhere+"/m", "commit", "-q", "--allow-empty", "-m", "x")
			judge(t, elsewhere+"/m", "config", "core.fsmonitor", trap)
			write(t, filepath.Join(elsewhere, "f"), "one\n")
			judge(t, dir, "config", "core.worktree", elsewhere)
			judge(t, elsewhere, "--git-dir", dir+"/.git", "--work-tree", elsewhere, "add", "m")
			return dir
		}, []string{"status"}, true},
		{"lazy fetch", func(t *testing.T, dir, trap string) string {
			judge(t, dir, "config", "remote.origin.promisor", "true")
			return dir
		}, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newRepo(t)
			write(t, filepath.Join(dir, "f"), "one\n")
			judge(t, dir, "add", "f")
			judge(t, dir, "commit", "-q", "-m", "x")
			write(t, filepath.Join(dir, "f"), "two\n")
			mark := filepath.Join(t.TempDir(), "ran")
			trap := filepath.Join(t.TempDir(), "trap")
			if err := os.WriteFile(trap, []byte("#!/bin/sh\n: > "+mark+"\ncat 2>/dev/null </dev/null\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			at := tt.make(t, dir, trap)
			if why := Runs(at); (why != "") != tt.runs {
				t.Errorf("Runs says %q", why)
			}
			if tt.read == nil {
				return
			}
			cmd := exec.Command("git", tt.read...)
			cmd.Dir, cmd.Env = at, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
			out, _ := cmd.CombinedOutput()
			if _, err := os.Stat(mark); (err == nil) != tt.runs {
				t.Errorf("control: git %v started the program: %v\n%s", tt.read, err == nil, out)
			}
		})
	}
	if why := Runs(t.TempDir()); why != "" {
		t.Errorf("no repository: %q", why)
	}
}
