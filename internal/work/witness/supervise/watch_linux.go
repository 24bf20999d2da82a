package supervise

import (
	"errors"
	"path"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/calls"
	"kerf/internal/work/witness/journal"
)

// level is how much is kept of what a name held.
type level int

const (
	looked level = iota // its kind, mode and size; the content is still somewhere
	begun               // the beginning of the file is the content: it only grows
	kept                // all
)

// name is a name that a command touched.
type name struct {
	path  string
	level level
	size  int64 // of what it held
	// held is the name whose content is here now and was not kept yet: itself, at
	// first; after a move that from which it came.
	held    *name
	gone    bool // the command removed it
	foreign bool // somebody else changed it since
	expect  [events]int
}

// watch is one command that is witnessed. Its fields are guarded by the hub.
type watch struct {
	id       int64
	hub      *hub
	listener int
	roots    []root
	dir      int // where the journal is
	dirPath  string
	// begin makes the ledger's entry of the command durable, before its first change,
	// and returns its number.
	begin func() (int64, error)
	// ask says whether a call may go on although something is lost; see Lost.
	ask func(path, why string, size int64) bool

	find1   locator
	names   map[string]*name
	linked  map[inode]int // contents that are kept by a link
	last    map[uint32]expectation
	journal *journal.Writer
	failed  error // nothing can be recorded any more
	apart   int
	paused  bool
	cuts    int64
	content [inlineLimit + 1]byte
	done    chan struct{} // closed when nothing of the command runs any more
}

// expectation is a notice that follows from a call, if it succeeds.
type expectation struct {
	name *name
	kind event
}

func bytesAt(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// serve answers the calls of the command until none of its processes is left.
func (w *watch) serve(proc int) {
	defer close(w.done)
	w.find1.proc = proc
	polled := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}, {Fd: int32(w.hub.fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(polled, -1)
		if err != nil && err != unix.EINTR {
			break
		}
		if polled[0].Revents&unix.POLLIN == 0 {
			if polled[0].Revents != 0 {
				break
			}
			w.hub.mu.Lock()
			w.hub.drain()
			w.hub.mu.Unlock()
			continue
		}
		if !w.next() {
			break
		}
	}
	w.hub.mu.Lock()
	w.hub.drain()
	w.hub.mu.Unlock()
	closeFD(w.listener)
}

// next takes one call and answers it.
func (w *watch) next() bool {
	var n notice
	ok, err := n.receive(w.listener)
	if err != nil {
		return false
	}
	if !ok {
		return true
	}
	w.hub.mu.Lock()
	for w.paused {
		w.hub.resumed.Wait()
	}
	w.hub.drain()
	w.settle(n.pid)
	errno := w.handle(&n)
	w.hub.mu.Unlock()
	n.answer(w.listener, errno)
	return true
}

// settle forgets what was expected of the process's last call: if it had succeeded, the
// notice would have come.
func (w *watch) settle(tid uint32) {
	if e, ok := w.last[tid]; ok {
		if e.name.expect[e.kind] > 0 {
			e.name.expect[e.kind]--
		}
		delete(w.last, tid)
	}
}

func (w *watch) expect(tid uint32, n *name, e event) {
	n.expect[e]++
	if e != closed {
		w.last[tid] = expectation{n, e}
	}
}

// errGone says that the process of a call does not wait any more.
var errGone = errors.New("the process is gone")

// handle does what has to be done before a call, and returns 0 to let it go on.
func (w *watch) handle(n *notice) syscall.Errno {
	if w.failed != nil {
		return unix.EIO
	}
	f := calls.Of(uint32(n.number))
	c, err := w.find1.enter(int(n.pid))
	if err != nil {
		return w.unread(n, err)
	}
	defer w.find1.leave(c)
	call := call{watch: w, caller: c, form: f, notice: n}
	if f.Flags >= 0 {
		call.flags = n.args[f.Flags]
	} else {
		call.flags = f.Fixed
	}
	if f.Path >= 0 {
		if call.path, err = w.readName(n, f.Path); err != nil {
			return w.unread(n, err)
		}
	}
	if f.Path2 >= 0 {
		if call.path2, err = w.readName(n, f.Path2); err != nil {
			return w.unread(n, err)
		}
	}
	if !n.valid(w.listener) {
		return 0 // nobody waits for an answer
	}
	err = call.do()
	var refused *refusedError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		return unix.EIO
	case w.failed != nil:
		return unix.EIO
	}
	// Other errors are those that the call itself will meet, too.
	return 0
}

// readName reads an argument that is a path. An empty result is an empty path.
func (w *watch) readName(n *notice, arg int) (string, error) {
	return readString(int(n.pid), n.args[arg], &w.find1.text)
}

// unread is the answer to a call whose arguments cannot be read.
func (w *watch) unread(n *notice, err error) syscall.Errno {
	if err == unix.EFAULT || err == errLong || !n.valid(w.listener) {
		return 0 // the call itself will fail in the same way
	}
	if w.start() == nil {
		w.write(&journal.Record{Kind: journal.Unread, Number: int64(n.number), Why: err.Error()})
	}
	return unix.EPERM
}

// start makes the journal and the ledger's entry, before the first change.
func (w *watch) start() error {
	if w.journal != nil || w.failed != nil {
		return w.failed
	}
	j, err := journal.Create(w.dirPath)
	if err == nil {
		w.dir, err = unix.Open(w.dirPath, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		err = unix.Flock(int(j.File().Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	var seq int64
	if err == nil {
		seq, err = w.begin()
	}
	if err != nil {
		w.failed = err
		return err
	}
	w.journal = j
	var roots []string
	for _, r := range w.roots {
		roots = append(roots, r.path)
	}
	return w.write(&journal.Record{Kind: journal.Began, Number: seq, To: strings.Join(roots, "\x00")})
}

// write appends to the journal. When that fails, no call goes on any more.
func (w *watch) write(r *journal.Record) error {
	if w.journal == nil {
		return w.failed
	}
	if err := w.journal.Write(r); err != nil {
		w.failed = err
	}
	return w.failed
}

// refusedError says that a call is refused, since what it would destroy cannot be kept.
type refusedError struct{ path string }

func (e *refusedError) Error() string { return "refused: " + e.path }

// touch notes that a name is about to be changed. t is what it holds, need how much of
// that has to be kept, f what becomes of it.
func (w *watch) touch(p string, t *thing, need level, f fate) (*name, error) {
	if err := w.start(); err != nil {
		return nil, err
	}
	n := w.names[p]
	if n == nil || n.foreign {
		return w.first(p, t, need, f)
	}
	h := n.held
	if need == looked || h == nil || h.level >= need || t.state.Kind == journal.Absent {
		return n, nil
	}
	n.held = nil
	return n, w.later(h, t, f)
}

// first is the first touch of a name, or the first after somebody else changed it.
func (w *watch) first(p string, t *thing, need level, f fate) (*name, error) {
	n := &name{path: p, level: need, size: t.state.Sig.Size}
	if err := w.hub.observe(w, path.Dir(p)); err != nil && !errors.Is(err, unix.ENOENT) {
		w.write(&journal.Record{Kind: journal.Gap, Why: err.Error()})
	}
	var lost error
	if t.state.Kind == journal.Absent {
		n.level = kept
	} else if need != looked || t.state.Kind == journal.Link {
		fate := f
		if need == begun {
			fate = grown
		}
		if lost = w.keep(t, fate); lost == nil && t.state.How != journal.Prefix {
			n.level = kept
		}
	}
	if n.level != kept {
		n.held = n
	}
	r := &journal.Record{Kind: journal.Touch, Path: p, Before: t.state}
	if err := w.write(r); err != nil {
		return nil, err
	}
	w.names[p] = n
	if lost != nil {
		return n, w.lose(n, lost)
	}
	return n, nil
}

// later keeps what a name held, now that it is about to be destroyed where it is.
func (w *watch) later(h *name, t *thing, f fate) error {
	if err := w.keep(t, f); err != nil {
		return w.lose(h, err)
	}
	h.level = kept
	s := t.state
	if h.size < s.Sig.Size && s.How == journal.Inline { // it grew since
		s.Data = s.Data[:h.size]
	}
	s.Sig.Size = h.size
	return w.write(&journal.Record{Kind: journal.Kept, Path: h.path, Before: s})
}

// lose asks whether a call may go on although what a name held is lost with it.
func (w *watch) lose(n *name, why error) error {
	n.level = kept
	allowed := w.ask(n.path, why.Error(), n.size)
	if err := w.write(&journal.Record{Kind: journal.Lost, Path: n.path, Number: n.size, Why: why.Error(),
		Refused: !allowed}); err != nil {
		return err
	}
	if !allowed {
		return &refusedError{n.path}
	}
	return nil
}

// cut ends a part of the journal: what is touched from now on is kept anew. The command
// changes nothing until resume.
func (w *watch) cut() {
	w.hub.drain()
	w.paused = true
	w.cuts++
	if w.journal == nil {
		return
	}
	w.write(&journal.Record{Kind: journal.Cut, Number: w.cuts})
	open := make(map[string]*name)
	for p, n := range w.names {
		if n.expect[closed] > 0 && !n.gone {
			open[p] = &name{path: p, level: kept, expect: n.expect}
			w.write(&journal.Record{Kind: journal.StillOpen, Path: p})
		}
	}
	w.names = open
	clear(w.last)
}

func (w *watch) resume() {
	w.paused = false
	w.hub.resumed.Broadcast()
}

// finish ends the journal. orphaned says that Kerf is not there to look at what became
// of the names.
func (w *watch) finish(orphaned bool) {
	w.hub.release(w)
	if w.journal == nil {
		return
	}
	if orphaned {
		for p := range w.names {
			r, below := w.find(p)
			if r == nil {
				continue
			}
			t, err := look(r, below)
			if err == nil {
				w.write(&journal.Record{Kind: journal.Final, Path: p, Before: t.state})
			}
			t.close()
		}
	}
	w.write(&journal.Record{Kind: journal.End})
	_ = w.journal.Close()
	closeFD(w.dir)
	for _, r := range w.roots {
		closeFD(r.fd)
	}
	if w.find1.fixed && w.find1.root >= 0 {
		closeFD(w.find1.root)
	}
}

// ended waits until nothing of the command runs any more, at most for d.
func (w *watch) ended(d time.Duration) bool {
	select {
	case <-w.done:
		return true
	case <-time.After(d):
		return false
	}
}
