package hub

import (
	"context"
	"strconv"
	"sync"
	"time"

	"kerf/internal/protocol"
)

// live is a session under way.
type live struct {
	under protocol.Session
	idle  time.Duration
	once  sync.Once
	gone  chan struct{} // closed when the session has ended and nobody finds it any more

	mu    sync.Mutex
	log   *log
	more  chan struct{} // closed and replaced when something was put
	over  bool          // the events have ended
	faces int
	life  string // names this opening of the session
	know  Info
	timer *time.Timer // ends the session when it was idle for long
}

func newLive(under protocol.Session, o protocol.OpenOptions, ho Options) *live {
	l := &live{under: under, idle: ho.Idle, gone: make(chan struct{}), log: newLog(ho.Limit), more: make(chan struct{})}
	l.know = Info{ID: under.ID(), State: Idle, Opened: time.Now(), Settings: o.Settings}
	l.life = strconv.FormatInt(l.know.Opened.UnixNano(), 36)
	return l
}

// run takes the events of the session until they end.
func (l *live) run() {
	for e := range l.under.Events() {
		l.put(e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.tell()
}

func (l *live) put(e protocol.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.put(e)
	l.know.Events = e.Seq
	l.learn(e)
	l.rest()
	l.tell()
}

// tell wakes the faces.
func (l *live) tell() {
	close(l.more)
	l.more = make(chan struct{})
}

// learn keeps what a list tells of the session.
func (l *live) learn(e protocol.Event) {
	switch e.Msg.(type) {
	case protocol.ApprovalRequested: // also those of sub-agents
		l.know.Questions++
	case protocol.ApprovalResolved:
		l.know.Questions = max(0, l.know.Questions-1)
	}
	if e.Agent == "" {
		switch m := e.Msg.(type) {
		case protocol.SessionStarted:
			l.know.Settings = m.Settings
		case protocol.SettingsChanged:
			l.know.Settings = m.Settings
		case protocol.TitleChanged:
			l.know.Title = m.Title
		case protocol.TurnStarted:
			l.know.Turn = e.Turn
		case protocol.TurnCompleted, protocol.TurnFailed, protocol.TurnAborted:
			l.know.Turn = ""
		case protocol.Processes:
			l.know.Processes = len(m.Running)
		}
	}
	switch {
	case l.know.Questions > 0:
		l.know.State = Waiting
	case l.know.Turn != "":
		l.know.State = Running
	default:
		l.know.State = Idle
	}
}

// rest starts or stops the clock after which an idle session is closed.
func (l *live) rest() {
	if l.idle <= 0 {
		return
	}
	if busy := l.faces > 0 || l.know.State != Idle || l.know.Processes > 0; busy || l.over {
		if l.timer != nil {
			l.timer.Stop()
			l.timer = nil
		}
		return
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(l.idle, l.expire)
	}
}

// expire closes the session if it is still idle.
func (l *live) expire() {
	l.mu.Lock()
	still := l.timer != nil && l.faces == 0
	l.mu.Unlock()
	if still {
		l.end()
	}
}

// end closes the session below.
func (l *live) end() { l.once.Do(func() { _ = l.under.Close() }) }

func (l *live) info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.know
	i.Faces = l.faces
	return i
}

// attach adds a face that begins behind since, or joins at the running turn.
func (l *live) attach(since uint64, join bool) *Face {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faces++
	l.rest()
	ctx, stop := context.WithCancel(context.Background())
	f := &Face{live: l, stop: stop, events: make(chan protocol.Event), Turn: l.know.Turn, Last: l.know.Events,
		First: l.log.first, Life: l.life}
	var first []protocol.Event
	if join {
		first, since = l.log.join(), l.log.last
	}
	go f.pump(ctx, first, since)
	return f
}

// Face is one front end's view of a live session. Closing it leaves the session alone.
type Face struct {
	live   *live
	stop   context.CancelFunc
	events chan protocol.Event
	once   sync.Once

	// What was so when it was attached: the running turn, the number of the newest event,
	// and the oldest number from which on all events are kept.
	Turn        protocol.TurnID
	Last, First uint64
	// Life names this opening of the session: each numbers its events from 1.
	Life string
}

var (
	_ protocol.Session = (*Face)(nil)
	_ protocol.Joined  = (*Face)(nil)
)

// Running is the turn that ran when it was attached, or nothing.
func (f *Face) Running() protocol.TurnID { return f.Turn }

// ID is that of the session.
func (f *Face) ID() protocol.SessionID { return f.live.under.ID() }

// Submit hands an Op to the session.
func (f *Face) Submit(ctx context.Context, s protocol.Submission) error {
	return f.live.under.Submit(ctx, s)
}

// Events is closed after SessionEnded, or after Close. A front end that takes none keeps
// nobody else waiting.
func (f *Face) Events() <-chan protocol.Event { return f.events }

// Close leaves the session.
func (f *Face) Close() error {
	f.once.Do(func() {
		f.stop()
		f.live.mu.Lock()
		defer f.live.mu.Unlock()
		f.live.faces--
		f.live.rest()
	})
	return nil
}

// batch is how many events a face takes from the log at once.
const batch = 64

// pump sends the first events and those after since.
func (f *Face) pump(ctx context.Context, first []protocol.Event, since uint64) {
	defer close(f.events)
	for _, e := range first {
		select {
		case f.events <- e:
		case <-ctx.Done():
			return
		}
	}
	for {
		f.live.mu.Lock()
		events, more, over := f.live.log.after(since, batch), f.live.more, f.live.over
		f.live.mu.Unlock()
		for _, e := range events {
			select {
			case f.events <- e:
				since = e.Seq
			case <-ctx.Done():
				return
			}
		}
		switch {
		case len(events) > 0:
			continue
		case over:
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}
