package session

import (
	"context"
	"fmt"

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
