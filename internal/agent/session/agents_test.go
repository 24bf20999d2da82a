package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kerf/internal/agent/executor"
	"kerf/internal/agent/team"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// withAgents is a session whose call spawns a sub-agent, which is a session of its own with the given
// model.
func withAgents(t *testing.T, sub model.Client, more func(*Options)) (c *conversation, spawned *[]team.Spawn) {
	t.Helper()
	c = &conversation{t: t, exec: &fakeExecutor{}, model: &fakeModel{replies: [][]model.Chunk{calls("c1"), says("done")}}}
	c.exec.run = func(ctx context.Context, _ turn.Run, l executor.Live) turn.Outcome {
		r, err := l.Delegate(ctx, tool.Delegate{Operation: "spawn", Message: "look"}, c.o.Settings)
		if err != nil {
			return turn.Outcome{Text: err.Error()}
		}
		return turn.Outcome{Text: r.Text, Success: true}
	}
	spawned = new([]team.Spawn)
	c.start(func(o *Options) {
		o.Agents.MaxDepth, o.Agents.Roles = 1, team.Roles()
		o.Agents.Open = func(_ context.Context, parent *Session, s team.Spawn) (team.Member, error) {
			*spawned = append(*spawned, s)
			child := Start(Options{ID: "sub", Settings: s.Settings, Client: sub, Executor: &fakeExecutor{}, Background: &fakeExecutor{},
				View: parent.o.View, Agents: Agents{Parent: parent, Places: &team.Places{}, Depth: 1, MaxDepth: 1}})
			return team.Member{Session: child}, nil
		}
		if more != nil {
			more(o)
		}
	})
	return c, spawned
}

// sooner is until, for what may have been told already.
func (c *conversation) sooner(want func(protocol.Msg) bool) {
	c.t.Helper()
	if !c.has(want) {
		c.until(want)
	}
}

func (c *conversation) warned(parts ...string) func(protocol.Msg) bool {
	return func(m protocol.Msg) bool {
		w, ok := m.(protocol.Warning)
		for _, p := range parts {
			ok = ok && strings.Contains(w.Message, p)
		}
		return ok
	}
}

// TestASubAgentWorksForItsParent: its events are told as its own, in the parent's order, and the model
// is told how it ended with the next turn.
func TestASubAgentWorksForItsParent(t *testing.T) {
	c, spawned := withAgents(t, &fakeModel{replies: [][]model.Chunk{says("looked"), says("more, too")}}, nil)
	c.do(input("go"))
	c.sooner(func(m protocol.Msg) bool { d, ok := m.(protocol.TurnCompleted); return ok && d.LastMessage == "done" })
	c.sooner(func(m protocol.Msg) bool {
		a, ok := m.(protocol.Agents)
		return ok && len(a.Agents) == 1 && a.Agents[0].State == team.Completed && a.Agents[0].Message == "looked"
	})
	for i, e := range c.told {
		if e.Seq != uint64(i+1) || e.Time.IsZero() {
			t.Fatalf("event %d of %q has number %d, time %v", i+1, e.Agent, e.Seq, e.Time)
		}
		if _, ok := e.Msg.(protocol.Agents); ok && e.Turn == "" {
			t.Errorf("the list of agents belongs to no turn: %+v", e)
		}
	}
	if len(*spawned) != 1 || (*spawned)[0].Role.Name != "default" {
		t.Errorf("spawned %+v", *spawned)
	}
	c.model.replies = append(c.model.replies, says("I see"))
	c.do(input("and now?"))
	c.until(func(m protocol.Msg) bool { d, ok := m.(protocol.TurnCompleted); return ok && d.LastMessage == "I see" })
	last := c.model.asked[len(c.model.asked)-1]
	text := ""
	for _, it := range last.Items {
		for _, p := range it.Content {
			text += p.Text + "\n"
		}
	}
	if !strings.Contains(text, "<subagent_notification") || !strings.Contains(text, "looked") {
		t.Errorf("the model is not told what became of the sub-agent:\n%s", text)
	}
	c.do(protocol.Address{Agent: "sub", Op: input("more")})
	c.until(func(m protocol.Msg) bool { _, ok := m.(protocol.TurnCompleted); return ok })
	if e := c.told[len(c.told)-1]; e.Agent != "sub" {
		t.Errorf("what the user says to the sub-agent is answered by %q", e.Agent)
	}
	_ = c.Close()
}

// TestAQuestionOfASubAgentIsTheParents: it is asked as the sub-agent's, and the answer reaches it.
func TestAQuestionOfASubAgentIsTheParents(t *testing.T) {
	sub := &fakeExecutor{ask: &protocol.Approval{Reason: "may it?", Command: &protocol.CommandApproval{Command: "x"}}}
	c, _ := withAgents(t, nil, func(o *Options) {
		o.Agents.Open = func(_ context.Context, parent *Session, s team.Spawn) (team.Member, error) {
			m := &fakeModel{replies: [][]model.Chunk{calls("x1"), says("looked")}}
			return team.Member{Session: Start(Options{ID: "sub", Settings: s.Settings, Client: m, Executor: sub, Background: sub, View: parent.o.View,
				Agents: Agents{Parent: parent}})}, nil
		}
	})
	c.do(input("go"))
	a := c.until(is[protocol.ApprovalRequested]).(protocol.ApprovalRequested).Approval
	if a.Agent != "sub" || a.Reason != "may it?" {
		t.Errorf("asked %+v", a)
	}
	c.do(protocol.Answer{Approval: a.ID, Decision: protocol.Once})
	c.until(func(m protocol.Msg) bool { d, ok := m.(protocol.TurnCompleted); return ok && d.LastMessage == "looked" })
	if len(sub.ran) != 1 {
		t.Errorf("the sub-agent ran %d calls", len(sub.ran))
	}
	_ = c.Close()
}

// TestASessionWithoutAgentsSaysSo.
func TestASessionWithoutAgentsSaysSo(t *testing.T) {
	c, _ := withAgents(t, nil, func(o *Options) { o.Agents.Open = nil })
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	items := c.model.asked[1].Items
	if text := fmt.Sprintf("%+v", items[len(items)-1]); !strings.Contains(text, "this session can have none") {
		t.Errorf("the model is told %s", text)
	}
	_ = c.Close()
}

// TestTheEndWaitsForSubAgents: where nobody goes on with the session, the turn is over when they are
// done. The record has what they came to.
func TestTheEndWaitsForSubAgents(t *testing.T) {
	release := make(chan struct{})
	slow := &held{release: release, fakeModel: fakeModel{replies: [][]model.Chunk{says("looked")}}}
	c, _ := withAgents(t, slow, func(o *Options) { o.Headless = true })
	c.do(input("go"))
	c.until(c.warned("waiting for sub-agents that still work: agent-1", "however long it takes"))
	if c.has(is[protocol.TurnCompleted]) {
		t.Error("the turn is over while a sub-agent works")
	}
	close(release)
	c.until(func(m protocol.Msg) bool {
		i, ok := m.(protocol.ItemCompleted)
		b, is := i.Item.Body.(protocol.SubAgent)
		return ok && is && b.Operation == "wait" && len(b.Agents) == 1 && b.Agents[0].State == team.Completed
	})
	if done := c.until(is[protocol.TurnCompleted]).(protocol.TurnCompleted); done.LastMessage != "done" {
		t.Errorf("%+v", done)
	}
	_ = c.Close()
	if !slices.ContainsFunc(c.core.Items(), func(it *model.Item) bool { return strings.Contains(it.Text(), "<subagent_notification") }) {
		t.Error("the record has nothing of what the sub-agent came to")
	}
}

// TestAnEndWithoutSubAgentsWaitsForNone and says nothing of them.
func TestAnEndWithoutSubAgentsWaitsForNone(t *testing.T) {
	c := begin(t, func(o *Options) { o.Headless = true }, says("done"))
	c.do(input("go"))
	c.until(is[protocol.TurnCompleted])
	if c.has(c.warned("waiting for sub-agents")) || c.has(func(m protocol.Msg) bool {
		i, ok := m.(protocol.ItemCompleted)
		_, is := i.Item.Body.(protocol.SubAgent)
		return ok && is
	}) {
		t.Errorf("it waited: %+v", c.told)
	}
	_ = c.Close()
}

// TestTheTimeOfATurnBoundsItsSubAgents: those that still work then are closed, and the turn does not
// end well.
func TestTheTimeOfATurnBoundsItsSubAgents(t *testing.T) {
	c, _ := withAgents(t, hanging{make(chan struct{}, 1)}, func(o *Options) {
		o.Headless, o.Budget = true, turn.Budget{Wall: 300 * time.Millisecond}
	})
	c.do(input("go"))
	c.sooner(func(m protocol.Msg) bool { return is[protocol.TurnAborted](m) || is[protocol.TurnFailed](m) })
	c.sooner(func(m protocol.Msg) bool {
		a, ok := m.(protocol.Agents)
		return ok && len(a.Agents) == 1 && a.Agents[0].State == team.Closed
	})
	_ = c.Close()
}

// TestWhatSubAgentsLeave: the work of those that are done is merged at the end of a turn that nobody
// goes on with; where the turn is interrupted, it is told where the work is.
func TestWhatSubAgentsLeave(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		release := make(chan struct{})
		c, _ := withAgents(t, nil, func(o *Options) {
			o.Headless = !interrupted
			o.Agents.Open = func(_ context.Context, parent *Session, s team.Spawn) (team.Member, error) {
				sub := &fakeExecutor{}
				m := &held{release: release, fakeModel: fakeModel{replies: [][]model.Chunk{says("looked")}}}
				return team.Member{Session: Start(Options{ID: "sub", Settings: s.Settings, Client: m, Executor: sub, Background: sub,
					View: parent.o.View, Agents: Agents{Parent: parent}}),
					Merge: func(context.Context) string { return "merged 2 files" },
					Leave: func(context.Context) string { return "its changes are in /there" }}, nil
			}
		})
		c.do(input("go"))
		if interrupted {
			c.until(is[protocol.TurnCompleted])
			c.do(protocol.Interrupt{})
			c.until(c.warned("agent-1: its changes are in /there"))
		} else {
			close(release)
			c.until(c.warned("merged the work of sub-agent agent-1: merged 2 files"))
			c.until(is[protocol.TurnCompleted])
		}
		_ = c.Close()
	}
}

// held answers when it may.
type held struct {
	release chan struct{}
	fakeModel
}

func (m *held) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	select {
	case <-m.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	return m.fakeModel.Stream(ctx, r, emit)
}

// TestReviews: a review is the work of a session that can change nothing and asks nobody; what it finds
// is told. One that cannot begin says why.
func TestReviews(t *testing.T) {
	answer := `{"findings":[{"title":"it leaks","body":"close it","code_location":{"absolute_file_path":"/w/f","line_range":{"start":3,"end":4}}}],"overall_explanation":"one thing"}`
	var set protocol.Settings
	var role team.Role
	c, _ := withAgents(t, nil, func(o *Options) {
		o.Settings.Approval, o.Settings.Edits = protocol.PolicyOnRequest, protocol.EditsAsk
		o.Agents.Open = func(_ context.Context, parent *Session, s team.Spawn) (team.Member, error) {
			if set, role = s.Settings, s.Role; s.Settings.Cwd == "" {
				return team.Member{}, errors.New("nowhere")
			}
			sub := &fakeExecutor{}
			return team.Member{Session: Start(Options{ID: "sub", Settings: s.Settings, Client: &fakeModel{replies: [][]model.Chunk{says(answer)}},
				Executor: sub, Background: sub, View: parent.o.View, Agents: Agents{Parent: parent}})}, nil
		}
	})
	c.do(protocol.Review{Words: "the loop"})
	c.until(func(m protocol.Msg) bool {
		d, ok := m.(protocol.TurnCompleted)
		return ok && strings.Contains(d.LastMessage, "it leaks") && !strings.Contains(d.LastMessage, "findings") // not the sub-agent's
	})
	if set.Sandbox != protocol.SandboxReadOnly || set.Approval != protocol.PolicyNever || set.Edits != "" {
		t.Errorf("the review may do %+v", set)
	}
	if role.Sandbox != protocol.SandboxReadOnly || len(role.Tools) == 0 {
		t.Errorf("the review is a %+v", role)
	}
	for _, op := range []protocol.Review{{Commit: "nothing"}, {Base: "nothing"}, {}} { // there is no repository
		c.do(op)
		if failed := c.until(is[protocol.TurnFailed]).(protocol.TurnFailed); !strings.HasPrefix(failed.Error.Message, "review: ") {
			t.Errorf("%+v: %+v", op, failed)
		}
	}
	_ = c.Close()
}

// refuses is an answer that the provider does not give.
func refuses() []model.Chunk {
	return []model.Chunk{model.Done{Usage: &model.Usage{Input: 7}, Incomplete: "refusal"}}
}

// TestAReviewThatFails: the user hears why, in words alone.
func TestAReviewThatFails(t *testing.T) {
	c, _ := withAgents(t, &fakeModel{replies: [][]model.Chunk{refuses()}}, nil)
	c.do(protocol.Review{Words: "the loop"})
	failed := c.until(func(m protocol.Msg) bool { // the second, the first is the sub-agent's
		f, ok := m.(protocol.TurnFailed)
		return ok && strings.HasPrefix(f.Error.Message, "review: ")
	}).(protocol.TurnFailed)
	if !strings.Contains(failed.Error.Message, "refus") || strings.Contains(failed.Error.Message, "FAILED") {
		t.Errorf("%+v", failed)
	}
	_ = c.Close()
}

// TestAFailedTurnMergesNothing: the work of its sub-agents stays where it is, and that is told.
func TestAFailedTurnMergesNothing(t *testing.T) {
	c, _ := withAgents(t, nil, func(o *Options) {
		o.Headless = true
		o.Agents.Open = func(_ context.Context, parent *Session, s team.Spawn) (team.Member, error) {
			sub := &fakeExecutor{}
			return team.Member{Session: Start(Options{ID: "sub", Settings: s.Settings, Client: &fakeModel{replies: [][]model.Chunk{says("looked")}},
				Executor: sub, Background: sub, View: parent.o.View, Agents: Agents{Parent: parent}}),
				Merge: func(context.Context) string { return "merged 2 files" },
				Leave: func(context.Context) string { return "its changes are in /there" }}, nil
		}
	})
	c.model.replies[1] = refuses()
	spawn := c.exec.run
	c.exec.run = func(ctx context.Context, r turn.Run, l executor.Live) turn.Outcome {
		o := spawn(ctx, r, l)
		if _, err := l.Delegate(ctx, tool.Delegate{Operation: "wait", All: true, Timeout: 20 * time.Second}, c.o.Settings); err != nil {
			t.Error(err)
		}
		return o
	}
	c.do(input("go"))
	c.until(is[protocol.TurnFailed])
	c.sooner(c.warned("its changes are in /there"))
	if c.has(c.warned("merged")) {
		t.Errorf("it is merged: %+v", c.told)
	}
	_ = c.Close()
}

// TestACheckIsToldWhatTheTimeCutOff: the work that it is about is not whole.
func TestACheckIsToldWhatTheTimeCutOff(t *testing.T) {
	c, _ := withAgents(t, hanging{make(chan struct{}, 1)}, nil)
	c.do(input("go"))
	c.until(func(m protocol.Msg) bool { d, ok := m.(protocol.TurnCompleted); return ok && d.LastMessage == "done" })
	s := c.Session // as one that nobody goes on with, whose time is up
	s.o.Headless, s.o.Budget.Wall = true, time.Nanosecond
	in, ok := s.check(t.Context(), turn.Check{Turn: "t"}).in.(turn.Checked)
	if !ok || len(in.Outcome.Warnings) != 1 || !strings.Contains(in.Outcome.Warnings[0], "was up while sub-agents still worked: agent-1") {
		t.Errorf("%+v", in)
	}
	_ = c.Close()
}

// stopsChecks is an executor that can be told to stop its checks.
type stopsChecks struct {
	*fakeExecutor
	stopped chan struct{}
}

func (x stopsChecks) StopChecks() { x.stopped <- struct{}{} }

// TestAnInterruptStopsChecks that run beside the turn.
func TestAnInterruptStopsChecks(t *testing.T) {
	stopped := make(chan struct{}, 2)
	c := begin(t, func(o *Options) { o.Executor = stopsChecks{&fakeExecutor{}, stopped} })
	c.do(protocol.Interrupt{})
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Error("they go on")
	}
	_ = c.Close()
}
