package sandbox

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/long"
	"kerf/internal/testkit/race"
	"kerf/internal/work/boundary"
	"kerf/internal/work/proc"
)

func TestSEC_F3_TheViewCannotBeChanged(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		before := picture(t, s.out) + s.control()
		for _, script := range []string{
			"mount -o remount,rw /", "mount -o remount,rw,bind $OUT", "mount --bind . $OUT", "mount -t tmpfs none .git/hooks",
			"umount .git/hooks", "umount -l /proc", "umount -l .git", "pivot_root . .",
			"unshare -m true", "unshare -Urm mount -o remount,rw /", "unshare -Ur true", "chroot . /bin/true",
			"nsenter -t 1 -m true",
			`python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if max(l.syscall(n,*a) for n,a in ((428,(-100,b".",1)),(429,(-100,b".",-100,b".git/hooks",0)),(430,(b"tmpfs",0)),(442,(-100,b"/",0,b"\0"*32,32)),(155,(b".",b".")))) >= 0 else 1)'`,
		} {
			if text, code := s.inside("OUT=" + s.out + "\n" + script); code == 0 {
				t.Errorf("%s: succeeded: %s", script, text)
			}
		}
		if after := picture(t, s.out) + s.control(); after != before {
			t.Errorf("not held:\n%s", after)
		}
		if os.Geteuid() == 0 {
			if text, code := s.outside("unshare -m sh -c 'mount -t tmpfs none . && umount -l .'"); code != 0 {
				t.Errorf("control: %s", text)
			}
		}
	})
}

// TestSEC_F4_NoFileRunsAsItsOwner: what a command leaves behind does not let other accounts of
// the machine act as the user.
func TestSEC_F4_NoFileRunsAsItsOwner(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		makers := `cp /bin/sh a; chmod 4755 a
install -m 4755 /bin/sh b
python3 -c "import os; os.open('c', os.O_CREAT|os.O_WRONLY, 0o4755)"
python3 -c "import os; os.open('d', os.O_CREAT|os.O_WRONLY, 0o2755)"
cp /bin/sh e; python3 -c "import os; os.fchmod(os.open('e', os.O_RDONLY), 0o4711)"
python3 -c "import os; os.mknod('f', 0o104755)"
python3 -c "import ctypes; ctypes.CDLL(None).syscall(437, -100, b'g', ctypes.byref((ctypes.c_uint64*3)(0o101, 0o4755, 0)), 24)"
`
		s.inside(makers)
		left := func() (found []string) {
			for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				if info, err := os.Lstat(filepath.Join(s.work, name)); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
					found = append(found, name)
				}
			}
			return found
		}
		if found := left(); len(found) > 0 {
			t.Errorf("these run as somebody: %q", found)
		}
		if text, code := s.inside("mkdir shared && chmod 2775 shared && chmod 755 a && test -g shared"); code != 0 {
			t.Errorf("a directory with a group of its own: %s", text)
		}
		s.outside(makers)
		if found := left(); len(found) < 6 {
			t.Errorf("control: %q", found)
		}
	})
}

func TestSEC_F4_DevicesAndSharedMemory(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		name := "kerf-test-" + filepath.Base(filepath.Dir(s.work))
		for _, script := range []string{"mknod disk b 259 0", "mknod mem c 1 1", "cat /dev/mem", "cat /dev/kmsg",
			"losetup -f", "test -e /dev/sda -o -e /dev/vda -o -e /dev/nvme0n1",
			"cat /proc/kcore > /dev/null && test -s /proc/kcore"} {
			if text, code := s.inside(script); code == 0 {
				t.Errorf("%s: succeeded: %s", script, text)
			}
		}
		if text, code := s.inside("echo x > /dev/shm/" + name + " && cat /dev/shm/" + name); code != 0 {
			t.Errorf("shared memory of its own: %s", text)
		}
		if _, err := os.Lstat("/dev/shm/" + name); err == nil {
			os.Remove("/dev/shm/" + name)
			t.Error("the host's shared memory was written to")
		}
		if text, code := s.outside("echo x > /dev/shm/" + name + " && rm /dev/shm/" + name); code != 0 {
			t.Errorf("control: %s", text)
		}
	})
}

// Path sockets of others stay closed when the network is open.
func TestSEC_N3_PathSocketsAreClosedWithAndWithoutNetwork(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, network := range []bool{false, true} {
			s := newSite(t)
			s.policy.Network = network
			hits := make(chan string, 10)
			for _, path := range []string{s.out + "/s", s.work + "/s"} {
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						hits <- path
						c.Close()
					}
				}()
				s.expectSilence(hits, path, "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\""+path+"\")'")
			}
		}
	})
}

func TestSEC_K6_NoKeyring(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers of the calls are those of amd64")
	}
	script := `import ctypes; l=ctypes.CDLL(None, use_errno=True); print("READ" if l.syscall(250,10,-3,b"user",b"kerf-test",0) >= 0 else "none", open("/proc/keys").read().count("kerf-test"))`
	if out, err := exec.Command("python3", "-c",
		`import ctypes; l=ctypes.CDLL(None); import sys; sys.exit(0 if l.syscall(248,b"user",b"kerf-test",b"secret",6,-3) >= 0 else 1)`).CombinedOutput(); err != nil {
		t.Skipf("no keyring here: %v %s", err, out)
	}
	each(t, func(t *testing.T) {
		s := newSite(t)
		text, _ := s.run("python3", "-c", script)
		if strings.Contains(text, "READ") || !strings.HasPrefix(text, "none 0") && !strings.Contains(text, "ermission") {
			t.Errorf("got %s", text)
		}
	})
}

// TestNoBackendShowsWhatTheKernelKeeps: what tells of outside or of the kernel has no content inside, nor does
// its absence on a kernel keep commands from running.
func TestNoBackendShowsWhatTheKernelKeeps(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		for _, m := range hidden() {
			if text, _ := s.run("sh", "-c", "head -c 100 "+m.Path+" 2>/dev/null; echo end"); text != "end\n" {
				t.Errorf("%s: %q", m.Path, text)
			}
		}
		was := secrets
		t.Cleanup(func() { secrets = was })
		secrets = []string{"none", "keys"}
		if text, code := s.run("echo", "ran"); code != 0 || text != "ran\n" {
			t.Errorf("%q, exit %d", text, code)
		}
	})
}

func TestSEC_K9_NoSandboxLetsItselfOut(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		for _, argv := range [][]string{{os.Args[0], "--kerf-launch"}, {"bwrap", "--ro-bind", "/", "/", "true"},
			{"unshare", "-Urpf", "true"}} {
			s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: filepath.Dir(os.Args[0]), Access: boundary.Read})
			if text, code := s.run(argv...); code == 0 {
				t.Errorf("%v: %s", argv, text)
			}
		}
	})
}

// sleepers counts processes by a name that nobody else has.
func sleepers(t *testing.T, name string) int {
	t.Helper()
	out, _ := exec.Command("pgrep", "-fc", "^"+name).Output()
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return n
}

// The launcher is killed in every way while commands run: nobody survives.
func TestSEC_O2_NothingSurvivesAKilledLauncher(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, sig := range []string{"KILL", "TERM", "INT", "HUP", "SEGV"} {
			s := newSite(t)
			name := fmt.Sprintf("kerf-o2-%s-%d", sig, time.Now().UnixNano())
			pl, err := boundary.Resolve(s.policy, boundary.Disk{})
			if err != nil {
				t.Fatal(err)
			}
			box, err := Wrap(t.Context(), pl, []string{"bash", "-c", "(setsid bash -c 'exec -a " + name +
				" sleep 300' &); exec -a " + name + " sleep 300"})
			if err != nil {
				t.Fatal(err)
			}
			leader := 0
			started := func(pid int, kill func()) {
				leader = pid
				box.Started(pid, kill)
			}
			p, err := proc.Start(t.Context(), proc.Spec{Argv: box.Argv, Dir: s.work, Env: os.Environ(), ExtraFiles: box.Files,
				Confined: true, Started: started})
			if err != nil {
				t.Fatal(err)
			}
			for range 3000 {
				if sleepers(t, name) == 2 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if sleepers(t, name) != 2 {
				t.Fatal("control: they do not run")
			}
			exec.Command("kill", "-"+sig, strconv.Itoa(leader)).Run()
			p.Wait(300 * time.Millisecond)
			p.Kill()
			box.Close()
			deadline := time.Now().Add(30 * time.Second)
			for sleepers(t, name) > 0 {
				if time.Now().After(deadline) {
					t.Fatalf("%s: survivors", sig)
				}
				time.Sleep(5 * time.Millisecond)
			}
			if names, _ := os.ReadDir(s.work); len(names) != 0 {
				t.Errorf("%s: left %v", sig, names)
			}
		}
	})
}

func TestSEC_O4_LimitsAreHit(t *testing.T) { each(t, limitsAreHit) }

func limitsAreHit(t *testing.T) {
	s := newSite(t)
	data := uint64(256<<20) * uint64(race.Costs()) // the launcher, this program, starts within it
	s.policy.Limits = boundary.Limits{Processes: 40, FileBytes: 1 << 20, DataBytes: data}
	if text, code := s.inside("head -c 3000000 /dev/zero > big"); code == 0 {
		t.Errorf("a large file: %s", text)
	}
	if info, err := os.Stat(s.work + "/big"); err != nil || info.Size() != 1<<20 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if text, code := s.run("python3", "-c", fmt.Sprintf("x = bytearray(%d)", 4*data)); code == 0 {
		t.Errorf("four times the memory: %s", text)
	}
	if text, code := s.run("python3", "-c", "x = bytearray(100 << 20); print('ok')"); code != 0 || text != "ok\n" {
		t.Errorf("a hundred megabytes: %d %s", code, text)
	}
	if text, _ := s.inside("ulimit -c; cat /proc/self/oom_score_adj"); text != "0\n800\n" {
		t.Errorf("core and OOM score: %q", text)
	}
	if os.Geteuid() == 0 {
		t.Log("processes of root are not limited by the kernel")
		return
	}
	const many = `import os, time
refused = 0
for i in range(100):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        refused += 1
print(refused, flush=True)`
	if text, _ := s.run("python3", "-c", many); text == "0\n" || !strings.HasSuffix(text, "\n") {
		t.Errorf("of a hundred processes were refused: %q", text)
	}
}

// A command that fills its /tmp is ended, and told why; the next one can clean up.
func TestSEC_O4_TmpHasAQuota(t *testing.T) {
	each(t, func(t *testing.T) {
		const bomb = "for i in $(seq 40); do head -c 1000000 /dev/zero > /tmp/f$i; sleep 0.02; done; sleep 20; echo survived"
		s := newSite(t)
		s.policy.Limits.TmpBytes = 8 << 20
		began := time.Now()
		if text, code := s.inside(bomb); code == 0 || strings.Contains(text, "survived") || time.Since(began) > 15*time.Second {
			t.Errorf("it went on: %d %s", code, text)
		}
		if len(s.found) != 1 || s.found[0].Path != "/tmp" || !strings.Contains(s.found[0].What, "8 MiB") {
			t.Errorf("told %+v", s.found)
		}
		if text, code := s.inside("sleep 0.5; rm -f /tmp/f*; ls /tmp/f* 2>/dev/null; true"); code != 0 || text != "" || len(s.found) > 0 {
			t.Errorf("cleaning up: %d %s %+v", code, text, s.found)
		}
		s.policy.Limits.TmpBytes = 80 << 20 // the control: there is room enough
		if text, code := s.inside(strings.Replace(bomb, "sleep 20", "sleep 0.5", 1)); code != 0 || text != "survived\n" {
			t.Errorf("control: %d %s", code, text)
		}
	})
}

// Many processes, each of which takes little enough, are ended when they take too much
// together, and the user is told why.
func TestSEC_O4_MemoryOfAllIsBounded(t *testing.T) {
	each(t, func(t *testing.T) {
		const bomb = `import os, signal, sys
ready, done = os.pipe()
for i in range(8):
    if os.fork() == 0:
        x = b"x" * (20 << 20)
        os.write(done, b"r")
        signal.pause()
for i in range(8): os.read(ready, 1)
if len(sys.argv) > 1: print("survived"); sys.stdout.flush(); os.kill(0, signal.SIGTERM)
signal.pause()`
		s := newSite(t)
		s.policy.Limits = boundary.Limits{DataBytes: 1 << 30, MemoryBytes: 100 << 20}
		if text, code := s.run("python3", "-c", bomb); code == 0 || text != "" {
			t.Errorf("it went on: %d %s", code, text)
		}
		if len(s.found) != 1 || s.found[0].Path != "memory" || !strings.Contains(s.found[0].What, "100 MiB") {
			t.Errorf("told %+v", s.found)
		}
		s.policy.Limits.MemoryBytes = 2 << 30 // the control: it is not too much
		if text, _ := s.run("python3", "-c", bomb, "end"); text != "survived\n" || len(s.found) != 0 {
			t.Errorf("control: %s %+v", text, s.found)
		}
	})
}

// A fork bomb of root, whom RLIMIT_NPROC does not hold, is ended where its namespace has not
// too few numbers for it either.
func TestSEC_O4_AForkBombOfRootIsEnded(t *testing.T) {
	each(t, func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("RLIMIT_NPROC holds an ordinary user")
		}
		const bomb = "for i in $(seq 150); do sleep 600 & done; wait; echo survived"
		s := newSite(t)
		s.policy.Limits = boundary.Limits{Processes: 100}
		if text, code := s.inside(bomb); code == 0 || strings.Contains(text, "survived") {
			t.Errorf("it went on: %d %s", code, text)
		}
		if len(s.found) != 1 || s.found[0].Path != "processes" || !strings.Contains(s.found[0].What, "100") {
			t.Errorf("told %+v", s.found)
		}
		s.policy.Limits.Processes = 1000 // the control
		if text, code := s.inside(strings.Replace(bomb, "sleep 600", "sleep 0", 1)); code != 0 || text != "survived\n" || len(s.found) != 0 {
			t.Errorf("control: %d %s %+v", code, text, s.found)
		}
	})
}

// A fork bomb ends at the limit, also as root, for whom RLIMIT_NPROC does not count, and
// the machine keeps its own numbers.
func TestSEC_O4_AForkBombIsBounded(t *testing.T) {
	if _, err := (machine{}).find(t.Context(), boundary.OwnLauncher, "", nil); err != nil {
		t.Skip(err)
	}
	if !ownNumbers() {
		t.Skip("before Linux 6.14 nothing but a cgroup holds root")
	}
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	s.policy.Backend = boundary.OwnLauncher
	s.policy.Limits.Processes = fewestNumbers
	text, code := s.run("python3", "-c", `import os, signal
n = 0
try:
    while n < 3000:
        if os.fork() == 0: signal.pause()
        n += 1
except OSError as e:
    print(n, e.errno)
`)
	var n, errno int
	if _, err := fmt.Sscan(text, &n, &errno); err != nil || code != 0 || n >= fewestNumbers || syscall.Errno(errno) != syscall.EAGAIN {
		t.Errorf("%d processes, error %d: %d %s", n, errno, code, text)
	}
	if after, _ := os.ReadFile("/proc/sys/kernel/pid_max"); string(after) != string(before) {
		t.Errorf("the machine's own limit was %s and is %s", before, after)
	}
	if text, code := s.inside("echo 100000 > /proc/sys/kernel/pid_max"); code == 0 {
		t.Errorf("the limit can be raised inside: %s", text)
	}
}

// Many commands leave nothing: no process, descriptor, mount, file, goroutine.
func TestSEC_O5_ManyCommandsLeaveNothing(t *testing.T) {
	rounds := long.Of(1000, 300, 100)
	each(t, func(t *testing.T) {
		s := newSite(t)
		s.repository()
		count := func() [4]int {
			fds, _ := os.ReadDir("/proc/self/fd")
			mounts, _ := os.ReadFile("/proc/self/mountinfo")
			children, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
			files, _ := os.ReadDir(s.policy.LockDir)
			return [4]int{len(fds), strings.Count(string(mounts), "\n"), len(strings.Fields(string(children))), len(files)}
		}
		s.run("true")
		tree := picture(t, s.work)
		before, goroutines := count(), runtime.NumGoroutine()
		for range rounds {
			if text, code := s.run("true"); code != 0 {
				t.Fatal(text)
			}
		}
		var after [4]int
		deadline := time.Now().Add(5 * time.Second)
		more := func() bool {
			s.run("true") // the next command reaps what ended after the one before
			after = count()
			most := before
			most[2] += 2 // what ends after the last command itself is reaped with the next one
			for i := range after {
				if after[i] > most[i] {
					return true
				}
			}
			return false
		}
		for more() && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		if more() {
			t.Errorf("descriptors, mounts, children, lock files: before %v, after %v", before, after)
		}
		if n := runtime.NumGoroutine(); n > goroutines+2 {
			t.Errorf("%d goroutines, were %d", n, goroutines)
		}
		if picture(t, s.work) != tree {
			t.Error("the workspace changed")
		}
	})
}

// ordinary are the tests that run again as an ordinary user, as those in which
// the kernel treats root differently.
const ordinary = "TestSEC_(F1|F2|F3|F4|F5|F12|F13|K1|K5|K9|N4|O4)_"

func TestSEC_AsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("/tmp", "kerf-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := dir + "/sandbox.test"
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Skip(err)
	}
	// For F13: somebody else's repository in the /tmp that commands share, of which this user
	// can change nothing.
	stranger, err := os.MkdirTemp("/tmp", "kerf-stranger-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(stranger)
	if err := os.Chmod(stranger, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", stranger).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	which := long.Of("TestSEC_[FNKO]", "TestSEC_[FNKO]", ordinary)
	cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", program, "-test.v",
		"-test.run", which)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "\n--- PASS: TestSEC_") +
		strings.Count(string(out[:min(len(out), 20)]), "--- PASS")
	skipped := strings.Count(string(out), "--- SKIP: ")
	t.Logf("as uid %d: %d passed, %d skipped", nobody, passed, skipped)
	if err != nil || passed == 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// What a rule closes stays closed for the next command, whatever this one renames, and
// whichever link it replaces by another.
func TestSEC_F11_WhatIsClosedKeepsItsName(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, pinned := range []bool{true, false} {
			s := newSite(t)
			s.write(s.work+"/p/sub/secret", "HUSH")
			s.write(s.work+"/d/key", "HUSH")
			s.write(s.work+"/e/fixed", "as it was")
			if err := os.Symlink("d", s.work+"/l"); err != nil {
				t.Fatal(err)
			}
			s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: s.work + "/p/sub/secret", Access: boundary.None},
				boundary.Rule{Path: s.work + "/l/key", Access: boundary.None},
				boundary.Rule{Path: s.work + "/e/fixed", Access: boundary.Read})
			s.policy.Session = boundary.NewSession(boundary.Disk{}, s.policy.Mode, func(string) boundary.Policy { return s.policy })
			run := s.inside
			if !pinned {
				run = s.outside // the control: with renames from outside, the rules mean nothing any more
			}
			s.inside("true")
			run("mv p q; mv p/sub p/other; mv d f; rm l; ln -s e l; mv e g")
			text, _ := s.inside("cat */sub/secret */other/secret */key; echo new > g/fixed; echo new > e/fixed")
			fixed, _ := os.ReadFile(s.work + "/e/fixed")
			if held := !strings.Contains(text, "HUSH") && string(fixed) == "as it was"; held != pinned {
				t.Errorf("pinned %v: %s, %q", pinned, text, fixed)
			}
		}
	})
}

// TestSEC_F1_DevicesStayAsTheyAre: root inside owns those of outside, and what hides a file is one of them.
// Nothing is set that is not so already: where it can be, the machine must not suffer.
func TestSEC_F1_DevicesStayAsTheyAre(t *testing.T) {
	t.Run(boundary.OwnLauncher, func(t *testing.T) {
		if _, err := (machine{}).find(t.Context(), boundary.OwnLauncher, "", nil); err != nil {
			t.Skip(err)
		}
		t.Setenv(backendEnv, boundary.OwnLauncher)
		s := newSite(t)
		hidden := filepath.Join(s.out, "hidden")
		s.write(hidden, "secret\n")
		s.policy.Rules = append(s.policy.Rules, boundary.Rule{Path: hidden, Access: boundary.None})
		for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", hidden} {
			for _, change := range []string{"chmod $(stat -c %a P) P", "chown $(stat -c %u:%g P) P", "touch -c -d @$(stat -c %Y P) P"} {
				if text, code := s.inside(strings.ReplaceAll(change, "P", path)); code == 0 {
					t.Errorf("%s of %s: %s", change, path, text)
				}
			}
		}
		if text, code := s.inside("echo x > /dev/null && head -c 3 /dev/zero | wc -c && head -c 1 /dev/urandom > f && ! echo x > /dev/full"); code != 0 {
			t.Errorf("devices do not work: %d, %s", code, text)
		}
	})
}
