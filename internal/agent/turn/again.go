package turn

import "kerf/internal/protocol"

// AskAgain answers Run instead of Finished: what was allowed is no longer what
// would happen, and the user is asked about what would. The next Run follows an
// answer that allows it.
type AskAgain struct {
	Call     protocol.CallID
	Try      int // of the Run that is answered
	Approval protocol.Approval
	Body     protocol.Body // shown from now on; nil leaves it
	Proposal Proposal      // handed back by the next Run
	// Prior is what the call came to so far; it is the end of the call when the
	// user says no. Nil: nothing ran.
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
