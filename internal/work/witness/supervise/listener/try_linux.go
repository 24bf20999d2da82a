package listener

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Try makes a listener for one thread, which ends with it: a container may refuse listeners, and
// under another one there is no second. The error says in words what is in the way.
func Try() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("the kernel has no seccomp listeners (%w)", errno)
	}
	result := make(chan syscall.Errno, 1)
	go try(result)
	switch errno := <-result; errno {
	case 0:
		return nil
	case unix.EBUSY:
		return errors.New("another program watches this one already")
	default:
		return fmt.Errorf("a seccomp listener is refused (%w)", errno)
	}
}

// try makes the listener on a thread that ends. The first thread of a process does not: with the filter
// it would be taken for one of a command.
func try(result chan<- syscall.Errno) {
	runtime.LockOSThread() // for good: the filter goes with the thread
	if unix.Gettid() != unix.Getpid() {
		result <- listen()
		return
	}
	other := make(chan syscall.Errno)
	go try(other)
	result <- <-other
	runtime.UnlockOSThread()
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
