package held

import (
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/calls"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/endings"
	"kerf/internal/work/witness/supervise/held/others"
	"kerf/internal/work/witness/supervise/held/roots"
	"kerf/internal/work/witness/supervise/held/threads"
	"kerf/internal/work/witness/supervise/listener"
)

// name is a name that a command touched.
type name struct {
	path        string
	gone        bool // the command removed it
	foreign     bool // somebody else changed it since
	writers     int  // how often the command has what is here open for writing
	opens       int  // how often it opened that since it came here
	opened      bool // the command ever opened that
	unsure      bool // somebody put it here while the command was opening it: writers may be another's
	ended       endings.Counts
	waiting     []*pending
	closed      content.Inode // that the command last wrote and closed here
	linked      int32         // names the file here among those that have several names, or 0
	there       *name         // where what it held is now, while that is passed on
	read, under bool          // for inside: it was read, or a call is under way that may put something here
}

// Options are what is to be known of a command.
type Options struct {
	Listener int      // that its calls are told to
	Dir      string   // where the journal is
	Roots    []string // in which changes are witnessed, as real paths
	Ignore   []string // names that Kerf itself put there
	// OneRoot says that all processes have the same root directory.
	OneRoot bool
	// Begin makes the ledger's entry of the command durable, before its first change,
	// and returns its number.
	Begin func() (int64, error)
	// Ask says whether a call may go on although what a name holds is lost with it.
	Ask func(path, why string, size int64) bool
}

// Watch is one command that is witnessed.
type Watch struct{ w watch }

// Watch takes a command. Nothing of it is answered before Serve.
func (h *Hub) Watch(o Options) *Watch {
	outer := &Watch{watch{hub: &h.h, listener: o.Listener, dirPath: o.Dir, keeper: content.Keeper{Dir: -1}, begin: o.Begin, ask: o.Ask,
		names: map[string]*name{}, files: map[content.Inode]*file{}, wrote: map[content.Inode]journal.State{},
		carried: map[content.Inode]bool{}, calls: map[uint32]*pending{}, ignored: map[string]bool{}, apartFrom: map[int32]bool{},
		done: make(chan struct{})}}
	w := &outer.w
	for _, p := range o.Ignore {
		w.ignored[p] = true
	}
	w.find1.Root, w.find1.Fixed = -1, o.OneRoot
	w.find1.Known = func(name string) bool { return w.hub.dirs.Hold(w, name) != nil }
	w.roots, w.failed = roots.Open(o.Roots)
	w.hub.mu.Lock()
	w.hub.watches = append(w.hub.watches, w)
	w.hub.wake()
	w.hub.mu.Unlock()
	return outer
}

// Serve answers the calls of the command until none of its processes is left. proc is /proc,
// open.
func (o *Watch) Serve(proc int) { o.w.serve(proc) }

// Done is closed when nothing of the command runs any more.
func (o *Watch) Done() <-chan struct{} { return o.w.done }

// Cut ends a part of the journal: what is touched from now on is kept anew. The command
// changes nothing until Resume, but for what it has open, and for the calls that went on
// and did not come to their end yet. begun says that there is a journal.
func (o *Watch) Cut() (begun bool) {
	o.w.hub.mu.Lock()
	defer o.w.hub.mu.Unlock()
	o.w.cut()
	return o.w.journal != nil
}

// Seen writes down what others did until now.
func (o *Watch) Seen() {
	o.w.hub.mu.Lock()
	defer o.w.hub.mu.Unlock()
	if o.w.paused && o.w.journal != nil { // the command may have files open that others write
		others.Undecided(o.w.find1.Proc, o.w.threads, o.w.writables, o.w.hub.drain)
	}
	o.w.hub.drainAll()
}

// Resume lets the command go on after a Cut.
func (o *Watch) Resume() {
	o.w.hub.mu.Lock()
	defer o.w.hub.mu.Unlock()
	o.w.resume()
}

// End waits until nothing of the command runs any more, at most for d, and writes down what
// others did until then. The error says that what the command did could not be recorded.
func (o *Watch) End(d time.Duration) (ended, begun bool, err error) {
	ended = o.Ended(d)
	o.w.hub.mu.Lock()
	defer o.w.hub.mu.Unlock()
	o.w.hub.drainAll()
	if ended {
		o.w.closings()
	}
	return ended, o.w.journal != nil, o.w.failed
}

// Finish ends the journal. orphaned says that Kerf is not there to look at what became
// of the names.
func (o *Watch) Finish(orphaned bool) {
	o.w.hub.mu.Lock()
	defer o.w.hub.mu.Unlock()
	o.w.finish(orphaned)
}

// watch is one command that is witnessed. Its fields are guarded by the hub.
type watch struct {
	hub      *hub
	listener int
	roots    roots.Set
	dirPath  string // where the journal is
	keeper   content.Keeper
	begin    func() (int64, error)                   // of Options
	ask      func(path, why string, size int64) bool // of Options

	ignored map[string]bool // names that Kerf itself put there
	find1   locate.Locator
	text    [2 * listener.PageSize]byte
	names   map[string]*name
	// before are the names of the part of the journal that was cut, while Kerf reads them.
	before map[string]*name
	files  map[content.Inode]*file
	wrote  map[content.Inode]journal.State // what files were when the command closed them
	// carried are the files at names that went on behind the last cut; what they hold was not kept since.
	carried map[content.Inode]bool
	touches int64
	// grows says that since the last cut only the beginning of a file was kept, since it is open to append.
	grows atomic.Bool
	// apartFrom are the files whose notices are told apart.
	apartFrom map[int32]bool
	several   endings.Files       // those of them that have several names
	calls     map[uint32]*pending // the last call of each thread
	turning   int                 // how many of them are about to give directories other names
	journal   *journal.Writer
	failed    error // nothing can be recorded any more
	idle      bool  // it has nothing open for writing, no call is owed, and it made none since
	owed      bool  // it is not known whether its last calls are over
	busy      bool  // it made a call since it was last asked for a sign
	paused    bool
	answering atomic.Bool // a call is about to go on
	cuts      int64
	done      chan struct{} // closed when nothing of the command runs any more
}

// serve answers the calls of the command until none of its processes is left.
func (w *watch) serve(proc int) {
	defer close(w.done)
	w.find1.Proc = proc
	polled := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
	ends := listener.Ends()
	for {
		if !ends && !listener.Poll(polled, soon) {
			_, _ = unix.Poll(polled, -1)
		}
		if ends || polled[0].Revents&unix.POLLIN != 0 {
			came, err := w.next()
			if err != nil {
				break
			}
			if came {
				continue
			}
			listener.Poll(polled, 0)
		}
		if polled[0].Revents != 0 && polled[0].Revents&unix.POLLIN == 0 {
			break
		}
	}
	w.hub.mu.Lock()
	w.hub.drainAll()
	w.hub.mu.Unlock()
	locate.Close(w.listener)
}

// soon is how long a thread waits for the next call without telling Go's scheduler. It
// bounds how long a collection of garbage waits for the thread.
const soon = 300 * time.Microsecond

// sign shows in the time of the journal that the helper saw all until now, unless the
// records of calls did.
func (w *watch) sign() {
	if w.busy || w.idle {
		w.busy = false
		return
	}
	w.idle = !w.owed
	for _, n := range w.names {
		if n.writers > 0 {
			w.idle = false
			break
		}
	}
	if w.journal != nil && !w.idle {
		_ = unix.Futimes(int(w.journal.File().Fd()), []unix.Timeval{unix.NsecToTimeval(time.Now().UnixNano()),
			unix.NsecToTimeval(time.Now().UnixNano())})
	}
}

// next waits for a call and answers it. came is false when there was none: it may be that
// no process is left.
func (w *watch) next() (came bool, err error) {
	var n listener.Notice
	if came, err = n.Receive(w.listener); !came {
		return false, err
	}
	if !w.grows.Load() && calls.Of(uint32(n.Number)).Op == calls.Setflags {
		n.Answer(w.listener, 0) // of no interest; programs in Go make two such calls for each file that they open
		return true, nil
	}
	w.hub.mu.Lock()
	for w.paused {
		w.hub.resumed.Wait()
	}
	if w.idle {
		w.hub.wake()
	}
	w.idle, w.busy = false, true
	w.hub.drain()
	errno := w.handle(&n)
	if p := w.calls[n.PID]; p != nil && errno == 0 && p.makes() {
		p.held = true
		w.hub.drain()
		p.held = false
	}
	w.answering.Store(true)
	w.hub.mu.Unlock()
	went := n.Answer(w.listener, errno)
	if w.answering.Store(false); !went { // the call never went on
		w.hub.mu.Lock()
		w.settle(n.PID)
		w.hub.mu.Unlock()
	}
	return true, nil
}

// handle does what has to be done before a call, and returns 0 to let it go on.
func (w *watch) handle(n *listener.Notice) syscall.Errno {
	p := w.settle(n.PID)
	if p.Number, p.Args = n.Number, n.Args; w.turning > 0 {
		w.outlast(func(q *pending) bool { return q.turns })
	}
	if w.failed != nil {
		return unix.EIO
	}
	c, err := w.find1.Enter(int(n.PID))
	if err != nil {
		return w.unread(n, err)
	}
	defer w.find1.Leave(c)
	call := call{watch: w, caller: c, form: calls.Of(uint32(n.Number)), notice: n, pending: p}
	if err := call.read(); err != nil {
		return w.unread(n, err)
	}
	// If the caller is gone by now, what was read may be another's. Then the answer finds
	// nobody, and all that came of it is that something is kept which stays as it is.
	for range 10 {
		if err = call.do(); err != errSwapped {
			break
		}
		w.settle(n.PID)
	}
	for w.paused && w.failed == nil { // since somebody was asked
		w.hub.resumed.Wait()
	}
	if err == nil {
		return 0
	}
	return w.refusal(n, err)
}

// refusal is the answer to a call when err was met while it was looked at. What the
// call itself is going to meet it meets now: until it goes on, things may change.
func (w *watch) refusal(n *listener.Notice, err error) syscall.Errno {
	var refused *refusedError
	var errno syscall.Errno
	switch {
	case errors.As(err, &refused), w.failed != nil:
		return unix.EIO
	case !errors.As(err, &errno):
		errno = unix.EIO
	case errno == unix.ENOENT, errno == unix.ENOTDIR, errno == unix.EACCES, errno == unix.ELOOP,
		errno == unix.EEXIST, errno == unix.EISDIR:
		return errno
	}
	return w.unread(n, errno)
}

// read reads the arguments of the call.
func (c *call) read() (err error) {
	c.flags = uint64(c.form.Fixed)
	if c.form.Flags >= 0 {
		c.flags = c.notice.Args[c.form.Flags]
	}
	if c.form.Path >= 0 {
		if c.path, err = c.notice.Text(c.form.Path, &c.text); err != nil {
			return err
		}
	}
	if c.form.Path2 >= 0 {
		c.path2, err = c.notice.Text(c.form.Path2, &c.text)
	}
	if c.form.Attribute && c.path2 != calls.AccessList {
		c.form.Op = calls.None
	}
	return err
}

// unread is the answer to a call whose arguments cannot be read.
func (w *watch) unread(n *listener.Notice, err error) syscall.Errno {
	switch {
	case !n.Valid(w.listener):
		return 0
	case err == unix.EFAULT:
		return unix.EFAULT
	case err == listener.ErrLong:
		return unix.ENAMETOOLONG
	}
	if w.start() == nil {
		w.write(&journal.Record{Kind: journal.Unread, Number: int64(n.Number), Why: err.Error()})
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && errno == unix.ENAMETOOLONG {
		return errno
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
		w.keeper.Dir, err = unix.Open(w.dirPath, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
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
	return w.write(&journal.Record{Kind: journal.Began, Number: seq, To: w.roots.Paths()})
}

// write appends to the journal. When that fails, no call goes on any more.
func (w *watch) write(list ...*journal.Record) error {
	if w.journal == nil || w.failed != nil {
		return w.failed
	}
	if err := w.journal.Write(list...); err != nil {
		w.failed = err
	}
	return w.failed
}

// refusedError says that a call is refused, since what it would destroy cannot be kept.
type refusedError struct{ path string }

func (e *refusedError) Error() string { return "refused: " + e.path }

// cut ends a part of the journal. What the command has open counts as touched, and so do
// the names of the last call of each thread; those that can come to their end soon do so before.
func (w *watch) cut() {
	w.over()
	w.paused = true
	if w.journal == nil {
		return
	}
	open := make(map[string]*name)
	w.lastCalls(open)
	for w.answering.Load() {
		runtime.Gosched()
	}
	w.outlast(func(*pending) bool { return true })
	w.hub.drainAll()
	w.lastCalls(open)
	w.cuts++
	for p, n := range w.names {
		if n.writers > 0 {
			open[p] = n
		}
	}
	if len(open) == 0 {
		w.closings()
	}
	clear(w.wrote)
	clear(w.carried)
	records := append([]*journal.Record{{Kind: journal.Cut, Number: w.cuts}}, w.openUnnamed()...)
	for p, n := range open {
		n.foreign = false
		n.counts(n.writers)
		records = append(records, w.stillOpen(p))
	}
	w.write(records...)
	w.before, w.names = w.names, open
	clear(w.files)
	w.grows.Store(false)
}

// lastCalls adds the names of the last calls of all threads.
func (w *watch) lastCalls(open map[string]*name) {
	for _, p := range w.calls {
		for _, n := range p.names {
			if w.names[n.path] == n {
				open[n.path] = n
			}
		}
	}
}

// stillOpen tells what a name holds that the command may change behind a cut.
func (w *watch) stillOpen(p string) *journal.Record {
	r := &journal.Record{Kind: journal.StillOpen, Path: p}
	if root, below := w.roots.Find(p); root != nil {
		t, err := w.look(root, p, below)
		if err == nil {
			r.Before, r.Number = t.State, journal.Looked
			w.carried[t.ID] = true
		}
		t.Close()
	}
	return r
}

// over forgets the calls of threads that are not there any more: they came to their end.
func (w *watch) over() {
	for tid := range w.calls {
		if unix.Faccessat(w.find1.Proc, strconv.Itoa(int(tid)), unix.F_OK, 0) == unix.ENOENT {
			w.hub.drain() // what it led to is told by now
			w.settle(tid)
			delete(w.calls, tid)
		}
	}
	w.hub.drainAll()
}

// overdue ends the calls that came to nothing: their threads went on long ago. Else what somebody
// else does later to the same name would be taken for what came of them.
func (w *watch) overdue() {
	w.owed = false
	for tid, p := range w.calls {
		if len(p.expects) == 0 {
			continue
		}
		switch stage := p.Stage(w.find1.Proc); {
		case stage == threads.Over, p.Busy():
			w.hub.drain() // what it led to is told by now
			w.settle(tid)
		case stage == threads.Runs:
			w.owed = true
		}
	}
}

// closings tells what the files were that the command wrote and closed: who changes
// them later without a notice, through a mapping or by another name, is found by that.
func (w *watch) closings() {
	var records []*journal.Record
	for p, n := range w.names {
		if s, ok := w.wrote[n.closed]; ok && w.writers(n) == 0 {
			records = append(records, &journal.Record{Kind: journal.Closed, Path: p,
				Before: journal.State{Kind: journal.File, Sig: s.Sig, Mode: s.Mode}})
		}
	}
	if len(records) > 0 {
		w.write(records...)
	}
}

func (w *watch) resume() {
	w.paused, w.before = false, nil
	w.hub.resumed.Broadcast()
}

func (w *watch) finish(orphaned bool) {
	if w.journal != nil && orphaned {
		w.finals()
	}
	w.hub.release(w)
	if w.journal != nil {
		w.write(&journal.Record{Kind: journal.End})
		_ = w.journal.Close()
		locate.Close(w.keeper.Dir)
	}
	w.roots.Close()
	w.find1.End()
	w.several.Close()
}

// finals tells what the names hold at the end. Who has a file open for writing by then, or closes it
// until all was looked at, is somebody else.
func (w *watch) finals() {
	w.closings()
	asks := 100 // for processes of the command that are ending
	for p, n := range w.names {
		r, below := w.roots.Find(p)
		if r == nil {
			continue
		}
		t, err := content.Open(r.FD, below)
		if err == nil && !n.foreign && t.State.Kind == journal.File && others.Write(w.find1.Proc, &t, &asks, w.threads()) {
			w.foreign(n)
		}
		if err == nil {
			err = t.Stat(t.FD, "")
		}
		if err == nil {
			w.write(&journal.Record{Kind: journal.Final, Path: p, Before: t.State})
		}
		t.Close()
	}
	w.hub.drainAll()
}

// Ended waits until nothing of the command runs any more, at most for d.
func (o *Watch) Ended(d time.Duration) bool {
	select { // both may be true
	case <-o.w.done:
		return true
	default:
	}
	select {
	case <-o.w.done:
		return true
	case <-time.After(d):
		return false
	}
}
