package turn

import (
	"encoding/json"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// call is one tool call of the running round.
type call struct {
	call     tool.Call
	index    int
	style    model.CallStyle
	input    string
	itemID   string
	parallel bool
	state    callState
	item     protocol.ItemID // shown since it was prepared, or empty
	ended    bool            // its end was shown
	hidden   bool            // it is not shown before it is over
	body     protocol.Body
	proposal Proposal
	outcome  Outcome
	tries    int
	prior    *Outcome // of a run after which the user was asked again
	output   *model.Item
}

// callState is how far a call has come.
type callState int

const (
	queued callState = iota
	preparing
	asking
	running
	finished
)

// maxRunning bounds the calls under way at once.
const maxRunning = 8

// schedule starts the calls that may start now. A call that must run alone waits
// for all calls before it, and all calls after it wait for it.
func (c *Core) schedule() {
	if c.turn.stopping != nil {
		return
	}
	active, alone := 0, false
	for _, k := range c.turn.round.calls {
		switch {
		case k.state == finished:
			continue
		case k.state != queued:
			active++
			alone = alone || !k.parallel
			continue
		}
		if alone && c.o.Fault != RunBeside || active >= maxRunning {
			return
		}
		if !k.parallel && active > 0 && c.o.Fault != RunBeside {
			return
		}
		c.turn.round.begin(k)
		active++
		alone = alone || !k.parallel
	}
}

// begin records the call and asks its tool what it proposes.
func (r *round) begin(k *call) {
	k.state = preparing
	args, input := history.SplitInput(k.style, k.input)
	r.out.record(history.ToolStarted{Turn: r.turn.id, Round: r.number, Index: k.index,
		Call: k.call.ID, Name: k.call.Name, Args: args, Input: input, Style: k.style, ItemID: k.itemID})
	r.out.do(Prepare{Turn: r.turn.id, Settings: r.turn.settings, Call: k.call})
}

// find returns the call with the given id if it is in one of the given states.
func (t *turn) find(id protocol.CallID, states ...callState) *call {
	if t == nil || t.round == nil || t.phase != sampling {
		return nil
	}
	for _, k := range t.round.calls {
		if k.call.ID != id {
			continue
		}
		for _, s := range states {
			if k.state == s {
				return k
			}
		}
	}
	return nil
}

func (c *Core) prepared(in Prepared) {
	k := c.turn.find(in.Call, preparing)
	if k == nil {
		return
	}
	switch {
	case in.Outcome != nil:
		c.finished(in.Call, *in.Outcome)
		return
	case c.turn.stopping != nil:
		c.finished(in.Call, abortedOutcome(k))
		return
	}
	k.proposal = in.Proposal
	asks := in.Verdict == Ask && in.Approval != nil && c.o.Fault != RunUnasked
	k.body, k.hidden = in.Body, in.Body == nil || asks && c.o.Headless
	k.state = asking // its own state follows
	c.turn.round.display()
	if asks {
		c.askAbout(k, *in.Approval)
		return
	}
	k.state = running
	c.do(Run{Call: k.call.ID, Proposal: k.proposal})
}

// askAbout asks whether a call may run.
func (c *Core) askAbout(k *call, a protocol.Approval) {
	k.state = asking
	a.Call = k.call.ID
	c.ask(&question{approval: a, call: k})
}

func (c *Core) progress(in Progress) {
	if _, k := c.turn.findShell(in.Call); k != nil {
		c.tell(protocol.ItemDelta{Item: k.item, Text: in.Text})
		return
	}
	if k := c.turn.find(in.Call, running); k != nil && k.item != "" {
		c.tell(protocol.ItemDelta{Item: k.item, Text: in.Text})
	}
}

// finished takes the outcome of a call that was under way.
func (c *Core) finished(id protocol.CallID, o Outcome) {
	k := c.turn.find(id, preparing, running)
	if k == nil {
		if c.o.Fault == TakeLate {
			c.record(history.ToolCall{Call: id, Result: o.Text})
			c.items = append(c.items, &model.Item{Kind: model.Output, CallID: string(id)})
		}
		return
	}
	if c.o.Fault == Stick && k.parallel {
		return
	}
	c.over(k, o)
}

// over finishes a call and goes on with the round.
func (c *Core) over(k *call, o Outcome) {
	c.finish(k, o)
	c.schedule()
	c.advance()
}

// finish ends k. Its changes are recorded at once. Its tool_call record waits until
// the calls before it have theirs.
func (c *Core) finish(k *call, o Outcome) {
	k.state, k.outcome = finished, o
	for _, ch := range o.Changes {
		ch.Turn = c.turn.id
		c.record(ch)
	}
	c.turn.round.recordCalls()
	for _, w := range o.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	c.turn.round.display()
	for _, x := range o.Checks {
		c.ran(x)
	}
	if o.Todo != nil {
		c.turn.showTodo(o.Todo, &c.output)
	}
}

// recordCalls writes the tool_call records that are due, in call order.
func (r *round) recordCalls() {
	for r.recorded < len(r.calls) && r.calls[r.recorded].state == finished {
		k := r.calls[r.recorded]
		r.recorded++
		args, input := history.SplitInput(k.style, k.input)
		rec := history.ToolCall{Command: ranCommand(k.outcome.Body), Exit: exitOf(k.outcome.Body),
			Lines: linesOf(k.outcome.Body), Plan: planOf(k.outcome.Todo),
			Turn: r.turn.id, Round: r.number, Index: k.index, Call: k.call.ID, Name: k.call.Name,
			Args: args, Input: input, Style: k.style, ItemID: k.itemID, Result: k.outcome.Text,
			Structured: structuredOf(k.outcome.Body), Images: k.outcome.Images, Success: k.outcome.Success, Millis: k.outcome.Millis,
			Observed: history.Shown(k.outcome.Text, k.outcome.Observed)}
		_, k.output = rec.Items()
		r.out.record(rec)
	}
}

// ranCommand, structuredOf, exitOf, linesOf and planOf are what a record keeps of an outcome.
func ranCommand(b protocol.Body) string {
	cmd, _ := b.(protocol.Command)
	return cmd.Command
}

func structuredOf(b protocol.Body) json.RawMessage {
	call, _ := b.(protocol.ToolCall)
	return call.Structured
}

func exitOf(b protocol.Body) *int {
	cmd, _ := b.(protocol.Command)
	return cmd.ExitCode
}

func linesOf(b protocol.Body) int {
	if cmd, ok := b.(protocol.Command); ok {
		return cmd.Lines
	}
	return 0
}

func planOf(t *protocol.TodoList) *history.Plan {
	if t == nil {
		return nil
	}
	return &history.Plan{Explanation: t.Explanation, Steps: t.Steps}
}

// display shows the calls in their order: a call that was prepared, or is over, before
// those that came before it were, waits for them.
func (r *round) display() {
	waits := false
	for _, k := range r.calls {
		if k.ended || waits && k.item == "" {
			continue
		}
		switch k.state {
		case queued, preparing:
			waits = true
		case finished:
			k.ended = true
			r.showEnd(k)
		default:
			if k.item == "" && !k.hidden {
				k.item = r.out.show(k.body)
			}
		}
	}
}

// showEnd completes the item of k, or shows it at once if it never started.
func (r *round) showEnd(k *call) {
	body := k.outcome.Body
	if body == nil {
		body = k.body
	}
	if body == nil {
		return
	}
	if k.item == "" {
		k.item = r.out.show(body)
	}
	status := protocol.Completed
	switch {
	case k.outcome.Declined:
		status = protocol.Declined
	case !k.outcome.Success:
		status = protocol.Failed
	}
	r.out.complete(k.item, status, body)
}

// ran records a check that ran, and shows it.
func (o *output) ran(x CheckRun) {
	o.record(history.EventRecord{Turn: o.turn, What: history.CheckRan, Message: x.Text})
	status := protocol.Completed
	if !x.OK {
		status = protocol.Failed
	}
	o.complete(o.show(x.Body), status, x.Body)
}

func (t *turn) showTodo(todo *protocol.TodoList, out *output) {
	t.todoNow = todo
	if t.todo == "" {
		t.todo = out.show(*todo)
		return
	}
	out.update(t.todo, *todo)
}

// closeTodo completes the plan's item when the turn ends.
func (t *turn) closeTodo(out *output) {
	if t.todo != "" {
		out.complete(t.todo, protocol.Completed, *t.todoNow)
	}
}

func abortedOutcome(k *call) Outcome {
	if k.prior != nil {
		return *k.prior
	}
	return Outcome{Text: "aborted by the user before it ran", Declined: k.state != running, Body: k.body}
}
