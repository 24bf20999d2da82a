package turn

import (
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

// schedule starts the calls whose turn has come. A call that may not run beside
// others waits for all before it; every call waits for those of them before it.
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
		c.begin(k)
		active++
		alone = alone || !k.parallel
	}
}

// begin records the call and asks its tool what it proposes.
func (c *Core) begin(k *call) {
	k.state = preparing
	args, input := history.SplitInput(k.style, k.input)
	c.record(history.ToolStarted{Turn: c.turn.id, Round: c.turn.round.number, Index: k.index,
		Call: k.call.ID, Name: k.call.Name, Args: args, Input: input, Style: k.style, ItemID: k.itemID})
	c.do(Prepare{Turn: c.turn.id, Settings: c.turn.settings, Call: k.call})
}

// find returns the call with the given id if it is in one of the given states.
func (c *Core) find(id protocol.CallID, states ...callState) *call {
	if c.turn == nil || c.turn.round == nil || c.turn.phase != sampling {
		return nil
	}
	for _, k := range c.turn.round.calls {
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
	k := c.find(in.Call, preparing)
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
	k.body = in.Body
	if in.Body != nil && !(asks && c.o.Headless) {
		c.itemSeq++
		k.item = itemID(c.itemSeq)
		c.tell(protocol.ItemStarted{Item: protocol.Item{ID: k.item, Status: protocol.InProgress, Body: in.Body}})
	}
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
	if _, k := c.findShell(in.Call); k != nil {
		c.tell(protocol.ItemDelta{Item: k.item, Text: in.Text})
		return
	}
	if k := c.find(in.Call, running); k != nil && k.item != "" {
		c.tell(protocol.ItemDelta{Item: k.item, Text: in.Text})
	}
}

// finished takes the outcome of a call that was under way.
func (c *Core) finished(id protocol.CallID, o Outcome) {
	k := c.find(id, preparing, running)
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

// finish closes k. Its changes are recorded at once; its tool_call record waits
// for those of the calls before it.
func (c *Core) finish(k *call, o Outcome) {
	k.state, k.outcome = finished, o
	for _, ch := range o.Changes {
		ch.Turn = c.turn.id
		c.record(ch)
	}
	c.recordCalls()
	for _, w := range o.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	c.showEnd(k)
	if o.Todo != nil {
		c.showTodo(o.Todo)
	}
}

// recordCalls writes the tool_call records that are due, in call order.
func (c *Core) recordCalls() {
	r := c.turn.round
	for r.recorded < len(r.calls) && r.calls[r.recorded].state == finished {
		k := r.calls[r.recorded]
		r.recorded++
		args, input := history.SplitInput(k.style, k.input)
		rec := history.ToolCall{Command: ranCommand(k.outcome.Body), Exit: exitOf(k.outcome.Body), Plan: planOf(k.outcome.Todo),
			Turn: c.turn.id, Round: r.number, Index: k.index, Call: k.call.ID, Name: k.call.Name,
			Args: args, Input: input, Style: k.style, ItemID: k.itemID, Result: k.outcome.Text,
			Images: k.outcome.Images, Success: k.outcome.Success, Millis: k.outcome.Millis, Saw: history.Shown(k.outcome.Text, k.outcome.Saw)}
		_, k.output = rec.Items()
		c.record(rec)
	}
}

// ranCommand, exitOf and planOf are what a record keeps of an outcome.
func ranCommand(b protocol.Body) string {
	if cmd, ok := b.(protocol.Command); ok {
		return cmd.Command
	}
	return ""
}

func exitOf(b protocol.Body) *int {
	if cmd, ok := b.(protocol.Command); ok {
		return cmd.ExitCode
	}
	return nil
}

func planOf(t *protocol.TodoList) *history.Plan {
	if t == nil {
		return nil
	}
	return &history.Plan{Explanation: t.Explanation, Steps: t.Steps}
}

// showEnd completes the item of k, or shows it at once if it never started.
func (c *Core) showEnd(k *call) {
	body := k.outcome.Body
	if body == nil {
		body = k.body
	}
	if body == nil {
		return
	}
	if k.item == "" {
		c.itemSeq++
		k.item = itemID(c.itemSeq)
		c.tell(protocol.ItemStarted{Item: protocol.Item{ID: k.item, Status: protocol.InProgress, Body: body}})
	}
	status := protocol.Completed
	switch {
	case k.outcome.Declined:
		status = protocol.Declined
	case !k.outcome.Success:
		status = protocol.Failed
	}
	c.tell(protocol.ItemCompleted{Item: protocol.Item{ID: k.item, Status: status, Body: body}})
}

func (c *Core) showTodo(todo *protocol.TodoList) {
	t := c.turn
	t.todoNow = todo
	if t.todo == "" {
		c.itemSeq++
		t.todo = itemID(c.itemSeq)
		c.tell(protocol.ItemStarted{Item: protocol.Item{ID: t.todo, Status: protocol.InProgress, Body: *todo}})
		return
	}
	c.tell(protocol.ItemUpdated{Item: protocol.Item{ID: t.todo, Status: protocol.InProgress, Body: *todo}})
}

// closeTodo completes the plan's item when the turn ends.
func (c *Core) closeTodo() {
	if t := c.turn; t.todo != "" {
		c.tell(protocol.ItemCompleted{Item: protocol.Item{ID: t.todo, Status: protocol.Completed, Body: *t.todoNow}})
	}
}

func abortedOutcome(k *call) Outcome {
	if k.prior != nil {
		return *k.prior
	}
	return Outcome{Text: "aborted by the user before it ran", Declined: k.state != running, Body: k.body}
}
