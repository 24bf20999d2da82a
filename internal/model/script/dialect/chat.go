package dialect

import (
	"fmt"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// renderChat writes a round as a stream of chat completions: text in pieces,
// calls by index with their arguments in pieces, a reason, the usage, [DONE].
func renderChat(r script.Round, k int) []string {
	id := fmt.Sprintf("chatcmpl-%d", k)
	event := func(delta M, reason any) string {
		return data(M{"id": id, "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []M{{"index": 0, "delta": delta, "finish_reason": reason}}})
	}
	events := []string{event(M{"role": "assistant", "content": ""}, nil)}
	calls, reason := 0, "stop"
	for n, i := range r.Items {
		item := i.Model(k, n)
		switch item.Kind {
		case model.Reasoning:
			for _, w := range script.Words(i.Reasoning) {
				events = append(events, event(M{"reasoning_content": w}, nil))
			}
		case model.Message:
			for _, w := range script.Words(i.Message) {
				events = append(events, event(M{"content": w}, nil))
			}
		case model.Call:
			reason = "tool_calls"
			begun := M{"index": calls, "id": item.CallID, "type": "function", "function": M{"name": item.Name, "arguments": ""}}
			events = append(events, event(M{"tool_calls": []M{begun}}, nil))
			for _, w := range script.Words(arguments(item)) {
				events = append(events, event(M{"tool_calls": []M{{"index": calls, "function": M{"arguments": w}}}}, nil))
			}
			calls++
		}
	}
	switch {
	case r.Cut:
		return events
	case r.Error != nil:
		return append(events, data(M{"error": M{"code": errorCode(r.Error.Kind), "message": errorWords(r.Error)}}))
	}
	events = append(events, event(M{}, reason))
	if u := r.Usage; u != nil {
		events = append(events, data(M{"id": id, "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []M{},
			"usage": M{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
				"prompt_tokens_details":     M{"cached_tokens": u.Cached, "cache_write_tokens": u.Write},
				"completion_tokens_details": M{"reasoning_tokens": u.Reasoning}}}))
	}
	return append(events, "data: [DONE]\n\n")
}
