package dialect

import (
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// Event returns one event as it stands on the wire. Members are in the order of
// their names, but for the type, which comes first as real servers have it.
func Event(kind string, members M) string {
	rest := strings.TrimPrefix(Encode(members), "{")
	if rest != "}" {
		rest = "," + rest
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%s%s\n\n", kind, Encode(kind), rest)
}

func renderResponses(r script.Round, k int) []string {
	id := script.ResponseID(k)
	begun := M{"response": M{"id": id, "object": "response", "status": "in_progress"}}
	events := []string{Event("response.created", begun), Event("response.in_progress", begun)}
	var output []any
	for n, item := range r.Items {
		whole := wireItem(item, k, n)
		output = append(output, whole)
		events = append(events, itemEvents(item, whole, n)...)
	}
	switch {
	case r.Cut:
		return events
	case r.Error != nil:
		return append(events, Event("response.failed",
			M{"response": M{"id": id, "status": "failed",
				"error": M{"code": errorCode(r.Error.Kind), "message": errorWords(r.Error)}}}))
	}
	return append(events, Event("response.completed",
		M{"response": M{"id": id, "status": "completed", "output": output, "usage": wireUsage(r.Usage)}}))
}

// wireItem is item n of round k, whole, with the members that real servers send.
func wireItem(i script.Item, k, n int) M {
	item := i.Model(k, n)
	id := fmt.Sprintf("item_%d_%d", k, n+1)
	switch {
	case item.Kind == model.Message:
		return M{"id": id, "type": "message", "status": "completed", "role": "assistant",
			"content": []M{{"type": "output_text", "text": i.Message, "annotations": []any{}}}}
	case item.Kind == model.Reasoning:
		return M{"id": id, "type": "reasoning", "encrypted_content": seal(k, n),
			"summary": []M{{"type": "summary_text", "text": i.Reasoning}}}
	case item.Style == model.Freeform:
		return M{"id": id, "type": "custom_tool_call", "status": "completed", "call_id": item.CallID, "name": item.Name,
			"input": item.Input}
	case item.Style == model.Shell:
		action := M{}
		_ = json.Unmarshal([]byte(item.Input), &action) // arguments may be nonsense on purpose
		action["type"] = "exec"
		return M{"id": id, "type": "local_shell_call", "status": "completed", "call_id": item.CallID, "action": action}
	}
	return M{"id": id, "type": "function_call", "status": "completed", "call_id": item.CallID, "name": item.Name,
		"arguments": item.Input}
}

// itemEvents streams one item: begun, grown word by word, done.
func itemEvents(i script.Item, whole M, n int) []string {
	begun := M{}
	for name, value := range whole {
		begun[name] = value
	}
	begun["status"] = "in_progress"
	kind, text := "", ""
	switch whole["type"] {
	case "message":
		begun["content"] = []M{}
		kind, text = "response.output_text.delta", i.Message
	case "reasoning":
		begun["summary"] = []M{}
		delete(begun, "encrypted_content")
		kind, text = "response.reasoning_summary_text.delta", i.Reasoning
	case "function_call":
		begun["arguments"] = ""
		kind, text = "response.function_call_arguments.delta", whole["arguments"].(string)
	case "custom_tool_call":
		begun["input"] = ""
		kind, text = "response.custom_tool_call_input.delta", whole["input"].(string)
	}
	events := []string{Event("response.output_item.added", M{"output_index": n, "item": begun})}
	for _, word := range script.Words(text) {
		events = append(events, Event(kind, M{"output_index": n, "item_id": whole["id"], "delta": word}))
	}
	return append(events, Event("response.output_item.done", M{"output_index": n, "item": whole}))
}

func wireUsage(u *script.Usage) any {
	if u == nil {
		return nil
	}
	return M{"input_tokens": u.Input, "input_tokens_details": M{"cached_tokens": u.Cached, "cache_write_tokens": u.Write},
		"output_tokens": u.Output, "output_tokens_details": M{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output}
}
