package turn

import (
	"time"

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
	// RequestRetries and StreamRetries bound what follows a failed request: the
	// first counts failures before the response began, and once it is used up,
	// or when the response had begun, the second does.
	RequestRetries, StreamRetries int
	// MaxCalls bounds the calls of one response that run; 0 means 128.
	MaxCalls int
	// Window is the context window of the model in tokens, 0 if unknown.
	Window int
	// Fault, in tests, breaks the core in a known way.
	Fault Fault
}

// Core is the state of a session. It is not safe for concurrent use.
type Core struct {
	o        Options
	settings protocol.Settings
	items    []*model.Item
	total    protocol.Usage
	rounds   int
	timers   int
	itemSeq  int
	askSeq   int
	callSeq  int
	used     map[protocol.CallID]bool

	turn    *turn
	next    []Submit // inputs that start a turn once the running one ended
	closing bool
	ended   bool

	out Ready
}

// phase is where a turn stands.
type phase int

const (
	gathering phase = iota
	sampling        // a request is out, or its calls are not done
	waiting         // a failed request will be sent again
	settling
)

// turn is the state of the running turn.
type turn struct {
	id       protocol.TurnID
	settings protocol.Settings
	schema   []byte
	phase    phase
	opening  []protocol.Input // the input that started it, until it is recorded
	pending  []Submit         // input that joined it and is not recorded yet
	stopping *ending          // set once it was interrupted or failed
	end      ending

	round    *round
	timer    int
	requests int // failed before the response began, since the last good one
	streams  int
	usage    protocol.Usage
	last     string // the last message of the model
	todo     protocol.ItemID
	todoNow  *protocol.TodoList
}

// ending is how a turn ends.
type ending struct {
	reason  protocol.AbortReason // of an abort
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
	c := &Core{o: o, settings: o.Settings, used: map[protocol.CallID]bool{}}
	if st != nil {
		c.items, c.total, c.rounds = st.Items, st.Total, st.Rounds
		for _, it := range st.Items {
			if it.Kind == model.Call {
				c.used[protocol.CallID(it.CallID)] = true
			}
		}
	}
	return c
}

// Busy reports whether a turn is running.
func (c *Core) Busy() bool { return c.turn != nil }

// Items returns the history. The caller must not change it.
func (c *Core) Items() []*model.Item { return c.items[:len(c.items):len(c.items)] }

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
	case Elapsed:
		c.elapsed(in)
	case Settled:
		c.settled(in)
	}
	out := c.out
	c.out = Ready{}
	return out
}

func (c *Core) record(r ...history.Record) { c.out.Records = append(c.out.Records, r...) }
func (c *Core) do(e ...Effect)             { c.out.Effects = append(c.out.Effects, e...) }

func (c *Core) tell(m protocol.Msg) {
	t := Told{Msg: m}
	if c.turn != nil {
		t.Turn = c.turn.id
		t.Submission = string(c.turn.id)
	}
	c.out.Events = append(c.out.Events, t)
}

// submit branches on the kind of the Op and on nothing else.
func (c *Core) submit(s Submit) {
	switch op := s.Op.(type) {
	case protocol.UserInput:
		c.userInput(s, op)
	case protocol.Interrupt:
		c.stop(ending{reason: protocol.AbortInterrupted})
	case protocol.Answer:
		c.answer(op)
	case protocol.Shutdown:
		c.closing = true
		c.stop(ending{reason: protocol.AbortInterrupted})
		c.endIfIdle()
	}
}

func (c *Core) userInput(s Submit, op protocol.UserInput) {
	switch {
	case c.closing:
		c.giveBack(s)
	case c.turn == nil:
		c.start(s)
	case op.Replace:
		c.stop(ending{reason: protocol.AbortReplaced})
		c.next = append(c.next, s)
	case c.turn.stopping != nil || c.turn.phase == settling:
		c.next = append(c.next, s)
	default:
		c.turn.pending = append(c.turn.pending, s)
	}
}

// giveBack returns input that came too late to be part of any turn.
func (c *Core) giveBack(s Submit) {
	c.out.Events = append(c.out.Events, Told{Submission: s.ID,
		Msg: protocol.TurnAborted{Reason: protocol.AbortInterrupted, Undelivered: s.Op.(protocol.UserInput).Items}})
}

func (c *Core) start(s Submit) {
	op := s.Op.(protocol.UserInput)
	if op.Settings != nil {
		c.settings = *op.Settings
	}
	c.turn = &turn{id: protocol.TurnID(s.ID), settings: c.settings, schema: op.Schema, opening: op.Items}
	c.tell(protocol.TurnStarted{})
	c.do(Gather{Turn: c.turn.id, Settings: c.settings})
}

func (c *Core) gathered(in Gathered) {
	t := c.turn
	if t == nil || t.id != in.Turn || t.phase != gathering {
		return
	}
	c.record(history.TurnContext{Turn: t.id, Settings: t.settings, Facts: in.Facts, Items: in.Items})
	c.items = append(c.items, in.Items...)
	c.recordInput(t.opening)
	t.opening = nil
	c.sample()
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
	c.items = append(c.items, u.Item())
	c.itemSeq++
	c.tell(protocol.ItemCompleted{Item: protocol.Item{ID: itemID(c.itemSeq), Status: protocol.Completed,
		Body: protocol.UserMessage{Input: input}}})
}

func (c *Core) recordPending() {
	for _, s := range c.turn.pending {
		c.recordInput(s.Op.(protocol.UserInput).Items)
	}
	c.turn.pending = nil
}

// sample sends the next request of the turn.
func (c *Core) sample() {
	t := c.turn
	if c.o.Fault != LosePending {
		c.recordPending()
	}
	t.pending = nil
	c.rounds++
	t.phase = sampling
	t.round = newRound(c.rounds)
	items := c.Items()
	if c.o.Fault == RewriteHistory && len(items) > 1 && c.rounds%2 == 0 {
		items = items[1:]
	}
	c.do(CallModel{Turn: t.id, Round: c.rounds, Settings: t.settings, Schema: t.schema, Items: items})
}

// stop ends the turn from outside. The first cause stands.
func (c *Core) stop(e ending) {
	t := c.turn
	if t == nil || t.stopping != nil || t.phase == settling {
		return
	}
	t.stopping = &e
	switch t.phase {
	case gathering:
		c.settle(e)
		return
	case waiting:
		c.do(StopWait{Timer: t.timer})
	case sampling:
		c.stopRound()
	}
	c.advance()
}

// stopRound tells the stream and every call to stop. Calls that are not under
// way end here; the others answer.
func (c *Core) stopRound() {
	r := c.turn.round
	if !r.streamOver {
		c.do(StopModel{Round: r.number})
		r.streamOver = true
		c.keepPartial(r)
	}
	for _, k := range r.calls {
		switch k.state {
		case queued:
			c.finish(k, abortedOutcome(k))
		case asking:
			c.tell(protocol.ApprovalResolved{Approval: k.approval, Decision: protocol.Void})
			c.finish(k, abortedOutcome(k))
		case preparing, running:
			c.do(StopCall{Call: k.call.ID})
		}
	}
}

// advance moves a turn on whose stream and calls may all be over.
func (c *Core) advance() {
	t := c.turn
	if t == nil || t.phase == gathering || t.phase == settling {
		return
	}
	if t.phase == sampling {
		if !t.round.over() {
			return
		}
		c.closeRound()
	}
	switch {
	case t.stopping != nil && c.o.Fault != SampleAfterInterrupt:
		c.settle(*t.stopping)
	case t.phase == waiting:
	case t.round.failure != nil:
		c.failed(t.round.failure)
	case t.round.calledTools || len(t.pending) > 0:
		c.sample()
	default:
		c.settle(ending{})
	}
}

// failed decides what follows a request that did not end well.
func (c *Core) failed(err *model.Error) {
	t := c.turn
	attempt, most := c.nextAttempt(err)
	if attempt == 0 {
		c.fail(troubleOf(err))
		return
	}
	delay, asked := backoff(attempt), false
	if err.RetryAfter > 0 {
		delay, asked = err.RetryAfter, true
	}
	if delay > maxDelay {
		tr := troubleOf(err)
		tr.Hint = "the provider asks to wait " + delay.Round(time.Second).String() + "; try again then"
		c.fail(tr)
		return
	}
	c.timers++
	t.timer, t.phase = c.timers, waiting
	c.record(history.Happening{Turn: t.id, What: history.StreamRetry, Message: err.Error()})
	c.tell(protocol.Retrying{Attempt: attempt, Max: most, Delay: delay, Cause: err.Error()})
	c.do(Wait{Timer: t.timer, Delay: delay, Jitter: !asked})
}

// maxDelay is the longest wait a provider may ask for.
const maxDelay = 5 * time.Minute

// nextAttempt counts the failure and returns the number of the retry that
// follows and of how many, or 0 when there is none.
func (c *Core) nextAttempt(err *model.Error) (attempt, most int) {
	t := c.turn
	if !err.Passes() {
		return 0, 0
	}
	if !err.Began && t.requests < c.o.RequestRetries {
		t.requests++
		return t.requests, c.o.RequestRetries
	}
	if t.streams < c.o.StreamRetries {
		t.streams++
		return t.streams, c.o.StreamRetries
	}
	return 0, 0
}

// backoff is 200 ms doubled with each attempt, at most half a minute.
func backoff(attempt int) time.Duration {
	return min(200*time.Millisecond<<min(attempt-1, 10), 30*time.Second)
}

func (c *Core) elapsed(in Elapsed) {
	t := c.turn
	if t == nil || t.phase != waiting || t.timer != in.Timer || t.stopping != nil {
		return
	}
	c.sample()
}

// fail ends the turn with an error; what the user said meanwhile is kept.
func (c *Core) fail(tr protocol.Trouble) {
	c.recordPending()
	c.settle(ending{trouble: &tr})
}

// settle asks what the turn changed; the answer ends it.
func (c *Core) settle(e ending) {
	c.turn.end = e
	c.turn.phase = settling
	c.do(Settle{Turn: c.turn.id})
}

func (c *Core) settled(in Settled) {
	t := c.turn
	if t == nil || t.id != in.Turn || t.phase != settling {
		return
	}
	for _, ch := range in.Changes {
		c.record(ch)
	}
	if in.Diff != nil {
		exact := in.Diff.Exact
		c.record(history.Happening{Turn: t.id, What: history.TurnDiffed, Message: in.Diff.Note, Exact: &exact})
		c.tell(*in.Diff)
	}
	c.closeTodo()
	c.finishTurn()
	c.turn = nil
	c.startNext()
	c.endIfIdle()
}

// finishTurn records and tells the end of the turn.
func (c *Core) finishTurn() {
	t := c.turn
	switch e := t.end; {
	case e.trouble != nil:
		c.record(history.Happening{Turn: t.id, What: history.TurnFailed, Message: e.trouble.Message})
		c.tell(protocol.TurnFailed{Error: *e.trouble})
	case e.reason != "":
		c.recordMarker()
		c.record(history.Happening{Turn: t.id, What: history.TurnAborted, Message: string(e.reason)})
		if c.o.Fault != NeverEnd {
			c.tell(protocol.TurnAborted{Reason: e.reason, Undelivered: c.undelivered()})
		}
	default:
		c.record(history.Happening{Turn: t.id, What: history.TurnCompleted})
		c.tell(protocol.TurnCompleted{Usage: t.usage, LastMessage: t.last})
		if c.o.Fault == EndTwice {
			c.tell(protocol.TurnCompleted{Usage: t.usage})
		}
	}
}

// undelivered returns the input that the model never saw.
func (c *Core) undelivered() []protocol.Input {
	inputs := c.turn.opening
	for _, s := range c.turn.pending {
		inputs = append(inputs, s.Op.(protocol.UserInput).Items...)
	}
	return inputs
}

// abortMarker tells the model that it was cut off.
const abortMarker = "<turn_aborted>\nThe user interrupted the previous turn on purpose. Commands may have been " +
	"stopped half way; look at the state of files before relying on it.\n</turn_aborted>"

// recordMarker tells the model of the abort, unless it knows nothing of the turn.
func (c *Core) recordMarker() {
	if c.turn.opening != nil {
		return
	}
	u := history.UserInput{Turn: c.turn.id, Text: abortMarker, Marker: true}
	c.record(u)
	c.items = append(c.items, u.Item())
}

// startNext starts a turn with the inputs that came while the last one ended.
func (c *Core) startNext() {
	for len(c.next) > 0 {
		s := c.next[0]
		c.next = c.next[1:]
		if c.closing {
			c.giveBack(s)
			continue
		}
		if c.turn == nil {
			c.start(s)
			continue
		}
		c.turn.pending = append(c.turn.pending, s)
	}
}

func (c *Core) endIfIdle() {
	if c.closing && c.turn == nil {
		c.tell(protocol.SessionEnded{})
		c.do(End{})
		c.ended = true
	}
}

func troubleOf(err *model.Error) protocol.Trouble {
	kinds := map[model.ErrorKind]protocol.TroubleKind{
		model.Auth: protocol.TroubleAuth, model.Quota: protocol.TroubleQuota, model.BadCall: protocol.TroubleRequest,
		model.Context: protocol.TroubleContext, model.RateLimit: protocol.TroubleServer, model.Server: protocol.TroubleServer,
		model.Network: protocol.TroubleNetwork, model.Broken: protocol.TroubleStream,
	}
	kind, ok := kinds[err.Kind]
	if !ok {
		kind = protocol.TroubleOther
	}
	return protocol.Trouble{Kind: kind, Message: err.Error(), Hint: err.Hint}
}
