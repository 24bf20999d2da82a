package sandbox

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kerf/internal/testkit/long"
)

// shared opens, by key or name, what another process shares. It prints what it
// got hold of.
const shared = `
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
key, make = int(sys.argv[1]), len(sys.argv) > 2
flag = 0o1666 if make else 0
c.shmat.restype = ctypes.c_void_p
shm = c.shmget(key, 4096, flag)
if shm >= 0:
    at = c.shmat(shm, None, 0)
    if make: ctypes.memmove(at, b"SECRET", 6)
    print("shm", ctypes.string_at(at, 6).decode())
if c.msgget(key, flag) >= 0: print("msg")
if c.semget(key, 1, flag) >= 0: print("sem")
q = c.mq_open(b"/kerf-test-%d" % key, 0o102 if make else 2, 0o666, None)
if q >= 0: print("mq")
try:
    f = open("/dev/shm/kerf-test-%d" % key, "w" if make else "r+"); print("posix")
except OSError: pass
`

// destroyed removes what shared made.
const destroyed = `
import ctypes, os, sys
c = ctypes.CDLL(None)
key = int(sys.argv[1])
c.shmctl(c.shmget(key, 0, 0), 0, None); c.msgctl(c.msgget(key, 0), 0, None); c.semctl(c.semget(key, 0, 0), 0, 0)
c.mq_unlink(b"/kerf-test-%d" % key)
try: os.unlink("/dev/shm/kerf-test-%d" % key)
except OSError: pass
`

func TestSEC_K1_SharedMemoryAndQueuesAreOutOfReach(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		key := fmt.Sprint(0x4b000000 + os.Getpid()%0xffff*16 + int(time.Now().UnixNano()%16))
		made, code := s.start(bare([]string{"python3", "-c", shared, key, "make"}))
		t.Cleanup(func() {
			if text, err := exec.Command("python3", "-c", destroyed, key).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
		if code != 0 {
			t.Fatal(made)
		}
		if text, code := s.run("python3", "-c", shared, key); code != 0 || text != "" {
			t.Errorf("inside: %d %s", code, text)
		}
		again, _ := s.start(bare([]string{"python3", "-c", shared, key}))
		if again != made || !strings.Contains(made, "shm SECRET") {
			t.Errorf("control: made\n%s, found\n%s", made, again)
		}
		// What is made inside is not there outside.
		other := key + "7"
		if text, code := s.run("python3", "-c", shared, other[len(other)-9:], "make"); code != 0 ||
			!strings.Contains(text, "shm") {
			t.Errorf("inside nothing can be shared: %d %s", code, text)
		}
		if text, _ := s.start(bare([]string{"python3", "-c", shared, other[len(other)-9:]})); text != "" {
			t.Errorf("outside: %s", text)
		}
	})
}

func TestSEC_F1_AttributesAndListsOutsideStay(t *testing.T) {
	each(t, func(t *testing.T) {
		for name, script := range map[string]string{
			"xattr": `os.setxattr(f, "user.kerf", b"evil")`,
			// An access list: owner rw-, the user nobody rwx, group r--, mask rwx, others r--.
			"acl": `os.setxattr(f, "system.posix_acl_access", bytes.fromhex("` + hex.EncodeToString(accessList()) + `"))`,
		} {
			s := newSite(t)
			program := "import os; f = " + fmt.Sprintf("%q", s.out+"/victim") + "\n"
			look := program + "print(sorted((n, os.getxattr(f, n).hex()) for n in os.listxattr(f)))"
			before, _ := s.start(bare([]string{"python3", "-c", look}))
			inside, code := s.run("python3", "-c", program+script)
			if after, _ := s.start(bare([]string{"python3", "-c", look})); after != before || code == 0 {
				t.Errorf("%s: not held: %d %s%s", name, code, inside, after)
			}
			if text, code := s.start(bare([]string{"python3", "-c", program + script})); code != 0 {
				if strings.Contains(text, "not supported") {
					t.Logf("%s: this file system has none", name)
					continue
				}
				t.Errorf("%s: control: %s", name, text)
			}
			if after, _ := s.start(bare([]string{"python3", "-c", look})); after == before {
				t.Errorf("%s: control: nothing happened either", name)
			}
		}
	})
}

func accessList() []byte {
	list := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 7, 65534}, {4, 4, ^uint32(0)}, {16, 7, ^uint32(0)},
		{32, 4, ^uint32(0)}} {
		list = append(list, byte(e[0]), byte(e[0]>>8), byte(e[1]), 0, byte(e[2]), byte(e[2]>>8), byte(e[2]>>16),
			byte(e[2]>>24))
	}
	return list
}

// Kerf dies in every way at any moment: nobody survives and nothing is left.
func TestSEC_O2_KerfDiesAtAnyMoment(t *testing.T) {
	rounds := long.Of(100, 20, 10)
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGSEGV}
	one(t, func(t *testing.T) {
		ran, span := 0, 150*time.Millisecond
		for i := range rounds {
			s := newSite(t)
			name := fmt.Sprintf("kerf-o2-%d-%d", os.Getpid(), i)
			kerf := exec.Command(os.Args[0])
			kerf.Env = append(os.Environ(), "SANDBOX_TEST_KERF="+s.work, "SANDBOX_TEST_LOCKS="+s.policy.LockDir,
				"SANDBOX_TEST_COMMAND=touch started; (setsid bash -c 'trap \"\" TERM HUP INT; exec -a "+name+
					" sleep 300' &); exec -a "+name+" sleep 300")
			if err := kerf.Start(); err != nil {
				t.Fatal(err)
			}
			if i == 0 { // how long it takes here until the command runs
				begin := time.Now()
				for sleepers(t, name) == 0 && time.Since(begin) < 10*time.Second {
					time.Sleep(time.Millisecond)
				}
				span = max(span, 2*time.Since(begin))
			}
			// From before the first system call to well after the last one.
			time.Sleep(time.Duration(i*7919%rounds) * span / time.Duration(rounds))
			if sleepers(t, name) > 0 {
				ran++
			}
			_ = kerf.Process.Signal(signals[i%len(signals)])
			// where these tests are run with signals ignored
			late := time.AfterFunc(2*time.Second, func() { _ = kerf.Process.Kill() })
			_ = kerf.Wait()
			late.Stop()
			s.nothingLeft(name)
		}
		if ran == 0 {
			t.Error("control: no command ever ran")
		}
		t.Logf("%d moments, %d of them while the command ran", rounds, ran)
	})
}

// nothingLeft waits until all that a dead Kerf had started is gone.
func (s *site) nothingLeft(name string) {
	s.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		var left []string
		entries, _ := os.ReadDir(s.work)
		for _, e := range entries {
			if e.Name() != "started" {
				left = append(left, filepath.Join(s.work, e.Name()))
			}
		}
		n := sleepers(s.t, name)
		if n == 0 && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d survivors, left: %v", n, left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
