package session

import (
	"context"
	"fmt"
	"sync"

	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// Ask puts a question to the user while something is under way, and waits for the
// answer. The answer is no when nobody can be asked; it is Void when the question
// was withdrawn or ctx is done first.
func (s *Session) Ask(ctx context.Context, a protocol.Approval) turn.Reply {
	from := turn.Asker{ID: protocol.ApprovalID(fmt.Sprintf("question_%d", s.asked.Add(1)))}
	reply := make(chan turn.Reply, 1)
	s.post(message{in: turn.Asked{From: from, Approval: a}, reply: reply})
	select {
	case r := <-reply:
		return r
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	s.post(message{in: turn.Withdrawn{From: from}})
	return turn.Reply{To: from, Answer: protocol.Answer{Decision: protocol.Void, Words: "the question was withdrawn"}}
}

// deliver hands an answer to whoever asked.
func (s *Session) deliver(e turn.Reply) {
	if e.To.Agent != "" {
		s.tasks.Go(func() { s.team.Answer(s.ctx, e.To.Agent, e.Answer) })
		return
	}
	if reply := s.replies[e.To]; reply != nil {
		delete(s.replies, e.To)
		reply <- e // holds one
	}
}

// said is what was told to the session by others than its core, oldest first, until the
// loop takes it. The zero value is empty.
type said struct {
	mu   sync.Mutex
	list []protocol.Msg
}

// add reports whether the loop must be woken.
func (q *said) add(m protocol.Msg) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, m)
	return len(q.list) == 1
}

func (q *said) take() []protocol.Msg {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

// say tells something that the core has no part in. It does not wait for the
// loop: whoever tells may be waited for by it. What is said is told in its order, before
// the answer of an effect that comes after it, and before the session ends.
func (s *Session) say(m protocol.Msg) {
	if !s.said.add(m) {
		return
	}
	go func() {
		select {
		case s.inputs <- message{woken: true}:
		case <-s.ctx.Done():
		}
	}()
}
