package team

import (
	"context"
	"fmt"

	"kerf/internal/protocol"
)

// Address hands an Op of the user's to a member: a UserInput or an Interrupt,
// nothing else. An interrupted member stays, and can be told what to do instead.
func (t *Team) Address(ctx context.Context, id protocol.SessionID, op protocol.Op) error {
	m, err := t.find(string(id))
	if err != nil {
		return fmt.Errorf("there is no sub-agent %s", id)
	}
	if t.state(m) == Closed {
		return fmt.Errorf("sub-agent %s is closed; ask the session to resume it", m.name)
	}
	switch op := op.(type) {
	case protocol.UserInput:
		return t.hand(ctx, m, protocol.UserInput{Items: op.Items, Queue: op.Queue})
	case protocol.Interrupt:
		return m.open.Session.Submit(ctx, protocol.Submission{ID: "user", Op: op})
	}
	return nil
}
