package turn

import (
	"fmt"

	"kerf/internal/agent/goal"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// target is the goal of the running turn. The goal itself never changes.
type target struct {
	protocol.Goal
	runs int             // of the check
	call protocol.CallID // of the last one
	item protocol.ItemID
}

func newTarget(g *protocol.Goal) *target {
	if g == nil {
		return nil
	}
	return &target{Goal: *g}
}

// items state the goal to the model, with the same words each time.
func (g *target) items() []*model.Item {
	if g == nil {
		return nil
	}
	return []*model.Item{model.UserText(goal.Statement(g.Goal))}
}

// check has the check of the goal run: the model says that it is done.
func check(c *Core) {
	t, g := c.turn, c.turn.goal
	g.runs++
	t.phase = checking
	g.call = protocol.CallID(fmt.Sprintf("check_%s_%d", t.id, g.runs))
	g.item = c.show(protocol.Command{Call: g.call, Command: g.Check, Cwd: t.settings.Cwd, Check: true})
	c.do(Check{Turn: t.id, Call: g.call, Settings: t.settings, Goal: g.Goal, Last: t.last})
}

// checked ends the turn if the check passed, and else goes on with it.
func checked(c *Core, in Checked) {
	t := c.turn
	if t == nil || t.phase != checking || t.goal.call != in.Call {
		return
	}
	for _, ch := range in.Outcome.Changes {
		ch.Turn = t.id
		c.record(ch)
	}
	for _, w := range in.Outcome.Warnings {
		c.tell(protocol.Warning{Message: w})
	}
	status := protocol.Completed
	if !in.Passed {
		status = protocol.Failed
	}
	body := in.Outcome.Body
	if body == nil {
		body = protocol.Command{Call: in.Call, Command: t.goal.Check, Cwd: t.settings.Cwd, Check: true}
	}
	c.complete(t.goal.item, status, body)
	if t.stopping != nil {
		c.settle(*t.stopping)
		return
	}
	c.mark(in.Outcome.Text)
	passed := in.Passed || c.o.Fault == TakeFailed
	switch {
	case passed && len(t.pending) == 0:
		c.settle(ending{})
	case !passed && t.goal.runs >= goal.Checks(t.goal.Goal):
		e := ending{reason: protocol.AbortBudget,
			why: fmt.Sprintf("its check failed %d times, which is its limit (--max-checks)", t.goal.runs)}
		c.tell(protocol.Warning{Message: "the goal is not reached: " + e.why})
		t.stopping = &e
		c.settle(e)
	default:
		c.followUp()
	}
}
