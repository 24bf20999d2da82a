package sandbox

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
)

// site is a workspace with a neighbour that must stay as it is.
type site struct {
	t               *testing.T
	work, out, home string
	policy          Policy
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, work: filepath.Join(dir, "work"), out: filepath.Join(dir, "work-neighbour"), home: filepath.Join(dir, "home")}
	for _, d := range []string{s.work, s.out, s.home, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write(s.out+"/victim", "precious\n")
	s.policy = Policy{
		Mode: WorkspaceWrite, Roots: []string{s.work}, Cwd: s.work, TmpDir: filepath.Join(dir, "tmp"), LockDir: filepath.Join(dir, "locks"),
		// The test's own directories lie in /tmp, which is private inside.
		Rules:   []Rule{{s.out, Read}, {s.home, Read}},
		Backend: os.Getenv(backendEnv),
	}
	t.Setenv("HOME", s.home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "a")
		t.Setenv("GIT_"+who+"_EMAIL", "a@b")
	}
	return s
}

// backendEnv names the backend of a run of the tests.
const backendEnv = "KERF_TEST_BACKEND"

// one runs a test that takes long with the first backend that works, and with
// all of them when there is time.
func one(t *testing.T, f func(*testing.T)) {
	if os.Getenv("KERF_LONG") != "" {
		each(t, f)
		return
	}
	way, err := machine{}.choose(t.Context(), Plan{Mode: WorkspaceWrite}, nil)
	if err != nil {
		t.Skip(err)
	}
	t.Run(way.name, func(t *testing.T) {
		t.Setenv(backendEnv, way.name)
		f(t)
	})
}

// each runs a test with every backend that can enforce all plans.
func each(t *testing.T, f func(*testing.T)) {
	for _, name := range []string{OwnLauncher, Bubblewrap} {
		t.Run(name, func(t *testing.T) {
			if _, err := (machine{}).find(t.Context(), name, "", nil); err != nil {
				t.Skip(err)
			}
			t.Setenv(backendEnv, name)
			f(t)
		})
	}
}

func (s *site) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) run(argv ...string) (string, int) {
	s.t.Helper()
	plan, err := Resolve(s.policy, Disk{})
	if err != nil {
		s.t.Fatal(err)
	}
	wrapped, extra, cleanup, err := Wrap(s.t.Context(), plan, argv, os.Environ())
	if err != nil {
		s.t.Fatal(err)
	}
	defer cleanup()
	return s.start(wrapped, extra, plan.Confined())
}

func (s *site) start(argv []string, extra []*os.File, confined bool, dir ...string) (string, int) {
	s.t.Helper()
	p, err := proc.Start(s.t.Context(), proc.Spec{Argv: argv, Dir: append(dir, s.work)[0], Env: os.Environ(), ExtraFiles: extra, Confined: confined})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Kill()
	if !p.Wait(60 * time.Second) {
		s.t.Fatalf("%v: hangs", argv[0])
	}
	text, _ := p.Output()
	code, _, _ := p.ExitCode()
	return string(text), code
}

func (s *site) inside(script string) (string, int) { return s.run("bash", "-c", script) }
func (s *site) outside(script string) (string, int) {
	return s.start([]string{"bash", "-c", script}, nil, false)
}

// picture is everything below dir but the content of directories named skip.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %s %d %d", strings.TrimPrefix(path, dir), info.Mode(), st.Uid, st.Nlink)
		switch {
		case info.Mode().IsRegular():
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&b, " %.40q %08x %s", text, crc32.ChecksumIEEE(text), info.ModTime())
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			b.WriteString(" -> " + target)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// attack runs script inside: dir must not change. The control runs it without
// the sandbox: dir must change, or the attack was none.
func (s *site) attack(name, dir, script string) {
	s.t.Helper()
	before := picture(s.t, dir)
	text, _ := s.inside(script)
	if after := picture(s.t, dir); after != before {
		s.t.Errorf("%s: not held\nbefore:\n%s\nafter:\n%s\noutput: %s", name, before, after, text)
	}
	text, _ = s.outside(script)
	if picture(s.t, dir) == before {
		s.t.Errorf("%s: control: nothing happened either: %s", name, text)
	}
}

func TestSEC_F1_NothingOutsideTheRootsChanges(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"create": "echo x > ../work-neighbour/new", "append": "echo x >> $OUT/victim", "truncate": ": > $OUT/victim",
			"remove": "rm -f $OUT/victim", "rename out": "echo x > f; mv f $OUT/f", "rename in": "mv $OUT/victim .",
			"chmod": "chmod 600 $OUT/victim", "touch": "touch -d 2001-01-01 $OUT/victim", "hard link": "ln $OUT/victim mine && echo x >> mine",
			"symlink": "ln -sf $OUT/victim link && echo x > link", "mkdir": "mkdir -p $OUT/a/b", "home": "echo x > $OUT/../home/x",
			"python": "python3 -c 'import os; os.truncate(os.environ[\"OUT\"]+\"/victim\", 2)'",
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				t.Setenv("OUT", s.out)
				dir := s.out
				if name == "home" {
					dir = s.home
				}
				s.attack(name, dir, script)
			})
		}
		s := newSite(t)
		for _, dir := range []string{"/etc", "/var", "/usr", "/", "/root", "/opt"} {
			file := filepath.Join(dir, "kerf-sandbox-test")
			s.inside("echo x > " + file)
			if _, err := os.Lstat(file); err == nil {
				os.Remove(file)
				t.Errorf("%s was created", file)
			}
		}
		if text, code := s.inside("echo ok > f && mkdir d && mv f d/ && cat d/f && echo t > /tmp/keep && echo $TMPDIR"); code != 0 || text != "ok\n/tmp\n" {
			t.Errorf("work in the workspace: %d %s", code, text)
		}
		if text, _ := s.inside("cat /tmp/keep"); text != "t\n" {
			t.Errorf("/tmp does not survive between commands: %q", text)
		}
	})
}

func TestSEC_F2_ProcIsNoWayOut(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"root": "echo x > /proc/self/root$OUT/new", "cwd": "echo x > /proc/self/cwd/../work-neighbour/new",
			"reopen": "exec 9< $OUT/victim; echo x > /proc/self/fd/9",
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				t.Setenv("OUT", s.out)
				s.attack(name, s.out, script)
			})
		}
		s := newSite(t)
		if text, _ := s.inside("ls /proc/1/root/ >/dev/null; tr '\\0' ' ' < /proc/1/cmdline; ls /proc | grep -c '^[0-9]'"); !strings.Contains(text, "bwrap") && !strings.Contains(text, launch.Flag) {
			t.Errorf("process 1 is not the sandbox's: %s", text)
		}
	})
}

func TestSEC_F5_KernelSettingsAreReadOnly(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, code := s.inside(`cat /proc/sys/kernel/core_pattern > pattern; cat pattern > /proc/sys/kernel/core_pattern && echo WROTE
echo h > /proc/sysrq-trigger && echo WROTE; mkdir /sys/fs/cgroup/kerf-test && echo WROTE; true`)
		if strings.Contains(text, "WROTE") || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
	})
}

func (s *site) repository() {
	s.t.Helper()
	s.write(s.work+"/f", "one\n")
	if text, code := s.outside("git init -q -b main . && git add f && git commit -qm one && git branch side && printf '#!/bin/sh\n' > .git/hooks/pre-push && chmod +x .git/hooks/pre-push"); code != 0 {
		s.t.Fatal(text)
	}
}

func TestSEC_F6_WhatGitRunsIsProtected(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"hook": "printf evil > .git/hooks/pre-commit", "existing hook": "echo evil >> .git/hooks/pre-push", "config": "echo '[core] pager = evil' >> .git/config",
			"git config": "git config core.pager evil", "replace config": "echo x > c; mv -f c .git/config", "attributes": "echo '* filter=evil' > .git/info/attributes",
			"rename": "mv .git .git2", "replace by link": "mv .git g && ln -s g .git", "rename hooks": "mv .git/hooks .git/h2; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
			"init with template": "mkdir -p t/hooks && echo evil > t/hooks/post-checkout && git init -q --template=t",
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.repository()
				before := s.control()
				text, _ := s.inside(script)
				if after := s.control(); after != before {
					t.Errorf("not held: %s\n%s", text, after)
				}
				s.outside(script)
				if s.control() == before {
					t.Error("control: nothing happened either")
				}
			})
		}
	})
}

// control is a picture of what must not change in the repository.
func (s *site) control() string {
	git := filepath.Join(s.work, ".git")
	var b strings.Builder
	for _, name := range []string{".", "config", "config.worktree", "commondir", "hooks", "info", "modules", "worktrees", "objects/info/alternates"} {
		path := filepath.Join(git, name)
		info, err := os.Lstat(path)
		if err != nil {
			fmt.Fprintf(&b, "%s absent\n", name)
			continue
		}
		fmt.Fprintf(&b, "%s %s %d\n", name, info.Mode(), info.Sys().(*syscall.Stat_t).Ino)
		if name != "." {
			b.WriteString(picture(s.t, path))
		}
	}
	return b.String()
}

func TestSEC_F7_MissingProtectedNamesCannotBeMade(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"mkdir": "mkdir .kerf && echo x > .kerf/config.toml", "rename onto": "mkdir k && echo x > k/config.toml && mv -T k .kerf", "link": "mkdir k; ln -s k .kerf",
			"remove first": "rm -rf .kerf; mkdir .kerf", "git": "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", "git init": "git init -q .", "git link": "ln -s k .git",
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				gone := func() bool {
					_, err1 := os.Lstat(s.work + "/.kerf")
					_, err2 := os.Lstat(s.work + "/.git")
					return os.IsNotExist(err1) && os.IsNotExist(err2)
				}
				s.inside(script)
				if !gone() {
					t.Error("not held")
				}
				os.RemoveAll(s.work + "/k")
				s.outside(script)
				if gone() {
					t.Error("control: nothing happened either")
				}
			})
		}
	})
}

// Two sandboxes share the placeholders; the last one takes them away.
func TestSEC_F8_PlaceholdersStayWhileAnySandboxRuns(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		plan, err := Resolve(s.policy, Disk{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := raise(plan)
		if err != nil {
			t.Fatal(err)
		}
		if text, code := s.inside("mkdir .kerf"); code == 0 {
			t.Error(text)
		}
		if !(Disk{}).Placeholder(s.work + "/.kerf") {
			t.Error("the second sandbox took the first one's placeholder away")
		}
		first()
		if names, _ := os.ReadDir(s.work); len(names) != 0 {
			t.Errorf("left: %v", names)
		}

		// Somebody removes a placeholder: the name can be made, and is told.
		lower, err := raise(plan)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(s.work + "/.kerf")
		s.write(s.work+"/.kerf/config.toml", "x")
		lower()
		found := Sweep(plan)
		if len(found) != 1 || found[0].Path != s.work+"/.kerf" || found[0].Removed {
			t.Errorf("got %+v", found)
		}
	})
}

func TestSEC_F9_NothingIsLeftBehind(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		for _, script := range []string{"true", "exit 3", "kill -9 $$", "rm -rf .kerf .git; true"} {
			s.inside(script)
			if names, _ := os.ReadDir(s.work); len(names) != 0 {
				t.Errorf("%s left %v", script, names)
			}
		}
		s.repository()
		before := s.control()
		s.inside("git status; git commit -qam two --allow-empty")
		if after := s.control(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		for _, name := range []string{"config.worktree", "commondir", "modules", "worktrees"} {
			if _, err := os.Lstat(s.work + "/.git/" + name); err == nil {
				t.Errorf("left %s", name)
			}
		}
	})
}

// Kerf is killed while a command runs: the watchdog tidies up.
func TestSEC_F9_NothingIsLeftBehindByAKilledKerf(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		kerf := exec.Command(os.Args[0])
		kerf.Env = append(os.Environ(), "SANDBOX_TEST_KERF="+s.work, "SANDBOX_TEST_LOCKS="+s.policy.LockDir)
		if err := kerf.Start(); err != nil {
			t.Fatal(err)
		}
		for range 500 {
			if _, err := os.Stat(s.work + "/started"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !(Disk{}).Placeholder(s.work + "/.kerf") {
			t.Error("control: no placeholder is there")
		}
		kerf.Process.Kill()
		kerf.Wait()
		deadline := time.Now().Add(2 * time.Second)
		for {
			names, _ := os.ReadDir(s.work)
			if len(names) == 1 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("left: %v", names)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestMain(m *testing.M) {
	if work := os.Getenv("SANDBOX_TEST_KERF"); work != "" {
		plan, err := Resolve(Policy{Mode: WorkspaceWrite, Roots: []string{work}, Cwd: work, LockDir: os.Getenv("SANDBOX_TEST_LOCKS")}, Disk{})
		if err != nil {
			panic(err)
		}
		argv, extra, _, err := Wrap(context.Background(), plan, []string{"sh", "-c", "touch started; setsid sleep 60"}, nil)
		if err != nil {
			panic(err)
		}
		if _, err := proc.Start(context.Background(), proc.Spec{Argv: argv, Dir: work, Env: os.Environ(), ExtraFiles: extra, Confined: true}); err != nil {
			panic(err)
		}
		select {}
	}
	os.Exit(m.Run())
}

func TestSEC_F10_LinksAndPointersOfGit(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		os.Rename(s.work+"/.git", s.work+"/real")
		os.Symlink("real", s.work+"/.git")
		if _, err := Resolve(s.policy, Disk{}); !errors.Is(err, errSymlink) {
			t.Errorf("a link: got %v", err)
		}
		os.Remove(s.work + "/.git")
		s.write(s.work+"/.git", "gitdir: real\n")
		for _, script := range []string{"echo evil >> real/config", "echo evil > real/hooks/pre-commit", "mv real away", "echo 'gitdir: x' > .git", "rm -f .git"} {
			if text, code := s.inside(script); code == 0 {
				t.Errorf("a pointer: %s: %s", script, text)
			}
		}
		if text, code := s.inside("echo two > f && git commit -qam two && git log --oneline | wc -l"); code != 0 || !strings.Contains(text, "2") {
			t.Errorf("commit through a pointer: %d %s", code, text)
		}
		// A pointer opens nothing: the repository chose it.
		other := newSite(t)
		other.repository()
		s.write(s.work+"/.git", "gitdir: "+other.work+"/.git\n")
		s.policy.Rules = append(s.policy.Rules, Rule{other.work, Read})
		if text, code := s.inside("git commit --allow-empty -qm evil"); code == 0 {
			t.Errorf("a pointer outside: %s", text)
		}
	})
}

func TestSEC_F11_TheMostSpecificRuleWins(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.write(s.work+"/a/secret", "secret")
		s.write(s.work+"/a/b/open", "open")
		s.write(s.work+"/key", "secret")
		s.policy.Rules = append(s.policy.Rules, Rule{s.work + "/a", None}, Rule{s.work + "/a/b", Write}, Rule{s.work + "/key", None}, Rule{s.work + "/later", None})
		text, _ := s.inside("cat a/secret key; ls a; echo more >> a/b/open; cat a/b/open; mv a z; cat z/secret; touch a/new; mkdir later")
		if strings.Contains(text, "secret\n") || strings.Contains(text, "secretsecret") || !strings.Contains(text, "openmore") {
			t.Errorf("got %s", text)
		}
		if b, _ := os.ReadFile(s.work + "/a/secret"); string(b) != "secret" {
			t.Errorf("the hidden file is %q", b)
		}
		for _, name := range []string{"a/new", "later", "z"} {
			if _, err := os.Lstat(s.work + "/" + name); err == nil {
				t.Errorf("%s was made", name)
			}
		}
	})
}

func TestSEC_F12_ReadOnlyWritesNothing(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.policy.Mode = ReadOnly
		s.write(s.work+"/f", "x")
		s.attack("write", s.work, "echo y >> f; echo z > new")
		text, _ := s.inside("for d in . /tmp /var/tmp /dev/mqueue $HOME /run; do echo x > $d/probe 2>/dev/null && echo WROTE $d; done; cat f")
		if strings.Contains(text, "WROTE") || !strings.Contains(text, "x\ny\n") && !strings.Contains(text, "x") {
			t.Errorf("got %s", text)
		}
	})
}

func TestSEC_F13_TmpIsPrivate(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		other := filepath.Join(t.TempDir(), "other-program")
		s.write(other, "precious")
		s.attack("other program", filepath.Dir(other), "mkdir -p "+filepath.Dir(other)+"; echo x > "+other)
		s.policy.SharedTmp = true
		s.inside("echo granted > " + other)
		if b, _ := os.ReadFile(other); string(b) != "granted\n" {
			t.Errorf("a shared /tmp is not writable: %q", b)
		}
	})
}

func TestSEC_F14_MissingPartsOfGitAreCovered(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"worktree config": "echo evil > .git/config.worktree", "commondir": "echo /tmp > .git/commondir", "alternates": "echo /tmp > .git/objects/info/alternates",
			"alternates by rename": "mv .git/objects/info .git/objects/i2; mkdir .git/objects/info; echo /tmp > .git/objects/info/alternates",
			"objects by rename":    "mv .git/objects .git/o2; mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates",
			"grafts":               "echo x > .git/info/grafts", "modules": "mkdir -p .git/modules/m && echo evil > .git/modules/m/config",
			"worktrees": "mkdir -p .git/worktrees/w && echo /tmp > .git/worktrees/w/commondir", "rename away": "mv .git old && mkdir .git",
			"remove placeholder": "rm -rf .git/commondir .git/modules; mkdir -p .git/modules/m",
		} {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				s.repository()
				before := s.control()
				text, _ := s.inside(script)
				if after := s.control(); after != before {
					t.Errorf("not held: %s\nbefore:\n%s\nafter:\n%s", text, before, after)
				}
				s.outside(script)
				if s.control() == before {
					t.Error("control: nothing happened either")
				}
			})
		}
	})
}

func TestSEC_F15_PlantedLinksAreSwept(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		plan, err := Resolve(s.policy, Disk{})
		if err != nil {
			t.Fatal(err)
		}
		s.inside("cd .git; for f in logs/HEAD logs/refs/heads/main COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD objects/ee; do rm -rf $f; ln -s " + s.out + "/victim $f; done; mkfifo packed-refs")
		found := Sweep(plan)
		if len(found) != 7 {
			t.Errorf("got %d findings: %+v", len(found), found)
		}
		for _, f := range found {
			if !f.Removed {
				t.Errorf("not removed: %+v", f)
			}
		}
		if text, code := s.outside("echo 2 > f && git commit -qam two"); code != 0 {
			t.Error(text)
		}
		if b, _ := os.ReadFile(s.out + "/victim"); string(b) != "precious\n" {
			t.Errorf("victim is %q", b)
		}
		if found := Sweep(plan); len(found) != 0 {
			t.Errorf("a clean repository has findings: %+v", found)
		}
	})
}

func TestSEC_F16_GitWorksInside(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		s.write(s.work+"/hooks/post-commit", "#!/bin/sh\ntouch ran\n")
		text, code := s.inside("set -e; echo two > f; git add f; git commit -qm two; git log --oneline; git checkout -q side; git merge -q main; git branch -D main; git gc -q; git fsck; git stash list; git status --short")
		if code != 0 {
			t.Errorf("%d: %s", code, text)
		}
		if text, code := s.outside("set -e; git fsck --strict; git status; test $(git rev-list --count HEAD) = 2; test -z \"$(find .git -name '*.lock')\"; test ! -e ran"); code != 0 {
			t.Errorf("afterwards: %s", text)
		}
	})
}

func TestSEC_N1_N2_NoNetwork(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		hits := make(chan string, 10)
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Logf("no listener on %s: %v", address, err)
				continue
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					hits <- c.LocalAddr().String()
					c.Close()
				}
			}()
			host, port, _ := net.SplitHostPort(l.Addr().String())
			script := fmt.Sprintf("python3 -c 'import socket; socket.create_connection((\"%s\", %s), 2)'", host, port)
			s.expectSilence(hits, "tcp "+host, script)
		}
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
		unixgram, err := net.ListenPacket("unixgram", "@kerf-test-"+filepath.Base(filepath.Dir(s.work)))
		if err != nil {
			t.Fatal(err)
		}
		defer unixgram.Close()
		path := s.out + "/s"
		file, err := net.ListenPacket("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, l := range []net.PacketConn{udp, unixgram, file} {
			go func() {
				b := make([]byte, 10)
				for {
					if _, _, err := l.ReadFrom(b); err != nil {
						return
					}
					hits <- "packet"
				}
			}()
		}
		_, port, _ := net.SplitHostPort(udp.LocalAddr().String())
		s.expectSilence(hits, "udp", "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", "+port+"))'")
		s.expectSilence(hits, "abstract", "python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b\"x\", b\"\\0"+strings.TrimPrefix(unixgram.LocalAddr().String(), "@")+"\")'")
		s.expectSilence(hits, "TestSEC_N3 sendmsg", "python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b\"x\"], [], 0, \""+path+"\")'")
		s.expectSilence(hits, "TestSEC_N3 pair", "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendmsg([b\"x\"], [], 0, \""+path+"\")'")
	})
}

func (s *site) expectSilence(hits chan string, name, script string) {
	s.t.Helper()
	if text, code := s.inside(script); code == 0 && !strings.Contains(name, "udp") {
		s.t.Errorf("%s: no error: %s", name, text)
	}
	select {
	case <-hits:
		s.t.Errorf("%s: arrived", name)
	case <-time.After(50 * time.Millisecond):
	}
	text, _ := s.outside(script)
	select {
	case <-hits:
	case <-time.After(2 * time.Second):
		s.t.Errorf("%s: control: nothing arrived either: %s", name, text)
	}
}

const families = `
import socket, ctypes, os
for name, args in {"netlink": (16, 3, 0), "packet": (17, 3, 0), "alg": (38, 5, 0), "vsock": (40, 1, 0), "bluetooth": (31, 3, 0), "xdp": (44, 3, 0), "unix": (1, 1, 0)}.items():
    try:
        socket.socket(*args); print("OPEN", name)
    except OSError as e: pass
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(*args)
    if r >= 0 or ctypes.get_errno() not in (1, 38): print("OPEN", name, r, os.strerror(ctypes.get_errno()))
`

func TestSEC_N4_SocketFamiliesAreRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		script := families + `refused("io_uring_setup", 425, 8, ctypes.create_string_buffer(200))`
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
		s.policy.Network = true
		text, _ := s.run("python3", "-c", script)
		if text != "OPEN netlink\n" {
			t.Errorf("TestSEC_N5: with the network: %s", text)
		}
		if text, _ := s.start([]string{"python3", "-c", script}, nil, false); !strings.Contains(text, "OPEN unix") || !strings.Contains(text, "OPEN netlink") {
			t.Errorf("control: %s", text)
		}
	})
}

func TestSEC_N5_NetworkWhenGranted(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		s.policy.Network = true
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if text, code := s.inside("exec 3<>/dev/tcp/127.0.0.1/" + port); code != 0 {
			t.Error(text)
		}
		if text, code := s.inside("echo x > " + s.out + "/new"); code == 0 {
			t.Error(text)
		}
	})
}

func TestSEC_K1_K3_K7_KernelCallsAreRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		self := fmt.Sprint(os.Getpid())
		numbers := map[string]string{"ptrace": "101, 16, 1, 0, 0", "keyctl": "250, 0, -3, 0", "add_key": "248, b'user', b'a', b'b', 1, -3", "bpf": "321, 0, 0, 0", "userfaultfd": "323, 0",
			"perf_event_open": "298, 0, 0, -1, -1, 0", "unshare user": "272, 0x10000000", "clone user": "56, 0x10000011, 0, 0, 0, 0", "clone3": "435, 0, 0", "mount": "165, 0, 0, 0, 0, 0",
			"personality": "135, 0x0008", "process_vm_readv": "310, " + self + ", 0, 0, 0, 0, 0", "tiocsti": "16, 0, 0x5412, b'x'", "tioclinux": "16, 0, 0x541c, b'x'", "high half": "16, 0, 0x100005412, b'x'",
			"open_by_handle_at": "304, -100, 0, 0", "x32": "0x40000000 + 39", "setns": "308, 0, 0"}
		if nativeArch != unix.AUDIT_ARCH_X86_64 {
			t.Skip("the numbers of the calls are those of amd64")
		}
		script := families
		for name, args := range numbers {
			script += fmt.Sprintf("refused(%q, %s)\n", name, args)
		}
		script = strings.ReplaceAll(script, `print("OPEN", name)`, "pass")
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
		if text, _ := s.inside("kill -0 " + self + " && echo SEEN; ls /proc/" + self); !strings.Contains(text, "No such") || strings.Contains(text, "SEEN") {
			t.Errorf("processes outside are visible: %s", text)
		}
		if text, code := s.inside("unshare -Ur true"); code == 0 {
			t.Errorf("a nested user namespace: %s", text)
		}
	})
}

func TestSEC_K2_OrdinaryProgramsWork(t *testing.T) {
	one(t, func(t *testing.T) {
		// An empty build cache would make the test take minutes. Asked before HOME
		// is the test's own.
		out, _ := exec.Command("go", "env", "GOCACHE").Output()
		cache := strings.TrimSpace(string(out))
		s := newSite(t)
		s.write(s.work+"/m/go.mod", "module m\n\ngo 1.21\n")
		s.write(s.work+"/m/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"built\") }\n")
		s.write(s.work+"/m/main_test.go", "package main\n\nimport (\n\t\"net\"\n\t\"testing\"\n)\n\nfunc TestListen(t *testing.T) {\n\tl, err := net.Listen(\"tcp\", \"127.0.0.1:0\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tgo net.Dial(\"tcp\", l.Addr().String())\n\tif _, err := l.Accept(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n")
		if _, err := os.Stat(cache); err == nil {
			t.Setenv("GOCACHE", cache)
			s.policy.Roots = append(s.policy.Roots, cache)
		} else {
			t.Setenv("GOCACHE", "/tmp/gocache")
		}
		for name, script := range map[string]string{
			"python3 asyncio": `python3 -c 'import asyncio, socket
async def main():
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
    s = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    await asyncio.open_connection(*s.sockets[0].getsockname())
asyncio.run(main())
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
import multiprocessing; print(multiprocessing.get_context("fork").Pool(2).map(abs, [-1, 2]))'`,
			"node":         `node -e 'const {spawn, fork} = require("child_process"); const c = spawn("echo", ["x"]); c.on("exit", n => process.exit(n)); require("http").createServer().listen(0, "127.0.0.1").unref()'`,
			"go":           "cd m && export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPATH=/tmp/gopath && go build -o /tmp/m . && /tmp/m && go test ./...",
			"bash":         "set -e; x=$(mktemp); cat <<'E' > $x\nhere\nE\ncat $x | grep -q here; head -c 10 /dev/urandom > /dev/null; (sleep 0.01 & wait); diff <(echo a) <(echo a); echo x > /dev/null",
			"script":       "script -qc 'test -t 0 && echo tty' /dev/null",
			"git":          "git status; true",
			"make -j":      "mkdir -p mk && cd mk && printf 'all: a b c\\n%%: ; @sleep 0.01; echo $@ > $@.out\\n' > Makefile && make -s -j4 && cat a.out b.out c.out",
			"javac":        "mkdir -p j && cd j && printf 'public class H { public static void main(String[] a) throws Exception { try (var s = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress()); var c = new java.net.Socket(s.getInetAddress(), s.getLocalPort())) { System.out.println(\"hello\"); } } }' > H.java && javac H.java && java H | grep -q hello",
			"npm":          "mkdir -p n/dep && cd n && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' > dep/package.json && echo '{\"name\":\"n\",\"version\":\"1.0.0\",\"dependencies\":{\"dep\":\"file:dep\"}}' > package.json && npm_config_cache=/tmp/npm npm install --offline --no-audit --no-fund --loglevel=error && test -e node_modules/dep/package.json",
			"redis-server": "redis-server --port 6399 --save '' --unixsocket '' --daemonize no > /tmp/redis.log & for i in $(seq 100); do (echo PING > /dev/tcp/127.0.0.1/6399) 2>/dev/null && exit 0; sleep 0.05; done; exit 1",
			"threads":      `python3 -c 'import threading; ts=[threading.Thread(target=print) for _ in range(20)]; [t.start() for t in ts]; [t.join() for t in ts]'`,
		} {
			t.Run(name, func(t *testing.T) {
				s.t = t
				program, _, _ := strings.Cut(strings.TrimPrefix(name, "bash"), " ")
				if program != "" && program != "threads" {
					if _, err := exec.LookPath(program); err != nil {
						t.Skip(err)
					}
				}
				if text, code := s.inside(script); code != 0 {
					t.Errorf("%d: %s", code, text)
				}
			})
		}
	})
}

func TestSEC_K4_NoDescriptorsInside(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.inside("ls /proc/self/fd | tr '\\n' ' '")
		if strings.TrimSpace(text) != "0 1 2 3" { // 3 is ls reading the list
			t.Errorf("got %s", text)
		}
		if text, _ := s.inside("ls -l /proc/1/fd 2>&1"); strings.Contains(text, "memfd") || strings.Contains(text, s.work) {
			t.Errorf("process 1 holds %s", text)
		}
	})
}

func TestSEC_K5_NoPrivileges(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.inside("for p in self 1; do grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/$p/status; done")
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[name]
			if want == "" {
				want = "0000000000000000"
			}
			if value != want {
				t.Errorf("%s is %s", name, value)
			}
		}
		if strings.Count(text, "\n") != 14 {
			t.Errorf("got %s", text)
		}
	})
}

func TestSEC_K8_BwrapIsNotTakenFromTheWorkspace(t *testing.T) {
	s := newSite(t)
	s.write(s.work+"/bwrap", "#!/bin/sh\ntouch "+s.out+"/ran\n")
	t.Setenv("PATH", s.work+":"+os.Getenv("PATH"))
	if text, code := s.inside("echo ok"); code != 0 || text != "ok\n" {
		t.Errorf("got %d %s", code, text)
	}
	if _, err := os.Stat(s.out + "/ran"); err == nil {
		t.Error("the planted bwrap ran")
	}
}

func TestSEC_K10_NoSandboxNoRun(t *testing.T) {
	linux := func() string { return "Linux version 6.1.0" }
	broken := func(context.Context, way) error { return &UnavailableError{Reason: "namespaces cannot be made: EPERM"} }
	absent := func(string, []string) (string, error) { return "", proc.ErrNotFound }
	there := func(string, []string) (string, error) { return "/usr/bin/bwrap", nil }
	only := func(name string) func(context.Context, way) error {
		return func(ctx context.Context, w way) error {
			if w.name == name {
				return nil
			}
			return broken(ctx, w)
		}
	}
	workspace := Plan{Mode: WorkspaceWrite, Cwd: "/w", Mounts: []Mount{{Kind: MountWrite, Path: "/w"}}, Masks: []Mask{{MaskSocket, "/w/.kerf", ""}}}
	reading := Plan{Mode: ReadOnly, Cwd: "/w"}
	for _, c := range []struct {
		name string
		m    machine
		plan Plan
		want string // empty: nothing runs
	}{
		{"all work", machine{version: linux, try: only(OwnLauncher), program: there}, workspace, OwnLauncher},
		{"namespaces only for bubblewrap", machine{version: linux, try: only(Bubblewrap), program: there}, workspace, Bubblewrap},
		{"no namespaces, no bubblewrap", machine{version: linux, try: broken, program: absent}, workspace, ""},
		{"no namespaces, broken bubblewrap", machine{version: linux, try: broken, program: there}, workspace, ""},
		{"only Landlock, and more is asked for", machine{version: linux, try: only(Landlock), program: absent}, workspace, ""},
		{"only Landlock, and it is enough", machine{version: linux, try: only(Landlock), program: absent}, reading, Landlock},
		{"old kernel without all of it", machine{version: linux, try: broken, program: absent}, reading, ""},
		{"WSL1", machine{version: func() string { return "Linux version 4.4.0-19041-Microsoft (x)" }, try: only(OwnLauncher), program: there}, workspace, ""},
		{"a backend that is not there was asked for", machine{version: linux, try: only(OwnLauncher), program: absent}, Plan{Mode: WorkspaceWrite, Backend: Bubblewrap}, ""},
	} {
		got, err := c.m.choose(t.Context(), c.plan, nil)
		var unavailable *UnavailableError
		switch {
		case c.want == "" && (!errors.As(err, &unavailable) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		case c.want != "" && (err != nil || got.name != c.want):
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	if isWSL1("Linux version 5.15.0-microsoft-standard-WSL2") {
		t.Error("WSL1 is not told from WSL2")
	}
}

// A launcher that cannot do one of its calls does not run the command, says
// which, and exits with 125.
func TestSEC_K10_ACallThatFailsStopsTheLauncher(t *testing.T) {
	s := newSite(t)
	plan, err := Resolve(s.policy, Disk{})
	if err != nil {
		t.Fatal(err)
	}
	whole := compile(plan, []string{"touch", "ran"}).Len()
	if whole < 50 {
		t.Fatalf("only %d calls", whole)
	}
	for _, call := range []func(*compiler){
		func(c *compiler) { c.Call("a mount", unix.SYS_MOUNT, "none", "/nowhere", "tmpfs", 0, nil) },
		func(c *compiler) { c.Call("seccomp is not available", unix.SYS_SECCOMP, 99, 0, nil) },
	} {
		c := &compiler{plan: plan}
		c.Clone, c.Argv = namespaces, []string{"touch", "ran"}
		c.who()
		call(c)
		file, err := programFile(&c.Program)
		if err != nil {
			t.Fatal(err)
		}
		text, code := s.start([]string{"/proc/self/exe", launch.Flag}, []*os.File{file}, true)
		file.Close()
		if code != 125 || strings.Count(text, "\n") != 1 || !strings.Contains(text, "was not run") {
			t.Errorf("got %d %q", code, text)
		}
	}
	if _, err := os.Lstat(s.work + "/ran"); err == nil {
		t.Error("the command ran")
	}
}

func TestSEC_O1_NothingSurvivesTheSandbox(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.inside("(setsid nohup sh -c 'trap \"\" TERM HUP; exec -a kerf-survivor sleep 300' >/dev/null 2>&1 &); (setsid bash -c 'exec -a kerf-survivor sleep 300' >/dev/null 2>&1 &); sleep 0.2; echo end")
		if text != "end\n" {
			t.Errorf("got %q", text)
		}
		deadline := time.Now().Add(time.Second)
		for {
			out, _ := exec.Command("pgrep", "-fc", "^kerf-survivor").Output()
			if n := strings.TrimSpace(string(out)); n == "0" || n == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("survivors")
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestSignalsReachTheCommandNotTheLauncher(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		for _, tty := range []bool{false, true} {
			plan, err := Resolve(s.policy, Disk{})
			if err != nil {
				t.Fatal(err)
			}
			plan.TTY = tty
			argv, extra, cleanup, err := Wrap(t.Context(), plan, []string{"bash", "-c", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done"}, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			defer cleanup()
			p, err := proc.Start(t.Context(), proc.Spec{Argv: argv, Dir: s.work, Env: os.Environ(), ExtraFiles: extra, Confined: true, TTY: tty})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			for text := ""; !strings.Contains(text, "ready"); text += string(p.Drain()) {
				if p.Wait(10 * time.Millisecond) {
					all, _ := p.Output()
					t.Fatalf("tty %v: ended: %s", tty, all)
				}
			}
			if tty {
				p.Write("\x03")
			} else {
				p.Interrupt()
			}
			if !p.Wait(5 * time.Second) {
				t.Fatalf("tty %v: still running", tty)
			}
			if code, _, _ := p.ExitCode(); code != 3 {
				all, _ := p.Output()
				t.Errorf("tty %v: exit %d: %s", tty, code, all)
			}
		}
	})
}

func BenchmarkBareBwrap(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

func BenchmarkBareExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOwnLauncher(b *testing.B)    { wrapped(b, OwnLauncher) }
func BenchmarkWithBubblewrap(b *testing.B) { wrapped(b, Bubblewrap) }

// BenchmarkOwnLauncherBare is the launcher with a plan as small as that of the
// bare bubblewrap.
func BenchmarkOwnLauncherBare(b *testing.B) {
	plan := Plan{Mode: ReadOnly, Cwd: "/"}
	for b.Loop() {
		file, err := programFile(compile(plan, []string{"true"}))
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", launch.Flag)
		cmd.ExtraFiles = []*os.File{file}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		file.Close()
	}
}

func wrapped(b *testing.B, backend string) {
	work := b.TempDir()
	if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil {
		b.Fatalf("%s", out)
	}
	policy := Policy{Mode: WorkspaceWrite, Roots: []string{work}, Cwd: work, TmpDir: b.TempDir(), LockDir: filepath.Join(b.TempDir(), "locks"), Backend: backend}
	for b.Loop() {
		plan, err := Resolve(policy, Disk{})
		if err != nil {
			b.Fatal(err)
		}
		argv, extra, cleanup, err := Wrap(b.Context(), plan, []string{"true"}, nil)
		if err != nil {
			b.Fatal(err)
		}
		p, err := proc.Start(b.Context(), proc.Spec{Argv: argv, Dir: work, Env: os.Environ(), ExtraFiles: extra, Confined: true})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait(-1)
		if code, _, _ := p.ExitCode(); code != 0 {
			text, _ := p.Output()
			b.Fatalf("%s", text)
		}
		cleanup()
		Sweep(plan)
	}
}
