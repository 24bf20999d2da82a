package dialect

import (
	"fmt"

	"kerf/internal/model"
	"kerf/internal/model/script"
)

// renderChat writes a round as a stream of chat completions: text in pieces,
// calls by index with their arguments in pieces, a reason, the usage, [DONE].
func renderChat(r script.Round, k int) []string {
	c := chat{id: fmt.Sprintf("chatcmpl-%d", k)}
	c.add(M{"role": "assistant", "content": ""}, nil)
	calls, reason := 0, "stop"
	for n, i := range r.Items {
		item := i.Model(k, n)
		switch item.Kind {
		case model.Reasoning:
			for _, w := range script.Words(i.Reasoning) {
				c.add(M{"reasoning_content": w}, nil)
			}
		case model.Message:
			for _, w := range script.Words(i.Message) {
				c.add(M{"content": w}, nil)
			}
		case model.Call:
			reason = "tool_calls"
			begun := M{"index": calls, "id": item.CallID, "type": "function", "function": M{"name": item.Name, "arguments": ""}}
			c.add(M{"tool_calls": []M{begun}}, nil)
			for _, w := range script.Words(arguments(item)) {
				c.add(M{"tool_calls": []M{{"index": calls, "function": M{"arguments": w}}}}, nil)
			}
			calls++
		}
	}
	switch {
	case r.Cut:
		return c.events
	case r.Error != nil:
		return append(c.events, data(M{"error": M{"code": errorCode(r.Error.Kind), "message": errorWords(r.Error)}}))
	}
	c.add(M{}, reason)
	if u := r.Usage; u != nil {
		c.write(M{"choices": []M{},
			"usage": M{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
				"prompt_tokens_details":     M{"cached_tokens": u.Cached, "cache_write_tokens": u.Write},
				"completion_tokens_details": M{"reasoning_tokens": u.Reasoning}}})
	}
	return append(c.events, "data: [DONE]\n\n")
}

// chat are the events of an answer.
type chat struct {
	id     string
	events []string
}

func (c *chat) add(delta M, reason any) {
	c.write(M{"choices": []M{{"index": 0, "delta": delta, "finish_reason": reason}}})
}

func (c *chat) write(chunk M) {
	chunk["id"], chunk["object"], chunk["created"], chunk["model"] = c.id, "chat.completion.chunk", 1, "scripted"
	c.events = append(c.events, data(chunk))
}
