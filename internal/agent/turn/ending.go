package turn

import (
	"slices"
	"strconv"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// settle asks what the turn changed; the answer ends it.
func (c *Core) settle(e ending) {
	t := c.turn
	t.end = e
	t.phase = settling
	if t.wall != 0 {
		c.do(StopWait{Timer: t.wall})
		t.wall = 0
	}
	if len(t.shells) == 0 { // otherwise the end of the last one asks
		askSettle(c)
	}
}

// askSettle asks what the settling turn changed.
func askSettle(c *Core) {
	t := c.turn
	c.do(Settle{Turn: t.id, Settings: t.settings, Done: !c.closing && t.mayGoOn(), Last: t.last, WentOn: t.wentOn})
}

// maxGoOn limits how often a hook may keep a turn going after the model was done.
const maxGoOn = 5

// mayGoOn reports whether a hook may keep the settling turn going: it ended well,
// nobody stopped it, and it has not gone on too often.
func (t *turn) mayGoOn() bool {
	return t.end.trouble == nil && t.end.reason == "" && !t.unwanted && t.wentOn < maxGoOn
}

func (c *Core) settled(in Settled) {
	t := c.turn
	if t == nil || t.id != in.Turn || t.phase != settling || len(t.shells) > 0 {
		return
	}
	c.recordShells()
	for _, x := range in.Checks {
		c.ran(x)
	}
	for _, ch := range in.Changes {
		c.record(ch)
	}
	if in.GoOn != "" && !c.closing && t.mayGoOn() {
		t.wentOn++
		c.recordInput([]protocol.Input{{Text: in.GoOn}})
		c.followUp()
		return
	}
	if in.Note != "" {
		c.mark(in.Note)
	}
	if in.Diff != nil {
		exact := in.Diff.Exact
		c.record(history.EventRecord{Turn: t.id, What: history.TurnDiffed, Message: in.Diff.Note, Exact: &exact})
		c.tell(*in.Diff)
	}
	if in.Unrecorded != "" && t.end.trouble == nil && t.end.reason == "" {
		t.end.trouble = &protocol.Trouble{Kind: protocol.TroubleStorage, Message: in.Unrecorded}
	}
	if in.Cut != "" && t.end.trouble == nil && t.end.reason == "" {
		t.end.trouble = &protocol.Trouble{Kind: protocol.TroubleOther, Message: in.Cut}
	}
	t.closeTodo(&c.output)
	c.finishTurn()
	c.turn, c.output.turn = nil, ""
	c.startNext(t.end)
	c.endIfIdle()
}

// finishTurn records and tells the end of the turn.
func (c *Core) finishTurn() {
	t := c.turn
	switch e := t.end; {
	case e.trouble != nil:
		c.record(history.EventRecord{Turn: t.id, What: history.TurnFailed, Message: e.trouble.Message})
		c.tell(protocol.TurnFailed{Error: *e.trouble})
	case e.reason != "":
		c.recordMarker()
		c.record(history.EventRecord{Turn: t.id, What: history.TurnAborted, Message: string(e.reason)})
		if c.o.Fault != NeverEnd {
			c.tell(protocol.TurnAborted{Reason: e.reason, Undelivered: c.undelivered(e)})
		}
	default:
		c.record(history.EventRecord{Turn: t.id, What: history.TurnCompleted})
		c.tell(protocol.TurnCompleted{Usage: t.usage, LastMessage: t.last})
		if c.o.Fault == EndTwice {
			c.tell(protocol.TurnCompleted{Usage: t.usage})
		}
	}
}

// undelivered returns the input that the model never saw. It includes input that
// waits for its own turn, unless another turn follows at once.
func (c *Core) undelivered(e ending) []protocol.Input {
	inputs := slices.Clip(c.turn.opening)
	pending := c.turn.pending
	if e.reason != protocol.AbortReplaced && len(c.queue) > 0 {
		if c.o.Fault != LoseQueued {
			pending = slices.Concat(pending, c.queue)
		}
		c.queue = nil
		c.tellQueue("")
	}
	for _, s := range pending {
		inputs = append(inputs, s.Op.(protocol.UserInput).Items...)
	}
	return inputs
}

// abortMarker tells the model that it was cut off.
const abortMarker = "<turn_aborted>\nThe user interrupted the previous turn on purpose. Commands may have been " +
	"stopped half way; look at the state of files before relying on it.\n</turn_aborted>"

// recordMarker tells the model that the turn was aborted. It does nothing if the
// model never heard of the turn.
func (c *Core) recordMarker() {
	if c.turn.opening != nil || c.turn.kind != regular {
		return
	}
	text := abortMarker
	if c.turn.end.reason == protocol.AbortBudget {
		text = "<turn_aborted>\nThe previous turn was ended because " + c.turn.end.why + ".\n</turn_aborted>"
	}
	c.mark(text)
}

// mark tells the model something in Kerf's own words.
func (c *Core) mark(text string) {
	u := history.UserInput{Text: text, Marker: true}
	if c.turn != nil {
		u.Turn = c.turn.id
	}
	c.record(u)
	c.add(u.Item())
}

// startNext handles what was submitted while the last turn ended; e says how it
// ended. Then it starts the next input that waits for its own turn. After a failure
// that input keeps waiting, because it would most likely fail as well.
func (c *Core) startNext(e ending) {
	waiting := c.next
	c.next = nil
	for _, s := range waiting {
		if op, ok := s.Op.(protocol.UserInput); ok && op.Replace && c.turn != nil {
			op.Replace = false // it has replaced the turn it was meant for
			s.Op = op
		}
		c.submit(s)
	}
	if c.closing {
		return
	}
	if c.turn == nil && c.chore == nil && c.compact {
		c.compactOp(Submit{ID: "compact-" + strconv.Itoa(c.rounds)})
	}
	if c.turn == nil && c.chore == nil && len(c.queue) > 0 && e.trouble == nil {
		s := c.queue[0]
		c.queue = c.queue[1:]
		c.tellQueue(s.ID)
		c.start(s)
	}
}

func (c *Core) endIfIdle() {
	if c.closing && c.turn == nil && c.chore == nil {
		for _, s := range c.queue {
			c.giveBack(s)
		}
		c.queue = nil
		c.tell(protocol.SessionEnded{})
		c.do(End{})
		c.ended = true
	}
}
