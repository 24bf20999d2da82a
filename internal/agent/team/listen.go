package team

import (
	"context"
	"strings"

	"kerf/internal/protocol"
)

// pump reads a member's events until they end.
func (t *Team) pump(m *member) {
	defer close(m.over)
	for e := range m.open.Session.Events() {
		if t.hear(m, e) {
			t.note()
		}
		t.pass(m, e)
	}
	t.mu.Lock()
	m.state = Closed
	if m.placed {
		m.placed = false
		t.o.Places.give()
	}
	t.mu.Unlock()
	t.note()
}

// hear updates the state of a member from its event. It reports whether the state
// changed.
func (t *Team) hear(m *member, e protocol.Event) bool {
	if e.Agent != "" {
		return false // of a member's own member
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := *m
	switch msg := e.Msg.(type) {
	case protocol.TurnStarted:
		m.state = Running
	case protocol.ItemCompleted:
		m.read(msg.Item)
	case protocol.ApprovalRequested:
		m.state = Waiting
	case protocol.ApprovalResolved:
		m.state = Running
	case protocol.TokensUsed:
		m.tokens = msg.Total.Total()
	case protocol.TurnCompleted:
		m.rest(Completed, msg.LastMessage)
	case protocol.TurnFailed:
		m.owed = 0
		m.rest(Failed, strings.TrimSpace(msg.Error.Message+"\n"+msg.Error.Hint))
	case protocol.TurnAborted:
		m.owed = max(0, m.owed-len(msg.Undelivered))
		words := "interrupted"
		if msg.Reason == protocol.AbortBudget {
			words = "its budget is used up"
		}
		m.rest(Interrupted, words)
	}
	return before.state != m.state || before.message != m.message
}

// read counts the inputs that a member has read, and keeps its last message.
func (m *member) read(i protocol.Item) {
	switch b := i.Body.(type) {
	case protocol.UserMessage:
		m.owed = max(0, m.owed-1)
	case protocol.AgentMessage:
		m.message = b.Text
	}
}

// rest notes the end of a turn. A member with unread input keeps running.
func (m *member) rest(state, message string) {
	if m.owed > 0 {
		return
	}
	m.state = state
	if message != "" {
		m.message = message
	}
}

// pass hands an event on to the parent, as one of the member's, and tells what it
// used. A question goes to the parent's own list of questions.
func (t *Team) pass(m *member, e protocol.Event) {
	if u, ok := e.Msg.(protocol.TokensUsed); ok && e.Agent == "" {
		t.o.Spent(m.id, u.Last)
	}
	if e.Agent == "" {
		e.Agent = m.id
	}
	switch msg := e.Msg.(type) {
	case protocol.SessionEnded:
		return
	case protocol.ApprovalRequested:
		msg.Approval.Agent = e.Agent
		t.o.Asks(m.id, e.Turn, msg.Approval)
		return
	case protocol.ApprovalResolved:
		t.o.Resolved(m.id, msg.Approval)
		return
	}
	t.o.Tell(e)
}

// Answer hands an answer to the member that asked. A member that has ended asks
// nothing any more.
func (t *Team) Answer(ctx context.Context, id protocol.SessionID, a protocol.Answer) {
	if m, err := t.find(string(id)); err == nil {
		_ = m.open.Session.Submit(ctx, protocol.Submission{ID: "answer", Op: a})
	}
}
