package turn

import (
	"slices"
	"strings"
	"testing"

	"kerf/internal/agent/history"
	"kerf/internal/protocol"
)

// effect returns the first effect of a kind.
func effect[E Effect](t *testing.T, r Ready) E {
	t.Helper()
	for _, e := range r.Effects {
		if got, ok := e.(E); ok {
			return got
		}
	}
	var none E
	t.Fatalf("no %T among %+v", none, r.Effects)
	return none
}

func told[M protocol.Msg](r Ready) bool {
	return slices.ContainsFunc(r.Events, func(e Told) bool { _, ok := e.Msg.(M); return ok })
}

func inReview(t *testing.T) (*Core, RunReview) {
	t.Helper()
	c := New(Options{}, nil)
	return c, effect[RunReview](t, c.Step(Submit{ID: "r", Op: protocol.Review{Base: "main"}}))
}

func TestReviewIsATurnOfItsOwn(t *testing.T) {
	c, e := inReview(t)
	if e.Turn != "r" || e.Op.Base != "main" {
		t.Errorf("the effect is %+v", e)
	}
	// Input waits for its end.
	if r := c.Step(Submit{ID: "u", Op: protocol.UserInput{Items: []protocol.Input{{Text: "then this"}}}}); len(r.Effects) > 0 {
		t.Errorf("input was taken: %+v", r)
	}
	// An answer to another review changes nothing.
	if r := c.Step(Reviewed{Call: "other"}); !r.Empty() {
		t.Errorf("a late answer did %+v", r)
	}
	r := c.Step(Reviewed{Call: e.Call, Text: "it is bad", Result: protocol.ReviewResult{Text: "it is bad"}})
	effect[Settle](t, r)
	if text := c.Items()[len(c.Items())-1].Text(); !strings.Contains(text, "it is bad") {
		t.Errorf("the model is told %q", text)
	}
	r = c.Step(Settled{Turn: "r", Note: "an agent ended"})
	if !told[protocol.TurnCompleted](r) || effect[Gather](t, r).Turn != "u" {
		t.Errorf("the end told %+v", r)
	}
	if text := c.Items()[len(c.Items())-1].Text(); text != "an agent ended" {
		t.Errorf("the note is not in the history: %q", text)
	}
}

func TestReviewEnds(t *testing.T) {
	c, e := inReview(t)
	if r := c.Step(Submit{Op: protocol.Interrupt{}}); effect[StopCall](t, r).Call != e.Call {
		t.Errorf("the interrupt did %+v", r)
	}
	effect[Settle](t, c.Step(Reviewed{Call: e.Call, Text: "too late"}))
	if r := c.Step(Settled{Turn: "r"}); !told[protocol.TurnAborted](r) || c.Busy() {
		t.Errorf("the end told %+v", r)
	}
	c, e = inReview(t)
	effect[Settle](t, c.Step(Reviewed{Call: e.Call, Trouble: &protocol.Trouble{Message: "no such branch"}}))
	if r := c.Step(Settled{Turn: "r"}); !told[protocol.TurnFailed](r) {
		t.Errorf("the end told %+v", r)
	}
}

// TestAgentsCount: what sub-agents use is the turn's, the session's and the budget's,
// and says nothing of the size of the history, after a resume either.
func TestAgentsCount(t *testing.T) {
	c := New(Options{Budget: Budget{Tokens: 100}}, nil)
	c.Step(Submit{ID: "t", Op: protocol.UserInput{Items: []protocol.Input{{Text: "go"}}}})
	r := c.Step(Spent{Agent: "a", Usage: protocol.Usage{Input: 90, Output: 20}})
	if c.turn.usage.Input != 90 || c.total.Output != 20 || c.context != 0 {
		t.Errorf("turn %+v, all %+v, context %d", c.turn.usage, c.total, c.context)
	}
	if why := c.spent.usedUp(c.o.Budget, c.turn.sampled); !strings.Contains(why, "100 tokens") {
		t.Errorf("the budget says %q", why)
	}
	u, ok := r.Records[0].(history.TokenUsage)
	if !ok || u.Agent != "a" || u.Turn != "t" {
		t.Errorf("recorded %+v", r.Records)
	}
}
