package supervise

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/held"
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

// slack is by how much the threads of a helper may sleep longer than they ask for. Go's runtime looks every 20 µs
// whether a thread is in a system call for long, as the helper is most of the time; that took as much of a
// processor as the helper's own work.
const slack = time.Millisecond

// Start starts a helper.
func Start(cmd *exec.Cmd) error {
	runtime.LockOSThread() // a process gets the slack of the thread that makes it
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }() // what it was
	return cmd.Start()
}

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
	hub    *held.Hub

	mu      sync.Mutex // guards what follows
	watches map[int64]*held.Watch
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
	s := &server{socket: socket, proc: proc, hub: held.NewHub(), watches: map[int64]*held.Watch{}, waiting: map[int64]chan bool{}}
	go s.hub.Attend()
	var wg sync.WaitGroup
	var from message.Receiver
	for {
		m, listener, err := from.Next(socket)
		if err != nil {
			break // Kerf is gone
		}
		if m.Op == message.Watch {
			w := s.add(m, listener)
			wg.Go(func() { s.run(m.ID, w, listener) })
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
		reply.Begun = w.Cut()
	case m.Op == message.Seen:
		// At the end of the command nothing is left to do then.
		if w.Seen(); m.Ended && w.Ended(0) {
			s.finish(m.ID, false)
		}
	case m.Op == message.Resume:
		w.Resume()
	case m.Op == message.End:
		wait := endWait
		if m.Brief {
			wait = briefWait
		}
		var err error
		if reply.Ended, reply.Begun, err = w.End(wait); err != nil {
			reply.Error = err.Error()
		}
	}
	_ = message.Send(s.socket, reply, -1) // without Kerf nobody waits for it
}

// add takes a command.
func (s *server) add(m message.Message, listener int) *held.Watch {
	w := s.hub.Watch(held.Options{Listener: listener, Dir: m.Dir, Roots: m.Roots, Ignore: m.Ignore, OneRoot: m.OneRoot,
		Begin: func() (int64, error) { return began(m) },
		Ask:   func(path, why string, size int64) bool { return s.ask(m.ID, path, why, size) }})
	s.mu.Lock()
	s.watches[m.ID] = w
	s.mu.Unlock()
	return w
}

// run witnesses a command until nothing of it runs any more.
func (s *server) run(id int64, w *held.Watch, fd int) {
	listener.WakeHere(fd)
	w.Serve(s.proc)
	s.mu.Lock()
	orphaned := s.gone
	s.mu.Unlock()
	if orphaned {
		s.finish(id, true)
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

// ask asks Kerf whether something may be lost.
func (s *server) ask(id int64, path, why string, size int64) bool {
	c := make(chan bool, 1)
	s.mu.Lock()
	s.asked++
	q := s.asked
	gone := s.gone
	s.waiting[q] = c
	s.mu.Unlock()
	m := message.Message{Op: message.Ask, ID: id, Question: q, Path: path, Why: why, Size: size}
	if gone || message.Send(s.socket, m, -1) != nil {
		return false
	}
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
	list := maps.Clone(s.watches)
	s.mu.Unlock()
	for id, w := range list {
		w.Resume()
		<-w.Done()
		s.finish(id, true)
	}
}

// finish ends the journal of a command, once.
func (s *server) finish(id int64, orphaned bool) {
	s.mu.Lock()
	w := s.watches[id]
	delete(s.watches, id)
	s.mu.Unlock()
	if w != nil {
		w.Finish(orphaned)
	}
}

// Ended waits, not longer than that, until no helper works on a journal.
func Ended(ctx context.Context, dir string, wait time.Duration) bool {
	end := time.Now().Add(wait)
	for Busy(dir) {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}

// Busy reports whether the helper of a journal still works on it.
func Busy(dir string) bool {
	fd, err := unix.Open(dir+"/"+journal.Name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer locate.Close(fd)
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
