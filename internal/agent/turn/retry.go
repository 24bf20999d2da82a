package turn

import (
	"fmt"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// failed decides what to do after a failed request.
func (c *Core) failed(err *model.Error) {
	t := c.turn
	if err.Kind == model.Context && t.shrink == nil && !t.shrunk && !c.idle {
		t.shrunk = true
		c.shrinkHistory(true)
		return
	}
	attempt, most := t.nextAttempt(&c.o, err)
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
	c.record(history.EventRecord{Turn: t.id, What: history.StreamRetry, Message: err.Error()})
	c.tell(protocol.Retrying{Attempt: attempt, Max: most, Delay: delay, Cause: err.Error()})
	c.do(Wait{Timer: t.timer, Delay: delay, Jitter: !asked})
}

// maxDelay is the longest wait a provider may ask for.
const maxDelay = 5 * time.Minute

// nextAttempt counts the failure and returns the number of the retry that
// follows and of how many, or 0 when there is none. Requests that were not
// answered and answers that broke off are counted apart: neither count lends to
// the other.
func (t *turn) nextAttempt(o *Options, err *model.Error) (attempt, most int) {
	requests, streams := o.RequestRetries, o.StreamRetries
	if o.Retries != nil {
		requests, streams = o.Retries(t.settings.Model)
	}
	made, most := &t.streams, streams
	if !err.Began && err.Kind != model.Broken {
		made, most = &t.requests, requests
	}
	if !err.Passes() || *made >= most {
		return 0, 0
	}
	*made++
	return *made, most
}

// backoff is 200 ms doubled with each attempt, at most half a minute.
func backoff(attempt int) time.Duration {
	return min(200*time.Millisecond<<min(attempt-1, 10), 30*time.Second)
}

func (c *Core) elapsed(in Elapsed) {
	t := c.turn
	if t != nil && t.wall != 0 && t.wall == in.Timer {
		t.wall = 0
		why := fmt.Sprintf("its time of %s (max_seconds, --timeout) is used up", c.o.Budget.Wall)
		c.tell(protocol.Warning{Message: "the turn ends: " + why})
		c.stop(ending{reason: protocol.AbortBudget, why: why})
		return
	}
	if t == nil || t.phase != waiting || t.timer != in.Timer || t.stopping != nil {
		return
	}
	if t.shrink != nil {
		c.askSummary()
		return
	}
	c.sample()
}

// fail ends the turn with an error; what the user said meanwhile is kept.
func (c *Core) fail(tr protocol.Trouble) {
	c.turn.dropShrink(&c.output, c.o.Fault)
	c.recordPending()
	c.settle(ending{trouble: &tr})
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
