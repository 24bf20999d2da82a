package turn

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kerf/internal/model"
	"kerf/internal/protocol"
)

// How often in a row a model is asked to go on after an answer that says nothing or stops
// early, and how often a provider may pause one answer.
const (
	maxNudges = 3
	maxPauses = 10
)

// The reasons for an early stop that are decided about. A reason of the provider's own is
// treated like cutByLength.
const (
	cutByLength   = "max_output_tokens"
	windowIsFull  = "model_context_window_exceeded"
	paused        = "pause_turn"
	announcedOnly = "call_announced"
	refused       = "refusal"
	filtered      = "content_filter" // also with more behind it
)

// unfinished is what an answer that ended well in form leaves undone.
type unfinished struct {
	reason string   // the provider's word for an early stop, or empty
	cut    []string // names of tools whose calls were cut off
	// nameless is set when a call named no tool. It is dropped: no history can hold it.
	nameless bool
}

// stopped takes what the closing chunk says.
func (r *round) stopped(d model.Done) {
	r.left.reason, r.left.cut = d.Incomplete, d.Cut
}

// said reports whether the answer has words for the user.
func (r *round) said() bool {
	return r.plan != "" || r.repeated || slices.ContainsFunc(r.parts, func(p part) bool {
		return p.item.Kind == model.Message && strings.TrimSpace(p.item.Text()) != ""
	})
}

// goOn follows an answer that is over. It reports whether the turn goes on, or failed,
// because the answer is empty or was cut short.
func goOn(c *Core, said bool) bool {
	t := c.turn
	left := t.round.left
	switch {
	case left.reason == windowIsFull:
		c.failed(&model.Error{Kind: model.Context, Began: true,
			Message: "the model's context window is full; the answer was cut (" + left.reason + ")",
			Hint:    "compact the session or start a new one"})
	case left.reason == refused, strings.HasPrefix(left.reason, filtered):
		c.fail(protocol.Trouble{Kind: protocol.TroubleRequest,
			Message: "the provider stopped the answer: " + stoppedBy(left.reason),
			Hint:    "word the request differently, or use another model"})
	case left.reason == paused:
		if t.pauses++; t.pauses > maxPauses {
			c.fail(unfinishedTrouble("the provider paused the answer", left.reason, t.pauses))
			return true
		}
		c.followUp()
	case t.round.calledTools:
		t.nudges, t.pauses = 0, 0
		if len(left.cut) == 0 {
			return false
		}
		c.mark(cutCalls(left.cut))
		c.followUp()
	case left.reason == "" && said && !left.nameless, len(t.pending) > 0:
		t.nudges, t.pauses = 0, 0
		return false
	default:
		nudge(c, left, said)
	}
	return true
}

// nudge asks the model to go on, within a bound.
func nudge(c *Core, left unfinished, said bool) {
	t := c.turn
	what := "the model's answer is empty"
	switch {
	case left.reason != "":
		what = "the model stopped before its answer was complete"
	case left.nameless:
		what = "the model made a call that names no tool"
	}
	if t.nudges++; t.nudges > maxNudges {
		c.fail(unfinishedTrouble(what, left.reason, t.nudges))
		return
	}
	text := "Your last answer was empty. Go on with the task. If it is finished, say in a sentence what was done."
	switch {
	case len(left.cut) > 0:
		text = cutCalls(left.cut)
	case left.nameless:
		text = "Your last answer held a call that names no tool, and it was not run. Call one of the tools by its name."
	case left.reason == announcedOnly:
		text = "Your last answer announced a call and held none. Make the call, or say what you have to say."
	case left.reason != "" && said:
		t.carried = t.last
		text = "Your last answer was cut off (" + left.reason + "). Go on exactly where it stops, without repeating it."
	case left.reason != "":
		text = "Your last answer was cut off (" + left.reason + ") before it said anything. Think less, and answer or " +
			"call a tool."
	}
	c.tell(protocol.Warning{Message: what + reasonIn(left.reason) + "; asking it to go on (" + strconv.Itoa(t.nudges) +
		" of " + strconv.Itoa(maxNudges) + ")"})
	c.mark(text)
	c.followUp()
}

// cutCalls tells the model of calls that are not run because their arguments were cut.
func cutCalls(names []string) string {
	return "Your last answer was cut off at the output limit in the middle of a call (" + strings.Join(names, ", ") +
		"). The call was not run. Make it again with less in it: write a long file in several steps."
}

func reasonIn(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func stoppedBy(reason string) string {
	if reason == refused {
		return "the model refuses to answer (refusal)"
	}
	return reason
}

func unfinishedTrouble(what, reason string, times int) protocol.Trouble {
	return protocol.Trouble{Kind: protocol.TroubleStream,
		Message: what + reasonIn(reason) + ", " + strconv.Itoa(times) + " times in a row",
		Hint:    "try again, or use another model"}
}

// heard keeps the messages that were whole before the answer broke off.
func (t *turn) heard(r *round) {
	for _, p := range r.parts {
		if p.item.Kind == model.Message {
			t.before = append(t.before, strings.TrimSpace(p.item.Text()))
		}
	}
}

// echo compares a text that grows with messages that were shown before the answer broke off.
// What was compared once is not compared again.
type echo struct {
	of   []string // those that its first bytes begin
	lead int      // behind so many bytes of white space
	same int      // so many bytes of it
}

// repeats reports whether s is, or may become, one of these. Of a text that s has grown from it
// was asked before.
func (e *echo) repeats(before []string, s []byte) bool {
	trimmed := bytes.TrimLeftFunc(s, unicode.IsSpace)
	lead := len(s) - len(trimmed)
	s = bytes.TrimSpace(trimmed)
	if e.same == 0 || lead != e.lead || len(s) < e.same { // what was compared has become a space
		e.of, e.lead, e.same = slices.Clone(before), lead, 0
	}
	e.of = slices.DeleteFunc(e.of, func(b string) bool {
		return !slices.Contains(before, b) || len(b) < len(s) || b[e.same:len(s)] != string(s[e.same:])
	})
	e.same = len(s)
	return len(e.of) > 0
}

// repeated reports whether s is a message that was shown before the answer broke off. It
// is taken once.
func (t *turn) repeated(s string) bool {
	i := slices.Index(t.before, strings.TrimSpace(s))
	if i < 0 {
		return false
	}
	t.before = slices.Delete(t.before, i, i+1)
	return true
}
