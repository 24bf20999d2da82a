package held

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/dirs"
	"kerf/internal/work/witness/supervise/held/endings"
	"kerf/internal/work/witness/supervise/held/told"
)

// The kinds of changes that the kernel tells of a name in a watched directory.
type event = told.Kind

const (
	created, deleted, movedFrom, movedTo = told.Created, told.Deleted, told.MovedFrom, told.MovedTo
	opened, closed, madeDir              = told.Opened, told.Closed, told.MadeDir
)

// notice is what the kernel tells of a name. The move that both halves of a rename tell of is the
// same; it is 0 with other events.
type notice struct {
	event
	move uint32
}

// hub is what the commands of one helper share: the kernel's notices of changes in the
// directories that they work in. Each call of a command that was held makes the notices
// that follow from it expected. One that nobody expects is the work of somebody else.
type hub struct {
	mu       sync.Mutex  // guards all of it, and the names of all commands
	resumed  *sync.Cond  // a command that was paused may go on
	fd       int         // of inotify, below zero where there is none
	notices  told.Reader // of it
	bell     int         // wakes up attend; the same
	dirs     *dirs.Set[*watch]
	watches  []*watch
	name     []byte // of a notice
	endings  endings.Listener[*watch]
	due      bool // a file was closed since opens and closings were compared
	suspects []suspect
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
	outer := &Hub{hub{fd: fd, notices: told.Reader{FD: fd}, bell: bell}}
	h := &outer.h
	h.dirs = dirs.New(fd, h.endings.Add, h.endings.Remove)
	h.resumed = sync.NewCond(&h.mu)
	h.endings = endings.Listen[*watch]()
	return outer
}

// Attend reads notices also while no call comes, for as long as there is a helper.
func (h *Hub) Attend() { h.h.attend() }

// release forgets a command.
func (h *hub) release(w *watch) {
	for i, other := range h.watches {
		if other == w {
			h.watches = append(h.watches[:i:i], h.watches[i+1:]...)
			break
		}
	}
	for wd := range w.apartFrom {
		if h.dirs.Told(wd) == nil && !slices.ContainsFunc(h.watches, func(other *watch) bool { return other.apartFrom[wd] }) {
			_, _ = unix.InotifyRmWatch(h.fd, uint32(wd))
		}
	}
	h.dirs.Release(w)
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
	if h.due {
		h.compare()
	}
}

// drainAll is drain before something is told for good.
func (h *hub) drainAll() {
	h.due = true
	h.drain()
}

func (h *hub) read() { h.notices.Each(h.take) }

func (h *hub) take(e *unix.InotifyEvent, name []byte) {
	if e.Mask&unix.IN_Q_OVERFLOW != 0 {
		for _, w := range h.watches {
			w.gap("more happened at once than the kernel tells")
		}
		return
	}
	d := h.dirs.Told(e.Wd)
	switch {
	case d == nil && e.Mask&unix.IN_CLOSE_WRITE != 0:
		for _, w := range h.watches {
			if w.several.Of(e.Wd).Itself() {
				w.foreignFile(e.Wd)
			}
		}
	case d == nil:
	case e.Mask&unix.IN_IGNORED != 0:
		h.dirs.Gone(d)
	case e.Mask&unix.IN_MOVE_SELF != 0:
		h.movedSelf(d)
	case len(name) > 0:
		if kind, ok := told.Of(e.Mask); ok {
			h.name = append(append(append(h.name[:0], d.Path...), '/'), name...)
			if d.Path == "/" {
				h.name = h.name[1:]
			}
			// Nobody keeps the string.
			h.told(d, unsafe.String(&h.name[0], len(h.name)), notice{kind, e.Cookie}, e.Mask&unix.IN_ISDIR != 0)
		}
	}
}

// told takes a notice of a name in a directory.
func (h *hub) told(in *dirs.Dir[*watch], path string, e notice, dir bool) {
	own := in.Whole() && h.happened(path, e)
	d := h.dirs.At(path)
	switch {
	case !dir || d == nil:
	case e.event == deleted: // somebody may still have it open, so that the kernel does not tell
		h.dirs.Forget(d)
	case e.event == movedTo && !own: // it was replaced
		h.dirs.Drop(h.dirs.Below(path))
	}
}

// movedSelf is told that a watched directory got another name. If no command did it,
// all that was touched below is somebody else's matter.
func (h *hub) movedSelf(d *dirs.Dir[*watch]) {
	if d.Expected() {
		return
	}
	h.movedBy(nil, d.Path)
	h.dirs.Drop(h.dirs.Below(d.Path))
}

// movedBy notes that what commands touched below a directory is elsewhere, but for the one that did it.
func (h *hub) movedBy(by *watch, dir string) {
	for _, w := range h.watches {
		for _, names := range []map[string]*name{w.names, w.before} {
			for p, n := range names {
				if w != by && (strings.HasPrefix(p, dir+"/") || by == nil && p == dir) {
					w.foreignSince(n, "its directory was moved")
				}
			}
		}
	}
}

// happened tells the commands that touched a name what became of it. done says that one
// of them did it.
func (h *hub) happened(path string, of notice) (done bool) {
	e := of.event
	h.due = h.due || e == closed // also what others close before the command opens it
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
			w.several.Of(n.linked).At()
		}
		switch {
		case !done && n.expected(w, of):
			done = true
			switch {
			case e == opened:
				w.several.Of(linked).Opened()
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
			n.unsure = n.unsure || slices.ContainsFunc(n.waiting, n.opening)
			n.writers, n.linked = 0, 0 // what the command has open is not here any more
			w.parted(linked, writers)
			w.foreign(n)
		}
	}
	return done
}

// closed notes what a file is now that the command does not write it any more.
func (w *watch) closed(n *name) {
	r, below := w.roots.Find(n.path)
	if r == nil {
		return
	}
	var t content.Thing
	if t.Stat(r.FD, below) == nil {
		n.closed = t.ID
		w.wrote[t.ID] = t.State
	}
}

// foreign notes that somebody else changed a name.
func (w *watch) foreign(n *name) { w.foreignSince(n, "") }

// foreignSince is foreign for a reason, which is empty unless what the command made may be elsewhere.
func (w *watch) foreignSince(n *name, why string) {
	if n.foreign {
		return
	}
	n.foreign = true
	w.write(&journal.Record{Kind: journal.Foreign, Path: n.path, Gone: n.gone, Why: why})
}

func (w *watch) gap(why string) {
	for _, n := range w.names {
		n.foreign = true
	}
	w.write(&journal.Record{Kind: journal.Gap, Why: why})
}
