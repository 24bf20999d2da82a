package turn

import "kerf/internal/protocol"

// AskAgain answers Run instead of Finished. What would happen now differs from
// what the user allowed, so the user is asked again. If the user allows it, the
// next Run follows.
type AskAgain struct {
	Call     protocol.CallID
	Try      int // of the Run that is answered
	Approval protocol.Approval
	Body     protocol.Body // shown from now on; nil leaves it
	Proposal Proposal      // handed back by the next Run
	// Prior is the outcome of what ran so far. It becomes the outcome of the call if
	// the user says no. It is nil if nothing ran.
	Prior *Outcome
}

func (AskAgain) input() {}

func (c *Core) askAgain(in AskAgain) {
	k := c.turn.find(in.Call, running)
	if k == nil || in.Try != k.tries {
		return
	}
	k.tries++
	k.prior, k.proposal = in.Prior, in.Proposal
	if c.turn.stopping != nil {
		c.finished(in.Call, abortedOutcome(k))
		return
	}
	if in.Body != nil && k.item != "" {
		k.body = in.Body
		c.update(k.item, in.Body)
	}
	c.askAbout(k, in.Approval)
}
