package told

import (
	"bytes"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kind is a kind of change of a name.
type Kind int

// The kinds of changes.
const (
	Created Kind = iota
	Deleted
	MovedFrom
	MovedTo
	Opened
	Closed // after it was open for writing
	MadeDir
)

// Of returns the kind of change that a mask of inotify tells, if it is one.
func Of(mask uint32) (kind Kind, ok bool) {
	switch mask &^ unix.IN_ISDIR {
	case unix.IN_CREATE:
		if kind = Created; mask&unix.IN_ISDIR != 0 {
			kind = MadeDir
		}
	case unix.IN_DELETE:
		kind = Deleted
	case unix.IN_MOVED_FROM:
		kind = MovedFrom
	case unix.IN_MOVED_TO:
		kind = MovedTo
	case unix.IN_OPEN:
		kind = Opened
	case unix.IN_CLOSE_WRITE:
		kind = Closed
	default:
		return 0, false
	}
	return kind, true
}

// Reader reads what an open inotify tells. It is for one goroutine at a time.
type Reader struct {
	FD     int // below zero where there is none
	buffer [64 << 10]byte
}

// enough is how much is read at once before more is looked for.
const enough = 16 << 10

// Each calls f for all that was told and not read yet. Nobody keeps the name.
func (r *Reader) Each(f func(e *unix.InotifyEvent, name []byte)) {
	for r.FD >= 0 {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(r.FD), uintptr(unsafe.Pointer(&r.buffer[0])),
			uintptr(len(r.buffer)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			return
		}
		for b := r.buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&b[0]))
			size := unix.SizeofInotifyEvent + int(e.Len)
			if size > len(b) {
				break
			}
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:size], []byte{0})
			b = b[size:]
			f(e, name)
		}
		if n < enough {
			return
		}
	}
}
