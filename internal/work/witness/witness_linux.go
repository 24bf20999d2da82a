package witness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/beneath"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/journal/claim"
	"kerf/internal/work/witness/supervise"
	"kerf/internal/work/witness/supervise/listener"
	"kerf/internal/work/witness/supervise/message"
)

// Available returns nil where commands can be witnessed, and else the reason.
var Available = sync.OnceValue(func() error {
	if err := listener.Try(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
})

// AvailableUnconfined is Available for commands without a sandbox around them.
func AvailableUnconfined() error {
	if err := Available(); err != nil || os.Geteuid() == 0 {
		return err
	}
	// The helper reads what the command passes to the kernel. In a sandbox it may, since
	// the namespace is the user's; else Yama lets only parents do so.
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if s := strings.TrimSpace(string(scope)); err == nil && s != "0" {
		return fmt.Errorf("%w: kernel.yama.ptrace_scope is %s; a program in the sandbox can be watched", ErrUnavailable, s)
	}
	return nil
}

// Witness has the commands of one session witnessed. The helper process is started with
// the first. Its methods may be called by several goroutines.
type Witness struct {
	o   Options
	dir string // of the journals

	mu      sync.Mutex // guards what follows
	lock    *os.File
	socket  int // below zero while there is no helper
	helper  *exec.Cmd
	next    int64
	watches map[int64]*Watch
	replies map[reply]chan message.Message
	exited  chan struct{} // closed when the helper's end of the socket is
}

type reply struct {
	op message.Op
	id int64
}

// New returns a witness. Nothing is started or made on disk before it is needed.
func New(o Options) (*Witness, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	var err error
	if o.Roots, err = beneath.Real(o.Roots); err != nil {
		return nil, err
	}
	name := uuid.NewString()
	if o.Outlive {
		name = outlive + name
	}
	return &Witness{o: o, dir: filepath.Join(o.Dir, folder, name), socket: -1,
		watches: map[int64]*Watch{}, replies: map[reply]chan message.Message{}}, nil
}

// start starts the helper. The lock is held.
func (w *Witness) start() error {
	if w.socket >= 0 {
		return nil
	}
	if w.lock == nil {
		f, err := claim.Take(w.dir)
		if err != nil {
			return err
		}
		w.lock = f
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "kerf-witness")
	defer theirs.Close()
	cmd := exec.Command("/proc/self/exe", supervise.Flag)
	cmd.Args[0] = "kerf"
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := supervise.Start(cmd); err != nil {
		unix.Close(pair[0])
		return fmt.Errorf("start the witness: %w", err)
	}
	w.socket, w.helper, w.exited = pair[0], cmd, make(chan struct{})
	go w.listen(pair[0], cmd, w.exited)
	return nil
}

// listen takes what the helper says, until it ends.
func (w *Witness) listen(socket int, helper *exec.Cmd, exited chan struct{}) {
	for from := new(message.Receiver); ; {
		m, fd, err := from.Next(socket)
		if err != nil {
			break
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		if m.Op == message.Ask {
			go w.answer(socket, m)
			continue
		}
		w.mu.Lock()
		key := reply{m.Op, m.ID}
		c := w.replies[key]
		delete(w.replies, key)
		w.mu.Unlock()
		if c != nil {
			c <- m
		}
	}
	w.mu.Lock()
	if w.socket == socket {
		w.socket = -1
	}
	w.mu.Unlock()
	close(exited)
	unix.Close(socket)
	_ = helper.Wait()
}

// answer asks whoever began the command whether something may be lost.
func (w *Witness) answer(socket int, m message.Message) {
	w.mu.Lock()
	x := w.watches[m.ID]
	w.mu.Unlock()
	allow := x != nil && x.ask != nil && x.ask(Loss{m.Path, m.Size, m.Why})
	_ = message.Send(socket, message.Message{Op: message.Answer, ID: m.ID, Question: m.Question, Allow: allow}, -1)
}

// request sends a message and waits for its answer.
func (w *Witness) request(m message.Message) (message.Message, error) {
	c := make(chan message.Message, 1)
	w.mu.Lock()
	socket, exited := w.socket, w.exited
	w.replies[reply{m.Op, m.ID}] = c
	w.mu.Unlock()
	err := errHelper
	if socket >= 0 {
		err = message.Send(socket, m, -1)
	}
	if err != nil {
		return message.Message{}, errHelper
	}
	select {
	case a := <-c:
		return a, nil
	case <-exited:
		return message.Message{}, errHelper
	}
}

var errHelper = errors.New("the witness of the command ended; from then on the command could change nothing")

// Begin prepares to witness a command. e is the ledger's entry for its begin; ask is
// asked before something is lost for good, and may be nil for no.
func (w *Witness) Begin(e ledger.Entry, oneRoot bool, ask func(Loss) bool) (*Watch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.start(); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	w.next++
	x := &Watch{w: w, id: w.next, ask: ask, dir: filepath.Join(w.dir, strconv.FormatInt(w.next, 10)),
		socket: os.NewFile(uintptr(pair[1]), "kerf-listener"), handed: make(chan struct{})}
	e.Cause, e.Certainty, e.Exact = ledger.CauseBegan, ledger.Proven, true
	e.Journal = filepath.Base(w.dir) + "/" + filepath.Base(x.dir)
	e.Changes = []ledger.Change{}
	entry, err := json.Marshal(&e)
	if err != nil {
		return nil, err
	}
	x.c = newCollector(x.dir, w.o.Roots, w.o.Store)
	w.watches[x.id] = x
	m := message.Message{Op: message.Watch, ID: x.id, Dir: x.dir, Roots: w.o.Roots, Ledger: w.o.Dir, Entry: entry,
		OneRoot: oneRoot}
	go x.hand(pair[0], w.socket, m)
	return x, nil
}

// Watch is one command that is witnessed.
type Watch struct {
	w      *Witness
	id     int64
	dir    string
	ask    func(Loss) bool
	socket *os.File
	pivot  atomic.Bool
	// ignored are the names of placeholders.
	ignored atomic.Pointer[[]string]
	handed  chan struct{} // closed when the listener was handed on, or never will be

	mu      sync.Mutex // guards what follows
	c       *collector
	reader  *journal.Reader
	over    bool
	doubted bool // nobody saw its end
}

// Socket is what the command's launcher sends the listener through. The caller closes it
// once the launcher runs.
func (x *Watch) Socket() *os.File { return x.socket }

// Ignore names what Kerf itself put into the workspace and takes away after the command.
func (x *Watch) Ignore(names []string) {
	x.ignored.Store(&names)
}

// OneRoot says that all processes of the command have the same root directory; it is
// called before the launcher runs, and makes the witness faster.
func (x *Watch) OneRoot() { x.pivot.Store(true) }

// hand waits for the listener and hands it on to the helper. End waits for it, with the lock.
func (x *Watch) hand(from, helper int, m message.Message) {
	defer close(x.handed)
	defer unix.Close(from)
	b, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := unix.Recvmsg(from, b, rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return // the command never came to be
		}
		list, err := unix.ParseSocketControlMessage(rights[:n])
		if err != nil || len(list) != 1 {
			return
		}
		fds, err := unix.ParseUnixRights(&list[0])
		if err != nil || len(fds) != 1 {
			return
		}
		m.OneRoot = m.OneRoot || x.pivot.Load()
		if names := x.ignored.Load(); names != nil {
			m.Ignore = *names
		}
		_ = message.Send(helper, m, fds[0]) // without a helper the command can change nothing
		unix.Close(fds[0])
		return
	}
}

// read takes in what the journal has more.
func (x *Watch) read() error {
	if x.reader == nil {
		r, err := journal.Open(x.dir)
		if err != nil {
			return err
		}
		x.reader = r
	}
	list, _, err := x.reader.Next()
	for i := range list {
		x.c.take(&list[i])
	}
	return err
}

// Collect tells what the command did since the last time, while it goes on. The command
// is held meanwhile where it is about to change something. use is called with the report
// before it goes on.
func (x *Watch) Collect(use func(Report)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return nil
	}
	a, err := x.w.request(message.Message{Op: message.Cut, ID: x.id})
	if err != nil || !a.Begun {
		if err == nil {
			_, err = x.w.request(message.Message{Op: message.Resume, ID: x.id})
		}
		return err
	}
	if err = x.read(); err == nil {
		use(x.report(message.Message{Op: message.Seen, ID: x.id}))
	}
	_, rerr := x.w.request(message.Message{Op: message.Resume, ID: x.id})
	return errors.Join(err, rerr)
}

// report tells what the command did. With seen the helper tells what others did while
// the names were looked at.
func (x *Watch) report(seen message.Message) Report {
	r := x.c.report(func() {
		_, err := x.w.request(seen)
		switch rerr := x.read(); {
		case err == nil && rerr == nil:
		case x.doubted:
			x.c.later()
		default:
			x.c.doubt(x.reader)
		}
	})
	r.ID = filepath.Base(x.w.dir) + "/" + filepath.Base(x.dir) + "/" + strconv.Itoa(x.c.cut)
	return r
}

// End tells what the command did since the last time, after it ended, and gives up its
// journal once use, which is called with the report, has returned true.
func (x *Watch) End(use func(Report) bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return nil
	}
	x.over = true
	x.socket.Close()
	<-x.handed
	a, err := x.w.request(message.Message{Op: message.End, ID: x.id})
	if a.Error != "" {
		err = errors.New("what the command did could not be recorded: " + a.Error)
	}
	defer x.forget()
	seen := message.Message{Op: message.Seen, ID: x.id, Ended: true}
	if rerr := x.read(); rerr != nil {
		_, _ = x.w.request(seen)
		if errors.Is(rerr, os.ErrNotExist) && !a.Begun {
			return err // it touched nothing
		}
		return errors.Join(err, rerr)
	}
	if err != nil { // nobody saw the end of it
		x.c.doubt(x.reader)
		x.doubted = true
	}
	x.c.cut++ // the end is one, too
	r := x.report(seen)
	r.Ended = true
	if use(r) {
		err = errors.Join(err, os.RemoveAll(x.dir))
	}
	return err
}

func (x *Watch) forget() {
	x.w.mu.Lock()
	delete(x.w.watches, x.id)
	x.w.mu.Unlock()
	if x.reader != nil {
		x.reader.Close()
	}
	x.c.close()
}

// Close ends the helper, which goes on until the commands that it watches have ended.
func (w *Witness) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.socket >= 0 {
		_ = unix.Shutdown(w.socket, unix.SHUT_RDWR)
		w.socket = -1
	}
	if w.lock == nil {
		return nil
	}
	err := claim.Release(w.dir, w.lock)
	w.lock = nil
	return err
}
