package witness

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tryListener makes a listener for one thread, which ends with it: a container may refuse
// listeners, and under another one there is no second.
func tryListener() error {
	result := make(chan syscall.Errno, 1)
	go func() {
		runtime.LockOSThread() // for good: the filter goes with the thread
		result <- listen()
	}()
	switch errno := <-result; errno {
	case 0:
		return nil
	case unix.EBUSY:
		return fmt.Errorf("%w: another program watches this one already", ErrUnavailable)
	default:
		return fmt.Errorf("%w: a seccomp listener is refused (%v)", ErrUnavailable, errno)
	}
}

// listen gives the calling thread a filter that allows everything, with a listener.
func listen() syscall.Errno {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err.(syscall.Errno)
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := unix.SockFprog{Len: 1, Filter: &allow}
	fd, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno == 0 {
		_ = unix.Close(int(fd))
	}
	return errno
}

// AvailableUnconfined is Available for commands without a sandbox around them.
func AvailableUnconfined() error {
	if err := Available(); err != nil || os.Geteuid() == 0 {
		return err
	}
	// The helper reads what the command passes to the kernel. In a sandbox it may, since
	// the namespace is the user's; else Yama lets only parents do so.
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if s := strings.TrimSpace(string(scope)); err == nil && s != "0" {
		return fmt.Errorf("%w: kernel.yama.ptrace_scope is %s; a program in the sandbox can be watched", ErrUnavailable, s)
	}
	return nil
}
