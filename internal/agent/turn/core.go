package turn

import (
	"slices"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Options are the numbers and judgements the core depends on.
type Options struct {
	Settings protocol.Settings
	// Parallel reports whether a call may run beside others. It must be pure.
	Parallel func(tool.Call) bool
	// RequestRetries limits retries in a row of requests that failed before the response
	// began, StreamRetries those of responses that had begun.
	RequestRetries, StreamRetries int
	// Retries tells these numbers for a model. It must be pure; nil means that they are the same
	// for all.
	Retries func(model string) (requests, streams int)
	// MaxCalls bounds the calls of one response that run; 0 means 128.
	MaxCalls int
	// Window is the context window in tokens of models that Limits does not know,
	// 0 if unknown.
	Window int
	// Limits tells the context window of a model and the size at which the history
	// is compacted, 0 for what is unknown. It must be pure; nil knows nothing.
	Limits func(model string) (window, limit int)
	// Cost is the price of a response in dollars. It must be pure; nil is free.
	Cost   func(model string, u protocol.Usage) float64
	Budget Budget
	// Refuse says why settings are not allowed here, empty if they are; nil allows all. It must
	// be pure.
	Refuse func(protocol.Settings) string
	// Headless sessions have nobody to ask: the answer to every question is no.
	Headless bool
	// Fault, in tests, breaks the core in a known way.
	Fault Fault
}

// Core is the state of a session. It is not safe for concurrent use.
type Core struct {
	conversation
	output

	o        Options
	settings protocol.Settings
	total    protocol.Usage
	rounds   int
	timers   int
	askSeq   int
	callSeq  int
	chores   int
	used     map[protocol.CallID]bool

	order []protocol.TurnID // all turns that may have changed files
	spent spent

	questions []*question // open, in the order in which they were asked

	turn    *turn
	chore   *chore   // the undo under way, or nil
	next    []Submit // what follows once the running turn ended
	queue   []Submit // input that waits for turns of its own
	compact bool     // the user asked for a compaction
	closing bool
	ended   bool
}

// phase is where a turn stands.
type phase int

const (
	gathering   phase = iota
	sampling          // a request is out, or its calls are not done
	waiting           // a failed request will be sent again
	compacting        // the summary of the history is being written
	regathering       // the history is about to be replaced
	checking          // the check of the goal runs
	shelling          // a command of the user's own runs, and nothing else
	reviewing         // a review is being made
	settling
)

// kind is what a turn is for.
type kind int

const (
	regular kind = iota
	compaction
	userShell
	review
)

// turn is the state of the running turn.
type turn struct {
	id       protocol.TurnID
	kind     kind
	settings protocol.Settings
	schema   []byte
	phase    phase
	opening  []protocol.Input // the input that started it, until it is recorded
	pending  []Submit         // input that joined it and is not recorded yet
	stopping *ending          // set once it was interrupted or failed
	end      ending
	wentOn   int  // how often it went on after the model was done
	unwanted bool // somebody wanted it to end while it settled

	round    *round
	chain    map[protocol.CallID]bool // ids of this response, and of those it repeats because they broke off
	timer    int
	requests int // failed before the response began, since the last good one
	streams  int
	nudges   int      // in a row: how often the model was asked to go on
	pauses   int      // in a row: how often the provider paused the answer
	carried  string   // what was said of an answer that was cut and goes on
	before   []string // messages that were whole before the answer broke off
	usage    protocol.Usage
	last     string // the last message of the model
	shrink   *shrink
	again    int  // compactions whose summary is written
	shrunk   bool // the history was compacted because the model refused its length
	shells   []*shell
	ran      []history.UserInput // shells that ended and are not recorded yet
	wall     int                 // the timer of the budget, or 0
	sampled  int                 // requests with tools
	todo     protocol.ItemID
	todoNow  *protocol.TodoList
	review   protocol.CallID
	goal     *target // nil without one
}

// ending is how a turn ends.
type ending struct {
	reason  protocol.AbortReason // of an abort
	why     string               // of an abort by budget, in words
	trouble *protocol.Trouble    // of a failure
}

// New returns the core of a new session, or of a resumed one when st is not nil.
func New(o Options, st *history.State) *Core {
	if o.MaxCalls == 0 {
		o.MaxCalls = 128
	}
	if o.Parallel == nil {
		o.Parallel = func(tool.Call) bool { return false }
	}
	c := &Core{o: o, settings: o.Settings, used: map[protocol.CallID]bool{}, conversation: newConversation(st)}
	c.notes = &history.Notes{}
	if st == nil {
		return c
	}
	c.total, c.rounds, c.order = st.Total, st.Rounds, st.Order
	if st.Notes != nil {
		c.notes = st.Notes
	}
	for _, it := range st.Items {
		if it.Kind == model.Call {
			c.used[protocol.CallID(it.CallID)] = true
		}
	}
	return c
}

// Busy reports whether a turn is running.
func (c *Core) Busy() bool { return c.turn != nil }

// Step takes in and returns what follows from it.
func (c *Core) Step(in Input) Ready {
	if c.ended {
		return Ready{}
	}
	switch in := in.(type) {
	case Submit:
		c.submit(in)
	case Gathered:
		c.gathered(in)
	case Chunk:
		c.chunk(in)
	case StreamEnded:
		c.streamEnded(in)
	case Prepared:
		c.prepared(in)
	case Progress:
		c.progress(in)
	case Finished:
		c.finished(in.Call, in.Outcome)
	case AskAgain:
		c.askAgain(in)
	case Asked:
		c.askedBy(in)
	case Withdrawn:
		c.withdrawn(in)
	case ShellDone:
		c.shellDone(in)
	case Undone:
		c.undone(in)
	case Elapsed:
		c.elapsed(in)
	case Spent:
		c.spentBy(in)
	case Reviewed:
		c.reviewed(in)
	case Checked:
		checked(c, in)
	case Settled:
		c.settled(in)
	}
	return c.take()
}

// submit passes an Op to the method for its kind.
func (c *Core) submit(s Submit) {
	switch op := s.Op.(type) {
	case protocol.UserInput:
		c.userInput(s, op)
	case protocol.Interrupt:
		c.withdrawOpen(true) // an interrupt ends the sub-agents
		c.turn.stopShells(&c.output)
		c.stop(ending{reason: protocol.AbortInterrupted})
	case protocol.Answer:
		c.answer(op)
	case protocol.Configure:
		c.configure(s, op)
	case protocol.Compact:
		c.compactOp(s)
	case protocol.Shell:
		c.shellOp(s, op)
	case protocol.Undo:
		c.undoOp(s, op)
	case protocol.Rewind:
		c.rewindOp(s, op)
	case protocol.Rename:
		c.rename(s, op)
	case protocol.Unqueue:
		unqueue(c, s.ID)
	case protocol.Review:
		c.reviewOp(s, op)
	case protocol.Kill:
		c.do(Kill{Process: op.Process})
	case protocol.Shutdown:
		c.closing = true
		c.withdrawOpen(true)
		c.withdrawOpen(false)
		c.turn.stopShells(&c.output)
		c.stop(ending{reason: protocol.AbortInterrupted})
		c.endIfIdle()
	}
}

func (c *Core) userInput(s Submit, op protocol.UserInput) {
	switch {
	case c.closing:
		c.giveBack(s)
	case c.chore != nil:
		c.next = append(c.next, s)
	case c.turn == nil:
		c.start(s)
	case op.Queue || op.Goal != nil && !op.Replace:
		c.queue = append(c.queue, s)
		c.tellQueue(s.ID)
	case op.Replace:
		c.stop(ending{reason: protocol.AbortReplaced})
		c.next = append(c.next, s)
	case c.turn.stopping != nil || c.turn.phase == settling || c.turn.kind != regular:
		c.next = append(c.next, s)
	default:
		c.turn.pending = append(c.turn.pending, s)
		c.tellQueue(s.ID)
	}
}

func (c *Core) start(s Submit) {
	op := s.Op.(protocol.UserInput)
	if op.Settings != nil && *op.Settings != c.settings {
		c.settings = *op.Settings
		c.reply(s.ID, protocol.SettingsChanged{Settings: c.settings})
	}
	c.enter(&turn{id: protocol.TurnID(s.ID), settings: c.settings, schema: op.Schema, opening: op.Items,
		goal: newTarget(op.Goal)})
	c.startClock()
	c.do(Gather{Turn: c.turn.id, Settings: c.settings, Before: c.facts, First: !c.told, Input: op.Items, Goal: op.Goal})
}

// enter makes t the running turn.
func (c *Core) enter(t *turn) {
	c.turn, c.output.turn = t, t.id
	c.order = append(c.order, t.id)
	c.tell(protocol.TurnStarted{})
}

func (c *Core) gathered(in Gathered) {
	t := c.turn
	if t == nil || t.id != in.Turn || t.again != in.Again {
		return
	}
	switch t.phase {
	case regathering:
		c.compacted(in)
		return
	case gathering:
	default:
		return
	}
	if in.Refused != "" {
		c.settle(ending{trouble: &protocol.Trouble{Kind: protocol.TroubleOther, Message: in.Refused}})
		return
	}
	items := slices.Concat(in.Items, in.Notices)
	if it := c.approvedPlan(t.settings.Mode()); it != nil {
		items = append(items, it)
	}
	items = append(items, t.goal.items()...)
	for _, w := range in.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	c.markTurn(t.id)
	c.record(history.TurnContext{Turn: t.id, Settings: t.settings, Facts: in.Facts, Items: items})
	c.learn(in.Facts)
	c.add(items...)
	c.recordInput(t.opening)
	t.opening = nil
	c.followUp()
}

// recordInput puts a message of the user into the history.
func (c *Core) recordInput(input []protocol.Input) {
	u := history.UserInput{Turn: c.turn.id}
	for _, p := range input {
		if p.Text != "" {
			if u.Text != "" {
				u.Text += "\n"
			}
			u.Text += p.Text
		}
		if p.ImageURL != "" {
			u.Images = append(u.Images, p.ImageURL)
		}
	}
	c.record(u)
	c.said(u.Item())
	c.complete(c.newItem(), protocol.Completed, protocol.UserMessage{Input: input})
}

func (c *Core) recordPending() {
	c.recordShells()
	pending := c.turn.pending
	c.turn.pending = nil
	for _, s := range pending {
		c.recordInput(s.Op.(protocol.UserInput).Items)
	}
	if len(pending) > 0 {
		c.tellQueue("")
	}
}

// sample sends the next request of the turn.
func (c *Core) sample() {
	t := c.turn
	if c.o.Fault != LosePending {
		c.recordPending()
	}
	t.pending = nil
	c.rounds++
	t.sampled++
	c.fresh = 0
	t.phase = sampling
	if t.round != nil && t.round.failure == nil {
		t.chain = nil
	}
	t.round = newRound(c.rounds, t, &c.output)
	items := c.Items()
	if c.o.Fault == RewriteHistory && len(items) > 1 && c.rounds%2 == 0 {
		items = items[1:]
	}
	c.do(CallModel{Turn: t.id, Round: c.rounds, Settings: t.settings, Schema: t.schema, Items: items})
}

// stop ends the turn from outside. If it is called again, the first cause counts.
func (c *Core) stop(e ending) {
	t := c.turn
	if t != nil && t.phase == settling {
		t.unwanted = true
	}
	if t == nil || t.stopping != nil || t.phase == settling {
		return
	}
	t.stopping = &e
	c.turn.stopShells(&c.output)
	c.withdrawOpen(false)
	switch t.phase {
	case gathering, shelling, regathering:
		c.turn.dropShrink(&c.output, c.o.Fault)
		c.settle(e)
		return
	case checking:
		c.do(StopCall{Call: t.goal.call})
		return // its answer settles the turn
	case reviewing:
		c.do(StopCall{Call: t.review})
		return // its answer settles the turn
	case compacting:
		c.do(StopModel{Round: t.shrink.round})
		c.turn.dropShrink(&c.output, c.o.Fault)
		c.settle(e)
		return
	case waiting:
		c.do(StopWait{Timer: t.timer})
		c.turn.dropShrink(&c.output, c.o.Fault)
	case sampling:
		c.stopRound()
	}
	c.advance()
}

// stopRound tells the stream and every call to stop. Calls that have not started
// end here. The others end when their effect answers.
func (c *Core) stopRound() {
	r := c.turn.round
	if !r.streamOver {
		c.do(StopModel{Round: r.number})
		r.streamOver = true
		r.keepPartial()
	}
	for _, k := range r.calls {
		switch k.state {
		case queued:
			c.finish(k, abortedOutcome(k))
		case asking:
			c.withdrawCall(k)
			c.finish(k, abortedOutcome(k))
		case preparing, running:
			c.do(StopCall{Call: k.call.ID})
		}
	}
}

// advance goes on with the turn if its stream and all its calls are over.
func (c *Core) advance() {
	t := c.turn
	if t == nil || t.phase != sampling && t.phase != waiting {
		return
	}
	said := false
	if t.phase == sampling {
		if !t.round.over() {
			return
		}
		if said = t.round.said(); t.round.failure != nil {
			t.heard(t.round)
		} else {
			t.before = nil
		}
		c.closeRound()
	}
	switch {
	case t.stopping != nil && c.o.Fault != SampleAfterInterrupt:
		c.settle(*t.stopping)
	case t.phase == waiting:
	case t.round.failure != nil:
		c.failed(t.round.failure)
	case goOn(c, said):
	case t.round.calledTools || len(t.pending) > 0:
		c.followUp()
	case t.goal != nil && t.goal.Check != "" && c.o.Fault != EndUnchecked:
		check(c)
	default:
		c.settle(ending{})
	}
}
