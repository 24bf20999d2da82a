package executor

import (
	"context"
	"encoding/json"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// askUser puts the questions of the model to the user, one after the other.
func (h *Executor) askUser(ctx context.Context, id protocol.CallID, a tool.UserQuestion, m RunOptions) turn.Outcome {
	body, _ := m.Body.(protocol.ToolCall)
	answers := map[string]any{}
	for i, q := range a.Questions {
		got := m.Ask(ctx, protocol.Approval{Call: id, Reason: "the model asks", Question: &q})
		switch d := got.Answer.Decision; {
		case ctx.Err() != nil, d == protocol.Void, d == protocol.Abort:
			body.Error = "aborted by the user"
			return turn.Outcome{Text: body.Error, Body: body}
		case got.By == protocol.ByNobody:
			text := "not asked: this run has nobody to answer. Decide yourself, the safest way, and say what you assumed"
			body.Error = text
			return turn.Outcome{Text: text, Declined: true, Body: body}
		case !d.Allows():
			answers[a.Keys[i]] = map[string]any{"declined": true, "words": got.Answer.Words}
		default:
			answers[a.Keys[i]] = map[string]any{"answers": answered(got.Answer.Content)}
		}
	}
	text, err := json.Marshal(map[string]any{"answers": answers})
	if err != nil {
		body.Error = err.Error()
		return turn.Outcome{Text: body.Error, Body: body}
	}
	body.Output = string(text)
	return turn.Outcome{Text: string(text), Success: true, Body: body}
}

// answered is the content of an answer as a list of words.
func answered(content json.RawMessage) any {
	var v any
	if json.Unmarshal(content, &v) != nil {
		return []string{string(content)}
	}
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
