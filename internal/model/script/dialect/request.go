package dialect

import (
	"encoding/json"
	"strings"
)

// Input reads the conversation of a request of any protocol, one object per
// item, as the Responses protocol has them: messages, reasoning, calls with
// their arguments as text, and outputs.
func (a API) Input(body []byte) []M {
	var m M
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	switch a {
	case Chat:
		return chatInput(objects(m["messages"]))
	case Anthropic:
		return anthropicInput(objects(m["messages"]))
	case Gemini:
		return geminiInput(objects(m["contents"]))
	}
	return objects(m["input"])
}

// Tools are the names of the tools that a request offers, in order.
func (a API) Tools(body []byte) []string {
	var m M
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	var names []string
	for _, t := range objects(m["tools"]) {
		switch a {
		case Chat:
			t, _ = t["function"].(M)
		case Gemini:
			for _, d := range objects(t["functionDeclarations"]) {
				names = append(names, str(d["name"]))
			}
			continue
		}
		names = append(names, str(t["name"]))
	}
	return names
}

// Texts is everything of the conversation that is text, in the order of the
// items, and what the tools gave back; what a scenario expects is looked for
// here.
func (a API) Texts(body []byte) (input, outputs string) {
	var b, out strings.Builder
	for _, item := range a.Input(body) {
		for _, name := range []string{"content", "summary", "name", "arguments", "input", "output"} {
			if s := Text(item[name]); s != "" {
				b.WriteString(s + "\n")
			}
		}
		if IsOutput(item) {
			out.WriteString(Text(item["output"]) + "\n")
		}
	}
	return b.String(), strings.TrimSuffix(out.String(), "\n")
}

// IsOutput reports whether an item is what a tool gave back.
func IsOutput(item M) bool { return strings.HasSuffix(str(item["type"]), "_output") }

// Text joins the texts of a string or of content parts.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	for _, p := range objects(v) {
		b.WriteString(str(p["text"]))
	}
	return b.String()
}

func chatInput(messages []M) []M {
	var items []M
	for _, m := range messages {
		switch m["role"] {
		case "system":
		case "tool":
			items = append(items, M{"type": "function_call_output", "call_id": m["tool_call_id"], "output": Text(m["content"])})
		default:
			items = append(items, message(m["role"], m["content"])...)
		}
		for _, c := range objects(m["tool_calls"]) {
			f, _ := c["function"].(M)
			items = append(items, M{"type": "function_call", "call_id": c["id"], "name": f["name"], "arguments": f["arguments"]})
		}
	}
	return items
}

func message(role, content any) []M {
	if Text(content) == "" && len(objects(content)) == 0 {
		return nil
	}
	return []M{{"type": "message", "role": role, "content": content}}
}

func anthropicInput(messages []M) []M {
	var items []M
	for _, m := range messages {
		for _, b := range objects(m["content"]) {
			switch b["type"] {
			case "thinking":
				items = append(items, M{"type": "reasoning", "encrypted_content": b["signature"], "summary": b["thinking"]})
			case "tool_use":
				items = append(items, M{"type": "function_call", "call_id": b["id"], "name": b["name"],
					"arguments": Encode(b["input"])})
			case "tool_result":
				items = append(items, M{"type": "function_call_output", "call_id": b["tool_use_id"], "output": Text(b["content"])})
			default:
				items = append(items, M{"type": "message", "role": m["role"], "content": []any{b}})
			}
		}
	}
	return items
}

func geminiInput(contents []M) []M {
	var items []M
	for _, c := range contents {
		role := c["role"]
		if role == "model" {
			role = "assistant"
		}
		for _, p := range objects(c["parts"]) {
			if s := str(p["thoughtSignature"]); s != "" {
				items = append(items, M{"type": "reasoning", "encrypted_content": s})
			}
			call, isCall := p["functionCall"].(M)
			result, isResult := p["functionResponse"].(M)
			switch {
			case isCall:
				items = append(items, M{"type": "function_call", "call_id": call["id"], "name": call["name"],
					"arguments": Encode(call["args"])})
			case isResult:
				response, _ := result["response"].(M)
				items = append(items, M{"type": "function_call_output", "call_id": result["id"], "output": str(response["output"])})
			case p["text"] != "":
				items = append(items, M{"type": "message", "role": role, "content": []any{p}})
			}
		}
	}
	return items
}

// objects are the objects of a list.
func objects(v any) []M {
	list, _ := v.([]any)
	all := make([]M, 0, len(list))
	for _, e := range list {
		if m, ok := e.(M); ok {
			all = append(all, m)
		}
	}
	return all
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
