package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/sandbox/seccomp"
)

// Ways out that have been used elsewhere. None of them may do harm should it work. Each prints a line that begins with OUT when it
// works; %PID% is a process outside, %VICTIM% a file there.
var escapes = []struct {
	name, script string
	harmless     bool // changes nothing of the machine, so it can be seen to work outside
}{
	{"root of a process outside", `for r in /proc/[0-9]*/root; do grep -q precious $r%VICTIM% 2>/dev/null && [ "$(stat -c %i /proc/self/ns/pid)" != x ] && echo x > $r%VICTIM% && echo OUT; done`, false},
	{"root of process 1", `echo x > /proc/1/root%VICTIM% && echo OUT`, false},
	{"working directory of process 1", `cd /proc/1/cwd && echo x > ./..%VICTIM% && echo OUT`, false},
	{"a process outside is there", `[ -e /proc/%PID%/status ] && grep -q '^Name:.sleep' /proc/%PID%/status && echo OUT`, true},
	{"its memory", `head -c 1 /proc/%PID%/mem && echo OUT`, false},
	{"its priority", `renice 19 %PID% && echo OUT`, true},
	{"its limits", `prlimit --pid %PID% --nofile=5:5 && echo OUT`, true},
	{"its processor", `taskset -p 1 %PID% && echo OUT`, true},
	{"mount", `mount -t tmpfs none /mnt && echo OUT`, false},
	{"mount over a protected place", `mount --bind . %DIR% && echo OUT`, false},
	{"mount that spreads", `mount --make-rshared / && echo OUT`, false},
	{"remount", `mount -o remount,rw / && echo OUT`, false},
	{"unmount", `umount /proc/sys && echo OUT`, false},
	{"a namespace of its own", `unshare -Ur true && echo OUT; unshare -m true && echo OUT; unshare -n true && echo OUT`, true},
	{"another's namespace", `nsenter -t 1 -m true && echo OUT; nsenter -t 1 -n true && echo OUT`, false},
	{"a new root", `chroot / true && echo OUT`, false},
	{"core pattern", `(echo core > /proc/sys/kernel/core_pattern) && echo OUT`, false},
	{"helper of modules", `(echo /sbin/modprobe > /proc/sys/kernel/modprobe) && echo OUT`, false},
	{"handler of formats", `(echo 1 > /proc/sys/fs/binfmt_misc/status) && echo OUT`, false},
	{"key of the kernel", `(echo h > /proc/sysrq-trigger) && echo OUT`, false},
	{"events of devices", `for f in /sys/kernel/uevent_helper /sys/kernel/mm/ksm/run /sys/power/state; do (echo 0 > $f) 2>/dev/null && echo OUT $f; done`, false},
	{"groups of processes", `for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do mkdir $d/kerf-out 2>/dev/null && rmdir $d/kerf-out && echo OUT $d; done`, false},
	{"memory of the kernel", `for f in /dev/mem /dev/kmem /dev/kmsg /dev/port /proc/kcore /proc/kmsg; do head -c 1 $f 2>/dev/null | grep -q . && echo OUT $f; done`, false},
	{"a disk", `mknod /tmp/disk b 254 0 && head -c 1 /tmp/disk && echo OUT; ls /dev/vd* /dev/sd* /dev/nvme* 2>/dev/null | grep -q . && echo OUT`, false},
	{"shared memory", `ls %SHM% && echo OUT`, true},
	{"sockets of services", `for s in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/systemd/private /tmp/.X11-unix/X0 $XDG_RUNTIME_DIR/bus $XDG_RUNTIME_DIR/wayland-0; do python3 -c "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])" $s 2>/dev/null && echo OUT $s; done`, false},
	{"descriptors of Kerf", `ls -l /proc/self/fd | grep -E 'memfd|%DIR%' && echo OUT; ls -l /proc/1/fd 2>/dev/null | grep -E 'memfd|%DIR%' && echo OUT`, false},
	{"a setuid program", `[ "$(id -u)" != 0 ] && su -c 'echo OUT' </dev/null; true`, false},
	{"a capability", `grep -E '^Cap(Eff|Prm|Inh|Bnd|Amb):' /proc/self/status | grep -v 0000000000000000 && echo OUT`, true},
}

func TestSEC_F1_K1_WaysOutThatWereUsedElsewhere(t *testing.T) {
	each(t, func(t *testing.T) {
		s := newSite(t)
		sleeper := exec.Command("sleep", "300")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		defer sleeper.Wait()
		defer sleeper.Process.Kill()
		shm := fmt.Sprintf("/dev/shm/kerf-test-%d", os.Getpid()) // no other run's
		if err := os.WriteFile(shm, nil, 0o644); err == nil {
			defer os.Remove(shm)
		}
		fill := strings.NewReplacer("%SHM%", shm, "%PID%", fmt.Sprint(sleeper.Process.Pid), "%VICTIM%", s.out+"/victim", "%DIR%", s.out)
		for _, e := range escapes {
			text, _ := s.inside(fill.Replace(e.script))
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "OUT") {
					t.Errorf("%s: %s", e.name, text)
				}
			}
		}
		if got, err := os.ReadFile(s.out + "/victim"); err != nil || string(got) != "precious\n" {
			t.Errorf("the victim is %q, %v", got, err)
		}
		if os.Geteuid() != 0 {
			return
		}
		for _, e := range escapes {
			if !e.harmless { // never outside: it would change this machine
				continue
			}
			if text, _ := s.outside(fill.Replace(e.script)); !strings.Contains(text, "OUT") {
				t.Errorf("control: %s does not work outside either: %s", e.name, text)
			}
		}
	})
}

// The calls behind ways out, one by one; each has to fail, with the error of a call that
// is closed and not for another reason.
func TestSEC_K7_CallsBehindWaysOutAreClosed(t *testing.T) {
	if seccomp.NativeArch != unix.AUDIT_ARCH_X86_64 {
		t.Skip("the numbers of the calls are those of amd64")
	}
	script := `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = dict(ptrace=101, process_vm_readv=310, process_vm_writev=311, kcmp=312, pidfd_getfd=438, process_madvise=440,
    setns=308, unshare_user=(272, 0x10000000), unshare_net=(272, 0x40000000), userfaultfd=323, bpf=321,
    perf_event_open=298, fanotify_init=300, fanotify_mark=301, name_to_handle_at=303, open_by_handle_at=304,
    keyctl=250, add_key=248, request_key=249, mount=165, umount2=166, pivot_root=155, chroot=161, open_tree=428,
    move_mount=429, fsopen=430, fsconfig=431, fsmount=432, fspick=433, mount_setattr=442, open_tree_attr=467,
    io_uring_setup=425, init_module=175, finit_module=313, delete_module=176, kexec_load=246, kexec_file_load=320,
    reboot=169, swapon=167, acct=163, syslog=103, quotactl=179, iopl=172, ioperm=173, vhangup=153, move_pages=279,
    migrate_pages=256, mbind=237, process_mrelease=448, adjtimex=159, clock_settime=227, sethostname=170,
    vsock=(41, 40, 1, 0), netlink=(41, 16, 3, 9), packet=(41, 17, 3, 0), alg=(41, 38, 5, 0), raw=(41, 2, 3, 1),
    bluetooth=(41, 31, 3, 1), xdp=(41, 44, 3, 0), unix=(41, 1, 1, 0), unix_dgram_pair=(53, 1, 2, 0, 0), kcm=(41, 41, 5, 0))
for name, call in calls.items():
    call = call if isinstance(call, tuple) else (call, 0, 0, 0, 0, 0)
    ctypes.set_errno(0)
    r = libc.syscall(*call)
    if r != -1 or ctypes.get_errno() not in (1, 38, 93, 97): print("OPEN", name, r, os.strerror(ctypes.get_errno()))
`
	each(t, func(t *testing.T) {
		s := newSite(t)
		if text, code := s.run("python3", "-c", script); text != "" || code != 0 {
			t.Errorf("%d %s", code, text)
		}
	})
}
