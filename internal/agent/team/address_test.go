package team

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// TestTheUserAddressesAMember hands a member what the user says and an interrupt,
// and nothing else; the member is busy until it answered.
func TestTheUserAddressesAMember(t *testing.T) {
	s := newStage(t, nil)
	s.do(tool.Delegate{Operation: "spawn", Message: "go"})
	p := s.puppets[0]
	p.does(1, protocol.TurnCompleted{LastMessage: "done"})
	words := []protocol.Input{{Text: "only the lexer"}}
	for _, op := range []protocol.Op{protocol.UserInput{Items: words, Replace: true}, protocol.Interrupt{},
		protocol.Shutdown{}, protocol.Configure{}} {
		if err := s.Address(t.Context(), p.id, op); err != nil {
			t.Error(err)
		}
	}
	p.mu.Lock()
	got := p.ops[1:]
	p.mu.Unlock()
	if d := cmp.Diff([]protocol.Op{protocol.UserInput{Items: words}, protocol.Interrupt{}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(s.Busy()) != 1 {
		t.Error("it owes an answer and is not busy")
	}
	p.does(1, protocol.TurnCompleted{LastMessage: "yes"})
	s.do(tool.Delegate{Operation: "close", Targets: []string{string(p.id)}})
	for _, id := range []protocol.SessionID{p.id, "nobody"} {
		if err := s.Address(t.Context(), id, protocol.Interrupt{}); err == nil {
			t.Errorf("%s took it", id)
		}
	}
}
