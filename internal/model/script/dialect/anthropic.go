package dialect

import (
	"encoding/json"
	"fmt"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// renderAnthropic writes a round as a stream of content blocks.
func renderAnthropic(r script.Round, k int) []string {
	u := r.Usage
	if u == nil {
		u = &script.Usage{}
	}
	events := []string{Event("message_start",
		M{"message": M{"id": fmt.Sprintf("msg_%d", k), "type": "message", "role": "assistant",
			"model": "scripted", "content": []M{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": M{"input_tokens": u.Input - u.Cached - u.Write, "cache_read_input_tokens": u.Cached,
				"cache_creation_input_tokens": u.Write, "output_tokens": min(1, u.Output)}}}),
		Event("ping", M{})}
	reason := "end_turn"
	for n, i := range r.Items {
		item := i.Model(k, n)
		if item.Kind == model.Call {
			reason = "tool_use"
		}
		events = append(events, blockEvents(i, item, k, n)...)
	}
	switch {
	case r.Cut:
		return events
	case r.Error != nil:
		return append(events, Event("error", M{"error": anthropicError(r.Error)}))
	}
	return append(events,
		Event("message_delta", M{"delta": M{"stop_reason": reason, "stop_sequence": nil},
			"usage": M{"output_tokens": u.Output, "output_tokens_details": M{"thinking_tokens": u.Reasoning}}}),
		Event("message_stop", M{}))
}

func blockEvents(i script.Item, item *model.Item, k, n int) []string {
	var block M
	var deltas []M
	switch item.Kind {
	case model.Reasoning:
		block = M{"type": "thinking", "thinking": "", "signature": ""}
		for _, w := range script.Words(i.Reasoning) {
			deltas = append(deltas, M{"type": "thinking_delta", "thinking": w})
		}
		deltas = append(deltas, M{"type": "signature_delta", "signature": seal(k, n)})
	case model.Message:
		block = M{"type": "text", "text": ""}
		for _, w := range script.Words(i.Message) {
			deltas = append(deltas, M{"type": "text_delta", "text": w})
		}
	default:
		block = M{"type": "tool_use", "id": item.CallID, "name": item.Name, "input": M{}}
		args := arguments(item)
		if !json.Valid([]byte(args)) {
			args = Encode(object(item)) // this provider lets no nonsense through
		}
		for _, w := range script.Words(args) {
			deltas = append(deltas, M{"type": "input_json_delta", "partial_json": w})
		}
	}
	events := []string{Event("content_block_start", M{"index": n, "content_block": block})}
	for _, d := range deltas {
		events = append(events, Event("content_block_delta", M{"index": n, "delta": d}))
	}
	return append(events, Event("content_block_stop", M{"index": n}))
}

func anthropicError(f *script.Failure) M {
	kind, words := "api_error", errorWords(f)
	switch f.Kind {
	case model.Auth:
		kind = "authentication_error"
	case model.Quota:
		kind = "billing_error"
	case model.BadCall:
		kind = "invalid_request_error"
	case model.Context:
		kind, words = "invalid_request_error", "prompt is too long: "+words
	case model.RateLimit:
		kind = "rate_limit_error"
	}
	return M{"type": kind, "message": words}
}
