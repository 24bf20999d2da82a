package executor

import (
	"context"
	"errors"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// delegate carries out an operation about sub-agents.
func (h *Executor) delegate(ctx context.Context, id protocol.CallID, a tool.Delegate, m RunOptions) turn.Outcome {
	body := protocol.SubAgent{Call: id, Operation: a.Operation, Prompt: a.Message}
	if m.Delegate == nil {
		return turn.Outcome{Text: "there are no sub-agents here", Body: body}
	}
	r, err := m.Delegate(ctx, a, m.Settings)
	if err != nil {
		text := err.Error()
		body.Error = text
		var refused *tool.Error
		if errors.As(err, &refused) {
			text, body.Error = tool.Fail(refused).Text(), refused.Message
		}
		return turn.Outcome{Text: text, Body: body}
	}
	body.Agents = r.Agents
	return turn.Outcome{Text: r.Text, Success: true, Body: body, Changes: h.record.takeMerged()}
}
