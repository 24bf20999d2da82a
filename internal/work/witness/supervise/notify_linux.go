package supervise

import (
	"bytes"
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is struct seccomp_notif: one call that the kernel holds.
type notice struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
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

// receive takes the next call. ok is false when there is none: its process was killed.
func (n *notice) receive(listener int) (ok bool, err error) {
	*n = notice{}
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestReceive, uintptr(unsafe.Pointer(n)))
	switch errno {
	case 0:
		return true, nil
	case unix.ENOENT, unix.EINTR, unix.EAGAIN:
		return false, nil
	}
	return false, errno
}

// valid reports whether the process of the call still waits for its answer: only then
// was what was read of it really its own.
func (n *notice) valid(listener int) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestValid, uintptr(unsafe.Pointer(&n.id)))
	return errno == 0
}

// answer lets the call go on, or makes it fail with errno.
func (n *notice) answer(listener int, errno syscall.Errno) {
	v := verdict{id: n.id, flags: goOn}
	if errno != 0 {
		v.flags, v.errno = 0, -int32(errno)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(listener), requestSend, uintptr(unsafe.Pointer(&v)))
}

const pageSize = 4096

var errLong = errors.New("a name without end")

// readString reads a string of at most PATH_MAX bytes in the memory of a process. It
// reads page by page: the one behind the string may not be there.
func readString(tid int, at uint64, buf *[2 * pageSize]byte) (string, error) {
	got := 0
	for got < pageSize {
		n := pageSize - int(at%pageSize)
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
	return "", errLong
}
