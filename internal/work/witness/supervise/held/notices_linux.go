package held

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
)

// event is a kind of change that the kernel tells of a name in a watched directory.
type event int

const (
	created event = iota
	deleted
	movedFrom
	movedTo
	opened
	closed // after it was open for writing
)

// notice is what the kernel tells of a name. The move that both halves of a rename tell of is the
// same; it is 0 with other events.
type notice struct {
	event
	move uint32
}

// Openings are told, too: they tell whether a call to open succeeded, and keep two
// notices of closing from becoming one.
const watched = unix.IN_OPEN | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_CLOSE_WRITE | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// hub is what the commands of one helper share: the kernel's notices of changes in the
// directories that they work in. Each call of a command that was held makes the notices
// that follow from it expected. One that nobody expects is the work of somebody else.
type hub struct {
	mu      sync.Mutex // guards all of it, and the names of all commands
	resumed *sync.Cond // a command that was paused may go on
	fd      int        // of inotify, below zero where there is none
	bell    int        // wakes up attend; the same
	dirs    map[int32]*directory
	byPath  map[string]*directory
	watches []*watch
	held    []*directory // whose fd is open, the oldest first
	last    *directory   // that hold returned, for
	lastFor *watch
	name    []byte // of a notice
	buffer  [64 << 10]byte
	endings endings
}

// directory is a watched directory.
type directory struct {
	wd    int32
	path  string
	mask  uint32
	told  string // what notices of closings name it by, or empty
	users map[*watch]bool
	moves int // expected moves of itself
	fd    int // with O_PATH, or below zero
}

// Hub is what the commands of one helper share.
type Hub struct{ h hub }

// NewHub returns a hub without commands.
func NewHub() *Hub {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		fd = -1
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		bell = -1
	}
	outer := &Hub{hub{fd: fd, bell: bell, dirs: make(map[int32]*directory), byPath: make(map[string]*directory)}}
	h := &outer.h
	h.resumed = sync.NewCond(&h.mu)
	h.endings = listenEndings()
	return outer
}

// Attend reads notices also while no call comes, for as long as there is a helper.
func (h *Hub) Attend() { h.h.attend() }

var errNoNotices = errors.New("changes of others cannot be noticed here")

// above are the directories above those in which a command works: moved or replaced they
// take with them what is below.
const above = unix.IN_MOVE_SELF | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// observe begins to take notices of a directory for a command. fresh says that there were none
// until now: what was seen in it before may have changed since.
func (h *hub) observe(w *watch, path string) (fresh bool, err error) {
	if h.lastHeld(w, path) != nil {
		return false, nil
	}
	if d := h.byPath[path]; d != nil && d.mask == watched {
		d.users[w] = true
		return false, nil
	}
	if err := h.add(w, path, watched); err != nil {
		return false, err
	}
	for {
		if r, _ := w.find(path); r == nil {
			return true, nil
		}
		path = locate.Parent(path)
		if d := h.byPath[path]; d != nil && d.users[w] {
			return true, nil
		}
		if err := h.add(w, path, above); err != nil {
			return true, err
		}
	}
}

func (h *hub) add(w *watch, path string, mask uint32) error {
	h.last, h.lastFor = nil, nil
	if d := h.byPath[path]; d != nil && d.mask == watched {
		mask = watched
	}
	if h.fd < 0 {
		return errNoNotices
	}
	wd, err := unix.InotifyAddWatch(h.fd, path, mask)
	if err != nil {
		return err
	}
	d := h.dirs[int32(wd)]
	if d != nil && h.byPath[d.path] == d { // perhaps the same directory by another name: it was moved
		h.forget(d)
	}
	if d == nil {
		d = &directory{wd: int32(wd), users: make(map[*watch]bool), fd: -1}
		h.dirs[int32(wd)] = d
	}
	d.path, d.mask = path, mask
	d.users[w] = true
	h.byPath[path] = d
	if mask == watched && d.told == "" {
		h.endings.add(d)
	}
	return nil
}

// maxHeld is how many directories are held open: as many as commands work in by turns.
const maxHeld = 32

// hold returns the directory with a path, open, or nil if a command's work in it and
// above it was not noticed from some moment on. Until the next notice that path leads
// there, with no link on its way.
func (h *hub) hold(w *watch, path string) *directory {
	if d := h.lastHeld(w, path); d != nil {
		return d
	}
	d := h.byPath[path]
	if d == nil || d.mask != watched || !d.users[w] {
		return nil
	}
	if d.fd >= 0 {
		h.last, h.lastFor = d, w
		return d
	}
	r, below := w.find(path)
	if r == nil {
		return nil
	}
	fd, err := locate.Openat2(r.fd, below, unix.O_PATH|unix.O_DIRECTORY,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil
	}
	if len(h.held) == maxHeld {
		h.letGo(h.held[0])
	}
	d.fd = fd
	h.held = append(h.held, d)
	h.last, h.lastFor = d, w
	return d
}

// lastHeld is what hold returned last, if that was for this command and path.
func (h *hub) lastHeld(w *watch, path string) *directory {
	if d := h.last; d != nil && h.lastFor == w && d.fd >= 0 && d.path == path {
		return d
	}
	return nil
}

// letGo closes a directory. What is removed goes only when nobody holds it.
func (h *hub) letGo(d *directory) {
	if d.fd < 0 {
		return
	}
	locate.Close(d.fd)
	d.fd = -1
	h.held = slices.DeleteFunc(h.held, func(other *directory) bool { return other == d })
}

// forget no longer takes a directory for what its path leads to.
func (h *hub) forget(d *directory) {
	h.letGo(d)
	if h.byPath[d.path] == d {
		delete(h.byPath, d.path)
	}
}

// release forgets a command.
func (h *hub) release(w *watch) {
	h.last, h.lastFor = nil, nil
	for i, other := range h.watches {
		if other == w {
			h.watches = append(h.watches[:i:i], h.watches[i+1:]...)
			break
		}
	}
	for wd := range w.apartFrom {
		if h.dirs[wd] == nil && !slices.ContainsFunc(h.watches, func(other *watch) bool { return other.apartFrom[wd] }) {
			_, _ = unix.InotifyRmWatch(h.fd, uint32(wd))
		}
	}
	for wd, d := range h.dirs {
		delete(d.users, w)
		if len(d.users) == 0 {
			delete(h.dirs, wd)
			h.endings.remove(d)
			h.forget(d)
			_, _ = unix.InotifyRmWatch(h.fd, uint32(wd)) // the directory may be gone
		}
	}
}

// moved gives the watched directories below one name another one. An empty one that was
// there went.
func (h *hub) moved(from, to string) {
	if d := h.byPath[to]; d != nil {
		h.forget(d)
	}
	h.rename(h.below(from), from, to)
}

// exchanged gives those below two names each other's.
func (h *hub) exchanged(a, b string) {
	one, other := h.below(a), h.below(b)
	h.rename(one, a, b)
	h.rename(other, b, a)
}

// below are the watched directories at and below a name.
func (h *hub) below(name string) []*directory {
	var list []*directory
	for _, d := range h.dirs {
		if rest, ok := strings.CutPrefix(d.path, name); ok && (rest == "" || rest[0] == '/') {
			list = append(list, d)
		}
	}
	return list
}

func (h *hub) rename(list []*directory, from, to string) {
	for _, d := range list {
		if d.path == from {
			d.moves++
		}
		h.forget(d)
		d.path = to + d.path[len(from):]
		h.byPath[d.path] = d
	}
}

// drop takes no more notices of directories.
func (h *hub) drop(list []*directory) {
	for _, d := range list {
		delete(h.dirs, d.wd)
		h.endings.remove(d)
		h.forget(d)
		_, _ = unix.InotifyRmWatch(h.fd, uint32(d.wd)) // it may be gone
	}
}

const (
	// gather is how long notices gather before they are read while no call comes: each
	// waking costs more than the reading. What is told meanwhile is far below what the
	// kernel keeps.
	gather = 2 * time.Millisecond
	// signInterval is how often the helper gives a sign while a command has something open
	// for writing.
	signInterval = 50 * time.Millisecond
)

func (h *hub) attend() {
	polled := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}, {Fd: int32(h.bell), Events: unix.POLLIN}}
	signed := time.Now()
	for h.fd >= 0 {
		h.mu.Lock()
		h.drain()
		if time.Since(signed) >= signInterval {
			signed = time.Now()
			for _, w := range h.watches {
				w.overdue()
				w.sign()
			}
		}
		// A command that goes on to make calls rings.
		patience := -1
		if slices.ContainsFunc(h.watches, func(w *watch) bool { return !w.idle }) {
			patience = int(signInterval / time.Millisecond)
		}
		h.mu.Unlock()
		if n, _ := unix.Poll(polled, patience); n > 0 {
			var rung [8]byte
			_, _ = unix.Read(h.bell, rung[:])
			time.Sleep(gather)
		}
	}
}

// wake lets attend look at the commands, although there may be no notices.
func (h *hub) wake() { _, _ = unix.Write(h.bell, []byte{1, 7: 0}) }

// drain works through all notices that are there.
func (h *hub) drain() {
	h.read()
	if h.endings.due {
		h.compare()
	}
}

// drainAll is drain before something is told for good.
func (h *hub) drainAll() {
	h.endings.due = true
	h.drain()
}

func (h *hub) read() {
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
			if e.Mask&unix.IN_CLOSE_WRITE != 0 {
				for _, w := range h.watches {
					w.closedItself(e.Wd)
				}
			}
			continue
		}
		switch {
		case e.Mask&unix.IN_IGNORED != 0:
			delete(h.dirs, d.wd)
			h.endings.remove(d)
			h.forget(d)
		case e.Mask&unix.IN_MOVE_SELF != 0:
			h.movedSelf(d)
		case len(name) > 0:
			if kind, ok := kinds[e.Mask&^unix.IN_ISDIR]; ok {
				h.name = append(append(append(h.name[:0], d.path...), '/'), name...)
				if d.path == "/" {
					h.name = h.name[1:]
				}
				// Nobody keeps the string.
				h.told(d, unsafe.String(&h.name[0], len(h.name)), notice{kind, e.Cookie}, e.Mask&unix.IN_ISDIR != 0)
			}
		}
	}
}

// told takes a notice of a name in a directory.
func (h *hub) told(in *directory, path string, e notice, dir bool) {
	own := in.mask == watched && h.happened(path, e)
	d := h.byPath[path]
	switch {
	case !dir || d == nil:
	case e.event == deleted: // somebody may still have it open, so that the kernel does not tell
		h.forget(d)
	case e.event == movedTo && !own: // it was replaced
		h.drop(h.below(path))
	}
}

var kinds = map[uint32]event{unix.IN_CREATE: created, unix.IN_DELETE: deleted, unix.IN_MOVED_FROM: movedFrom,
	unix.IN_MOVED_TO: movedTo, unix.IN_OPEN: opened, unix.IN_CLOSE_WRITE: closed}

// movedSelf is told that a watched directory got another name. If no command did it,
// all that was touched below is somebody else's matter.
func (h *hub) movedSelf(d *directory) {
	if d.moves > 0 {
		d.moves--
		return
	}
	for w := range d.users {
		for p, n := range w.names {
			if strings.HasPrefix(p, d.path+"/") || p == d.path {
				w.foreign(n)
			}
		}
		for p, n := range w.before {
			if strings.HasPrefix(p, d.path+"/") || p == d.path {
				w.foreign(n)
			}
		}
	}
	h.drop(h.below(d.path))
}

// happened tells the commands that touched a name what became of it. done says that one
// of them did it.
func (h *hub) happened(path string, of notice) (done bool) {
	e := of.event
	h.endings.due = h.endings.due || e == closed // also what others close before the command opens it
	for _, w := range h.watches {
		n := w.names[path]
		if n == nil {
			if was := w.before[path]; was != nil && e != opened {
				w.foreign(was)
			}
			continue
		}
		linked, writers := n.linked, n.writers
		if e == closed {
			w.closedAt(n)
		}
		switch {
		case !done && n.expected(w, of):
			done = true
			switch {
			case e == closed && n.writers == 0:
				w.closed(n)
			case e == deleted:
				n.linked = 0
				w.parted(linked, writers)
			}
		case e == opened:
			w.shared(n)
		case e == closed:
			w.foreign(n)
			w.foreignFile(linked)
		default:
			n.writers, n.linked = 0, 0 // what the command has open is not here any more
			w.parted(linked, writers)
			w.foreign(n)
		}
	}
	return done
}

// closed notes what a file is now that the command does not write it any more.
func (w *watch) closed(n *name) {
	r, below := w.find(n.path)
	if r == nil {
		return
	}
	var t content.Thing
	if t.Stat(r.fd, below) == nil {
		n.closed = t.ID
		w.wrote[t.ID] = t.State
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
