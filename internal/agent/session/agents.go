package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kerf/internal/agent/team"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Agents say which sub-agents a session may have. The zero value has none.
type Agents struct {
	// Depth is 0 for a session of the user's own.
	Depth, MaxDepth int
	// Places are shared by all agents below one session of the user.
	Places *team.Places
	Roles  []team.Role
	// Open opens the session of a sub-agent of parent.
	Open func(ctx context.Context, parent *Session, s team.Spawn) (team.Member, error)
	// Parent is the session whose sub-agent this one is, or nil.
	Parent *Session
}

// register makes the team of s.
func (s *Session) register() {
	a := s.o.Agents
	o := team.Options{Depth: a.Depth, MaxDepth: a.MaxDepth, Places: a.Places, Roles: a.Roles, Open: s.openAgent,
		Tell: func(e protocol.Event) { s.post(message{event: &e}) },
		Asks: func(member protocol.SessionID, t protocol.TurnID, a protocol.Approval) {
			s.post(message{in: turn.Asked{From: turn.Asker{Agent: member, ID: a.ID}, Turn: t, Approval: a}})
		},
		Resolved: func(member protocol.SessionID, id protocol.ApprovalID) {
			s.post(message{in: turn.Withdrawn{From: turn.Asker{Agent: member, ID: id}}})
		},
		Spent: func(id protocol.SessionID, u protocol.Usage) {
			s.post(message{in: turn.Spent{Agent: id, Usage: u}})
		}}
	s.team = team.New(o)
}

// post hands the loop something; after its end it goes nowhere.
func (s *Session) post(m message) {
	select {
	case s.inputs <- m:
	case <-s.ctx.Done():
	}
}

// openAgent opens the session of a sub-agent.
func (s *Session) openAgent(ctx context.Context, sp team.Spawn) (team.Member, error) {
	if s.o.Agents.Open == nil {
		return team.Member{}, errors.New("this session can have none")
	}
	return s.o.Agents.Open(ctx, s, sp)
}

// relay lets an event of a sub-agent out, or one about them.
func (s *Session) relay(e protocol.Event) {
	s.seq++
	e.Seq = s.seq
	if e.Agent == "" {
		e.Turn = s.turnID
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	s.outbox.put(e)
}

// route does what an input means for the sub-agents, before the core has it:
// whoever stops the session stops them. It reports whether the input is done with.
func (s *Session) route(in turn.Input) bool {
	sub, ok := in.(turn.Submit)
	if !ok {
		return false
	}
	switch op := sub.Op.(type) {
	case protocol.Address:
		s.tasks.Go(func() {
			if err := s.team.Address(s.ctx, op.Agent, op.Op); err != nil {
				s.post(message{told: protocol.Warning{Message: err.Error()}})
			}
		})
		return true
	case protocol.ListProcesses:
		s.tell(turn.Told{Msg: s.processes(0)})
		return true
	case protocol.Interrupt, protocol.Shutdown:
		if x, ok := s.o.Executor.(interface{ StopChecks() }); ok {
			x.StopChecks()
		}
		s.tasks.Go(func() {
			s.team.Interrupt()
			s.tellLeft()
		})
	}
	return false
}

// tellLeft tells where the work of closed agents is that was not merged.
func (s *Session) tellLeft() {
	for _, words := range s.team.Leave(context.WithoutCancel(s.ctx)) {
		s.post(message{told: protocol.Warning{Message: words}})
	}
}

// lastWords waits for the sub-agents at the end of a turn of a session that nobody
// goes on with: what they were asked to do is done or ended before the turn is over,
// and told either way. What the turn's time cut off is returned in words.
func (s *Session) lastWords(ctx context.Context, e turn.Settle) (cut string) {
	t := s.team
	if !s.o.Headless || s.o.Agents.Parent != nil {
		return ""
	}
	if e.Done && len(t.Busy()) > 0 {
		wait, limit := ctx, "however long it takes; --timeout bounds it"
		if wall := s.o.Budget.Wall; wall > 0 {
			left := max(wall-time.Since(s.began), 0)
			limit = fmt.Sprintf("at most %s", left.Round(time.Second))
			var cancel context.CancelFunc
			wait, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
		s.post(message{told: protocol.Warning{Message: fmt.Sprintf("waiting for sub-agents that still work: %s (%s)",
			named(t.Busy()), limit)}})
		all := t.Settle(wait)
		if busy := t.Busy(); len(busy) > 0 && wait.Err() != nil && ctx.Err() == nil {
			cut = fmt.Sprintf("the time of the turn, %s, was up while sub-agents still worked: %s; what they changed so far "+
				"stays", s.o.Budget.Wall, named(busy))
		}
		s.post(message{told: protocol.ItemCompleted{Item: protocol.Item{ID: protocol.ItemID("agents_" + string(e.Turn)),
			Status: protocol.Completed,
			Body:   protocol.SubAgent{Operation: "wait", Agents: all}}}})
	}
	if e.Done {
		for _, words := range t.Merge(ctx) {
			s.post(message{told: protocol.Warning{Message: "merged the work of sub-agent " + words}})
		}
	}
	for _, a := range t.Busy() {
		s.post(message{told: protocol.Warning{Message: fmt.Sprintf("sub-agent %s was still running when the turn ended; "+
			"it is closed", a.Name)}})
	}
	t.Interrupt()
	s.tellLeft()
	return cut
}

func named(list []protocol.Agent) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return strings.Join(names, ", ")
}

// news is what the model is told of sub-agents that came to an end.
func (s *Session) news() []*model.Item {
	if text := s.team.News(); text != "" {
		return []*model.Item{model.UserText(text)}
	}
	return nil
}

// endNews is the same at the end of a turn after which the process may end: then it
// has to be in the record.
func (s *Session) endNews() string {
	if !s.o.Headless {
		return ""
	}
	return s.team.News()
}
