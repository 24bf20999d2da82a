package sandbox

import (
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/placeholders"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trying is a command that makes a protected name as soon as it can. It says
// when it tries.
const trying = `touch trying; while :; do mkdir "$NAME" 2>/dev/null && echo evil > "$NAME/config.toml"; echo evil > "$NAME" 2>/dev/null; mkdir -p "$NAME" 2>/dev/null; done`

// under runs a command until it tries, does something outside, and waits for
// the end.
func (s *site) under(script string, attack func(*Box)) (code int, box *Box) {
	s.t.Helper()
	pl, err := boundary.Resolve(s.policy, boundary.Disk{})
	if err != nil {
		s.t.Fatal(err)
	}
	box, err = Wrap(s.t.Context(), pl, []string{"bash", "-c", script})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { box.Close() })
	p, err := proc.Start(s.t.Context(),
		proc.Spec{Argv: box.Argv, Dir: s.work, Env: os.Environ(), ExtraFiles: box.Files, Confined: box.Confined,
			Started: box.Started})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Kill()
	s.awaitFile(s.work + "/trying")
	attack(box)
	if !p.Wait(10 * time.Second) {
		s.t.Fatal("the command goes on")
	}
	code, _, _ = p.ExitCode()
	return code, box
}

func (s *site) awaitFile(path string) {
	s.t.Helper()
	for range 2000 {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("%s does not appear", path)
}

// The user takes placeholders away in every way while a command tries to make
// the names. The command ends at once, and nothing stands at the name when the
// prompt returns.
func TestSEC_F8_ANameWhosePlaceholderGoesAwayIsNeverMade(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, c := range map[string]struct{ path, attack string }{
			"remove":          {".kerf", "rm -rf .kerf"},
			"rename":          {".kerf", "mv .kerf away"},
			"replace":         {".kerf", "mkdir new && echo mine > new/f && until mv -T new .kerf 2>/dev/null; do rm -rf .kerf; done"},
			"remove git":      {".git", "rm -f .git"},
			"clean and more":  {".git", "git init -q ../other && GIT_DIR=../other/.git GIT_WORK_TREE=. git clean -qfdx; rm -f .git"},
			"commondir":       {".git/commondir", "rm -f .git/commondir"},
			"alternates":      {".git/objects/info/alternates", "rm -f .git/objects/info/alternates"},
			"config.worktree": {".git/config.worktree", "echo mine > w; mv -f w .git/config.worktree"},
			"modules":         {".git/modules", "rm -rf .git/modules"},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				if strings.HasPrefix(c.path, ".git/") {
					s.repository()
				}
				t.Setenv("NAME", c.path)
				code, box := s.under(trying, func(*Box) {
					if text, code := s.outside(c.attack); code != 0 {
						t.Error(text)
					}
				})
				if code != 137 || !strings.HasSuffix(box.Broken(), c.path) {
					t.Errorf("exit code %d, broken %q", code, box.Broken())
				}
				found := box.Close()
				if _, err := os.Lstat(filepath.Join(s.work, c.path)); err == nil {
					t.Error("not held: it is there")
				}
				if len(found) == 0 || !strings.HasSuffix(found[0].Path, c.path) {
					t.Errorf("found %+v", found)
				}
				kept, _ := filepath.Glob(filepath.Join(s.work, c.path) + ".planted-*")
				if name == "replace" && (len(kept) != 1 || picture(t, kept[0]) == "") {
					t.Errorf("what the user made is lost: %v", kept)
				}
			})
		}
		s := newSite(t)
		t.Setenv("NAME", ".kerf")
		s.outside("(" + trying + ") & for i in $(seq 1000); do test -e .kerf/config.toml && break; sleep 0.01; done; kill $!")
		if _, err := os.Stat(s.work + "/.kerf/config.toml"); err != nil {
			t.Error("control: the name is not made without a sandbox")
		}
	})
}

// What is protected where it exists is so against replacement from outside, too.
func TestSEC_F8_AReplacedConfigurationEndsTheCommand(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		code, box := s.under("touch trying; while :; do echo evil >> .git/config; done 2>/dev/null", func(*Box) {
			if text, code := s.outside("git config user.color blue"); code != 0 {
				t.Error(text)
			}
		})
		found := box.Close()
		if code != 137 || len(found) != 1 || found[0].Path != s.work+"/.git/config" || found[0].Removed {
			t.Errorf("exit code %d, found %+v", code, found)
		}
	})
}

// besides are what users do next to a running command, which goes on. The first part is
// done before, and the last one looks at the repository when the command has ended.
var besides = map[string]struct{ before, beside, after string }{
	"a day's work": {"", "echo a > a; git add a; git commit -qm a; git checkout -q -b other; git gc -q; git worktree prune; " +
		"git stash list; git fetch -q . ; git clean -qfdx; git status; mkdir d; mv d e; rm -r e; git repack -qadf; " +
		"git maintenance run; git push -q . HEAD:refs/heads/pushed", ""},
	"the first work tree": {"rm -rf .git/branches .git/info", "git worktree add -q ../w1; echo x > ../w1/x; git -C ../w1 add x; " +
		"git -C ../w1 commit -qm x; git worktree prune; git gc -q; git worktree list | grep w1; git sparse-checkout list || true",
		"git worktree list | grep w1; git worktree remove ../w1; test ! -e .git/worktrees"},
	"a work tree comes and goes": {"", "git worktree add -q ../w1; git worktree remove ../w1; git worktree add -q ../w2; " +
		"rm -rf ../w2; git worktree prune; git worktree add -q --detach ../w3; git worktree move ../w3 ../w4; git worktree remove ../w4",
		"test ! -e .git/worktrees"},
	"the last work tree goes": {"git worktree add -q ../w1", "git worktree remove ../w1; git worktree prune; git gc -q",
		"git worktree prune; test ! -e .git/worktrees"},
	"the first submodule": {library + "git -c protocol.file.allow=always submodule add -q ../lib lib; git commit -qm lib; " +
		"rm -rf .git/modules lib; mkdir lib", "git -c protocol.file.allow=always submodule update -q; git submodule status | grep -v ^-; git gc -q",
		"cat lib/f; git submodule status | grep -v ^-"},
	"hooks and lists of an older git": {"rm -rf .git/hooks .git/branches", "echo : > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; " +
		"git commit -q --allow-empty -m hooked; echo $PWD#main > .git/branches/old; git fetch -q old", "test -x .git/hooks/pre-commit"},
}

// library makes a repository for a submodule beside the workspace.
const library = "git init -q -b main ../lib; (cd ../lib; echo one > f; git add f; git commit -qm one); "

// What users do all day next to a running command works, and does not end it. What they made
// stays, and nothing else is left.
func TestGuardLeavesOrdinaryWorkAlone(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, c := range besides {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.repository()
				if text, code := s.outside("set -e; " + c.before); code != 0 {
					t.Fatal(text)
				}
				const wait = "touch trying; for i in $(seq 4000); do test -e stop && break; sleep 0.05; done; " +
					"for f in worktrees modules hooks branches info; do mkdir -p .git/$f; echo evil > .git/$f/evil; rm -rf .git/$f; done; exit 7"
				code, box := s.under(wait, func(*Box) {
					if text, code := s.outside("trap 'touch stop' EXIT; set -e; " + c.beside); code != 0 {
						t.Error(text)
					}
				})
				found := slices.DeleteFunc(box.Close(), func(f boundary.Finding) bool { return f.Path == s.work+"/lib/.git" })
				if code != 7 || box.Broken() != "" || len(found) != 0 { // a new repository is told, whoever made it
					t.Errorf("exit code %d, broken %q, found %+v", code, box.Broken(), found)
				}
				text, code := s.outside("set -e; :; " + c.after + "\ngit fsck; git status --short; git worktree list; git gc -q; " +
					"if find .git -perm -1000 -o -name evil -o -type s -o -name '*placeholder*' | grep .; then exit 9; fi")
				if code != 0 {
					t.Errorf("afterwards %d: %s", code, text)
				}
			})
		}
	})
}

// What changes the settings of a repository beside a running command works as well; the
// command, which nothing protects from making settings of its own then, is ended.
func TestGuardOfSettingsLeavesGitItsWork(t *testing.T) {
	one(t, func(t *testing.T) {
		for name, c := range map[string]struct{ beside, after string }{
			"submodule add": {library + "git -c protocol.file.allow=always submodule add -q ../lib lib; git commit -qm lib",
				"cat lib/f; git submodule status | grep -v ^-; git config submodule.lib.url"},
			"remote add":  {"git remote add there ../there", "git remote | grep there"},
			"push -u":     {"git init -q --bare ../there; git push -q -u ../there main", "git config branch.main.remote"},
			"an upstream": {"git branch -q --track other main", "git config branch.other.merge"},
			"config --worktree": {"git config extensions.worktreeConfig true; git config --worktree core.editor ed",
				"ls .git/config.worktree.planted-*"},
			"sparse-checkout": {"git sparse-checkout set --no-cone f", "ls .git/config.worktree.planted-*; cat .git/info/sparse-checkout"},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.repository()
				code, box := s.under("touch trying; while :; do sleep 0.05; done", func(*Box) {
					if text, code := s.outside("set -e; " + c.beside); code != 0 {
						t.Error(text)
					}
				})
				box.Close()
				if code != 137 || !strings.HasPrefix(box.Broken(), s.work+"/.git/config") {
					t.Errorf("exit code %d, broken %q", code, box.Broken())
				}
				if text, code := s.outside("set -e; " + c.after + "\ngit fsck; git status --short"); code != 0 {
					t.Errorf("afterwards %d: %s", code, text)
				}
			})
		}
	})
}

// A sandbox of a Kerf with another home shares no lock file; the directory
// itself is the lock then.
func TestSEC_F8_AStrangersSandboxLeavesPlaceholdersStanding(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		stranger := s.policy
		stranger.LockDir = filepath.Join(t.TempDir(), "other-locks")
		pl, err := boundary.Resolve(stranger, boundary.Disk{})
		if err != nil {
			t.Fatal(err)
		}
		lower, err := placeholders.Raise(pl)
		if err != nil {
			t.Fatal(err)
		}
		if text, code := s.inside("mkdir .kerf"); code == 0 {
			t.Error(text)
		}
		if !(boundary.Disk{}).Placeholder(s.work + "/.kerf") {
			t.Error("the placeholder is gone")
		}
		lower()
		if names, _ := os.ReadDir(s.work); len(names) != 0 {
			t.Errorf("left: %v", names)
		}
	})
}

// Where inotify is used up the names are looked at again and again.
func TestGuardWithoutInotify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".kerf")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id, _ := (&guard{}).identity(path)
	g := &guard{names: map[string]boundary.FileID{path: id}, quit: make(chan struct{})}
	g.wg.Go(g.poll)
	killed := make(chan struct{}, 100)
	g.arm(func() { killed <- struct{}{} })
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	<-killed
	if lost := g.end(); len(lost) != 1 || lost[0] != path {
		t.Errorf("lost %v", lost)
	}
}
