package sandbox

import (
	"kerf/internal/work/boundary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitWork is what people do all day.
const gitWork = `set -e
echo two > f; git add f; git commit -qm two
git branch topic; git checkout -q topic; echo t > t; git add t; git commit -qm topic
git checkout -q -; echo three > g; git add g; git commit -qm three
git merge -q -m merged topic
git checkout -q -b rebased topic; echo r > r; git add r; git commit -qm r; git rebase -q -
git checkout -q -; git branch -D topic rebased
echo stash >> f; git stash -q; git stash pop -q; git commit -qam stashed
git tag v1; git worktree list; git submodule status; git log --oneline; git status --short; git fsck`

func (s *site) gitWorks(dir string) {
	s.t.Helper()
	if text, code := s.inside("cd " + dir + "\n" + gitWork); code != 0 {
		s.t.Errorf("%d: %s", code, text)
	}
	text, code := s.outside("set -e; cd " + dir +
		"; git fsck --strict; git status --short; git log --format=%s; test -z \"$(find $(git rev-parse --git-dir " +
		"--git-common-dir) -name '*.lock')\"")
	if code != 0 || !strings.Contains(text, "stashed\nmerged") {
		s.t.Errorf("afterwards %d: %s", code, text)
	}
}

func TestSEC_F16_GitWorksInAPlainRepository(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		s.gitWorks(".")
	})
}

// linked makes the workspace a linked worktree of a repository beside it.
func (s *site) linked() string {
	s.t.Helper()
	main := filepath.Join(filepath.Dir(s.work), "main")
	os.Remove(s.work)
	if text, code := s.start(bare([]string{"bash", "-c",
		"set -e; cd ..; git init -q -b main main; cd main; echo one > f; git add f; git commit -qm one; git worktree add " +
			"-q -b wt ../work"}), s.out); code != 0 {
		s.t.Fatal(text)
	}
	return main
}

func TestSEC_F16_GitWorksInALinkedWorktree(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		main := s.linked()
		s.gitWorks(".")
		for name, script := range map[string]string{
			"hook":            "mkdir -p M/.git/hooks; echo evil > M/.git/hooks/pre-commit",
			"config":          "echo '[core]pager=evil' >> M/.git/config",
			"config.worktree": "echo '[core]pager=evil' > M/.git/worktrees/work/config.worktree",
			"commondir":       "echo /tmp > M/.git/worktrees/work/commondir",
			"gitdir":          "echo /tmp > M/.git/worktrees/work/gitdir", "pointer": "echo 'gitdir: /tmp' > .git",
			"head of main":  "git symbolic-ref HEAD refs/heads/x; echo x > M/.git/HEAD",
			"index of main": "echo x > M/.git/index", "files of main": "echo x > M/f",
			"new worktree": "mkdir M/.git/worktrees/evil", "rename": "mv M/.git M/git2",
			"alternates": "echo /tmp > M/.git/objects/info/alternates",
		} {
			before := s.mainControl(main)
			s.inside(strings.ReplaceAll(script, "M/", main+"/"))
			if after := s.mainControl(main); after != before {
				t.Errorf("%s: not held: before\n%safter\n%s", name, before, after)
			}
		}
		before := s.mainControl(main)
		s.outside("echo '[core]pager=evil' >> " + main + "/.git/config")
		if s.mainControl(main) == before {
			t.Error("control: nothing happened either")
		}
	})
}

// mainControl is a picture of what a worktree must leave alone.
func (s *site) mainControl(main string) string {
	var b strings.Builder
	for _, name := range []string{"f", ".git/HEAD", ".git/index", ".git/config", ".git/hooks", ".git/objects/info",
		".git/worktrees/work/gitdir", ".git/worktrees/work/commondir", ".git/worktrees/work/config.worktree",
		".git/commondir"} {
		path := filepath.Join(main, name)
		if _, err := os.Lstat(path); err != nil {
			b.WriteString(name + " absent\n")
			continue
		}
		b.WriteString(picture(s.t, path))
	}
	names, _ := filepath.Glob(main + "/.git/worktrees/*")
	pointer, _ := os.ReadFile(s.work + "/.git")
	return b.String() + strings.Join(names, " ") + string(pointer)
}

// A repository cannot point into another one that knows nothing of it.
func TestSEC_F10_APointerOpensNothingUnlessItIsReturned(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		main := s.linked()
		os.WriteFile(main+"/.git/worktrees/work/gitdir", []byte("/elsewhere/.git\n"), 0o644)
		text, code := s.inside("git commit --allow-empty -m evil; echo x > " + main + "/.git/refs/heads/evil")
		if _, err := os.Stat(main + "/.git/refs/heads/evil"); code == 0 || err == nil {
			t.Errorf("got %d %s", code, text)
		}
	})
}

func TestSEC_F16_GitWorksInASubmodule(t *testing.T) {
	one(t, func(t *testing.T) {
		for _, alone := range []bool{false, true} {
			s := newSite(t)
			s.repository()
			if text, code := s.outside("set -e; git init -q -b main ../lib; cd ../lib; echo one > f; git add f; git commit " +
				"-qm one; cd ../work; git -c protocol.file.allow=always submodule add -q ../lib lib; git commit -qm lib"); code != 0 {
				t.Fatal(text)
			}
			if alone { // the submodule itself is the workspace
				s.work += "/lib"
				s.policy.Roots, s.policy.Cwd = []string{s.work}, s.work
				s.gitWorks(".")
				continue
			}
			s.gitWorks("lib")
			if text, code := s.inside("git add lib && git commit -qm newer && git submodule status"); code != 0 {
				t.Error(text)
			}
			git := s.work + "/.git"
			for _, script := range []string{"echo x >> M/config", "echo x > M/hooks/pre-commit", "echo x > M/commondir",
				"mkdir M/../evil", "mv M M2", "echo 'gitdir: /tmp' > lib/.git", "rm -f lib/.git",
				"mv lib lib2; mkdir lib; echo 'gitdir: /tmp' > lib/.git"} {
				before := picture(t, git+"/modules/lib/hooks") + picture(t, git+"/modules/lib/config") +
					picture(t, s.work+"/lib/.git")
				text, _ := s.inside(strings.ReplaceAll(script, "M", ".git/modules/lib"))
				after := "gone"
				if _, err := os.Stat(s.work + "/lib/.git"); err == nil {
					after = picture(t, git+"/modules/lib/hooks") + picture(t, git+"/modules/lib/config") +
						picture(t, s.work+"/lib/.git")
				}
				names, _ := os.ReadDir(git + "/modules")
				if _, err := os.Lstat(git + "/modules/lib/commondir"); after != before || len(names) != 1 || err == nil {
					t.Errorf("%s: not held: %s\nbefore %s\nafter %s", script, text, before, after)
				}
			}
		}
	})
}

func TestSEC_F10_NestedAndBareRepositories(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		if text, code := s.outside("set -e; mkdir vendor; git init -q vendor/x; git init -q --bare vendor/b.git; mkdir " +
			"vendor/b.git/empty"); code != 0 {
			t.Fatal(text)
		}
		for _, script := range []string{"echo evil > vendor/x/.git/hooks/pre-commit", "echo evil >> vendor/x/.git/config",
			"mv vendor/x/.git vendor/x/g", "echo evil >> vendor/b.git/config", "echo evil > vendor/b.git/hooks/update"} {
			s.attack(script, s.work+"/vendor", script)
			s.outside("rm -rf vendor; mkdir vendor; git init -q vendor/x; git init -q --bare vendor/b.git")
		}
		if text, code := s.inside("cd vendor/x && git commit -q --allow-empty -m works"); code != 0 {
			t.Error(text)
		}
	})
}

func TestSEC_F11_PatternsHideWhatTheyMatch(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.write(s.work+"/.env", "SECRET1")
		s.write(s.work+"/a/b/c.env", "SECRET2")
		s.write(s.work+"/target", "SECRET3")
		s.write(s.work+"/plain", "open")
		os.Symlink("target", s.work+"/l.env")
		os.Symlink("nowhere", s.work+"/dangling.env")
		os.Link(s.work+"/a/b/c.env", s.work+"/other-name")
		script := "cat .env a/b/c.env l.env target other-name; mv a z; cat z/b/c.env; mv .env e; cat e; ln a/b/c.env x; " +
			"cat x; cp .env y; cat y; grep -r SECRET .; cat plain; mkdir -p n; echo later > n/later.env; cat n/later.env"
		s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/**/*.env", Access: boundary.None})
		text, _ := s.inside(script)
		if strings.Contains(text, "SECRET") || !strings.Contains(text, "open") {
			t.Errorf("got %s", text)
		}
		if text, _ := s.inside("cat n/later.env"); strings.Contains(text, "later") && !strings.Contains(text, "later.env") {
			t.Errorf("what came later is open: %s", text)
		}
		if text, _ := s.outside("cat .env; grep -r SECRET ."); !strings.Contains(text, "SECRET1") {
			t.Errorf("control: %s", text)
		}
	})
}
