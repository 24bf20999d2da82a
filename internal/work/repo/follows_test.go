package repo

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// configs are ways to write a configuration that git reads.
var configs = []string{
	"[core]\n\thooksPath = tools/hooks\n",
	"[core] hooksPath = tools/hooks ; a comment\n",
	"[CORE]\r\n\tHooksPath=\"tools/hooks\"\r\n",
	"[core]\n\thookspath = \"to\"ols/\\\nhooks # more\n",
	"\ufeff[core]\n; c\n hooksPath = tools/hooks",
	"[user][core] hooksPath = tools/hooks\n",
	"[core]\n\tbare = false\n\thooksPath = \"tools/hooks\"  \n[a \"b ] c\"]\n\tkey = v\n",
}

func TestSettingsAreReadAsGitDoes(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for i, text := range append(configs, randomConfigs(300)...) {
		file := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("git", "config", "--file", file, "--list", "-z").Output()
		var want []setting
		for entry := range strings.SplitSeq(string(out), "\x00") {
			if name, value, _ := strings.Cut(entry, "\n"); name != "" {
				want = append(want, setting{name, value})
			}
		}
		got, whole := settingsOf(text)
		if whole != (err == nil) {
			t.Errorf("%q: whole is %v, git says %v", text, whole, err)
		}
		if !whole {
			got = got[:min(len(got), len(want))]
		}
		// Blanks within a value are kept as they are since git 2.45.
		for _, list := range [][]setting{want, got} {
			for i := range list {
				list[i].value = strings.NewReplacer("\t", " ", "\r", " ").Replace(list[i].value)
			}
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(setting{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%q: -git +got:\n%s", text, d)
		}
	}
}

// randomConfigs are made of what means something to git.
func randomConfigs(n int) (all []string) {
	parts := []string{"[core]", "[user]", "[a \"B.c\"]", "[a \"x\\\"]y\"]", "[a.B]", "[", "]", "\"", "\\", "\n", "\n", "\n", "\r\n", " ", "\t",
		"fsmonitor", "name", "=", "=", " = ", "v", "x y", "#", ";", "\\\n", "\\n", "\\t", "\\q", "[core] a = b\n", "k-1", "_", "1"}
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		var b strings.Builder
		b.WriteString(parts[r.IntN(5)])
		for range r.IntN(12) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		all = append(all, b.String())
	}
	return all
}

func TestFollowsNamesWhatGitRunsOrReads(t *testing.T) {
	top, home := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(top+"/.git/config", `[core]
	hooksPath = .husky/_
	editor = vim
	excludesFile = ignored.txt
	sshCommand = ssh -i key
[include]
	path = ../shared.cfg
[includeIf "gitdir:/nowhere/"]
	path = ~/work.cfg
[remote "origin"]
	url = ./elsewhere
	uploadpack = pack
[remote "local"]
	receivepack = ./tools/receive
[filter "x"]
	clean = ./tools/clean.sh %f
	smudge = python3 -u smudge.py
	process = git-lfs filter-process
[alias]
	go = "!GIT_X=1 sh tools/go.sh"
	st = status -s
[credential "https://x"]
	helper = "!f() { cat /etc/passwd; }; f"
[init]
	templateDir = tmpl
`)
	write(top+"/shared.cfg", "[diff \"d\"]\n\ttextconv = tools/conv\n")
	write(top+"/smudge.py", "")
	write(top+"/pack", "")
	write(home+"/.gitconfig", "[gpg]\n\tprogram = ./sign\n")
	got := make(map[string]string)
	for _, f := range Follows(top+"/.git", top, home) {
		path := strings.Replace(strings.Replace(f.Path, top, "T", 1), home, "H", 1)
		if f.Kind == Programs {
			path += "/"
		}
		got[path] = f.Setting
	}
	want := map[string]string{"T/.husky/_/": "core.hookspath", "T/.husky/": "core.hookspath",
		"T/shared.cfg": "include.path", "H/work.cfg": "includeif.gitdir:/nowhere/.path",
		"T/tools/clean.sh": "filter.x.clean", "T/smudge.py": "filter.x.smudge", "T/tools/go.sh": "alias.go",
		"T/tools/receive": "remote.local.receivepack",
		"T/tools/conv":    "diff.d.textconv", "T/tmpl/": "init.templatedir", "T/sign": "gpg.program"}
	for path := range got { // what a program of the machine's reads is no file of the tree
		if !strings.HasPrefix(path, "T/") && !strings.HasPrefix(path, "H/") {
			delete(got, path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("follows (-want +got):\n%s", diff)
	}
}
