package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/sandbox/placeholders"
)

// watchedEvents take a name away or put something else in its place. While it
// is taken nothing can be created there.
const watchedEvents = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO

// notices tells guards of events in directories. There is one for all: to close
// an inotify descriptor takes the kernel ten milliseconds.
//
// Its goroutine lives as long as Kerf does.
type notices struct {
	file *os.File
	conn syscall.RawConn // of the file

	mu      sync.Mutex // guards what follows, and reading
	watches map[int32][]watch
	buffer  [16 << 10]byte
}

// watch is the interest of one guard in one directory.
type watch struct {
	guard *guard
	dir   string
}

// theNotices is nil where inotify is used up.
var theNotices = sync.OnceValue(func() *notices {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	n := &notices{file: os.NewFile(uintptr(fd), "kerf-guard"), watches: make(map[int32][]watch)}
	n.conn, _ = n.file.SyscallConn() // there is a file
	go func() {                      // ends with Kerf
		_ = n.conn.Read(func(fd uintptr) bool {
			n.drain(int(fd))
			return false
		})
	}()
	return n
})

// add begins to tell g of events in the directories of its names.
func (n *notices) add(g *guard) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	done := make(map[string]bool)
	for path := range g.names {
		dir := filepath.Dir(path)
		if done[dir] {
			continue
		}
		done[dir] = true
		if err := n.watch(g, dir); err != nil {
			n.forget(g)
			return err
		}
	}
	return nil
}

func (n *notices) watch(g *guard, dir string) error {
	at, err := placeholders.OpenDir(dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return n.control(func(fd int) error {
		wd, err := unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(at), watchedEvents)
		if err == nil {
			n.watches[int32(wd)] = append(n.watches[int32(wd)], watch{g, dir})
		}
		return err
	})
}

// control runs f with the descriptor.
func (n *notices) control(f func(fd int) error) (err error) {
	_ = n.conn.Control(func(fd uintptr) { err = f(int(fd)) }) // the file is never closed
	return err
}

// remove tells g of what happened until now, and of nothing more.
func (n *notices) remove(g *guard) {
	_ = n.conn.Control(func(fd uintptr) { n.drain(int(fd)) })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(g)
}

// forget drops the watches of g. The lock is held.
func (n *notices) forget(g *guard) {
	_ = n.conn.Control(func(fd uintptr) {
		for wd, list := range n.watches {
			rest := slices.DeleteFunc(list, func(w watch) bool { return w.guard == g })
			if n.watches[wd] = rest; len(rest) == 0 {
				delete(n.watches, wd)
				_, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) // the directory may be gone
			}
		}
	})
}

// drain works through all events that are there.
func (n *notices) drain(fd int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		size, err := unix.Read(fd, n.buffer[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || size <= 0 {
			return
		}
		n.take(n.buffer[:size])
	}
}

func (n *notices) take(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&events[0]))
		size := unix.SizeofInotifyEvent + int(e.Len)
		if size > len(events) {
			return
		}
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:size], []byte{0})
		events = events[size:]
		if e.Mask&unix.IN_Q_OVERFLOW != 0 {
			for _, list := range n.watches {
				for _, w := range list {
					w.guard.look()
				}
			}
			continue
		}
		for _, w := range n.watches[e.Wd] {
			if e.Mask&unix.IN_IGNORED != 0 {
				w.guard.look() // the directory itself is gone
			} else if len(name) > 0 {
				w.guard.event(filepath.Join(w.dir, string(name)))
			}
		}
	}
}
