package turn

import (
	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// reviewOp has changes reviewed, in a turn of its own that takes no input.
func (c *Core) reviewOp(s Submit, op protocol.Review) {
	switch {
	case c.closing:
		return
	case c.chore != nil || c.turn != nil:
		c.next = append(c.next, s)
		return
	}
	c.enter(&turn{id: protocol.TurnID(s.ID), kind: review, phase: reviewing, settings: c.settings,
		review: protocol.CallID("review_" + s.ID)})
	c.startClock()
	c.do(RunReview{Turn: c.turn.id, Call: c.turn.review, Settings: c.settings, Op: op})
}

// reviewed ends the turn of a review. The model reads its findings as if the user
// had told them, so that it can be asked to mend what was found.
func (c *Core) reviewed(in Reviewed) {
	t := c.turn
	if t == nil || t.phase != reviewing || t.review != in.Call {
		return
	}
	switch {
	case t.stopping != nil:
		c.settle(*t.stopping)
		return
	case in.Trouble != nil:
		c.settle(ending{trouble: in.Trouble})
		return
	}
	c.mark("<review>\nThe changes were reviewed. This was found:\n" + in.Text + "\n</review>")
	c.complete(c.newItem(), protocol.Completed, in.Result)
	t.last = in.Text
	c.settle(ending{})
}

// spentBy counts what a sub-agent used.
func (c *Core) spentBy(in Spent) {
	c.total = c.total.Add(in.Usage)
	c.spent.add(&c.o, c.model, in.Usage)
	u := history.TokenUsage{Agent: in.Agent, Usage: in.Usage}
	if c.turn != nil {
		c.turn.usage = c.turn.usage.Add(in.Usage)
		u.Turn = c.turn.id
	}
	c.record(u)
}
