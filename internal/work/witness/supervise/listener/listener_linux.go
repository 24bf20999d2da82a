// Package listener takes the calls that a seccomp filter reports.
package listener

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Notice is struct seccomp_notif: one call that the kernel holds.
type Notice struct {
	ID     uint64
	PID    uint32
	flags  uint32
	Number int32
	arch   uint32
	ip     uint64
	Args   [6]uint64
}

// verdict is struct seccomp_notif_resp.
type verdict struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// The requests of seccomp listeners, from linux/seccomp.h.
const (
	requestReceive = 0xc0502100
	requestSend    = 0xc0182101
	requestValid   = 0x40082102
	requestFlags   = 0x40082104

	syncWakeUp = 1
	goOn       = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

// WakeHere lets kernels that know how wake up the caller on this processor.
func WakeHere(listener int) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestFlags, syncWakeUp)
}

// Ends reports whether Receive ends when no process is left that could call, as it does
// since Linux 6.11. Otherwise it may wait for ever, and only poll tells.
func Ends() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 11)
}

// Halt, in tests, is called when a call was taken and was not looked at yet, and again with
// answered right before it is answered.
var Halt func(answered bool)

// Receive waits for the next call. ok is false when there is none: its process was killed,
// or none is left.
func (n *Notice) Receive(listener int) (ok bool, err error) {
	*n = Notice{}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), requestReceive, uintptr(unsafe.Pointer(n)))
	switch errno {
	case 0:
		if Halt != nil {
			Halt(false)
		}
		return true, nil
	case unix.ENOENT, unix.EINTR, unix.EAGAIN:
		return false, nil
	}
	return false, errno
}

// Valid reports whether the process of the call still waits for its answer: only then
// was what was read of it really its own.
func (n *Notice) Valid(listener int) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestValid, uintptr(unsafe.Pointer(&n.ID)))
	return errno == 0
}

// Answer lets the call go on, or makes it fail with errno. It reports whether the call
// still waited for that: its process may have been killed.
func (n *Notice) Answer(listener int, errno syscall.Errno) bool {
	if Halt != nil {
		Halt(true)
	}
	v := verdict{id: n.ID, flags: goOn}
	if errno != 0 {
		v.flags, v.errno = 0, -int32(errno)
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestSend, uintptr(unsafe.Pointer(&v)))
	return errno == 0
}

// PageSize is the most that a path has.
const PageSize = 4096

// ErrLong says that a path is longer.
var ErrLong = errors.New("a name without end")

// most is more than most paths have: to copy a page for each costs time.
const most = 256

// ReadString reads a string of at most PATH_MAX bytes in the memory of a process. It
// reads page by page: the one behind the string may not be there.
func ReadString(tid int, at uint64, buf *[2 * PageSize]byte) (string, error) {
	got := 0
	for got < PageSize {
		n := PageSize - int(at%PageSize)
		if got == 0 {
			n = min(n, most)
		}
		local := unix.Iovec{Base: &buf[got], Len: uint64(n)}
		remote := unix.RemoteIovec{Base: uintptr(at), Len: n}
		r, _, errno := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1,
			uintptr(unsafe.Pointer(&remote)), 1, 0)
		if errno != 0 {
			return "", errno
		}
		if i := bytes.IndexByte(buf[got:got+int(r)], 0); i >= 0 {
			return string(buf[:got+i]), nil
		}
		got += int(r)
		at += uint64(r)
	}
	return "", ErrLong
}

// Text reads an argument that is a path or a name. An empty result is an empty one.
func (n *Notice) Text(arg int8, buf *[2 * PageSize]byte) (string, error) {
	return ReadString(int(n.PID), n.Args[arg], buf)
}

// Read reads in the memory of the caller.
func (n *Notice) Read(at uint64, to []byte) error {
	if len(to) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &to[0], Len: uint64(len(to))}
	remote := unix.RemoteIovec{Base: uintptr(at), Len: len(to)}
	got, _, errno := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(n.PID), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	switch {
	case errno != 0:
		return errno
	case int(got) < len(to):
		return unix.EFAULT
	}
	return nil
}

// Poll waits until one of the descriptors is ready, or the time is over.
func Poll(list []unix.PollFd, d time.Duration) bool {
	wait := unix.NsecToTimespec(int64(d))
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)),
		uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
	return errno == 0 && n > 0
}
