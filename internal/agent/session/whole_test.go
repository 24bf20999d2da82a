package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/executor/mcp"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/team"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// TestASubmissionKeepsItsID: what comes of it is told with the id that the front end gave it.
func TestASubmissionKeepsItsID(t *testing.T) {
	c := begin(t, nil, says("one"))
	if err := c.Submit(t.Context(), protocol.Submission{ID: "my-own", Op: input("go")}); err != nil {
		t.Fatal(err)
	}
	c.until(is[protocol.TurnCompleted])
	for _, e := range c.told {
		if is[protocol.TurnStarted](e.Msg) && (e.Turn != "my-own" || e.Submission != "my-own") {
			t.Errorf("the turn is %q of submission %q", e.Turn, e.Submission)
		}
	}
	_ = c.Close()
}

// TestStoppingWhatHasEndedIsNothing: an answer and the wish to stop may cross.
func TestStoppingWhatHasEndedIsNothing(t *testing.T) {
	c := begin(t, nil, says("one"))
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	_ = c.Close()
	for _, e := range []turn.Effect{turn.StopModel{Round: 1}, turn.StopCall{Call: "c1"}, turn.StopWait{Timer: 1}} {
		if !c.Session.start(e) {
			t.Errorf("%#v ends the session", e)
		}
	}
}

// TestWhetherTheWorkTreeWasDirty is told as far as git says it in time: at once, before the end of the
// session, or not at all.
func TestWhetherTheWorkTreeWasDirty(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		dirty func(time.Duration) (bool, bool)
		want  *bool
	}{
		"git says nothing": {nil, nil},
		"not in time":      {func(time.Duration) (bool, bool) { return true, false }, nil},
		"dirty":            {func(time.Duration) (bool, bool) { return true, true }, &yes},
		"clean":            {func(time.Duration) (bool, bool) { return false, true }, &no},
		"late":             {func(within time.Duration) (bool, bool) { return true, within > 0 }, &yes},
		"slow":             {func(within time.Duration) (bool, bool) { return true, within >= time.Minute }, nil},
	} {
		s, dir := recorded(t, func(_ *conversation, o *Options) { o.Dirty = c.dirty }, says("done"))
		s.do(input("go"))
		s.until(is[protocol.TurnCompleted])
		_ = s.Close()
		m, err := rollout.LoadMetadata(dir)
		if err != nil || (m.Git.Dirty == nil) != (c.want == nil) || c.want != nil && *m.Git.Dirty != *c.want {
			t.Errorf("%s: %v, %v", name, m.Git.Dirty, err)
		}
	}
	asked := false
	s, dir := recorded(t, func(_ *conversation, o *Options) {
		o.Dirty = func(time.Duration) (bool, bool) { asked = true; return true, true }
	})
	_ = s.Close()
	if _, err := os.Stat(filepath.Join(dir, "metadata.json")); err == nil || asked {
		t.Errorf("a session without a turn has metadata (%v) or waited for git (%t)", err, asked)
	}
}

// TestMetadataFollowTheTurns: each turn brings them up to date, and an end that nothing led up to
// writes nothing.
func TestMetadataFollowTheTurns(t *testing.T) {
	s, dir := recorded(t, nil, says("one"), says("two"))
	name := filepath.Join(dir, "metadata.json")
	var last time.Time
	for range 2 {
		s.do(input("go"))
		s.until(is[protocol.TurnCompleted])
		m, err := rollout.LoadMetadata(dir)
		if err != nil || !m.Updated.After(last) {
			t.Errorf("%v after %v: %v", m.Updated, last, err)
		}
		last = m.Updated
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if _, err := os.Stat(name); err == nil {
		t.Error("what was up to date was written once more")
	}
}

// TestMetadataFollowATurnThatFails, and one that is interrupted.
func TestMetadataFollowATurnThatFails(t *testing.T) {
	s, dir := recorded(t, nil, refuses(), calls("c1"))
	s.exec.run = func(ctx context.Context, _ turn.Run, _ executor.Live) turn.Outcome {
		<-ctx.Done()
		return turn.Outcome{}
	}
	tokens := func() int {
		t.Helper()
		m, err := rollout.LoadMetadata(dir)
		if err != nil {
			t.Error(err)
		}
		return m.Tokens
	}
	s.do(input("go"))
	s.until(is[protocol.TurnFailed])
	if got := tokens(); got != 7 {
		t.Errorf("%d tokens are told of the turn that failed", got)
	}
	s.model.replies[1] = append(s.model.replies[1][:len(s.model.replies[1])-1], model.Done{Usage: &model.Usage{Input: 5}})
	s.do(input("go"))
	s.until(is[protocol.ItemStarted])
	s.do(protocol.Interrupt{})
	s.until(is[protocol.TurnAborted])
	if got := tokens(); got != 12 {
		t.Errorf("%d tokens are told after the turn that was interrupted", got)
	}
	_ = s.Close()
}

// TestAPlanThatCannotBeKeptIsTold.
func TestAPlanThatCannotBeKeptIsTold(t *testing.T) {
	s, dir := recorded(t, func(_ *conversation, o *Options) { o.Settings.Approval = protocol.PolicyPlan },
		says("<proposed_plan>\n1. test\n</proposed_plan>"))
	if err := os.MkdirAll(filepath.Join(dir, "plan.md", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.do(input("plan it"))
	s.until(s.warned("the plan cannot be saved: "))
	s.until(is[protocol.TurnCompleted])
	_ = s.Close()
}

// TestMetadataThatCannotBeWrittenAreTold: the user hears of it once, and the session goes on.
func TestMetadataThatCannotBeWrittenAreTold(t *testing.T) {
	s, dir := recorded(t, nil, says("one"), says("two"), says("three"))
	s.do(input("go"))
	s.until(is[protocol.TurnCompleted])
	name := filepath.Join(dir, "metadata.json")
	if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.do(input("go"))
	warned := s.until(is[protocol.Warning]).(protocol.Warning)
	if !strings.HasPrefix(warned.Message, "the session cannot be saved at the moment: ") {
		t.Error(warned)
	}
	s.until(is[protocol.TurnCompleted])
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	s.do(input("go"))
	s.until(is[protocol.TurnCompleted])
	_ = s.Close()
	if m, err := rollout.LoadMetadata(dir); err != nil || m.Turns != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestTheEndWaitsForWhatIsUnderWay: when a session is closed, nothing of it works any more, also where
// something takes its time to stop.
func TestTheEndWaitsForWhatIsUnderWay(t *testing.T) {
	var over atomic.Bool
	began := make(chan struct{})
	c := begin(t, nil)
	c.exec.killing = func() {
		close(began)
		time.Sleep(50 * time.Millisecond) // it takes its time
		over.Store(true)
	}
	c.do(protocol.Kill{Process: 1})
	select {
	case <-began:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was killed")
	}
	if err := c.Close(); err != nil || !over.Load() || !c.exec.shut {
		t.Errorf("%v: the kill is over: %t, the executor is closed: %t", err, over.Load(), c.exec.shut)
	}
}

// TestTheOutlineFollowsALongTurn: who looks at a session in the midst of a long turn reads little of
// its record, so the outline is brought up to date while it grows.
func TestTheOutlineFollowsALongTurn(t *testing.T) {
	kept := func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "rollout.outline")); return err == nil }
	second, release := make(chan struct{}), make(chan struct{})
	c, dir := recorded(t, func(c *conversation, _ *Options) {
		n := 0
		c.exec.run = func(ctx context.Context, _ turn.Run, _ executor.Live) turn.Outcome {
			if n++; n == 2 { // the first is recorded
				close(second)
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return turn.Outcome{Text: strings.Repeat("a long line of output\n", 250_000), Success: true}
		}
	}, calls("c1"), calls("c2"), says("done"))
	c.do(input("go"))
	for limit, waits := time.After(time.Minute), true; waits; {
		select {
		case <-second:
			waits = false
		case e := <-c.Events():
			c.told = append(c.told, e)
		case <-limit:
			t.Fatal("the second call was not run")
		}
	}
	if !kept(dir) {
		t.Error("no outline of 5 MB in the midst of a turn")
	}
	close(release)
	c.until(is[protocol.TurnCompleted])
	_ = c.Close()
}

// TestNoNewsAreNoMessage: where no sub-agent came to an end, the model is told nothing of any.
func TestNoNewsAreNoMessage(t *testing.T) {
	c := begin(t, nil, calls("c1"), says("done"))
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	_ = c.Close()
	for n, r := range c.model.asked {
		for _, i := range r.Items {
			if i.Kind == model.Message && i.Text() == "" {
				t.Errorf("request %d has an empty message of %s", n+1, i.Role)
			}
		}
	}
	if len(c.model.asked) != 2 {
		t.Errorf("%d requests", len(c.model.asked))
	}
}

// TestASessionWithoutARecord plans, names itself and ends like any other.
func TestASessionWithoutARecord(t *testing.T) {
	c := begin(t, func(o *Options) { o.Settings.Approval = protocol.PolicyPlan }, says("<proposed_plan>\n1. test\n</proposed_plan>"))
	c.do(input("plan it"))
	c.until(is[protocol.TurnCompleted])
	c.do(protocol.Rename{Title: "mine"})
	c.until(is[protocol.TitleChanged])
	if err := c.Close(); err != nil || !c.exec.shut {
		t.Errorf("%v, closed: %t", err, c.exec.shut)
	}
}

// TestNewsWaitForTheNextTurn where somebody goes on with the session.
func TestNewsWaitForTheNextTurn(t *testing.T) {
	c, _ := withAgents(t, &fakeModel{replies: [][]model.Chunk{says("looked")}}, nil)
	c.do(input("go"))
	c.sooner(is[protocol.TurnCompleted])
	c.sooner(func(m protocol.Msg) bool {
		a, ok := m.(protocol.Agents)
		return ok && len(a.Agents) == 1 && a.Agents[0].State == team.Completed
	})
	for range 3 {
		if text := c.endNews(); text != "" {
			t.Errorf("at the end of the turn the model is told %q", text)
		}
	}
	_ = c.Close()
}

// TestWhoWatchesASession is told each event in order, as front ends are; its end is told to the one who
// opened it, after everything else.
func TestWhoWatchesASession(t *testing.T) {
	var seen []uint64
	released := 0
	c := begin(t, func(o *Options) {
		o.Observe = func(e protocol.Event) { seen = append(seen, e.Seq) }
		o.Release = func() { released++ }
	}, calls("c1"), says("done"))
	c.exec.run = func(context.Context, turn.Run, executor.Live) turn.Outcome {
		if released != 0 {
			t.Error("released while a call runs")
		}
		return turn.Outcome{Text: "ran", Success: true}
	}
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	_ = c.Close()
	if released != 1 {
		t.Errorf("released %d times", released)
	}
	for i, n := range seen {
		if n != uint64(i+1) {
			t.Fatalf("seen %v", seen)
		}
	}
	if len(seen) < len(c.told) {
		t.Errorf("%d of %d events are seen", len(seen), len(c.told))
	}
}

// TestAnAnswerToNobody is dropped: the loop goes on.
func TestAnAnswerToNobody(t *testing.T) {
	over := make(chan struct{})
	go func() {
		new(Session).deliver(turn.Reply{To: turn.Asker{ID: "gone"}})
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Error("it waits for somebody to take it")
	}
}

// TestTitlesEndBetweenLetters, also where there are none.
func TestTitlesEndBetweenLetters(t *testing.T) {
	for text, want := range map[string]string{
		" one\ntwo": "one", "": "",
		strings.Repeat("x", 80):             strings.Repeat("x", 80),
		strings.Repeat("x", 81):             strings.Repeat("x", 80) + "…",
		strings.Repeat("x", 79) + "ä" + "y": strings.Repeat("x", 79) + "…",
		strings.Repeat("x", 78) + "ä" + "y": strings.Repeat("x", 78) + "ä…",
		strings.Repeat("\x80", 90):          "…",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// TestServersMayAskAndTell: what serves a session reaches its user.
func TestServersMayAskAndTell(t *testing.T) {
	var front mcp.Front
	c := begin(t, func(o *Options) { o.Serve = func(f mcp.Front) { front = f } })
	front.Tell(protocol.Warning{Message: "a server is slow"})
	c.until(c.warned("a server is slow"))
	replies := make(chan turn.Reply, 1)
	go func() {
		replies <- front.Ask(t.Context(), protocol.Approval{Question: &protocol.Question{Server: "s", Message: "which?"}})
	}()
	asked := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested)
	c.do(protocol.Answer{Approval: asked.Approval.ID, Decision: protocol.Once, Words: "this"})
	select {
	case r := <-replies:
		if r.Answer.Decision != protocol.Once || r.Answer.Words != "this" {
			t.Errorf("%+v", r)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server waits for its answer")
	}
	_ = c.Close()
}
