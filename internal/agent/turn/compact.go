package turn

import (
	"slices"
	"strings"

	"kerf/internal/agent/history"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// shrink is a compaction under way: a summary is asked for, then the history is
// replaced.
type shrink struct {
	item     protocol.ItemID
	auto     bool
	settings protocol.Settings
	items    []*model.Item // what the summary is asked of
	round    int
	sent     int // estimate of the request, in tokens
	before   int
	summary  string
	done     bool
}

// limits are the window of a model and the size at which the history is
// compacted, 0 for what is unknown.
func (o *Options) limits(name string) (window, limit int) {
	if o.Limits != nil {
		window, limit = o.Limits(name)
	}
	if window == 0 {
		window = o.Window
	}
	if limit == 0 {
		limit = window / 10 * 9
	}
	return window, limit
}

// fills reports whether the history must be compacted before the next request to
// a model.
func (v *conversation) fills(o *Options, name string) bool {
	_, limit := o.limits(name)
	return limit > 0 && v.context >= limit && !v.idle
}

// followUp sends the next request of the turn, if the budget allows one, after a
// compaction where one is due.
func (c *Core) followUp() {
	if why := c.spent.usedUp(c.o.Budget, c.turn.sampled); why != "" {
		e := ending{reason: protocol.AbortBudget, why: why}
		c.tell(protocol.Warning{Message: "the turn ends: " + why})
		c.turn.stopping = &e
		c.settle(e)
		return
	}
	if c.fills(&c.o, c.turn.settings.Model) || c.compact && !c.idle {
		auto := !c.compact
		c.shrinkHistory(auto)
		return
	}
	c.sample()
}

// compactOp compacts on demand: in the running turn before its next request, or
// in a turn of its own.
func (c *Core) compactOp(s Submit) {
	c.compact = false
	switch {
	case c.closing:
	case c.turn != nil || c.chore != nil:
		c.compact = true
	case c.idle:
		c.reply(s.ID, protocol.Warning{Message: "there is nothing to compact yet"})
	default:
		c.enter(&turn{id: protocol.TurnID(s.ID), kind: compaction, settings: c.settings})
		c.shrinkHistory(false)
	}
}

// shrinkHistory begins a compaction. After a switch to a model with a smaller
// window, the model before it writes the summary: the history fits its window.
func (c *Core) shrinkHistory(auto bool) {
	t := c.turn
	c.compact = false
	k := &shrink{auto: auto, settings: t.settings, items: c.Items(), before: max(c.context, c.size)}
	if c.model != "" && c.model != t.settings.Model {
		old, _ := c.o.limits(c.model)
		if now, _ := c.o.limits(t.settings.Model); old > now {
			k.settings.Model = c.model
		}
	}
	t.shrink = k
	k.item = c.show(protocol.Compaction{Before: k.before})
	c.askSummary()
}

// askSummary sends the request for the summary.
func (c *Core) askSummary() {
	t, k := c.turn, c.turn.shrink
	c.rounds++
	t.phase, k.round, k.summary, k.done = compacting, c.rounds, "", false
	items := append(k.items[:len(k.items):len(k.items)], model.UserText(history.SummaryPrompt))
	k.sent = history.Sizes(items)
	c.do(CallModel{Turn: t.id, Round: k.round, Settings: k.settings, Items: items, Compact: true})
}

// summarizing reports whether n is the request for the summary.
func (t *turn) summarizing(n int) bool {
	return t != nil && t.phase == compacting && t.shrink.round == n
}

func (c *Core) summaryChunk(ch model.Chunk) {
	k := c.turn.shrink
	if k.done {
		return
	}
	switch ch := ch.(type) {
	case model.ItemDone:
		if ch.Item != nil && ch.Item.Kind == model.Message {
			if k.summary != "" {
				k.summary += "\n\n"
			}
			k.summary += strings.TrimSpace(ch.Item.Text())
		}
	case model.Limits:
		c.tell(protocol.RateLimits{Values: ch.Values})
	case model.Done:
		k.done = true
		extra, broken := c.extra, c.turn.streams // of requests with tools
		c.countTokens(ch.Usage, k.round, k.sent)
		if c.extra = extra; k.summary == "" {
			c.turn.streams = broken // it is no good one, and is not asked for without end
		}
	}
}

func (c *Core) summaryEnded(err error) {
	t, k := c.turn, c.turn.shrink
	if k.done && k.summary == "" {
		c.failed(&model.Error{Kind: model.Broken, Began: true, Message: "the summary of the conversation is empty"})
		return
	}
	if k.done {
		t.phase = regathering
		t.again++
		c.do(Gather{Turn: t.id, Again: t.again, Settings: t.settings, First: true})
		return
	}
	failure := asModelError(err)
	if failure.Kind == model.Context {
		if k.items = history.DropOldest(k.items); k.items != nil {
			c.tell(protocol.Warning{Message: "the conversation is too long even for a summary; its oldest part is left out"})
			c.askSummary()
			return
		}
	}
	c.failed(failure)
}

// compacted puts the new history in place of the old one and goes on.
func (c *Core) compacted(in Gathered) {
	t, k := c.turn, c.turn.shrink
	notes, words := c.notes, c.words
	if c.o.Fault == ForgetNotes {
		notes = &history.Notes{}
	}
	if c.o.Fault == ForgetWords {
		words = words[:max(0, len(words)-1)]
	}
	context := slices.Concat(in.Items, in.Notices)
	if c.o.Fault != ForgetGoal {
		context = append(context, t.goal.items()...)
	}
	items, kept := history.Replacement(context, words, c.fresh, k.summary, notes)
	after := history.Sizes(items) + c.extra
	c.record(history.Compacted{Turn: t.id, Before: k.before, After: after, Auto: k.auto, Summary: k.summary,
		Items: items, Words: kept, Facts: in.Facts, Notes: c.notes.Clone()})
	c.replace(items, kept, in.Facts)
	t.shrink = nil
	c.complete(k.item, protocol.Completed, protocol.Compaction{Before: k.before, After: after, Summary: k.summary})
	c.tell(protocol.HistoryCompacted{Before: k.before, After: after, Auto: k.auto})
	c.do(Forget{})
	if t.kind == compaction {
		c.settle(ending{})
		return
	}
	c.sample()
}

// dropShrink gives up a compaction; the history stays as it was.
func (t *turn) dropShrink(out *output, f Fault) {
	if t.shrink == nil || f == LeaveShrinkOpen {
		return
	}
	out.tell(protocol.ItemDropped{Item: t.shrink.item})
	t.shrink = nil
}
