// Package session runs conversations: it feeds turn.Core and does what the core
// decides.
//
// # Goroutines of a session
//
//   - the loop, started by Start, which alone owns the core, the rollout and the
//     open calls; it may block on the rollout's disk only;
//   - one reader of the model stream at most; it ends when its request does;
//   - one per effect that is under way (calls, timers, gathering, settling),
//     bounded by the core; they end when their context is cancelled or they are
//     done, and only send to the loop;
//   - one writer of events, which ends after the last event was taken or the
//     session was abandoned.
//
// The loop waits for all of them before it ends.
package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/history"
	"kerf/internal/agent/hooks"
	"kerf/internal/agent/prompt"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/team"
	"kerf/internal/agent/turn"
	"kerf/internal/agent/view"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Options make a session.
type Options struct {
	ID       protocol.SessionID
	Settings protocol.Settings
	Provider string
	Resumed  bool
	// State is what a resumed session starts with, or nil.
	State *history.State
	// Rollout is where records go; nil keeps none (ephemeral sessions).
	Rollout *rollout.Writer
	Meta    rollout.Metadata

	Client       model.Client
	Prompt       prompt.Fixed
	Window       int
	OutputTokens int // budget of one tool output
	// Retries, Limits, Cost and Budget are those of turn.Options.
	Retries func(model string) (requests, streams int)
	Limits  func(model string) (window, limit int)
	Cost    func(model string, u protocol.Usage) float64
	Budget  turn.Budget

	Executor   Executor
	Background Background
	// View is what the model has seen, which the executor shares.
	View *view.View
	// Redact takes secrets out of the words of others; nil takes none.
	Redact func([]byte) []byte
	// Hooks watch the session and may object; nil has none.
	Hooks *hooks.Set
	// Dirty tells whether the work tree was dirty at the start, once that is known;
	// nil knows nothing.
	Dirty func(within time.Duration) (dirty, known bool)
	// Serve, when not nil, starts what asks and tells by itself: the MCP servers.
	Serve func(mcp.Front)
	// Agents are the sub-agents it may have.
	Agents Agents
	// Refuse says why settings are not allowed, see turn.Options.
	Refuse func(protocol.Settings) string
	// Headless sessions have nobody to ask.
	Headless bool
	Warnings []string
	// Release is called when the session has ended.
	Release func()
	// Observe is told each event, in order; it must not wait. It may be nil.
	Observe func(protocol.Event)
}

// Session is one live conversation. It implements protocol.Session.
type Session struct {
	o    Options
	core *turn.Core

	team    *team.Team
	journal *journal // owned by the loop

	inputs chan message
	events chan protocol.Event
	outbox *outbox
	ctx    context.Context // of the effects; cancelled when the loop ends
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	done   chan struct{}

	// Owned by the loop.
	stops   map[any]context.CancelFunc // by round (int), timer, CallID
	seq     uint64
	began   time.Time // of the running turn
	turnID  protocol.TurnID
	greeted atomic.Bool                      // the hooks of the start have run
	running []protocol.Process               // as last told
	replies map[turn.Asker]chan<- turn.Reply // to those that wait for an answer

	asked atomic.Int64 // questions that the session itself put beside its calls
	named atomic.Int64 // submissions that came without an id
	said  said
}

// timer is the key of a timer in stops.
type timer int

// message is one input with what the core need not know, or something to tell
// that the core has no part in.
type message struct {
	in    turn.Input
	reply chan<- turn.Reply // where the answer to turn.Asked goes
	told  protocol.Msg
	woken bool            // something was said
	event *protocol.Event // of a sub-agent, or about them
}

// queue is how many inputs may wait for the loop.
const queue = 256

// Start starts a session. The caller must drain Events and call Close.
func Start(o Options) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Session{o: o, inputs: make(chan message, queue),
		events: make(chan protocol.Event), ctx: ctx, cancel: cancel, done: make(chan struct{}),
		stops: map[any]context.CancelFunc{}, replies: map[turn.Asker]chan<- turn.Reply{}}
	s.core = turn.New(turn.Options{Settings: o.Settings, Parallel: executor.Parallel,
		Retries: o.Retries, Window: o.Window,
		Limits: o.Limits, Cost: o.Cost, Budget: o.Budget, Headless: o.Headless, Refuse: o.Refuse}, o.State)
	if o.State != nil {
		for _, r := range o.State.Observations {
			s.o.View.Record(r)
		}
	}
	s.journal = &journal{rollout: o.Rollout, meta: o.Meta, dirty: o.Dirty, warn: func(text string) {
		s.tell(turn.Told{Turn: s.turnID, Msg: protocol.Warning{Message: text}})
	}}
	if o.Serve != nil {
		o.Serve(mcp.Front{Ask: s.Ask, Tell: s.say})
	}
	s.register()
	s.followBackground()
	s.outbox = newOutbox()
	go s.outbox.pump(s.events)
	go s.loop()
	return s
}

// ID returns the session's id.
func (s *Session) ID() protocol.SessionID { return s.o.ID }

// Events returns the events; it is closed after SessionEnded.
func (s *Session) Events() <-chan protocol.Event { return s.events }

// Submit hands an Op to the session. A submission without an id gets one that no other
// of the session has, before or after it was resumed: turns are told apart by it.
func (s *Session) Submit(ctx context.Context, sub protocol.Submission) error {
	if sub.ID == "" {
		sub.ID = fmt.Sprintf("turn-%s-%d", strconv.FormatInt(time.Now().UnixMilli(), 36), s.named.Add(1))
	}
	select {
	case <-s.done:
		return fmt.Errorf("session %s has ended", s.o.ID)
	default:
	}
	select {
	case s.inputs <- message{in: turn.Submit{ID: sub.ID, Op: sub.Op}}:
		return nil
	case <-s.done:
		return fmt.Errorf("session %s has ended", s.o.ID)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close shuts the session down and waits for it. Events that nobody takes any
// more are thrown away.
func (s *Session) Close() error {
	_ = s.Submit(context.Background(), protocol.Submission{ID: "close", Op: protocol.Shutdown{}})
	s.outbox.abandon()
	<-s.done
	return nil
}

func (s *Session) loop() {
	defer close(s.done)
	s.open()
	for m := range s.inputs {
		if !s.step(m) {
			break
		}
	}
	s.cancel()
	s.drain()
	s.close()
}

// drain waits for the effects that are still under way; their answers, and what
// front ends still submit, go nowhere.
func (s *Session) drain() {
	over := make(chan struct{})
	go func() { s.tasks.Wait(); close(over) }()
	for {
		select {
		case <-s.inputs:
		case <-over:
			return
		}
	}
}

// step feeds one input to the core and carries out what follows: records first,
// then events, then effects. It reports whether the session goes on.
func (s *Session) step(m message) bool {
	for _, words := range s.said.take() {
		s.tell(turn.Told{Turn: s.turnID, Msg: words})
	}
	if m.woken {
		return true
	}
	if m.event != nil {
		s.relay(*m.event)
		return true
	}
	if m.in != nil && s.route(m.in) {
		return true
	}
	if m.told != nil {
		s.tell(turn.Told{Turn: s.turnID, Msg: m.told})
		return true
	}
	switch in := m.in.(type) {
	case turn.Reviewed:
		delete(s.stops, in.Call)
	case turn.Checked:
		delete(s.stops, in.Call)
	case turn.ShellDone:
		delete(s.stops, in.Call)
	case turn.Prepared:
		delete(s.stops, in.Call)
	case turn.Finished:
		delete(s.stops, in.Call)
	case turn.AskAgain:
		delete(s.stops, in.Call)
	case turn.Asked:
		if m.reply != nil {
			s.replies[in.From] = m.reply
		}
	case turn.Withdrawn:
		delete(s.replies, in.From)
	case turn.StreamEnded:
		delete(s.stops, in.Round)
	case turn.Elapsed:
		delete(s.stops, timer(in.Timer))
	case turn.Settled:
		if err := s.journal.failed; err != nil && in.Unrecorded == "" && in.GoOn == "" {
			in.Unrecorded = fmt.Sprintf("the session is not wholly recorded: %v", err)
			m.in = in
		}
	}
	ready := s.core.Step(m.in)
	s.write(ready.Records)
	for _, t := range ready.Events {
		s.tell(t)
	}
	more := true
	for _, e := range ready.Effects {
		more = s.start(e) && more
	}
	s.tellProcesses(m.in)
	s.journal.begin() // the request is on its way by now
	return more
}

// open writes the first record and tells that the session is there.
func (s *Session) open() {
	if !s.o.Resumed {
		s.write([]history.Record{history.SessionMeta{ID: s.o.ID, Parent: protocol.SessionID(s.o.Meta.Parent),
			Cwd:     s.o.Settings.Cwd,
			Version: executor.Version, Source: s.o.Meta.Source, Model: s.o.Settings.Model, Provider: s.o.Provider,
			Instructions: s.o.Prompt.Instructions}})
	}
	s.tell(turn.Told{Msg: protocol.SessionStarted{Session: s.o.ID, Settings: s.o.Settings, Provider: s.o.Provider,
		Resumed: s.o.Resumed}})
	for _, w := range s.o.Warnings {
		s.tell(turn.Told{Msg: protocol.Warning{Message: w}})
	}
}

func (s *Session) close() {
	s.farewell()
	s.team.Close()
	s.o.Executor.Close()
	s.journal.close()
	if s.o.Release != nil {
		s.o.Release()
	}
	s.outbox.close()
}

// write makes records durable, before anything that follows from them.
func (s *Session) write(records []history.Record) {
	for _, r := range records {
		if call, ok := r.(history.ToolCall); ok {
			s.o.View.Record(call)
		}
	}
	s.journal.write(records)
}

// tell lets an event out.
func (s *Session) tell(t turn.Told) {
	now := time.Now()
	t.Msg = s.cleaned(t.Msg)
	switch m := t.Msg.(type) {
	case protocol.TurnStarted:
		s.began, s.turnID = now, t.Turn
	case protocol.TurnCompleted:
		m.Duration = now.Sub(s.began)
		t.Msg = m
		s.journal.sync()
	case protocol.TurnFailed, protocol.TurnAborted:
		s.journal.sync()
	case protocol.ApprovalRequested:
		s.notify(m.Approval)
	}
	s.seq++
	e := protocol.Event{Seq: s.seq, Turn: t.Turn, Submission: t.Submission, Agent: t.Agent, Time: now, Msg: t.Msg}
	if s.o.Observe != nil {
		s.o.Observe(e)
	}
	s.outbox.put(e)
}

// jitter spreads d by a tenth to either side, so that clients do not retry in
// step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
