// Package faults runs a program and kills it, or makes a call fail, at a chosen system
// call.
//
// The program runs under a seccomp filter that reports every call that changes files
// to this process and holds the caller until it has an answer. Calls are counted over
// all threads and child processes, in the order in which they are reported. Nothing
// of the program is changed and no other call is slowed down.
package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childKey is the environment variable that makes Child act.
const childKey = "KERF_TESTKIT_FAULTS"

// Plan says what happens at which call. The zero Plan only counts.
type Plan struct {
	At    int           // the number of the call, from 1; 0 for none
	Kill  bool          // kill the program instead of the call
	Errno syscall.Errno // what the call returns, without being made
	// Sticky fails every later call of the same kind too.
	Sticky bool
	// Opens counts the opening of files for reading too, for errors such as EMFILE.
	Opens bool
	// See is told of each counted call before it is made, one at a time. A flush is then not
	// made at all: when See has returned, it has succeeded.
	See func(Call)
	// Below limits the count to paths below one of these directories, if any. Paths
	// relative to an open directory are found through that.
	Below []string
}

// Call is one counted call.
type Call struct {
	Name string // of the system call
	Path string // the best that is known of what it is about
}

// String returns name and path.
func (c Call) String() string { return c.Name + " " + c.Path }

// Flush tells whether the call asks the disk to keep what it has.
func (c Call) Flush() bool { return c.Name == "fsync" || c.Name == "fdatasync" || c.Name == "syncfs" }

// ErrUnavailable says that the system does not let us watch calls.
var ErrUnavailable = errors.New("system calls cannot be watched here")

// Run starts cmd, whose program must be this test binary with Child in its TestMain,
// wherever it leads: Path and Args are those of the program to watch. It waits for the
// end and returns the calls that were counted and the error of the program.
func Run(cmd *exec.Cmd, p Plan) ([]Call, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fds[0])
	theirs := os.NewFile(uintptr(fds[1]), "faults")
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, childKey+"="+cmd.Path)
	cmd.Path = self
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return nil, err
	}
	listener, err := receive(fds[0])
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	w := &watch{fd: listener, plan: p, kill: func() { _ = cmd.Process.Kill() }}
	done := make(chan struct{})
	go func() { // ends when the last process under the filter has ended
		defer close(done)
		w.serve()
	}()
	err = cmd.Wait()
	<-done
	unix.Close(listener)
	return w.calls, err
}

func receive(sock int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	buf := make([]byte, 256)
	n, got, _, _, err := unix.Recvmsg(sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if got == 0 {
		return -1, fmt.Errorf("%w: %s", ErrUnavailable, buf[:n])
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:got])
	if err != nil {
		return -1, err
	}
	rights, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return -1, err
	}
	return rights[0], nil
}

// Child belongs at the beginning of TestMain. In a process that Run started it puts
// the filter in place and becomes the program; otherwise it does nothing.
func Child() {
	program := os.Getenv(childKey)
	if program == "" {
		return
	}
	os.Unsetenv(childKey)
	runtime.LockOSThread()
	const sock = 3
	fd, err := install()
	if err != nil {
		_ = unix.Sendmsg(sock, []byte(err.Error()), nil, nil, 0)
		os.Exit(3)
	}
	err = unix.Sendmsg(sock, []byte("ok"), unix.UnixRights(fd), nil, 0)
	unix.Close(fd)
	unix.Close(sock)
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "exec", program, err)
	os.Exit(3)
}

func install() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	prog := program()
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// Go's own signals must not make a call come twice.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// program reports the calls in the table and allows all others.
func program() []unix.SockFilter {
	const notify, allow = 0x7fc00000, 0x7fff0000
	p := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for nr := range names {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jt: 0, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: notify})
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: allow})
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// watch answers the calls of one run. Only serve touches it while that runs.
type watch struct {
	fd    int
	plan  Plan
	kill  func()
	calls []Call
	dead  bool
}

func (w *watch) serve() {
	for {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); errors.Is(err, unix.EINTR) {
			continue
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			return // nobody is left under the filter
		}
		var n notification
		if errno := ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			continue // the caller died meanwhile
		}
		w.answer(&n)
	}
}

func (w *watch) answer(n *notification) {
	r := response{id: n.id, flags: 1} // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	call, counts := w.look(n)
	if counts {
		w.calls = append(w.calls, call)
		k := len(w.calls)
		if w.plan.See != nil && !w.dead {
			w.plan.See(call)
			if call.Flush() {
				r.flags = 0
			}
		}
		hit := w.plan.At > 0 && (k == w.plan.At || k > w.plan.At && w.plan.Sticky)
		switch {
		case w.dead, hit && w.plan.Kill:
			w.dead = true // whoever still runs changes nothing more
			w.kill()
			return
		case hit:
			r.flags, r.errno = 0, -int32(w.plan.Errno)
		}
	}
	_ = ioctl(w.fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // fails if the caller is gone
}

func ioctl(fd int, req uintptr, arg unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(arg))
	return errno
}

// look tells what a call is about, and whether it counts.
func (w *watch) look(n *notification) (Call, bool) {
	kind := names[int(n.nr)]
	c := Call{Name: kind.name}
	switch {
	case kind.path < 0:
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.args[0]))
		c.Path = target
	default:
		c.Path = readString(n.pid, n.args[kind.path])
		if kind.dir >= 0 && !filepath.IsAbs(c.Path) {
			dir := "cwd"
			if fd := int32(n.args[kind.dir]); fd != unix.AT_FDCWD {
				dir = fmt.Sprintf("fd/%d", fd)
			}
			at, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", n.pid, dir))
			c.Path = filepath.Join(at, c.Path)
		}
	}
	if kind.name == "openat" && n.args[2]&(unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY|unix.O_RDWR) == 0 && !w.plan.Opens ||
		kind.name == "openat2" && !w.plan.Opens || !filepath.IsAbs(c.Path) ||
		strings.HasPrefix(c.Path, "/dev/") && !strings.HasPrefix(c.Path, "/dev/shm/") {
		return c, false
	}
	if len(w.plan.Below) == 0 {
		return c, true
	}
	for _, dir := range w.plan.Below {
		if strings.HasPrefix(c.Path+"/", dir+"/") {
			return c, true
		}
	}
	return c, false
}

// readString reads a path from the memory of the caller, which waits.
func readString(pid uint32, addr uint64) string {
	buf := make([]byte, 4096)
	for size := len(buf); size > 0; size /= 2 { // the end of the page may be unmapped
		local := []unix.Iovec{{Base: &buf[0], Len: uint64(size)}}
		remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: size}}
		got, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
		if err != nil || got <= 0 {
			continue
		}
		text, _, _ := strings.Cut(string(buf[:got]), "\x00")
		return text
	}
	return ""
}

// syscallPaths says where a call has its path: the argument with the directory and that with
// the name, or -1 for a call on a descriptor.
type syscallPaths struct {
	name      string
	dir, path int
}

// names are the calls that change files, and those that open them.
var names = table()

func table() map[int]syscallPaths {
	return map[int]syscallPaths{
		unix.SYS_OPENAT: {"openat", 0, 1}, unix.SYS_OPENAT2: {"openat2", 0, 1},
		unix.SYS_WRITE: {"write", -1, -1}, unix.SYS_PWRITE64: {"pwrite64", -1, -1},
		unix.SYS_WRITEV: {"writev", -1, -1}, unix.SYS_COPY_FILE_RANGE: {"copy_file_range", -1, -1},
		unix.SYS_RENAMEAT: {"renameat", 0, 1}, unix.SYS_RENAMEAT2: {"renameat2", 0, 1},
		unix.SYS_UNLINKAT: {"unlinkat", 0, 1}, unix.SYS_MKDIRAT: {"mkdirat", 0, 1},
		unix.SYS_LINKAT: {"linkat", 0, 1}, unix.SYS_SYMLINKAT: {"symlinkat", 1, 2},
		unix.SYS_FTRUNCATE: {"ftruncate", -1, -1}, unix.SYS_FALLOCATE: {"fallocate", -1, -1},
		unix.SYS_FCHMOD: {"fchmod", -1, -1}, unix.SYS_FCHMODAT: {"fchmodat", 0, 1},
		unix.SYS_FCHOWN: {"fchown", -1, -1}, unix.SYS_FCHOWNAT: {"fchownat", 0, 1},
		unix.SYS_FSETXATTR: {"fsetxattr", -1, -1}, unix.SYS_FREMOVEXATTR: {"fremovexattr", -1, -1},
		unix.SYS_FSYNC: {"fsync", -1, -1}, unix.SYS_FDATASYNC: {"fdatasync", -1, -1},
		unix.SYS_SYNCFS: {"syncfs", -1, -1}, unix.SYS_UTIMENSAT: {"utimensat", 0, 1},
		unix.SYS_IO_URING_SETUP: {"io_uring_setup", -1, -1},
	}
}
