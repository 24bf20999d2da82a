package supervise

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/listener"
	"kerf/internal/work/witness/supervise/message"
)

// The helper has to be there before the other packages of Kerf: they are not needed.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Flag {
		os.Exit(main())
	}
}

// socketFD is the helper's end of the socket.
const socketFD = 3

// endWait is how long the helper waits for the last processes of a command, which the
// kernel ends one after the other.
const endWait = 2 * time.Second

// briefWait is the same where processes may stay for good.
const briefWait = 200 * time.Millisecond

func main() int {
	// It goes on when Kerf is interrupted or gone.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP)
	unix.Umask(0o077)
	debug.SetGCPercent(400)
	unix.CloseOnExec(socketFD)
	if err := Serve(socketFD); err != nil {
		return 1
	}
	return 0
}

// server is a helper.
type server struct {
	socket int
	proc   int
	hub    *hub

	mu      sync.Mutex // guards what follows
	watches map[int64]*watch
	waiting map[int64]chan bool // for answers
	asked   int64
	gone    bool // Kerf is
}

// Serve is the life of a helper: it takes commands from a socket until the other end is
// closed and nothing of them runs any more.
func Serve(socket int) error {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer locate.Close(proc)
	s := &server{socket: socket, proc: proc, hub: newHub(), watches: map[int64]*watch{}, waiting: map[int64]chan bool{}}
	go s.hub.attend()
	var wg sync.WaitGroup
	for {
		m, listener, err := message.Receive(socket)
		if err != nil {
			break // Kerf is gone
		}
		if m.Op == message.Watch {
			w := s.add(m, listener)
			wg.Go(func() { s.run(w) })
			continue
		}
		wg.Go(func() { s.obey(m) })
	}
	s.orphan()
	wg.Wait()
	return nil
}

// obey carries out a message.
func (s *server) obey(m message.Message) {
	if m.Op == message.Answer {
		s.mu.Lock()
		c := s.waiting[m.Question]
		delete(s.waiting, m.Question)
		s.mu.Unlock()
		if c != nil {
			c <- m.Allow
		}
		return
	}
	s.mu.Lock()
	w := s.watches[m.ID]
	s.mu.Unlock()
	reply := message.Message{Op: m.Op, ID: m.ID}
	switch {
	case w == nil && m.Op == message.End:
		reply.Ended = true // the command never came to be
	case w == nil:
		reply.Error = "no such command"
	case m.Op == message.Cut:
		s.hub.mu.Lock()
		w.cut()
		reply.Begun = w.journal != nil
		s.hub.mu.Unlock()
	case m.Op == message.Seen:
		s.seen(w, m.Ended)
	case m.Op == message.Resume:
		s.hub.mu.Lock()
		w.resume()
		s.hub.mu.Unlock()
	case m.Op == message.End:
		wait := endWait
		if m.Brief {
			wait = briefWait
		}
		reply.Ended = w.ended(wait)
		s.hub.mu.Lock()
		s.hub.drain()
		if reply.Ended {
			w.closings()
		}
		reply.Begun = w.journal != nil
		if w.failed != nil {
			reply.Error = w.failed.Error()
		}
		s.hub.mu.Unlock()
	}
	_ = message.Send(s.socket, reply, -1) // without Kerf nobody waits for it
}

// seen tells what others did while Kerf read what the command touched. At the end of the
// command nothing is left to do then.
func (s *server) seen(w *watch, ended bool) {
	s.hub.mu.Lock()
	s.hub.drain()
	s.hub.mu.Unlock()
	if ended && w.ended(0) {
		s.finish(w, false)
	}
}

// add takes a command.
func (s *server) add(m message.Message, listener int) *watch {
	w := &watch{id: m.ID, hub: s.hub, listener: listener, dirPath: m.Dir, keeper: content.Keeper{Dir: -1}, names: map[string]*name{},
		files: map[content.Inode]*file{}, wrote: map[content.Inode]journal.Sig{}, calls: map[uint32]*pending{}, ignored: map[string]bool{},
		apartFrom: map[int32]bool{}, done: make(chan struct{})}
	for _, p := range m.Ignore {
		w.ignored[p] = true
	}
	w.find1.Root, w.find1.Fixed = -1, m.OneRoot
	w.find1.Known = func(name string) bool { return s.hub.hold(w, name) != nil }
	w.begin = func() (int64, error) { return began(m) }
	w.ask = func(path, why string, size int64) bool { return s.ask(w, path, why, size) }
	for _, p := range m.Roots {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			w.failed = err
			continue
		}
		w.roots = append(w.roots, root{p, fd})
	}
	s.mu.Lock()
	s.watches[m.ID] = w
	s.mu.Unlock()
	s.hub.mu.Lock()
	s.hub.watches = append(s.hub.watches, w)
	s.hub.mu.Unlock()
	return w
}

// run witnesses a command until nothing of it runs any more.
func (s *server) run(w *watch) {
	listener.WakeHere(w.listener)
	w.serve(s.proc)
	s.mu.Lock()
	orphaned := s.gone
	s.mu.Unlock()
	if orphaned {
		s.finish(w, true)
	}
}

// began makes the ledger's entry that a command is about to change something.
func began(m message.Message) (int64, error) {
	var e ledger.Entry
	if err := json.Unmarshal(m.Entry, &e); err != nil {
		return 0, err
	}
	l, err := ledger.Open(m.Ledger)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	if err := l.Append(&e); err != nil {
		return 0, err
	}
	return e.Seq, l.Sync()
}

// ask asks Kerf whether something may be lost. The hub is not held meanwhile.
func (s *server) ask(w *watch, path, why string, size int64) bool {
	c := make(chan bool, 1)
	s.mu.Lock()
	s.asked++
	q := s.asked
	gone := s.gone
	s.waiting[q] = c
	s.mu.Unlock()
	m := message.Message{Op: message.Ask, ID: w.id, Question: q, Path: path, Why: why, Size: size}
	if gone || message.Send(s.socket, m, -1) != nil {
		return false
	}
	s.hub.mu.Unlock()
	defer s.hub.mu.Lock()
	return <-c
}

// orphan goes on without Kerf: nobody answers, collects, or says when a command ended.
func (s *server) orphan() {
	s.mu.Lock()
	s.gone = true
	for q, c := range s.waiting {
		c <- false
		delete(s.waiting, q)
	}
	list := make([]*watch, 0, len(s.watches))
	for _, w := range s.watches {
		list = append(list, w)
	}
	s.mu.Unlock()
	for _, w := range list {
		s.hub.mu.Lock()
		w.resume()
		s.hub.mu.Unlock()
		<-w.done
		s.finish(w, true)
	}
}

// finish ends the journal of a command, once.
func (s *server) finish(w *watch, orphaned bool) {
	s.mu.Lock()
	_, there := s.watches[w.id]
	delete(s.watches, w.id)
	s.mu.Unlock()
	if there {
		s.hub.mu.Lock()
		w.finish(orphaned)
		s.hub.mu.Unlock()
	}
}

// Busy reports whether the helper of a journal still works on it.
func Busy(dir string) bool {
	fd, err := unix.Open(dir+"/"+journal.Name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer locate.Close(fd)
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
