package session

import (
	"context"
	"fmt"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// question is one that is put to the user while a call runs, beside the core:
// nothing the core decides depends on it.
type question struct {
	approval protocol.Approval
	answer   chan protocol.Answer
	gone     bool // whoever asked does not wait any more
}

// Ask puts a question to the user and waits for the answer. Headless sessions and
// calls that are stopped get a denial.
func (s *Session) Ask(ctx context.Context, a protocol.Approval) protocol.Answer {
	denied := protocol.Answer{Decision: protocol.Deny, Words: "there is nobody to ask"}
	if s.o.Headless {
		return denied
	}
	q := &question{approval: a, answer: make(chan protocol.Answer, 1)}
	if !s.put(q) {
		return denied
	}
	select {
	case answer := <-q.answer:
		return answer
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	s.put(&question{approval: q.approval, answer: q.answer, gone: true})
	denied.Words = "the question was withdrawn"
	return denied
}

// put hands a question to the loop.
func (s *Session) put(q *question) bool {
	select {
	case s.inputs <- message{question: q}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// pose is the loop's part: it tells a question, or that it is void. A question is
// known by its channel until it has an id.
func (s *Session) pose(q *question) {
	if q.gone {
		for id, open := range s.questions {
			if open.answer == q.answer {
				s.resolve(id, protocol.Void)
			}
		}
		return
	}
	s.asked++
	q.approval.ID = protocol.ApprovalID(fmt.Sprintf("question_%d", s.asked))
	if s.questions == nil {
		s.questions = map[protocol.ApprovalID]*question{}
	}
	s.questions[q.approval.ID] = q
	s.tell(turn.Told{Turn: s.turnID, Msg: protocol.ApprovalRequested{Approval: q.approval}})
}

func (s *Session) resolve(id protocol.ApprovalID, d protocol.Decision) {
	delete(s.questions, id)
	s.tell(turn.Told{Turn: s.turnID, Msg: protocol.ApprovalResolved{Approval: id, Decision: d}})
}

// answers takes an answer to one of these questions; others are the core's.
func (s *Session) answers(in turn.Input) bool {
	sub, ok := in.(turn.Submit)
	if !ok {
		return false
	}
	a, ok := sub.Op.(protocol.Answer)
	if !ok || s.questions[a.Approval] == nil {
		return false
	}
	s.questions[a.Approval].answer <- a
	s.resolve(a.Approval, a.Decision)
	return true
}

// say tells something that the core has no part in. It does not wait for the
// loop: whoever tells may be waited for by it.
func (s *Session) say(m protocol.Msg) {
	go func() {
		select {
		case s.inputs <- message{told: m}:
		case <-s.ctx.Done():
		}
	}()
}
