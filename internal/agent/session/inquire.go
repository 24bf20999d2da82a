package session

import (
	"context"
	"encoding/json"

	"kerf/internal/agent/tool"
	"kerf/internal/agent/turn"
	"kerf/internal/protocol"
)

// inquire puts the questions of the model to the user, one after the other.
func (s *Session) inquire(ctx context.Context, c tool.Call, a tool.Inquire) turn.Outcome {
	body := protocol.ToolCall{Call: c.ID, Tool: c.Name, Args: c.Args}
	if s.o.Headless {
		text := "not asked: this run has nobody to answer. Decide yourself, the safest way, and say what you assumed"
		body.Error = text
		return turn.Outcome{Text: text, Declined: true, Body: body}
	}
	answers := map[string]any{}
	for i, q := range a.Questions {
		got := s.Ask(ctx, protocol.Approval{Call: c.ID, Reason: "the model asks", Question: &q})
		if ctx.Err() != nil {
			body.Error = "aborted by the user"
			return turn.Outcome{Text: body.Error, Body: body}
		}
		if !got.Decision.Allows() {
			answers[a.Keys[i]] = map[string]any{"declined": true, "words": got.Words}
			continue
		}
		answers[a.Keys[i]] = map[string]any{"answers": answered(got.Content)}
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
