package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kerf/internal/protocol"
)

// played is a session whose events a test makes.
type played struct {
	id     protocol.SessionID
	events chan protocol.Event
	once   sync.Once

	mu        sync.Mutex
	submitted []protocol.Op
}

func newPlayed(id string) *played {
	return &played{id: protocol.SessionID(id), events: make(chan protocol.Event)}
}

func (p *played) ID() protocol.SessionID        { return p.id }
func (p *played) Events() <-chan protocol.Event { return p.events }
func (p *played) Close() error {
	p.once.Do(func() { close(p.events) })
	return nil
}

func (p *played) Submit(_ context.Context, s protocol.Submission) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.submitted = append(p.submitted, s.Op)
	return nil
}

// opens opens played sessions.
type opens struct {
	mu  sync.Mutex
	all []*played
	err error
}

func (o *opens) Open(_ context.Context, op protocol.OpenOptions) (protocol.Session, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return nil, o.err
	}
	id := op.Resume
	if id == "" {
		id = fmt.Sprintf("s%d", len(o.all)+1)
	}
	p := newPlayed(id)
	o.all = append(o.all, p)
	return p, nil
}

func (o *opens) find(_ context.Context, op protocol.OpenOptions) (protocol.SessionID, error) {
	if op.Resume == "nosuch" {
		return "", protocol.ErrNoSession
	}
	return protocol.SessionID(op.Resume), nil
}

// writer makes the events of a plausible session.
type writer struct {
	r         *rand.Rand
	seq       uint64
	turn      int
	open      []protocol.ItemID
	items     int
	questions []protocol.ApprovalID
	texts     map[protocol.ItemID]string // of all items, as far as they grew
}

func (w *writer) next() protocol.Event {
	w.seq++
	e := protocol.Event{Seq: w.seq, Turn: protocol.TurnID(fmt.Sprint(w.turn))}
	switch n := w.r.IntN(12); {
	case w.seq == 1:
		e.Msg = protocol.SessionStarted{Session: "s1"}
	case n == 0 && len(w.open) == 0:
		w.turn++
		e.Turn = protocol.TurnID(fmt.Sprint(w.turn))
		e.Msg = protocol.TurnStarted{}
	case n == 1 && len(w.open) == 0:
		e.Msg = protocol.TurnCompleted{}
	case n <= 3:
		w.items++
		id := protocol.ItemID(fmt.Sprint("i", w.items))
		w.open = append(w.open, id)
		e.Msg = protocol.ItemStarted{Item: protocol.Item{ID: id, Body: protocol.AgentMessage{}}}
	case n <= 8 && len(w.open) > 0:
		id := w.open[w.r.IntN(len(w.open))]
		text := fmt.Sprintf("<%d>", w.seq)
		w.texts[id] += text
		e.Msg = protocol.ItemDelta{Item: id, Text: text}
	case n == 9 && len(w.open) > 0:
		i := w.r.IntN(len(w.open))
		id := w.open[i]
		w.open = slices.Delete(w.open, i, i+1)
		e.Msg = protocol.ItemCompleted{Item: protocol.Item{ID: id, Body: protocol.AgentMessage{Text: w.texts[id]}}}
	case n == 10:
		id := protocol.ApprovalID(fmt.Sprint("q", w.seq))
		w.questions = append(w.questions, id)
		e.Msg = protocol.ApprovalRequested{Approval: protocol.Approval{ID: id}}
	case n == 11 && len(w.questions) > 0:
		i := w.r.IntN(len(w.questions))
		e.Msg = protocol.ApprovalResolved{Approval: w.questions[i]}
		w.questions = slices.Delete(w.questions, i, i+1)
	default:
		e.Msg = protocol.TitleChanged{Title: fmt.Sprint(w.seq)}
	}
	return e
}

// seen is what a front end knows of a session from the events it got.
type seen struct {
	t         *testing.T
	last      uint64
	numbers   []uint64
	missed    bool
	texts     map[protocol.ItemID]string
	open      map[protocol.ItemID]bool
	questions map[protocol.ApprovalID]bool
	title     string
}

func newSeen(t *testing.T) *seen {
	return &seen{t: t, texts: map[protocol.ItemID]string{}, open: map[protocol.ItemID]bool{},
		questions: map[protocol.ApprovalID]bool{}}
}

func (s *seen) hear(e protocol.Event) {
	if e.Seq <= s.last {
		s.t.Errorf("event %d after %d", e.Seq, s.last)
	}
	s.last = e.Seq
	s.numbers = append(s.numbers, e.Seq)
	switch m := e.Msg.(type) {
	case protocol.ItemStarted:
		s.open[m.Item.ID] = true
	case protocol.ItemDelta:
		s.texts[m.Item] += m.Text
	case protocol.ItemCompleted:
		delete(s.open, m.Item.ID)
		s.texts[m.Item.ID] = m.Item.Body.(protocol.AgentMessage).Text
	case protocol.ApprovalRequested:
		s.questions[m.Approval.ID] = true
	case protocol.ApprovalResolved:
		delete(s.questions, m.Approval)
	case protocol.TitleChanged:
		s.title = m.Title
	case protocol.Warning:
		s.missed = true
	}
}

// TestFacesSeeTheSameEvents plays random schedules: events, faces that come, go without a
// word, come back at the number they had, take events or let them lie. In the end each
// knows what the session said: every event but the growth of complete items, in order,
// where the log was large enough; and always the open items with their texts, the open
// questions and the latest title.
func TestFacesSeeTheSameEvents(t *testing.T) {
	for seed := range uint64(10_000) {
		synctest.Test(t, func(t *testing.T) { playSchedule(t, rand.New(rand.NewPCG(seed, 7))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type viewer struct {
	face   *Face
	seen   *seen
	joined bool // at a turn
}

func playSchedule(t *testing.T, r *rand.Rand) {
	limit := 1 << 30
	if r.IntN(2) == 0 {
		limit = 256 * (4 + r.IntN(20))
	}
	o := &opens{}
	h := New(Options{Sessions: o, Find: o.find, Limit: limit})
	first, err := h.OpenAt(context.Background(), protocol.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	under := o.all[0]
	w := &writer{r: r, texts: map[protocol.ItemID]string{}}
	var told []protocol.Event
	viewers := []*viewer{{face: first, seen: newSeen(t)}}
	take := func(v *viewer, n int) {
		for range n {
			synctest.Wait()
			select {
			case e, ok := <-v.face.Events():
				if !ok {
					t.Error("the events ended")
					return
				}
				v.seen.hear(e)
			default:
				return
			}
		}
	}
	for range 10 + r.IntN(40) {
		switch r.IntN(8) {
		case 0: // a new one
			f, err := h.Attach("s1", 0)
			if err != nil {
				t.Fatal(err)
			}
			viewers = append(viewers, &viewer{face: f, seen: newSeen(t)})
			if f, err = h.Join("s1"); err != nil {
				t.Fatal(err)
			}
			viewers = append(viewers, &viewer{face: f, seen: newSeen(t), joined: true})
		case 1: // one goes, and comes back where it was
			v := viewers[r.IntN(len(viewers))]
			_ = v.face.Close()
			if v.joined && v.seen.last < v.face.Last { // it does not know all that it must
				v.face, err = h.Join("s1")
				v.seen = newSeen(t)
			} else {
				v.face, err = h.Attach("s1", v.seen.last)
			}
			if err != nil {
				t.Fatal(err)
			}
		case 2: // one goes for good
			if i := r.IntN(len(viewers)); len(viewers) > 1 {
				_ = viewers[i].face.Close()
				viewers = slices.Delete(viewers, i, i+1)
			}
		case 3, 4:
			take(viewers[r.IntN(len(viewers))], r.IntN(20))
		default:
			for range 1 + r.IntN(10) {
				e := w.next()
				told = append(told, e)
				under.events <- e
			}
		}
	}
	for _, v := range viewers {
		take(v, 1<<20)
		v.check(t, w, told, limit == 1<<30)
		_ = v.face.Close()
	}
	h.Close()
}

// check compares what a viewer knows with what was said.
func (v *viewer) check(t *testing.T, w *writer, told []protocol.Event, whole bool) {
	s := v.seen
	if len(told) == 0 {
		return
	}
	complete := map[protocol.ItemID]bool{}
	var latest string
	for _, e := range told {
		switch m := e.Msg.(type) {
		case protocol.ItemCompleted:
			complete[m.Item.ID] = true
		case protocol.TitleChanged:
			latest = m.Title
		}
	}
	if whole && !v.joined {
		if s.missed {
			t.Error("something was missed, although everything is kept")
		}
		for _, e := range told {
			d, growth := e.Msg.(protocol.ItemDelta)
			if growth && complete[d.Item] {
				continue
			}
			if !slices.Contains(s.numbers, e.Seq) {
				t.Errorf("event %d (%T) was not seen", e.Seq, e.Msg)
			}
		}
	}
	if s.title != latest {
		t.Errorf("title %q, want %q", s.title, latest)
	}
	for _, id := range w.open {
		if !s.open[id] {
			t.Errorf("item %s is open and was not seen", id)
		}
		if !s.missed && s.texts[id] != w.texts[id] {
			t.Errorf("item %s: %q, want %q", id, s.texts[id], w.texts[id])
		}
	}
	for _, id := range w.questions {
		if !s.questions[id] {
			t.Errorf("question %s is open and was not seen", id)
		}
	}
	if !s.missed && (len(s.open) != len(w.open) || len(s.questions) != len(w.questions)) {
		t.Errorf("open: %v, %v; want %v, %v", s.open, s.questions, w.open, w.questions)
	}
}

// TestTheLogIsBounded says many things, and looks at what is kept.
func TestTheLogIsBounded(t *testing.T) {
	const limit = 64 << 10
	l := newLog(limit)
	w := &writer{r: rand.New(rand.NewPCG(3, 4)), texts: map[protocol.ItemID]string{}}
	for range 50_000 {
		l.put(w.next())
		if l.size > limit {
			t.Fatalf("%d bytes are kept at event %d", l.size, w.seq)
		}
		if len(w.open) > 50 { // as many as the writer would ever have open
			w.open = w.open[:0]
			clear(l.pins)
		}
	}
	if l.first < 2 || len(l.entries) > limit/256 {
		t.Errorf("first %d, %d entries", l.first, len(l.entries))
	}
}

func TestASessionIsOpenedOnce(t *testing.T) {
	o := &opens{}
	h := New(Options{Sessions: o, Find: o.find})
	defer h.Close()
	ctx := context.Background()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			s, err := h.Open(ctx, protocol.OpenOptions{Resume: "old", Settings: protocol.Settings{Model: "m"}})
			if err != nil {
				t.Error(err)
				return
			}
			_ = s.Close()
		})
	}
	wg.Wait()
	if len(o.all) != 1 || len(h.List()) != 1 {
		t.Fatalf("%d sessions, %d listed", len(o.all), len(h.List()))
	}
	if n := len(o.all[0].submitted); n != 19 {
		t.Errorf("%d faces had their settings taken, want 19", n)
	}
	if h.List()[0].Faces != 0 {
		t.Error("a face is left")
	}
	if _, err := h.Open(ctx, protocol.OpenOptions{Resume: "nosuch"}); !errors.Is(err, protocol.ErrNoSession) {
		t.Error(err)
	}
	o.err = errors.New("no key")
	if _, err := h.Open(ctx, protocol.OpenOptions{}); !errors.Is(err, o.err) {
		t.Error(err)
	}
}

// held is sessions some of which are opened only when told so.
type held struct {
	opens
	asked, goOn chan string
}

func (s *held) Open(ctx context.Context, o protocol.OpenOptions) (protocol.Session, error) {
	if strings.HasPrefix(o.Resume, "slow") {
		s.asked <- o.Resume
		<-s.goOn
	}
	return s.opens.Open(ctx, o)
}

// TestASlowOpeningHoldsUpNobody but those who want the same session; and the hub's end.
func TestASlowOpeningHoldsUpNobody(t *testing.T) {
	o := &held{asked: make(chan string, 9), goOn: make(chan string)}
	h := New(Options{Sessions: o, Find: o.find})
	ctx := context.Background()
	var wg sync.WaitGroup
	slow := func(id string) {
		wg.Go(func() {
			if _, err := h.Open(ctx, protocol.OpenOptions{Resume: id}); err != nil {
				t.Error(err)
			}
		})
	}
	slow("slow")
	<-o.asked
	slow("slow")
	for _, resume := range []string{"", "other", ""} {
		if _, err := h.Open(ctx, protocol.OpenOptions{Resume: resume}); err != nil {
			t.Errorf("%q: %v", resume, err)
		}
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	if _, err := h.Open(gone, protocol.OpenOptions{Resume: "slow"}); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not wait gets %v", err)
	}
	o.goOn <- ""
	wg.Wait()
	slow("slow too")
	<-o.asked
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.Close()
	}()
	for { // until the end has begun
		f, err := h.Open(ctx, protocol.OpenOptions{})
		if errors.Is(err, ErrEnded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	o.goOn <- ""
	wg.Wait()
	<-closed
	if len(o.asked) > 0 || len(h.List()) > 0 {
		t.Errorf("%d more openings, %d sessions are left", len(o.asked), len(h.List()))
	}
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &opens{}
		h := New(Options{Sessions: o, Find: o.find})
		s, err := h.Open(context.Background(), protocol.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seq := uint64(0)
		steps := []struct {
			msg  protocol.Msg
			want State
		}{{protocol.SessionStarted{}, Idle}, {protocol.TurnStarted{}, Running},
			{protocol.ApprovalRequested{Approval: protocol.Approval{ID: "q"}}, Waiting},
			{protocol.ApprovalResolved{Approval: "q"}, Running}, {protocol.TurnFailed{}, Idle}}
		for _, st := range steps {
			seq++
			o.all[0].events <- protocol.Event{Seq: seq, Turn: "t", Msg: st.msg}
			synctest.Wait()
			if got := h.List()[0].State; got != st.want {
				t.Errorf("%T: %s, want %s", st.msg, got, st.want)
			}
		}
		_ = s.Close()
		h.Close()
		if len(h.List()) != 0 {
			t.Error("a session is left")
		}
		if _, err := h.Open(context.Background(), protocol.OpenOptions{}); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	})
}

// TestIdleSessionsEnd: only those that nobody watches and that do nothing.
func TestIdleSessionsEnd(t *testing.T) {
	tests := []struct {
		name string
		msgs []protocol.Msg
		stay bool
		ends bool
	}{
		{name: "idle", ends: true},
		{name: "watched", stay: true},
		{name: "running", msgs: []protocol.Msg{protocol.TurnStarted{}}},
		{name: "ended", msgs: []protocol.Msg{protocol.TurnStarted{}, protocol.TurnCompleted{}}, ends: true},
		{name: "background", msgs: []protocol.Msg{protocol.Processes{Running: []protocol.Process{{ID: 1}}}}},
		{name: "waiting", msgs: []protocol.Msg{protocol.ApprovalRequested{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &opens{}
				h := New(Options{Sessions: o, Find: o.find, Idle: time.Hour})
				s, err := h.Open(context.Background(), protocol.OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if !tt.stay {
					_ = s.Close()
				}
				for i, m := range tt.msgs {
					o.all[0].events <- protocol.Event{Seq: uint64(i + 1), Turn: "t", Msg: m}
				}
				time.Sleep(59 * time.Minute)
				if len(h.List()) != 1 {
					t.Error("it ended early")
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if ended := len(h.List()) == 0; ended != tt.ends {
					t.Errorf("ended: %v, want %v", ended, tt.ends)
				}
				_ = s.Close()
				h.Close()
			})
		})
	}
}

// TestALongTextIsJoinedInOneStep: joining at a text of many parts, and forgetting old events
// in the middle of one, take memory in proportion to the text.
func TestALongTextIsJoinedInOneStep(t *testing.T) {
	const parts, part = 20_000, "some words"
	for _, limit := range []int{64 << 20, 1 << 20} {
		l := newLog(limit)
		l.put(protocol.Event{Seq: 1, Msg: protocol.ItemStarted{Item: protocol.Item{ID: "a", Body: protocol.AgentMessage{}}}})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for n := range uint64(parts) {
			l.put(protocol.Event{Seq: n + 2, Msg: protocol.ItemDelta{Item: "a", Text: part}})
		}
		text := 0
		for _, e := range l.join() {
			if d, ok := e.Msg.(protocol.ItemDelta); ok {
				text += len(d.Text)
			}
		}
		runtime.ReadMemStats(&after)
		if text != parts*len(part) {
			t.Errorf("limit %d: %d bytes of %d are joined", limit, text, parts*len(part))
		}
		// An event takes some 200 bytes by itself, and the list of them grows.
		if n := (after.TotalAlloc - before.TotalAlloc) / parts; n > 4000 {
			t.Errorf("limit %d: %d bytes for each part", limit, n)
		}
	}
}
