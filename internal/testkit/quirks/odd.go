package quirks

import (
	"fmt"
	"net/http"
	"strings"

	"kerf/internal/model/script/dialect"
)

// odd are answers that are well-formed and mean something else than they seem to, or that are
// no answers of a model at all.
func odd() []Quirk {
	var rows []Quirk
	for _, api := range []dialect.API{dialect.Chat, dialect.Responses, dialect.Anthropic, dialect.Gemini} {
		rows = append(rows, oddTransport(api)...)
	}
	return append(append(append(append(rows, oddChat()...), oddResponses()...), oddAnthropic()...), oddGemini()...)
}

// oddTransport are rows of all protocols.
func oddTransport(api dialect.API) []Quirk {
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	page := func(status int, title string) Answer {
		return Answer{Status: status, Header: map[string]string{"Content-Type": "text/html; charset=UTF-8"},
			Body: "<!DOCTYPE html>\n<html lang=\"en\"><head><title>" + title + "</title></head><body>Ray ID: 8</body></html>"}
	}
	waits := func(header, value string) Answer {
		return Answer{Status: 429, Header: map[string]string{header: value, "Date": "Mon, 02 Mar 2026 10:00:00 GMT"},
			Body: `{"error":{"message":"slow down","type":"rate_limit_error"}}`}
	}
	again := Want{Once: []string{Finished}, Least: 2, Most: 2}
	twice := done(api)
	twice.Body += strings.Repeat("data: [DONE]\n\n", 2) + "<!-- served by a proxy -->\n\n}{"
	spread := done(api)
	spread.Body = strings.ReplaceAll(spread.Body, `,"`, ",\ndata: \"")
	commented := done(api)
	commented.Body = strings.ReplaceAll(commented.Body, `,"`, ",\n: keep-alive\ndata: \"")
	nameless := done(api)
	var lines []string
	for line := range strings.Lines(nameless.Body) {
		if !strings.HasPrefix(line, "event:") {
			lines = append(lines, line)
		}
	}
	nameless.Body = strings.Join(lines, "")
	half := done(api)
	half.Body = half.Body[:strings.Index(half.Body, "done")] // a clean end amid an event
	large := says(api, strings.Repeat("0123456789abcdef", 20<<16)+Finished)
	rows := []Quirk{
		row("mark-twice-and-rubbish-behind-it", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, twice),
		row("an-event-in-many-lines", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, spread),
		row("comments-amid-an-event", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, commented),
		row("events-without-names", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, nameless),
		row("clean-end-amid-an-event", Unreported, again, half, done(api)),
		row("twenty-megabytes-in-one-event", Unreported, Want{Out: []string{Finished}, Least: 1, Most: 1}, large),
		row("page-of-a-portal", Unreported, fails(1, "web page", "Sign in to the network"), page(200, "Sign in to the network")),
		row("page-of-a-gateway-that-waited", Unreported, again, page(524, "A timeout occurred"), done(api)),
		row("page-of-a-gateway-without-origin", Unreported, again, page(521, "Web server is down"), done(api)),
		row("unavailable-without-words", Unreported, again, Answer{Status: 503}, done(api)),
		row("wait-until-a-date", Unreported, again, waits("Retry-After", "Mon, 02 Mar 2026 10:00:01 GMT"), done(api)),
		row("wait-in-milliseconds", Unreported, again, waits("Retry-After-Ms", "50"), done(api)),
		row("wait-until-a-date-that-is-over", Unreported, again, waits("Retry-After", "Mon, 02 Mar 2026 09:00:00 GMT"), done(api)),
		row("wait-that-is-no-number", Unreported, again, waits("Retry-After", "soon"), done(api)),
	}
	return rows
}

func oddChat() []Quirk {
	const api = dialect.Chat
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	raw := func(lines ...string) Answer {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString("data: " + l + "\n\n")
		}
		return Answer{Body: b.String() + "data: [DONE]\n\n"}
	}
	delta := func(d string) string { return `{"id":"c1","choices":[{"index":0,"delta":` + d + `}]}` }
	tool := func(d string) string { return delta(`{"tool_calls":[` + d + `]}`) }
	end := func(reason string) string {
		return `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":` + quoted(reason) + `}]}`
	}
	said := Want{Once: []string{Finished}, Least: 1, Most: 1}
	again := Want{Once: []string{Finished}, Least: 2, Most: 2}
	file := func(f string) string { return quoted(`{"file_path":"` + f + `"}`) }
	half := delta(say("The first half"))
	base := func(code int, words string) Answer {
		return Answer{Header: map[string]string{"Content-Type": "application/json"},
			Body: fmt.Sprintf(`{"id":"","choices":null,"created":0,"model":"","base_resp":{"status_code":%d,"status_msg":%q}}`, code, words)}
	}
	rows := []Quirk{
		row("reason-in-capitals", "QwenLM/qwen-code#9884", Want{Out: []string{Finished}, Least: 2, Most: 2}, raw(half, end("MAX_TOKENS")), done(api)),
		row("stop-in-capitals", "QwenLM/qwen-code#9884", said, raw(delta(say(Finished)), end("STOP"))),
		row("reason-of-an-abort", Unreported, again, raw(half, end("abort")), done(api)),
		row("reason-of-a-lost-connection", "pydantic/pydantic-ai#7678", again, raw(half, end("network_error")), done(api)),
		row("reason-of-a-window", "camel-ai/camel#4266", Want{Out: []string{Finished}, Least: 4, Most: 4}, reads(api),
			raw(half, end("model_length")), chat("stop", say("Summary.")), done(api)),
		row("reason-of-a-filter-of-glm", "langgenius/dify#7559", fails(1, "sensitive"), raw(half, end("sensitive"))),
		row("reason-of-a-filter-of-gemini", Unreported, fails(1, "content_filter"), raw(half, end("content_filter: SAFETY"))),
		row("malformed-call-of-gemini", "pydantic/pydantic-ai#3095", again, raw(end("function_call_filter: MALFORMED_FUNCTION_CALL")), done(api)),
		row("malformed-call-of-gemini-behind-words", "UKGovernmentBEIS/inspect_ai#2990", Want{Out: []string{Finished}, Least: 2, Most: 2},
			raw(delta(say("I will write the file.")), end("function_call_filter: MALFORMED_FUNCTION_CALL")), done(api)),
		row("reason-that-nobody-knows", Unreported, said, raw(delta(say(Finished)), end("eos"))),
		row("clean-end-without-a-reason", Unreported, Want{Once: []string{Finished}, Least: 2, Most: 2},
			Answer{Body: piece(say("The first"))}, done(api)),
		row("error-as-a-reason-with-words", Unreported, again, raw(half,
			`{"id":"c1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream is gone"}}]}`),
			done(api)),
		row("minimax-balance-in-a-good-answer", "adrianlyjak/obsidian-aloud-tts#114", fails(1, "insufficient balance"), base(1008, "insufficient balance")),
		row("minimax-key-in-a-good-answer", Unreported, fails(1, "login fail"), base(1004, "login fail: Please carry the API secret key")),
		row("minimax-rate-in-a-good-answer", Unreported, again, base(1002, "rate limit exceeded(RPM)"), done(api)),
		row("minimax-balance-as-a-server-error", "MiniMax-AI/MiniMax-M2#62", fails(1, "insufficient balance"), Answer{Status: 500,
			Body: `{"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"}}`}),
		row("minimax-tells-that-all-is-well", Unreported, said, raw(
			`{"id":"c1","choices":[{"index":0,"delta":`+say(Finished)+`}],"base_resp":{"status_code":0,"status_msg":""}}`, end("stop"))),
		row("minimax-error-amid-the-stream", Unreported, again, raw(half,
			`{"id":"c1","choices":null,"base_resp":{"status_code":1000,"status_msg":"unknown error"}}`), done(api)),
		row("calls-without-an-index", Unreported, both, raw(
			tool(`{"id":"a1","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":"}}`),
			tool(`{"function":{"arguments":"\"a.txt\"}"}}`),
			tool(`{"id":"a2","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":"}}`),
			tool(`{"function":{"arguments":"\"b.txt\"}"}}`), end("tool_calls")), done(api)),
		row("id-in-the-last-piece", Unreported, first, raw(
			tool(`{"index":0,"function":{"name":"read_file","arguments":"{\"file_path\":"}}`),
			tool(`{"index":0,"id":"a1","function":{"arguments":"\"a.txt\"}"}}`), end("tool_calls")), done(api)),
		row("calls-at-index-zero-without-ids", Unreported, both, raw(
			tool(`{"index":0,"function":{"name":"read_file","arguments":`+file("a.txt")+`}}`),
			tool(`{"index":0,"function":{"name":"read_file","arguments":`+file("b.txt")+`}}`), end("tool_calls")), done(api)),
		row("index-that-is-enormous", Unreported, both, raw(
			tool(`{"index":2147483647,"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}}`),
			tool(`{"index":-1,"id":"a2","function":{"name":"read_file","arguments":`+file("b.txt")+`}}`), end("tool_calls")), done(api)),
		row("name-that-grows", Unreported, first, raw(
			tool(`{"index":0,"id":"a1","function":{"name":"read","arguments":""}}`),
			tool(`{"index":0,"function":{"name":"read_file","arguments":""}}`),
			tool(`{"index":0,"function":{"arguments":`+file("a.txt")+`}}`), end("tool_calls")), done(api)),
		row("escape-in-two-pieces", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"größe"}}, raw(
			tool(`{"index":0,"id":"a1","function":{"name":"read_file","arguments":"{\"file_path\":\"gr\\u00"}}`),
			tool(`{"index":0,"function":{"arguments":"f6\\u00d"}}`),
			tool(`{"index":0,"function":{"arguments":"fe\\"}}`),
			tool(`{"index":0,"function":{"arguments":"n\"}"}}`), end("tool_calls")), done(api)),
		row("marks-behind-the-arguments", "agentscope-ai/QwenPaw#6364", first, raw(
			tool(`{"index":0,"id":"a1","function":{"name":"read_file","arguments":`+quoted(rudeArgs+"</tool_call>")+`}}`),
			end("tool_calls")), done(api)),
		row("fence-around-the-arguments", "earendil-works/pi#8858", first, raw(
			tool(`{"index":0,"id":"a1","function":{"name":"read_file","arguments":`+quoted("```json\n"+rudeArgs+"\n```")+`}}`),
			end("tool_calls")), done(api)),
		row("thinking-as-a-part", Unreported, Want{Once: []string{Finished}, NotOut: []string{"Hm."}, Least: 1, Most: 1}, raw(
			delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`),
			delta(`{"content":[{"type":"text","text":`+quoted(Finished)+`}]}`), end("stop"))),
		row("whole-message-at-the-end", Unreported, said, raw(delta(say("All done ")), delta(say("here.")),
			`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":`+quoted(Finished)+`},"finish_reason":"stop"}]}`)),
		row("refusal-as-words", Unreported, Want{Out: []string{"I cannot help with that."}, Least: 1, Most: 1}, raw(
			delta(`{"refusal":"I cannot help with that."}`), end("stop"))),
		row("one-function-call-of-old", Unreported, first, raw(delta(`{"function_call":{"name":"read_file","arguments":"{\"file_path\":"}}`),
			delta(`{"function_call":{"arguments":"\"a.txt\"}"}}`), end("function_call")), done(api)),
		row("calls-as-one-object", Unreported, first, raw(
			delta(`{"tool_calls":{"index":0,"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}}}`), end("tool_calls")), done(api)),
		row("usage-in-every-piece", Unreported, said, raw(
			`{"id":"c1","choices":[{"index":0,"delta":`+say("All done ")+`}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`,
			`{"id":"c1","choices":[{"index":0,"delta":`+say("here.")+`,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`)),
	}
	return append(rows, Quirk{Name: "chat/retries-of-the-provider-that-the-model-names", Source: Unreported, API: api,
		Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
		Case: Case{Steps: []Step{{Provider: "other", API: api, Config: []string{"request_max_retries = 1"}, Model: "other:some-model",
			Flags: []string{"-c", "model_provider=openai"}}},
			Answers: []Answer{{Status: 503, Body: `{"error":{"message":"busy"}}`}}, Repeat: true,
			Want: Want{Exit: 1, Least: 2, Most: 2, Err: []string{"busy"}}}})
}

func oddResponses() []Quirk {
	const api = dialect.Responses
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	ev := func(kind, rest string) string { return event(kind, `{"type":"`+kind+`",`+rest+`}`) }
	completed := ev("response.completed", `"response":{"id":"resp_1","status":"completed","output":[]}`)
	failed := func(code, words string) Answer {
		return Answer{Body: ev("response.failed", `"response":{"id":"resp_1","status":"failed","error":{"code":`+
			quoted(code)+`,"message":`+quoted(words)+`}}`)}
	}
	again := Want{Once: []string{Finished}, Least: 2, Most: 2}
	item := func(i int, item string) string {
		return ev("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	call := func(rest string) string {
		return `{"type":"function_call","id":"fc_1","call_id":"call_1","arguments":` + quoted(rudeArgs) + rest + `}`
	}
	return []Quirk{
		row("failed-by-the-server", Unreported, again, failed("server_error", "The server had an error."), done(api)),
		row("failed-by-the-prompt", Unreported, fails(1, "limited access"), failed("invalid_prompt", "limited access to this content")),
		row("failed-by-the-plan", Unreported, fails(1, "upgrade"), failed("usage_not_included", "To use this, upgrade your plan.")),
		row("failed-by-an-overload", Unreported, again, failed("server_is_overloaded", "Our servers are overloaded."), done(api)),
		row("failed-by-slowness", Unreported, again, failed("slow_down", "Please slow down."), done(api)),
		row("failed-by-a-picture", Unreported, fails(1, "image"), failed("invalid_image", "The image could not be read.")),
		row("incomplete-for-length", "earendil-works/pi#7817", Want{Out: []string{Finished}, Least: 2, Most: 2},
			responses("incomplete", "length", output("The first half")), done(api)),
		row("cancelled", Unreported, again, Answer{Body: ev("response.cancelled",
			`"response":{"id":"resp_1","status":"cancelled","output":[]}`)}, done(api)),
		row("completed-that-says-failed", Unreported, again, Answer{Body: ev("response.completed",
			`"response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"gone"},"output":[]}`)}, done(api)),
		row("call-with-a-namespace", Unreported, first, Answer{Body: item(0, call(`,"namespace":"functions","name":"read_file"`)) + completed},
			done(api)),
		row("calls-that-share-an-id", Unreported, both, Answer{Body: item(0, call(`,"name":"read_file"`)) + item(1,
			strings.Replace(call(`,"name":"read_file"`), "a.txt", "b.txt", 1)) + completed}, done(api)),
		row("refusal-as-a-part", Unreported, Want{Out: []string{"I cannot help with that."}, Least: 1, Most: 1}, Answer{Body: item(0,
			`{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"I cannot help with that."}]}`) + completed}),
		row("items-of-kinds-that-nobody-knows", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, Answer{Body: item(0,
			`{"type":"hologram","id":"h","depth":3}`) + ev("response.hologram.delta", `"delta":{"x":1}`) + item(1, output(Finished)) + completed}),
		row("patch-as-a-function", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2, NotLast: []string{"unknown tool"}},
			Answer{Body: item(0, `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"apply_patch","arguments":`+
				quoted(`{"input":"*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch\n"}`)+`}`) + completed}, done(api)),
	}
}

func oddAnthropic() []Quirk {
	const api = dialect.Anthropic
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	ev := func(kind, rest string) string { return event(kind, `{"type":"`+kind+`"`+rest+`}`) }
	begin := event("message_start", messageStart)
	end := func(reason string) string {
		return ev("message_delta", `,"delta":{"stop_reason":`+quoted(reason)+`}`) + ev("message_stop", "")
	}
	wrong := func(kind, words string) string {
		return event("error", `{"type":"error","error":{"type":`+quoted(kind)+`,"message":`+quoted(words)+`}}`)
	}
	again := Want{Once: []string{Finished}, Least: 2, Most: 2}
	fail := func(status int, kind, words string) Answer {
		return Answer{Status: status, Body: `{"type":"error","error":{"type":` + quoted(kind) + `,"message":` + quoted(words) + `}}`}
	}
	return []Quirk{
		row("redacted-thinking-goes-back", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2,
			Last: []string{`"redacted_thinking"`, "SEALED-DATA"}}, messages("tool_use",
			blockOf(`{"type":"redacted_thinking","data":"SEALED-DATA"}`), use("toolu_1", "read_file", rudeArgs)), done(api)),
		row("overloaded-as-the-first-event", Unreported, again, Answer{Body: wrong("overloaded_error", "Overloaded")}, done(api)),
		row("rate-amid-the-stream", Unreported, again, Answer{Body: begin + text("The first half")(0) +
			wrong("rate_limit_error", "slow down")}, done(api)),
		row("timeout-amid-the-stream", Unreported, again, Answer{Body: begin + wrong("timeout_error", "Request timed out")}, done(api)),
		row("blocks-that-nobody-knows", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, messages("end_turn",
			blockOf(`{"type":"hologram","depth":3}`, `{"type":"hologram_delta","x":1}`), text(Finished))),
		row("input-as-a-list", Unreported, first, Answer{Body: begin + blockOf(`{"type":"tool_use","id":"t1","name":"read_file","input":[]}`,
			`{"type":"input_json_delta","partial_json":`+quoted(rudeArgs)+`}`)(0) + end("tool_use")}, done(api)),
		row("escape-in-two-pieces", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"größe"}},
			Answer{Body: begin + blockOf(`{"type":"tool_use","id":"t1","name":"read_file","input":{}}`,
				`{"type":"input_json_delta","partial_json":"{\"file_path\":\"gr\\u00f"}`,
				`{"type":"input_json_delta","partial_json":"6\\u00dfe\"}"}`)(0) + end("tool_use")}, done(api)),
		row("reason-that-nobody-knows", Unreported, Want{Once: []string{Finished}, Least: 1, Most: 1}, messages("eos", text(Finished))),
		row("reason-in-words-of-chat", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2}, messages("length", text("The first half")),
			done(api)),
		row("conflict-that-passes", Unreported, again, Answer{Status: 409, Header: map[string]string{"X-Should-Retry": "true"},
			Body: `{"type":"error","error":{"type":"api_error","message":"try again"}}`}, done(api)),
		row("web-server-that-is-down", Unreported, again, fail(520, "api_error", "Internal"), done(api)),
		row("thoughts-that-the-server-refuses", Unreported, fails(1, "thinking"), fail(400, "invalid_request_error",
			"messages.1.content.0: Invalid `signature` in `thinking` block")),
	}
}

func oddGemini() []Quirk {
	const api = dialect.Gemini
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	blocked := func(reason string) Answer {
		return Answer{Body: `data: {"promptFeedback":{"blockReason":` + quoted(reason) + `},"usageMetadata":{"promptTokenCount":5}}` + "\n\n"}
	}
	again := Want{Once: []string{Finished}, Least: 2, Most: 2}
	var rows []Quirk
	for _, reason := range []string{"SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY"} {
		rows = append(rows, row("prompt-blocked-for-"+strings.ToLower(strings.ReplaceAll(reason, "_", "-")), Unreported,
			fails(1, "blocked the prompt"), blocked(reason)))
	}
	for _, reason := range []string{"RECITATION", "SPII", "BLOCKLIST", "LANGUAGE"} {
		rows = append(rows, row("stopped-for-"+strings.ToLower(reason), Unreported, fails(6, strings.ToLower(reason)),
			gemini(reason, part("The first half"))))
	}
	return append(rows,
		row("too-many-calls", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2}, gemini("TOO_MANY_TOOL_CALLS"), done(api)),
		row("missing-signature-as-a-reason", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2},
			gemini("MISSING_THOUGHT_SIGNATURE"), done(api)),
		row("malformed-response", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2}, gemini("MALFORMED_RESPONSE", part("half")),
			done(api)),
		row("overloaded", Unreported, again, Answer{Status: http.StatusServiceUnavailable,
			Body: `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`}, done(api)),
		row("blocked-behind-words", Unreported, fails(1, "blocked the prompt"), Answer{Body: `data: {"candidates":[{"content":{"parts":[` +
			part("The first half") + `]}}]}` + "\n\n" + blocked("SAFETY").Body}),
		row("signature-of-words-goes-back", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"SIG-T"}},
			Answer{Body: `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Looking.","thoughtSignature":"SIG-T"},` +
				`{"functionCall":{"name":"read_file","args":` + rudeArgs + `}}]},"finishReason":"STOP"}]}` + "\n\n"}, done(api)),
		row("call-without-arguments", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2},
			gemini("STOP", `{"functionCall":{"name":"list_dir"}}`), done(api)))
}
