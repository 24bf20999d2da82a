package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
	"kerf/internal/work/sandbox/seccomp"
)

// Calls of another word size mean other calls to the kernel, so whoever makes one ends.
func TestSEC_K7_CallsOfOtherWordSizesEndTheProgram(t *testing.T) {
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("x32 and i386 are of amd64")
	}
	each(t, func(t *testing.T) {
		s := newSite(t)
		// getpid as i386 has it: mov eax, 20; int 0x80; ret
		const i386 = `import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() != 0, flush=True)`
		const x32 = `import ctypes; print(ctypes.CDLL(None).syscall(0x40000000 + 39) != 0, flush=True)`
		for name, script := range map[string]string{"i386": i386, "x32": x32} {
			if text, code := s.start(bare([]string{"python3", "-c", script})); code != 0 {
				t.Logf("%s: this kernel has no such calls: %d %s", name, code, text)
				if name == "i386" {
					continue // the processor ends it before any filter is asked
				}
			}
			const badSystemCall = 128 + 31
			if text, code := s.run("python3", "-c", script); code != badSystemCall || text != "" {
				t.Errorf("%s: %d %s", name, code, text)
			}
		}
		// No call at all, which programs make to see whether calls are filtered.
		if text, code := s.run("python3", "-c", `import ctypes; l = ctypes.CDLL(None, use_errno=True)
l.syscall(-1); print(ctypes.get_errno())`); text != "38\n" || code != 0 {
			t.Errorf("call -1: %d %s", code, text)
		}
	})
}

// What the calls of new kernels would tell or change is closed, and programs that know
// them go on with the older ones.
func TestSEC_K7_CallsOfNewKernelsDoNotExist(t *testing.T) {
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("the numbers of the calls are those of amd64")
	}
	each(t, func(t *testing.T) {
		s := newSite(t)
		script := `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in dict(clone3=435, io_setup=206, memfd_secret=447, statmount=457, listmount=458, setxattrat=463,
        file_getattr=468, file_setattr=469, listns=470, next=472, far=1000, modify_ldt=154, sysfs=139).items():
    ctypes.set_errno(0)
    r = libc.syscall(number, 0, 0, 0, 0, 0, 0)
    if r != -1 or ctypes.get_errno() != 38: print("OPEN", name, r, ctypes.get_errno())
`
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("got %d %s", code, text)
		}
		if text, _ := s.start(bare([]string{"python3", "-c", script})); !strings.Contains(text, "OPEN modify_ldt") {
			t.Errorf("control: %s", text)
		}
	})
}

// A file that is open to append only is cut by none of the ways past write: the witness
// keeps no more of it than its length.
func TestSEC_K7_NothingIsWrittenOverInAFileOpenToAppend(t *testing.T) {
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("the numbers of the calls are those of amd64")
	}
	script := `import ctypes, os, struct, fcntl
libc = ctypes.CDLL(None, use_errno=True)
f = os.open("log", os.O_WRONLY | os.O_APPEND)
vec = (ctypes.c_size_t * 2)(ctypes.cast(ctypes.c_char_p(b"OVER"), ctypes.c_void_p).value, 4)
libc.syscall(328, f, vec, 1, ctypes.c_long(0), ctypes.c_long(0), 0x20)
for request in 0x40305829, 0x4030582b, 0x40305839:
    try: fcntl.ioctl(f, request, struct.pack("hhqqiIiiii", 0, 0, 0, 8192, 0, 0, 0, 0, 0, 0))
    except OSError: pass
`
	each(t, func(t *testing.T) {
		s := newSite(t)
		first := strings.Repeat("first line\n", 1000)
		s.write(s.work+"/log", first)
		if text, code := s.run("python3", "-c", script); code != 0 {
			t.Fatal(text)
		}
		if got, _ := os.ReadFile(s.work + "/log"); string(got) != first {
			t.Errorf("the log begins with %q", got[:20])
		}
		if _, code := s.start(bare([]string{"python3", "-c", script})); code != 0 {
			t.Fatal("control does not run")
		}
		if got, _ := os.ReadFile(s.work + "/log"); string(got) == first {
			t.Log("this kernel has none of these ways")
		}
	})
}

// Programs that people use every day run under the filter.
func TestSEC_K2_MoreProgramsWork(t *testing.T) {
	one(t, func(t *testing.T) {
		s := newSite(t)
		for name, script := range map[string]string{
			"git": "git init -q /tmp/r && cd /tmp/r && echo x > f && git add . && git commit -qm x && git gc -q && " +
				"git clone -q . ../r2 && git fsck && git log --oneline | grep -q x",
			"gcc": "printf '#include <stdio.h>\\n#include <pthread.h>\\nvoid *f(void *a) { return a; }\\nint main() { " +
				"pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts(\"ok\"); }\\n' > h.c && " +
				"gcc -pthread -O2 -o /tmp/h h.c && /tmp/h | grep -q ok",
			"sqlite3": "sqlite3 /tmp/d.db 'pragma journal_mode=wal; create table t(a); insert into t values(1); " +
				"select count(*) from t' | grep -q 1",
			"tar":        "mkdir -p d/e && echo x > d/e/f && tar czf /tmp/d.tgz d && rm -r d && tar xzf /tmp/d.tgz && cat d/e/f",
			"rsync":      "mkdir -p a && echo x > a/f && rsync -a a/ b/ && cat b/f",
			"perl":       "perl -MSocket -e 'fork || exit; wait; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; print 1'",
			"ssh-keygen": "ssh-keygen -q -t ed25519 -N '' -f /tmp/key && test -s /tmp/key.pub",
			"curl": "python3 -m http.server -b 127.0.0.1 8765 >/dev/null 2>&1 & for i in $(seq 100); do " +
				"curl -s http://127.0.0.1:8765/ | grep -q html && exit 0; sleep 0.1; done; exit 1",
			"python3": "python3 -c 'import ssl, sqlite3, multiprocessing as m, tempfile, shutil, select, uuid; " +
				"q = m.get_context(\"spawn\").Queue(); q.put(1); print(q.get()); s = m.Semaphore(); a = m.Array(\"i\", 3)'",
			"node": "node -e 'const w = require(\"worker_threads\"); require(\"fs\").promises.readdir(\"/\").then(() => " +
				"require(\"dns\").lookup(\"localhost\", () => process.exit(0)))'",
			"xz": "head -c 100000 /dev/urandom | xz -T2 | xz -d | wc -c | grep -q 100000",
			"cp": "echo x > o && cp --reflink=auto o p && cp -a o q && ln o r && ln -s o s && mv p t && touch -d yesterday q && " +
				"chmod 600 q && mkfifo y && truncate -s 10 o && dd if=/dev/zero of=z bs=1k count=3 status=none && stat z && df . && sync z",
		} {
			t.Run(name, func(t *testing.T) {
				s.t = t
				if _, err := exec.LookPath(name); err != nil {
					t.Skip(err)
				}
				if text, code := s.inside("set -e; " + script); code != 0 {
					t.Errorf("%d: %s", code, text)
				}
			})
		}
	})
}

// The first process of a sandbox has seen all that was set up: nobody inside looks into it.
func TestSEC_K1_TheFirstProcessIsClosed(t *testing.T) {
	if _, err := (machine{}).find(t.Context(), boundary.OwnLauncher, "", nil); err != nil {
		t.Skip(err)
	}
	t.Setenv(backendEnv, boundary.OwnLauncher)
	s := newSite(t)
	for _, script := range []string{"cat /proc/%s/environ", "readlink /proc/%s/exe", "cat /proc/%s/maps",
		"head -c1 /proc/%s/auxv", "ls /proc/%s/root/", ": < /proc/%s/mem"} {
		if text, code := s.inside(fmt.Sprintf(script, "1")); code == 0 {
			t.Errorf("%s: %.80q", script, text)
		}
		if text, code := s.inside(fmt.Sprintf(script, "$$")); code != 0 {
			t.Errorf("control, %s: %d %.80q", script, code, text)
		}
	}
}
