package supervise

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
)

// event is a kind of change that the kernel tells of a name in a watched directory.
type event int

const (
	created event = iota
	deleted
	movedFrom
	movedTo
	closed // after it was open for writing
	events
)

const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE |
	unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// hub is what the commands of one helper share: the kernel's notices of changes in the
// directories that they work in. Each call of a command that was held makes the notices
// that follow from it expected. One that nobody expects is the work of somebody else.
type hub struct {
	mu      sync.Mutex // guards all of it, and the names of all commands
	resumed *sync.Cond // a command that was paused may go on
	fd      int        // of inotify, below zero where there is none
	dirs    map[int32]*directory
	byPath  map[string]*directory
	watches []*watch
	buffer  [64 << 10]byte
}

// directory is a watched directory.
type directory struct {
	wd    int32
	path  string
	users map[*watch]bool
	moves int // expected moves of itself
}

func newHub() *hub {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		fd = -1
	}
	h := &hub{fd: fd, dirs: make(map[int32]*directory), byPath: make(map[string]*directory)}
	h.resumed = sync.NewCond(&h.mu)
	return h
}

var errNoNotices = errors.New("changes of others cannot be noticed here")

// observe begins to take notices of a directory for a command.
func (h *hub) observe(w *watch, path string) error {
	if d := h.byPath[path]; d != nil {
		d.users[w] = true
		return nil
	}
	if h.fd < 0 {
		return errNoNotices
	}
	wd, err := unix.InotifyAddWatch(h.fd, path, watched)
	if err != nil {
		return err
	}
	d := h.dirs[int32(wd)]
	if d != nil { // the same directory by another name: it was moved
		delete(h.byPath, d.path)
	} else {
		d = &directory{wd: int32(wd), users: make(map[*watch]bool)}
		h.dirs[int32(wd)] = d
	}
	d.path = path
	d.users[w] = true
	h.byPath[path] = d
	return nil
}

// release forgets a command.
func (h *hub) release(w *watch) {
	for i, other := range h.watches {
		if other == w {
			h.watches = append(h.watches[:i:i], h.watches[i+1:]...)
			break
		}
	}
	for wd, d := range h.dirs {
		delete(d.users, w)
		if len(d.users) == 0 {
			delete(h.dirs, wd)
			delete(h.byPath, d.path)
			_, _ = unix.InotifyRmWatch(h.fd, uint32(wd)) // the directory may be gone
		}
	}
}

// moved gives the watched directories below one name another one.
func (h *hub) moved(from, to string) {
	for _, d := range h.dirs {
		rest, ok := strings.CutPrefix(d.path, from)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if rest == "" {
			d.moves++
		}
		if h.byPath[d.path] == d {
			delete(h.byPath, d.path)
		}
		d.path = to + rest
		h.byPath[d.path] = d
	}
}

// drain works through all notices that are there.
func (h *hub) drain() {
	for h.fd >= 0 {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(h.fd), bytesAt(h.buffer[:]), uintptr(len(h.buffer)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n == 0 {
			return
		}
		h.take(h.buffer[:n])
		if n < 16<<10 {
			return
		}
	}
}

func (h *hub) take(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&b[0]))
		size := unix.SizeofInotifyEvent + int(e.Len)
		if size > len(b) {
			return
		}
		name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:size], []byte{0})
		b = b[size:]
		if e.Mask&unix.IN_Q_OVERFLOW != 0 {
			for _, w := range h.watches {
				w.gap("more happened at once than the kernel tells")
			}
			continue
		}
		d := h.dirs[e.Wd]
		if d == nil {
			continue
		}
		switch {
		case e.Mask&unix.IN_IGNORED != 0:
			delete(h.dirs, d.wd)
			if h.byPath[d.path] == d {
				delete(h.byPath, d.path)
			}
		case e.Mask&unix.IN_MOVE_SELF != 0:
			h.movedSelf(d)
		case len(name) > 0:
			for mask, kind := range kinds {
				if e.Mask&mask != 0 {
					h.happened(join(d.path, string(name)), kind)
				}
			}
		}
	}
}

var kinds = map[uint32]event{unix.IN_CREATE: created, unix.IN_DELETE: deleted, unix.IN_MOVED_FROM: movedFrom,
	unix.IN_MOVED_TO: movedTo, unix.IN_CLOSE_WRITE: closed}

// movedSelf is told that a watched directory got another name. If no command did it,
// all that was touched below is somebody else's matter.
func (h *hub) movedSelf(d *directory) {
	if d.moves > 0 {
		d.moves--
		return
	}
	delete(h.dirs, d.wd)
	delete(h.byPath, d.path)
	_, _ = unix.InotifyRmWatch(h.fd, uint32(d.wd))
	for w := range d.users {
		for p, n := range w.names {
			if strings.HasPrefix(p, d.path+"/") {
				w.foreign(n)
			}
		}
	}
}

// happened tells the commands that touched a name what became of it.
func (h *hub) happened(path string, e event) {
	expected := false
	for _, w := range h.watches {
		n := w.names[path]
		if n == nil {
			continue
		}
		if !expected && n.expect[e] > 0 {
			n.expect[e]--
			expected = true
			continue
		}
		w.foreign(n)
	}
}

// foreign notes that somebody else changed a name.
func (w *watch) foreign(n *name) {
	if n.foreign {
		return
	}
	n.foreign = true
	w.write(&journal.Record{Kind: journal.Foreign, Path: n.path, Gone: n.gone})
}

func (w *watch) gap(why string) {
	for _, n := range w.names {
		n.foreign = true
	}
	w.write(&journal.Record{Kind: journal.Gap, Why: why})
}
