package sandbox

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
	"kerf/internal/work/sandbox/launch"
	"kerf/internal/work/sandbox/placeholders"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is a workspace with a neighbour that must stay as it is.
type site struct {
	t               *testing.T
	work, out, home string
	policy          boundary.Policy
	found           []boundary.Finding // after the last run
}

// maxSitePath leaves room for names of sockets below a site: with all above they have 107 bytes.
const maxSitePath = 85

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	if len(dir) > maxSitePath {
		short, err := os.MkdirTemp("", "site")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(short); err != nil {
				t.Error(err)
			}
		})
		dir = short
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, work: filepath.Join(dir, "work"), out: filepath.Join(dir, "work-neighbour"),
		home: filepath.Join(dir, "home")}
	for _, d := range []string{s.work, s.out, s.home, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write(s.out+"/victim", "precious\n")
	s.policy = boundary.Policy{
		Mode: boundary.WorkspaceWrite, Roots: []string{s.work}, Cwd: s.work, TmpDir: filepath.Join(dir, "tmp"),
		LockDir: filepath.Join(dir, "locks"),
		// The test's own directories lie in /tmp, which is private inside.
		Rules:   []boundary.Rule{{Path: s.out, Access: boundary.Read}, {Path: s.home, Access: boundary.Read}},
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
	way, err := machine{}.choose(t.Context(), boundary.Plan{Mode: boundary.WorkspaceWrite}, nil)
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
	for _, name := range []string{boundary.OwnLauncher, boundary.Bubblewrap} {
		t.Run(name, func(t *testing.T) {
			if _, err := (machine{}).find(t.Context(), name, "", nil); err != nil {
				t.Skip(err)
			}
			t.Setenv(backendEnv, name)
			f(t)
		})
	}
}

// A workspace in shared memory can be written, and nothing else that lies there.
func TestAWorkspaceInSharedMemory(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		shared, err := os.MkdirTemp("/dev/shm", "kerf-test-")
		if err != nil {
			t.Skip("no shared memory: ", err)
		}
		t.Cleanup(func() { os.RemoveAll(shared) })
		s.work = filepath.Join(shared, "deep", "work")
		s.write(s.work+"/.git/HEAD", "ref: refs/heads/main\n")
		s.write(s.work+"/.git/config", "")
		s.write(shared+"/other", "theirs\n")
		s.policy.Roots, s.policy.Cwd = []string{s.work}, s.work
		if text, code := s.inside("echo mine > f && cat f && ! echo x > .git/config"); code != 0 || !strings.HasPrefix(text, "mine\n") {
			t.Errorf("%d %s", code, text)
		}
		s.inside("echo x > " + shared + "/other; echo x > " + shared + "/new; echo x > /dev/shm/new")
		if names, _ := os.ReadDir(shared); len(names) != 2 {
			t.Errorf("beside the workspace are %v", names)
		}
		for name, want := range map[string]string{shared + "/other": "theirs\n", s.work + "/f": "mine\n", s.work + "/.git/config": ""} {
			if got, err := os.ReadFile(name); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		s.policy.Roots = []string{"/dev/shm"}
		if _, err := Prepare(t.Context(), s.policy, false, []string{"true"}); err == nil {
			t.Error("control: all of it was granted")
		}
	})
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
	box, err := Prepare(s.t.Context(), s.policy, false, argv)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { s.found = box.Close() }()
	return s.start(box)
}

func (s *site) start(b *Box, dir ...string) (string, int) {
	s.t.Helper()
	p, err := proc.Start(s.t.Context(),
		proc.Spec{Argv: b.Argv, Dir: append(dir, s.work)[0], Env: os.Environ(), ExtraFiles: b.Files, Confined: b.Confined,
			Cgroup: b.Cgroup, Started: b.Started})
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Kill()
	if !p.Wait(5 * time.Minute) {
		s.t.Fatalf("%v: hangs", b.Argv[0])
	}
	text, _ := p.Output()
	code, _, _ := p.ExitCode()
	return string(text), code
}

func (s *site) inside(script string) (string, int) { return s.run("bash", "-c", script) }
func (s *site) outside(script string) (string, int) {
	return s.start(bare([]string{"bash", "-c", script}))
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

// writesOutside are ways to change $OUT, or the home in the case of that name.
var writesOutside = map[string]string{
	"create": "echo x > ../work-neighbour/new", "append": "echo x >> $OUT/victim", "truncate": ": > $OUT/victim",
	"remove": "rm -f $OUT/victim", "rename out": "echo x > f; mv f $OUT/f", "rename in": "mv $OUT/victim .",
	"chmod": "chmod 600 $OUT/victim", "touch": "touch -d 2001-01-01 $OUT/victim",
	"hard link": "ln $OUT/victim mine && echo x >> mine",
	"symlink":   "ln -sf $OUT/victim link && echo x > link", "mkdir": "mkdir -p $OUT/a/b",
	"home":   "echo x > $OUT/../home/x",
	"python": "python3 -c 'import os; os.truncate(os.environ[\"OUT\"]+\"/victim\", 2)'",
}

func TestSEC_F1_NothingOutsideTheRootsChanges(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range writesOutside {
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
		if text,
			code := s.inside("echo ok > f && mkdir d && mv f d/ && cat d/f && echo t > /tmp/keep && echo $TMPDIR"); code != 0 ||
			text != "ok\n/tmp\n" {
			t.Errorf("work in the workspace: %d %s", code, text)
		}
		if text, _ := s.inside("cat /tmp/keep"); text != "t\n" {
			t.Errorf("/tmp does not survive between commands: %q", text)
		}
	})
}

// writesThroughProc are ways to change $OUT by way of /proc.
var writesThroughProc = map[string]string{
	"root": "echo x > /proc/self/root$OUT/new", "cwd": "echo x > /proc/self/cwd/../work-neighbour/new",
	"reopen": "exec 9< $OUT/victim; echo x > /proc/self/fd/9",
}

func TestSEC_F2_ProcIsNoWayOut(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range writesThroughProc {
			t.Run(name, func(t *testing.T) {
				s := newSite(t)
				t.Setenv("OUT", s.out)
				s.attack(name, s.out, script)
			})
		}
		s := newSite(t)
		if text,
			_ := s.inside(
			"ls /proc/1/root/ >/dev/null; tr '\\0' ' ' < /proc/1/cmdline; ls /proc | grep -c '^[0-9]'"); !strings.Contains(text,
			"bwrap") && !strings.Contains(text, launch.Flag) {
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
	if text, code := s.outside("git init -q -b main . && git add f && git commit -qm one && git branch side && printf " +
		"'#!/bin/sh\n' > .git/hooks/pre-push && chmod +x .git/hooks/pre-push"); code != 0 {
		s.t.Fatal(text)
	}
}

func TestSEC_F6_WhatGitRunsIsProtected(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"hook": "printf evil > .git/hooks/pre-commit", "existing hook": "echo evil >> .git/hooks/pre-push",
			"config":     "echo '[core] pager = evil' >> .git/config",
			"git config": "git config core.pager evil", "replace config": "echo x > c; mv -f c .git/config",
			"attributes": "echo '* filter=evil' > .git/info/attributes",
			"rename":     "mv .git .git2", "replace by link": "mv .git g && ln -s g .git",
			"rename hooks":       "mv .git/hooks .git/h2; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
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
	for _, name := range []string{".", "config", "config.worktree", "commondir", "hooks", "info", "modules", "worktrees",
		"objects/info/alternates"} {
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
			"mkdir":       "mkdir .kerf && echo x > .kerf/config.toml",
			"rename onto": "mkdir k && echo x > k/config.toml && mv -T k .kerf", "link": "mkdir k; ln -s k .kerf",
			"remove first": "rm -rf .kerf; mkdir .kerf", "git": "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
			"git init": "git init -q .", "git link": "ln -s k .git",
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
		pl, err := boundary.Resolve(s.policy, boundary.Disk{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := placeholders.Raise(pl)
		if err != nil {
			t.Fatal(err)
		}
		if text, code := s.inside("mkdir .kerf"); code == 0 {
			t.Error(text)
		}
		if !(boundary.Disk{}).Placeholder(s.work + "/.kerf") {
			t.Error("the second sandbox took the first one's placeholder away")
		}
		first()
		if names, _ := os.ReadDir(s.work); len(names) != 0 {
			t.Errorf("left: %v", names)
		}
	})
}

// Sandboxes share what keeps git from removing a directory, too, and one that was filled
// belongs to those who did.
func TestSEC_F8_WhatGitFillsBesideSandboxesStays(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		another := func() (lower func()) {
			pl, err := boundary.Resolve(s.policy, boundary.Disk{})
			if err != nil {
				t.Fatal(err)
			}
			if lower, err = placeholders.Raise(pl); err != nil {
				t.Fatal(err)
			}
			return lower
		}
		first, second := another(), another()
		git := func(script, want string) {
			t.Helper()
			text, code := s.outside("set -e; " + script + "\nls -A .git/worktrees || true; stat -c %A .git/worktrees || true")
			if code != 0 || strings.TrimSpace(text) != want {
				t.Errorf("%s: %d %s", script, code, text)
			}
		}
		git("git worktree prune", boundary.Keeper+"\ndrwxr-xr-t")
		first()
		git("git worktree add -q ../w; git worktree prune; git gc -q", boundary.Keeper+"\nw\ndrwxr-xr-t")
		third := another()
		second()
		git("git worktree remove ../w; git worktree prune; git worktree add -q -f ../w w", boundary.Keeper+"\nw\ndrwxr-xr-t")
		third()
		git("git worktree list | grep -q 'w$\\|w '", "w\ndrwxr-xr-x")
		last := another()
		git("git worktree remove ../w; git gc -q", boundary.Keeper+"\ndrwxr-xr-x")
		last()
		git("git worktree prune; test ! -e .git/worktrees; mkdir .git/worktrees", "drwxr-xr-x")
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
		for range 3000 {
			if _, err := os.Stat(s.work + "/started"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !(boundary.Disk{}).Placeholder(s.work + "/.kerf") {
			t.Error("control: no placeholder is there")
		}
		kerf.Process.Kill()
		kerf.Wait()
		deadline := time.Now().Add(30 * time.Second)
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
		pl, err := boundary.Resolve(boundary.Policy{Mode: boundary.WorkspaceWrite, Roots: []string{work}, Cwd: work,
			LockDir: os.Getenv("SANDBOX_TEST_LOCKS")}, boundary.Disk{})
		if err != nil {
			panic(err)
		}
		command := os.Getenv("SANDBOX_TEST_COMMAND")
		if command == "" {
			command = "touch started; setsid sleep 60"
		}
		box, err := Wrap(context.Background(), pl, []string{"bash", "-c", command})
		if err != nil {
			panic(err)
		}
		if _, err := proc.Start(context.Background(),
			proc.Spec{Argv: box.Argv, Dir: work, Env: os.Environ(), ExtraFiles: box.Files, Confined: true,
				Started: box.Started}); err != nil {
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
		if _, err := boundary.Resolve(s.policy, boundary.Disk{}); !errors.Is(err, boundary.ErrSymlink) {
			t.Errorf("a link: got %v", err)
		}
		os.Remove(s.work + "/.git")
		s.write(s.work+"/.git", "gitdir: real\n")
		for _, script := range []string{"echo evil >> real/config", "echo evil > real/hooks/pre-commit", "mv real away",
			"echo 'gitdir: x' > .git", "rm -f .git"} {
			if text, code := s.inside(script); code == 0 {
				t.Errorf("a pointer: %s: %s", script, text)
			}
		}
		if text, code := s.inside("echo two > f && git commit -qam two && git log --oneline | wc -l"); code != 0 ||
			!strings.Contains(text, "2") {
			t.Errorf("commit through a pointer: %d %s", code, text)
		}
		// A pointer opens nothing: the repository chose it.
		other := newSite(t)
		other.repository()
		s.write(s.work+"/.git", "gitdir: "+other.work+"/.git\n")
		s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: other.work, Access: boundary.Read})
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
		s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/a", Access: boundary.None},
			boundary.Rule{Path: s.work + "/a/b", Access: boundary.Write}, boundary.Rule{Path: s.work + "/key", Access: boundary.None},
			boundary.Rule{Path: s.work + "/later", Access: boundary.None})
		text, _ := s.inside("cat a/secret key; ls a; echo more >> a/b/open; cat a/b/open; mv a z; cat z/secret; touch " +
			"a/new; mkdir later")
		if strings.Contains(text, "secret\n") || strings.Contains(text, "secretsecret") ||
			!strings.Contains(text, "openmore") {
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
		s.policy.Mode = boundary.ReadOnly
		s.write(s.work+"/f", "x")
		s.attack("write", s.work, "echo y >> f; echo z > new")
		text, _ := s.inside("for d in . /tmp /var/tmp /dev/mqueue $HOME /run; do echo x > $d/probe 2>/dev/null && echo " +
			"WROTE $d; done; cat f")
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
		var text string
		var b []byte
		for range 20 { // what other tests keep there may vanish while the sandbox is set up
			box, err := Prepare(t.Context(), s.policy, false, []string{"bash", "-c", "echo granted > " + other})
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
				text = err.Error()
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			text, _ = s.start(box)
			box.Close()
			if b, _ = os.ReadFile(other); string(b) == "granted\n" {
				return
			}
		}
		t.Errorf("a shared /tmp is not writable: %q, %s", b, text)
	})
}

func TestSEC_F14_MissingPartsOfGitAreCovered(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"worktree config": "echo evil > .git/config.worktree", "commondir": "echo /tmp > .git/commondir",
			"alternates": "echo /tmp > .git/objects/info/alternates",
			"alternates by rename": "mv .git/objects/info .git/objects/i2; mkdir .git/objects/info; echo /tmp > " +
				".git/objects/info/alternates",
			"objects by rename": "mv .git/objects .git/o2; mkdir -p .git/objects/info; echo /tmp > " +
				".git/objects/info/alternates",
			"grafts":             "echo x > .git/info/grafts",
			"modules":            "mkdir -p .git/modules/m && echo evil > .git/modules/m/config",
			"worktrees":          "mkdir -p .git/worktrees/w && echo /tmp > .git/worktrees/w/commondir",
			"rename away":        "mv .git old && mkdir .git",
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
		pl, err := boundary.Resolve(s.policy, boundary.Disk{})
		if err != nil {
			t.Fatal(err)
		}
		s.inside("cd .git; for f in logs/HEAD logs/refs/heads/main COMMIT_EDITMSG FETCH_HEAD ORIG_HEAD objects/ee; do rm " +
			"-rf $f; ln -s " + s.out + "/victim $f; done; mkfifo packed-refs")
		found := s.found
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
		if found := boundary.Sweep(pl, aside); len(found) != 0 {
			t.Errorf("a clean repository has findings: %+v", found)
		}
	})
}

func TestSEC_F16_GitWorksInside(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		s.write(s.work+"/hooks/post-commit", "#!/bin/sh\ntouch ran\n")
		text, code := s.inside("set -e; echo two > f; git add f; git commit -qm two; git log --oneline; git checkout -q " +
			"side; git merge -q main; git branch -D main; git gc -q; git fsck; git stash list; git status --short")
		if code != 0 {
			t.Errorf("%d: %s", code, text)
		}
		if text, code := s.outside("set -e; git fsck --strict; git status; test $(git rev-list --count HEAD) = 2; test -z " +
			"\"$(find .git -name '*.lock')\"; test ! -e ran"); code != 0 {
			t.Errorf("afterwards: %s", text)
		}
	})
}
