package quirks

import (
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/model/script/dialect"
)

// quoted is s as JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return string(b)
}

// Finished is what a model says when all is well.
const Finished = "All done here."

// done is a good last answer.
func done(api dialect.API) Answer {
	switch api {
	case dialect.Anthropic:
		return messages("end_turn", text(Finished))
	case dialect.Gemini:
		return gemini("STOP", part(Finished))
	case dialect.Responses:
		return responses("completed", "", output(Finished))
	}
	return chat("stop", say(Finished))
}

// reads is an answer that calls read_file.
func reads(api dialect.API) Answer {
	const args = `{"file_path":"a.txt"}`
	switch api {
	case dialect.Anthropic:
		return messages("tool_use", use("toolu_1", "read_file", args))
	case dialect.Gemini:
		return gemini("STOP", `{"functionCall":{"name":"read_file","args":`+args+`}}`)
	case dialect.Responses:
		return responses("completed", "", function("call_1", "read_file", args))
	}
	return chat("tool_calls", call(0, "call_1", "read_file", args))
}

// The Chat Completions protocol.

func piece(delta string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":null}]}` + "\n\n"
}

func stop(reason string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},` +
		`"finish_reason":` + quoted(reason) + `}]}` + "\n\n" +
		`data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9000,"completion_tokens":5}}` + "\n\n" + "data: [DONE]\n\n"
}

func chat(reason string, deltas ...string) Answer {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(piece(d))
	}
	return Answer{Body: b.String() + stop(reason)}
}

func say(s string) string   { return `{"content":` + quoted(s) + `}` }
func think(s string) string { return `{"reasoning_content":` + quoted(s) + `}` }

func call(index int, id, name, args string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`,
		index, quoted(id), quoted(name), quoted(args))
}

// The Messages protocol. A block is written once its index is known.

type block func(index int) string

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func blockOf(start string, deltas ...string) block {
	return func(i int) string {
		s := event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, start))
		for _, d := range deltas {
			s += event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
		}
		return s + event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
}

func text(s string) block {
	return blockOf(`{"type":"text","text":""}`, `{"type":"text_delta","text":`+quoted(s)+`}`)
}

func thinking(s, signature string) block {
	deltas := []string{`{"type":"thinking_delta","thinking":` + quoted(s) + `}`}
	if signature != "" {
		deltas = append(deltas, `{"type":"signature_delta","signature":`+quoted(signature)+`}`)
	}
	return blockOf(`{"type":"thinking","thinking":"","signature":""}`, deltas...)
}

func use(id, name, args string) block {
	return blockOf(`{"type":"tool_use","id":`+quoted(id)+`,"name":`+quoted(name)+`,"input":{}}`,
		`{"type":"input_json_delta","partial_json":`+quoted(args)+`}`)
}

const messageStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",` +
	`"content":[],"stop_reason":null,"usage":{"input_tokens":9000,"output_tokens":1}}}`

func blocks(list ...block) string {
	s := event("message_start", messageStart)
	for i, b := range list {
		s += b(i)
	}
	return s
}

func messages(reason string, list ...block) Answer {
	return Answer{Body: blocks(list...) +
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":`+quoted(reason)+
			`,"stop_sequence":null},"usage":{"output_tokens":5}}`) +
		event("message_stop", `{"type":"message_stop"}`)}
}

// The generateContent protocol.

func part(s string) string    { return `{"text":` + quoted(s) + `}` }
func thought(s string) string { return `{"text":` + quoted(s) + `,"thought":true}` }

func gemini(reason string, parts ...string) Answer {
	body := ""
	for _, p := range parts {
		body += `data: {"responseId":"g1","candidates":[{"index":0,"content":{"role":"model","parts":[` + p + `]}}]}` + "\n\n"
	}
	return Answer{Body: body + `data: {"responseId":"g1","candidates":[{"index":0,"finishReason":` + quoted(reason) +
		`}],"usageMetadata":{"promptTokenCount":9000,"candidatesTokenCount":5}}` + "\n\n"}
}

// The Responses protocol.

func output(s string) string {
	return `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text",` +
		`"annotations":[],"text":` + quoted(s) + `}]}`
}

func function(id, name, args string) string {
	return `{"type":"function_call","id":"fc_1","status":"completed","call_id":` + quoted(id) + `,"name":` + quoted(name) +
		`,"arguments":` + quoted(args) + `}`
}

func reasoning(id, sealed string) string {
	return `{"type":"reasoning","id":` + quoted(id) + `,"summary":[],"encrypted_content":` + quoted(sealed) + `}`
}

func items(list ...string) string {
	s := event("response.created", `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`)
	for i, item := range list {
		s += event("response.output_item.added", fmt.Sprintf(
			`{"type":"response.output_item.added","output_index":%d,"item":%s}`, i, item))
		s += event("response.output_item.done", fmt.Sprintf(
			`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item))
	}
	return s
}

func responses(status, reason string, list ...string) Answer {
	details := "null"
	if reason != "" {
		details = `{"reason":` + quoted(reason) + `}`
	}
	kind := "response." + status
	return Answer{Body: items(list...) + event(kind, `{"type":"`+kind+`","response":{"id":"resp_1","status":"`+status+
		`","incomplete_details":`+details+`,"output":[],"usage":{"input_tokens":9000,"output_tokens":5}}}`)}
}
