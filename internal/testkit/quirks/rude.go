package quirks

import (
	"strings"
	"time"

	"kerf/internal/model/script/dialect"
)

// rude are servers that send the right things in ways that no protocol describes.
func rude() []Quirk {
	var rows []Quirk
	for _, api := range []dialect.API{dialect.Chat, dialect.Responses, dialect.Anthropic, dialect.Gemini} {
		rows = append(rows, rudeTransport(api)...)
	}
	for api, summary := range map[dialect.API]Answer{dialect.Chat: chat("stop", say("Summary.")),
		dialect.Responses: responses("completed", "", output("Summary.")), dialect.Anthropic: messages("end_turn", text("Summary."))} {
		told := Answer{Body: `error: {"code":400,"message":"the request exceeds the available context size. try increasing the ` +
			`context size or enable context shift","type":"invalid_request_error"}` + "\n\ndata: [DONE]\n\n"}
		rows = append(rows, Quirk{Name: string(api) + "/error-as-a-field", Source: "coddy-project/coddy-agent#106", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case:    Case{Answers: []Answer{reads(api), told, summary, done(api)}, Want: well(4)}})
	}
	return append(append(append(append(rows, rudeChat()...), rudeResponses()...), rudeAnthropic()...), rudeGemini()...)
}

// says is a good answer with these words.
func says(api dialect.API, words string) Answer {
	switch api {
	case dialect.Anthropic:
		return messages("end_turn", text(words))
	case dialect.Gemini:
		return gemini("STOP", part(words))
	case dialect.Responses:
		return responses("completed", "", output(words))
	}
	return chat("stop", say(words))
}

func rudeTransport(api dialect.API) []Quirk {
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return Quirk{Name: string(api) + "/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: answers, Repeat: w.Exit != 0, Want: w}}
	}
	const words = "Grüße, 世界 🎉. " + Finished
	out := Want{Out: []string{words}, Least: 1, Most: 1}
	piecewise := says(api, words)
	piecewise.Piece = 1
	windows := says(api, words)
	windows.Body = "\ufeff" + strings.ReplaceAll(windows.Body, "\n", "\r\n")
	old := says(api, words)
	old.Body = strings.ReplaceAll(old.Body, "\n", "\r")
	tight := says(api, words)
	tight.Body = strings.ReplaceAll(tight.Body, "data: ", "data:")
	commented := says(api, words)
	commented.Body = ": hello\n\n" + strings.ReplaceAll(commented.Body, "\n\n",
		"\n\n: keep-alive\n\nid: 7\nretry: 10\n\n")
	zipped := says(api, words)
	zipped.Gzip = true
	zippedFault := Answer{Status: 400,
		Body: `{"error":{"message":"the model is asleep","type":"invalid_request_error"}}`, Gzip: true}
	stays := says(api, words)
	stays.Stall = true
	kind := says(api, words)
	kind.Header = map[string]string{"Content-Type": "application/octet-stream"}
	huge := says(api, strings.Repeat("0123456789abcdef", 1<<18)+words)
	cfg := []Step{{API: api, Config: []string{"stream_idle_timeout_ms = 200", "first_answer_timeout_ms = 200",
		"stream_max_retries = 0", "request_max_retries = 0"}}}
	held := says(api, words)
	held.Body = strings.TrimSuffix(held.Body, "data: [DONE]\n\n")
	if api == dialect.Anthropic {
		held.Body = strings.TrimSuffix(held.Body, event("message_stop", `{"type":"message_stop"}`))
	}
	held.Stall = true
	// On a busy machine a sign of life may come too late, which is an idle timeout as well.
	alive := Quirk{Name: string(api) + "/keep-alives-without-end", Source: "maximhq/bifrost#6784", API: api,
		Control: plain,
		Case: Case{Steps: cfg, Answers: []Answer{{Endless: ": keep-alive\n\n", Gap: 50 * time.Millisecond}},
			Want: fails(1, "idle timeout")}}
	ping := Quirk{Name: string(api) + "/pings-without-end", Source: Unreported, API: api, Control: plain,
		Case: Case{Steps: cfg, Answers: []Answer{{Endless: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
			Gap: 50 * time.Millisecond}}, Want: fails(1, "idle timeout")}}

	return []Quirk{
		row("a-word-that-is-a-ping", Unreported, Want{Out: []string{"ping"}, Least: 1, Most: 1}, says(api, "ping")),
		row("byte-by-byte", "astrid-runtime/astrid#171", out, piecewise), row("windows-lines-and-a-mark",
			"agentic-os-org/ANOLISA#2209", out, windows), row("old-mac-lines", "kubernetes-sigs/inference-perf#781",
			out, old),
		row("no-space-behind-the-colon", "tashfeenahmed/freellmapi#1087", out, tight), row("comments-ids-and-retries",
			"mistralai/mistral-vibe#619", out, commented),
		row("compressed-stream", "router-for-me/CLIProxyAPI#1834", out, zipped), row("compressed-refusal",
			"router-for-me/CLIProxyAPI#1834", fails(1, "the model is asleep"), zippedFault),
		row("wrong-media-type", Unreported, out, kind), row("huge-event", Unreported, out, huge),
		row("refusal-with-status-200", Unreported, fails(1, "your card"),
			Answer{Body: `{"error":{"message":"your card expired, insufficient credits","code":"insufficient_quota"}}`,
				Header: map[string]string{"Content-Type": "application/json"}}),
		row("words-instead-of-events", Unreported, fails(6, "upstream connect error"),
			Answer{Body: "upstream connect error or disconnect/reset before headers"}),
		row("bare-words-as-a-refusal", Unreported, fails(1, "no such deployment"), Answer{Status: 404,
			Body: "no such deployment"}),
		row("list-of-faults", Unreported, fails(1, "field required"), Answer{Status: 422,
			Body: `{"detail":[{"loc":["body","model"],"msg":"field required","type":"missing"}]}`}),
		row("errors-member", Unreported, fails(1, "bad tool"), Answer{Status: 400,
			Body: `{"errors":[{"message":"bad tool","code":7}],"success":false}`}),
		row("redirect-in-place", "langchain-ai/langserve#304", Want{Out: []string{words}, Least: 2, Most: 2},
			Answer{Status: 308, Header: map[string]string{"Location": "?again=1"}}, says(api, words)),
		row("redirect-elsewhere", Unreported, fails(1, "redirects to"), Answer{Status: 307,
			Header: map[string]string{"Location": "http://192.0.2.1/v1"}}),
		row("empty-body", "ollama/ollama#16045", Want{Out: []string{words}, Least: 2, Most: 2}, Answer{}, says(api,
			words)),
		row("created", Unreported, out, func() Answer {
			a := says(api, words)
			a.Status = 201
			a.Header = map[string]string{"Content-Type": "text/event-stream"}
			return a
		}()),
		alive, ping,
		{Name: string(api) + "/connection-stays-open", Source: "agentscope-ai/agentscope-java#2073", API: api,
			Control: plain, Case: Case{Steps: cfg, Answers: []Answer{stays}, Want: out}},
		{Name: string(api) + "/no-mark-of-the-end-and-open", Source: "maximhq/bifrost#6784", API: api, Control: plain,
			Case: Case{Steps: cfg, Answers: []Answer{held}, Want: out}},
	}
}

const rudeArgs = `{"file_path":"a.txt"}`

func rudeRow(api dialect.API, name, source string, w Want, answers ...Answer) Quirk {
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	var rule func(*Request) string
	switch api {
	case dialect.Chat:
		rule = chatRules
	case dialect.Responses:
		rule = inputRules()
	case dialect.Anthropic:
		rule = messagesRules()
	case dialect.Gemini:
		rule = contentsRules
	}
	return Quirk{Name: string(api) + "/" + name, Source: source, API: api, Control: plain,
		Case: Case{Answers: answers, Repeat: w.Exit != 0, Refuses: rule, Want: w}}
}

// both is what is expected when two files were read.
var both = Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta", "gamma delta"}}

// first is what is expected when one file was read.
var first = Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}

func rudeChat() []Quirk {
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
	fn := func(index, rest string) string {
		return delta(`{"tool_calls":[{"index":` + index + `,` + rest + `}]}`)
	}
	const end = `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	const fin = `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	said := Want{Out: []string{Finished}, Least: 1, Most: 1}
	file := func(f string) string { return quoted(`{"file_path":"` + f + `"}`) }
	return []Quirk{
		row("interleaved-calls", "QwenLM/Qwen-Agent#943", both, raw(
			fn("0", `"id":"a1","type":"function","function":{"name":"read_file","arguments":""}`),
			fn("1", `"id":"a2","type":"function","function":{"name":"read_file","arguments":""}`),
			fn("0", `"function":{"arguments":"{\"file_path\":"}`), fn("1",
				`"function":{"arguments":"{\"file_path\":\"b"}`),
			fn("0", `"function":{"arguments":"\"a.txt\"}"}`), fn("1", `"function":{"arguments":".txt\"}"}`), end),
			done(api)),
		row("arguments-as-an-object", Unreported, first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":`+rudeArgs+`}`), end), done(api)),
		row("arguments-encoded-twice", "microsoft/vscode-prompt-tsx#132", first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":`+quoted(quoted(rudeArgs))+`}`), end), done(api)),
		row("index-as-a-text", "anvia-hq/anvia#262", both, raw(fn(`"0"`,
			`"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}`),
			fn(`"1"`, `"id":"a2","function":{"name":"read_file","arguments":"{\"file_path\""}`), fn(`"1"`,
				`"function":{"arguments":":\"b.txt\"}"}`), end), done(api)),
		row("id-as-a-number", Unreported, first,
			raw(`{"id":17,"created":"now","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":42,"function":{"name":"read_file","arguments":`+
				file("a.txt")+`}}]}}]}`, end), done(api)),
		row("null-everywhere", "earendil-works/pi#2466", first,
			raw(`{"id":null,"choices":[{"index":null,"delta":{"role":null,"content":null,"refusal":null,"tool_calls":null,"function_call":null,`+
				`"reasoning_content":null,"reasoning_details":null},"finish_reason":null}],"usage":null,"error":null}`,
				`{"choices":null}`, `{"choices":[{"index":0,"delta":null,"message":null}]}`,
				fn("0", `"id":null,"type":null,"extra_content":null,"function":{"name":"read_file","arguments":null}`),
				fn("0", `"id":null,"function":{"name":null,"arguments":`+file("a.txt")+`}`), end,
				`{"choices":[],"usage":{"prompt_tokens":null,"prompt_tokens_details":null}}`), done(api)),
		row("other-types", Unreported, said,
			raw(`{"id":"c","choices":[{"index":0,"delta":{"content":`+quoted(Finished)+`,"refusal":{},"reasoning_details":"","tool_calls":{}},"finish_reason":false,"logprobs":7}],"usage":""}`, fin)),
		row("usage-as-texts", Unreported, said, raw(delta(say(Finished)), fin,
			`{"choices":[],"usage":{"prompt_tokens":"12","completion_tokens":-4,"prompt_tokens_details":[]}}`)),
		row("usage-is-missing", "gpustack/gpustack#4874", said, raw(delta(say(Finished)), fin)),
		row("whole-answer-instead-of-a-stream", "mistralai/mistral-vibe#619", said,
			Answer{Header: map[string]string{"Content-Type": "application/json"}, Body: `{
 "id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":` + quoted(Finished) + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}
}`}),
		row("whole-call-instead-of-a-stream", "nyroway/nyro#182", first,
			Answer{Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read_file","arguments":` + file("a.txt") + `}}]},"finish_reason":"tool_calls"}]}`}, done(api)),
		row("content-as-parts", Unreported, said,
			raw(delta(`{"content":[{"type":"text","text":"All done "},{"type":"text","text":"here."}]}`), fin)),
		row("error-event-by-name", "agentjido/req_llm#280", fails(6, "model crashed"),
			Answer{Body: piece(say("Half")) + "event: error\ndata: {\"message\":\"model crashed\"}\n\n"}),
		row("bare-error-amid-the-stream", "yoloyash/overtchat#40", fails(3, "out of memory"),
			Answer{Body: piece(say("Half")) + `data: {"object":"error","message":"CUDA out of memory","code":400}` +
				"\n\ndata: [DONE]\n\n"}),
		row("error-as-a-text", Unreported, fails(6, "no GPU"), Answer{Body: `data: {"error":"no GPU is free"}` +
			"\n\n"}),
		row("stop-again-behind-the-end", "RayBytes/ChatMock#114", Want{Once: []string{Finished}, Least: 1, Most: 1},
			raw(delta(say(Finished)), fin, delta(say(Finished)), fin)),
		row("stop-though-there-are-calls", "RayBytes/ChatMock#114", first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}`), fin), done(api)),
		row("surrogates-in-two-events", "elizaOS/eliza#30904", Want{Out: []string{"Fine 🎉. " + Finished}, Least: 1,
			Most: 1}, raw(delta(`{"content":"Fine \ud83c"}`), delta(`{"content":"\udf89. `+Finished+`"}`), fin)),
		row("half-a-letter-in-two-events", "mattn/tensai#110", Want{Out: []string{"Grüße. " + Finished}, Least: 1,
			Most: 1}, raw(delta("{\"content\":\"Gr\xc3\"}"), delta("{\"content\":\"\xbc\xc3\"}"),
			delta("{\"content\":\"\x9fe. "+Finished+"\"}"), fin)),
		row("half-a-letter-in-arguments", "ggml-org/llama.cpp#28926", Want{Out: []string{Finished}, Least: 2, Most: 2,
			Last: []string{"größe.txt"}}, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":"{\"file_path\":\"gr`+"\xc3"+`"}`),
			fn("0", `"function":{"arguments":"`+"\xb6\xc3"+`"}`), fn("0",
				`"function":{"arguments":"`+"\x9f"+`e.txt\"}"}`), end), done(api)),
		row("another-id-in-every-piece", "poolsideai/pool#9", first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":"{\"file_path\":"}`),
			fn("0", `"id":"a2","function":{"arguments":"\"a."}`), fn("0",
				`"id":"a3","function":{"arguments":"txt\"}"}`), end), done(api)),
		row("null-as-a-chunk", "Kilo-Org/kilocode#3083", said, raw(delta(say("All done ")), "null",
			delta(say("here.")), fin)),
		{Name: "chat/heartbeats-behind-the-reason", Source: "maximhq/bifrost#6784", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Steps: []Step{{API: api, Config: []string{"stream_idle_timeout_ms = 300"}}},
				Answers: []Answer{{Body: piece(say(Finished)) + `data: ` + fin + "\n\n", Endless: ": heartbeat\n\n",
					Gap: 50 * time.Millisecond}}, Want: said}},
		row("two-choices", "anvia-hq/anvia#262", Want{Once: []string{Finished}, Least: 1, Most: 1},
			raw(`{"choices":[{"index":0,"delta":{"content":`+quoted(Finished)+`}},{"index":1,"delta":{"content":"Another answer."}}]}`, fin)),
		row("two-objects-in-one-event", "miruamel/xuan#194", said, Answer{Body: "data: " + delta(say("All done ")) +
			"\ndata: " + delta(say("here.")) + "\n\n" + stop("stop")}),
		row("name-in-each-piece", "agentscope-ai/agentscope-java#1223", first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":"{\"file_path\":"}`), fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":"\"a.txt\"}"}`), end), done(api)),
		row("empty-id-behind-the-first", "agentscope-ai/agentscope-java#1223", first, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":"{\"file_path\":"}`), fn("0",
			`"id":"","function":{"name":"","arguments":"\"a.txt\"}"}`), end), done(api)),
		row("all-calls-at-index-zero", "ai-dynamo/dynamo#4723", both, raw(fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}`), fn("0",
			`"id":"a2","function":{"name":"read_file","arguments":`+file("b.txt")+`}`), end), done(api)),
		row("reason-before-the-calls", "sgl-project/sglang#8417", first, raw(end, fn("0",
			`"id":"a1","function":{"name":"read_file","arguments":`+file("a.txt")+`}`)), done(api)),
		row("retry-after-a-day", "1jehuang/jcode#1183", fails(1, "slow down"), Answer{Status: 429,
			Header: map[string]string{"Retry-After": "86400"}, Body: `{"error":{"message":"slow down"}}`}),
	}
}

func rudeResponses() []Quirk {
	const api = dialect.Responses
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	ev := func(kind, rest string) string { return event(kind, `{"type":"`+kind+`",`+rest+`}`) }
	const created = `"response":{"id":"resp_1"}`
	completed := func(output string) string {
		return ev("response.completed", `"response":{"id":"resp_1","status":"completed","output":`+output+`}`)
	}
	said := Want{Once: []string{Finished}, Least: 1, Most: 1}
	call := func(n, args string) string {
		return `{"type":"function_call","id":"fc_` + n + `","call_id":"call_` + n +
			`","name":"read_file","arguments":` + args + `}`
	}
	file := func(f string) string { return quoted(`{"file_path":"` + f + `"}`) }
	half := ev("response.output_text.delta", `"output_index":0,"item_id":"m","delta":"All done "`) +
		ev("response.output_text.delta", `"output_index":0,"item_id":"m","delta":"here."`)
	return []Quirk{
		{Name: "responses/no-effort-for-models-that-do-not-reason", Source: Unreported, API: api,
			Bad: []string{`{"reasoning":{"effort":"high"},"input":[]}`},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-4.1", Flags: []string{"-c", "model_reasoning_effort=high",
				"-c", "model_reasoning_summary=auto"}}}, Answers: []Answer{done(api)}, Refuses: func(r *Request) string {
				if r.JSON["reasoning"] != nil {
					return "Unsupported parameter: 'reasoning.effort' is not supported with this model."
				}
				return ""
			}, Want: well(1)}},
		row("interleaved-calls", "QwenLM/Qwen-Agent#943", both, Answer{Body: ev("response.created", created) +
			ev("response.output_item.added",
				`"output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read_file","arguments":""}`) +
			ev("response.output_item.added",
				`"output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"read_file","arguments":""}`) +
			ev("response.function_call_arguments.delta", `"output_index":1,"item_id":"fc_2","delta":"{\"file"`) +
			ev("response.function_call_arguments.delta", `"output_index":0,"item_id":"fc_1","delta":"{\"file"`) +
			ev("response.output_item.done", `"output_index":1,"item":`+call("2", file("b.txt"))) +
			ev("response.output_item.done", `"output_index":0,"item":`+call("1", file("a.txt"))) + completed("[]")},
			done(api)),
		row("arguments-as-an-object", Unreported, first, Answer{Body: ev("response.output_item.done",
			`"output_index":0,"item":`+call("1", rudeArgs)) + completed("[]")}, done(api)),
		row("arguments-encoded-twice", "microsoft/vscode-prompt-tsx#132", first,
			Answer{Body: ev("response.output_item.done", `"output_index":0,"item":`+call("1",
				quoted(quoted(rudeArgs)))) + completed("[]")}, done(api)),
		row("whole-answer-instead-of-a-stream", "mistralai/mistral-vibe#619", said,
			Answer{Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"id":"resp_1","object":"response","status":"completed","error":null,"output":[` +
					output(Finished) + `],"usage":{"input_tokens":5,"output_tokens":2}}`}),
		row("whole-call-instead-of-a-stream", "nyroway/nyro#182", first,
			Answer{Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"id":"resp_1","object":"response","status":"completed","output":[` + call("1", file("a.txt")) +
					`]}`}, done(api)),
		row("no-completion-but-a-mark", Unreported, said, Answer{Body: items(output(Finished)) + "data: [DONE]\n\n"}),
		row("deltas-only", "vllm-project/vllm#30223", said, Answer{Body: ev("response.created", created) + half +
			completed("[]")}),
		row("deltas-and-the-whole-at-the-end", Unreported, said, Answer{Body: ev("response.created", created) + half +
			completed(`[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":`+quoted(Finished)+`}]}]`)}),
		row("item-without-its-words", "agentgateway/agentgateway#2281", said,
			Answer{Body: ev("response.output_item.added",
				`"output_index":0,"item":{"type":"message","id":"m","content":[]}`) + half +
				ev("response.output_item.done", `"output_index":0,"item":{"type":"message","id":"m","content":[]}`) +
				completed("[]")}),
		row("content-as-a-text", "Oaklight/llm-rosetta#56", said, Answer{Body: ev("response.output_item.done",
			`"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":`+quoted(Finished)+`}`) +
			completed("null")}),
		row("null-everywhere", "earendil-works/pi#2466", first, Answer{Body: ev("response.created", `"response":null`) +
			ev("response.output_item.added", `"output_index":null,"item":null`) + ev("response.output_text.delta",
			`"output_index":null,"item_id":null,"delta":null`) +
			ev("response.output_item.done",
				`"output_index":null,"item":{"type":"reasoning","id":null,"summary":null,"content":null,"encrypted_content":null}`) +
			ev("response.output_item.done",
				`"output_index":0,"item":{"type":"function_call","id":null,"status":null,"call_id":null,"name":"read_file","arguments":`+file("a.txt")+`}`) +
			ev("response.completed",
				`"response":{"id":null,"status":"completed","output":null,"usage":null,"incomplete_details":null,"error":null}`)}, done(api)),
		row("other-types", Unreported, said, Answer{Body: ev("response.created", `"response":{"id":7}`) +
			ev("response.output_text.delta", `"output_index":"0","item_id":3,"delta":"x"`) +
			ev("response.output_item.done", `"output_index":"0","item":`+output(Finished)) +
			ev("response.completed",
				`"response":{"id":9,"status":"completed","output":{},"usage":{"input_tokens":"9","output_tokens_details":[]},"incomplete_details":"none"}`)}),
		row("done-instead-of-completed", Unreported, said, Answer{Body: items(output(Finished)) + ev("response.done",
			`"response":{"id":"resp_1","output":[]}`)}),
		row("usage-is-missing", "gpustack/gpustack#4874", said, Answer{Body: items(output(Finished)) +
			ev("response.completed", `"response":{"id":"resp_1"}`)}),
		row("item-told-twice", Unreported, said, Answer{Body: items(output(Finished)) + ev("response.output_item.done",
			`"output_index":0,"item":`+output(Finished)) + completed(`[`+output(Finished)+`]`)}),
		row("surrogates-in-two-events", "elizaOS/eliza#30904", Want{Out: []string{"Fine 🎉. " + Finished}, Least: 1,
			Most: 1}, Answer{Body: ev("response.output_text.delta",
			`"output_index":0,"item_id":"m","delta":"Fine \ud83c"`) +
			ev("response.output_text.delta", `"output_index":0,"item_id":"m","delta":"\udf89. `+Finished+`"`) +
			completed("[]")}),
		row("error-as-a-text", Unreported, fails(6, "no GPU"), Answer{Body: event("error",
			`{"error":"no GPU is free"}`)}),
		row("failed-without-words", Unreported, fails(6, "ended the response"), Answer{Body: ev("response.failed",
			`"response":{"error":null}`)}),
	}
}

func rudeAnthropic() []Quirk {
	const api = dialect.Anthropic
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	said := Want{Once: []string{Finished}, Least: 1, Most: 1}
	ev := func(kind, rest string) string { return event(kind, `{"type":"`+kind+`"`+rest+`}`) }
	start := func(i, b string) string { return ev("content_block_start", `,"index":`+i+`,"content_block":`+b) }
	delta := func(i, d string) string { return ev("content_block_delta", `,"index":`+i+`,"delta":`+d) }
	stopped := func(i string) string { return ev("content_block_stop", `,"index":`+i) }
	end := func(reason string) string {
		return ev("message_delta", `,"delta":{"stop_reason":"`+reason+`"}`) + ev("message_stop", "")
	}
	begin := event("message_start", messageStart)
	use := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"read_file","input":{}}` }
	args := func(s string) string { return `{"type":"input_json_delta","partial_json":` + quoted(s) + `}` }
	words := func(s string) string { return `{"type":"text_delta","text":` + quoted(s) + `}` }
	const text0 = `{"type":"text","text":""}`
	twoBlocks := func(second string) string {
		return begin + start("0", text0) + delta("0", words("Looking.")) + stopped("0") + start(second, use("t1")) +
			delta(second, args(rudeArgs)) + stopped(second) + end("tool_use")
	}
	return []Quirk{
		row("interleaved-calls", "QwenLM/Qwen-Agent#943", both, Answer{Body: begin + start("0", use("t1")) + start("1",
			use("t2")) + delta("0", args(`{"file_path":`)) +
			delta("1", args(`{"file_path":"b`)) + delta("0", args(`"a.txt"}`)) + delta("1", args(`.txt"}`)) +
			stopped("1") + stopped("0") + end("tool_use")}, done(api)),
		row("every-block-at-index-zero", "PeakCode-AI/PeakCode#16", first, Answer{Body: twoBlocks("0")}, done(api)),
		row("two-calls-at-index-zero", "PeakCode-AI/PeakCode#16", both, Answer{Body: begin + start("0", use("t1")) +
			delta("0", args(`{"file_path":"a.txt"}`)) + stopped("0") +
			start("0", use("t2")) + delta("0", args(`{"file_path":"b.txt"}`)) + stopped("0") + end("tool_use")},
			done(api)),
		row("no-block-stops", "aaif-goose/goose#11637", first, Answer{Body: begin + start("0", text0) + delta("0",
			words("Looking.")) + start("1", use("t1")) + delta("1", args(rudeArgs)) + end("tool_use")}, done(api)),
		row("no-block-starts", Unreported, said, Answer{Body: begin + delta("0", words("All done ")) + delta("0",
			words("here.")) + end("end_turn")}),
		row("no-message-start", Unreported, said, Answer{Body: start("0", text0) + delta("0", words(Finished)) +
			stopped("0") + end("end_turn")}),
		row("input-as-an-object", Unreported, first, Answer{Body: begin + start("0", use("t1")) + delta("0",
			`{"type":"input_json_delta","partial_json":`+rudeArgs+`}`) + stopped("0") + end("tool_use")}, done(api)),
		row("input-as-a-text-at-once", Unreported, first, Answer{Body: begin + start("0",
			`{"type":"tool_use","id":"t1","name":"read_file","input":`+quoted(rudeArgs)+`}`) + stopped("0") +
			end("tool_use")}, done(api)),
		row("input-at-once-and-again", Unreported, first, Answer{Body: begin + start("0",
			`{"type":"tool_use","id":"t1","name":"read_file","input":`+rudeArgs+`}`) + delta("0", args(rudeArgs)) +
			stopped("0") + end("tool_use")}, done(api)),
		row("end-turn-though-there-are-calls", Unreported, first, Answer{Body: begin + start("0", use("t1")) +
			delta("0", args(rudeArgs)) + stopped("0") + end("end_turn")}, done(api)),
		row("one-id-for-two-calls", Unreported, both, Answer{Body: begin + start("0", use("t1")) + delta("0",
			args(`{"file_path":"a.txt"}`)) + stopped("0") +
			start("1", use("t1")) + delta("1", args(`{"file_path":"b.txt"}`)) + stopped("1") + end("tool_use")},
			done(api)),
		row("null-everywhere", "earendil-works/pi#2466", first, Answer{Body: ev("message_start",
			`,"message":{"id":null,"content":null,"usage":null}`) + start("0",
			`{"type":"text","text":null,"citations":null}`) +
			delta("0", `{"type":"text_delta","text":null}`) + stopped("0") + start("1",
			`{"type":"tool_use","id":null,"name":"read_file","input":null}`) + delta("1", args(rudeArgs)) +
			stopped("1") +
			ev("message_delta", `,"delta":{"stop_reason":null,"stop_sequence":null},"usage":null`) + end("tool_use")},
			done(api)),
		row("other-types", Unreported, said, Answer{Body: ev("message_start",
			`,"message":{"id":5,"content":{},"usage":"none"}`) + start("0", text0) + delta("0", words(Finished)) +
			ev("message_delta",
				`,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":"7","output_tokens_details":[]}`) +
			ev("message_stop", "")}),
		row("usage-is-missing", "gpustack/gpustack#4874", said, Answer{Body: ev("message_start",
			`,"message":{"id":"m"}`) + start("0", text0) + delta("0", words(Finished)) + stopped("0") +
			end("end_turn")}),
		row("whole-answer-instead-of-a-stream", "mistralai/mistral-vibe#619", said,
			Answer{Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":` +
					quoted(Finished) + `}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`}),
		row("whole-call-instead-of-a-stream", "nyroway/nyro#182", first,
			Answer{Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"tool_use","id":"t1","name":"read_file","input":` + rudeArgs + `}],"stop_reason":"tool_use"}`}, done(api)),
		row("mark-of-another-protocol", Unreported, said, Answer{Body: begin + start("0", text0) + delta("0",
			words(Finished)) + stopped("0") + end("end_turn") + "data: [DONE]\n\n"}),
		row("mark-instead-of-the-end", Unreported, said, Answer{Body: begin + start("0", text0) + delta("0",
			words(Finished)) + stopped("0") + ev("message_delta", `,"delta":{"stop_reason":"end_turn"}`) +
			"data: [DONE]\n\n"}),
		row("surrogates-in-two-events", "elizaOS/eliza#30904", Want{Out: []string{"Fine 🎉. " + Finished}, Least: 1,
			Most: 1}, Answer{Body: begin + start("0", text0) + delta("0",
			`{"type":"text_delta","text":"Fine \ud83c"}`) +
			delta("0", `{"type":"text_delta","text":"\udf89. `+Finished+`"}`) + stopped("0") + end("end_turn")}),
		row("text-at-the-start", Unreported, said, Answer{Body: begin + start("0",
			`{"type":"text","text":`+quoted(Finished)+`}`) + stopped("0") + end("end_turn")}),
		row("error-as-a-text", Unreported, fails(6, "no GPU"), Answer{Body: event("error",
			`{"error":"no GPU is free"}`)}),
	}
}

func rudeGemini() []Quirk {
	const api = dialect.Gemini
	row := func(name, source string, w Want, answers ...Answer) Quirk {
		return rudeRow(api, name, source, w, answers...)
	}
	said := Want{Once: []string{Finished}, Least: 1, Most: 1}
	cand := func(rest string) string { return `{"responseId":"g1","candidates":[{"index":0,` + rest + `}]}` }
	parts := func(p string) string { return cand(`"content":{"role":"model","parts":[` + p + `]}`) }
	last := cand(`"finishReason":"STOP"`)
	raw := func(lines ...string) Answer {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString("data: " + l + "\n\n")
		}
		return Answer{Body: b.String()}
	}
	call := func(args string) string { return `{"functionCall":{"name":"read_file","args":` + args + `}}` }
	json := map[string]string{"Content-Type": "application/json"}
	return []Quirk{
		row("arguments-as-a-text", Unreported, first, raw(parts(call(quoted(rudeArgs))), last), done(api)),
		row("arguments-are-null", Unreported, Want{Out: []string{Finished}, Least: 2, Most: 2},
			raw(parts(call("null")), last), done(api)),
		row("list-instead-of-a-stream", "nyo16/nous#26", said, Answer{Header: json, Body: "[" +
			parts(part("All done ")) + "\n,\r\n" + parts(part("here.")) + ",\n" + last + "]"}),
		row("whole-call-instead-of-a-stream", "nyroway/nyro#182", first, Answer{Header: json,
			Body: `{"candidates":[{"content":{"parts":[` + call(rudeArgs) + `]},"finishReason":"STOP"}]}`}, done(api)),
		row("a-reason-in-every-piece", Unreported, said,
			raw(cand(`"content":{"parts":[`+part("All done ")+`]},"finishReason":"STOP"`),
				cand(`"content":{"parts":[`+part("here.")+`]},"finishReason":"STOP"`))),
		row("null-everywhere", "earendil-works/pi#2466", first,
			raw(`{"responseId":null,"candidates":null,"promptFeedback":null,"usageMetadata":null,"error":null}`,
				`{"candidates":[{"index":null,"content":null,"finishReason":null,"finishMessage":null}]}`,
				`{"candidates":[{"content":{"parts":null}}]}`,
				parts(`{"text":null,"thought":null,"thoughtSignature":null,"functionCall":{"id":null,"name":"read_file","args":`+rudeArgs+`}}`), last), done(api)),
		row("other-types", Unreported, said,
			raw(`{"responseId":4,"candidates":[{"index":"0","content":{"parts":[{"text":`+quoted(Finished)+`,"thought":"no"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"5","cachedContentTokenCount":null}}`)),
		row("parts-as-an-object", Unreported, said, raw(cand(`"content":{"parts":`+part(Finished)+`}`), last)),
		row("usage-is-missing", "gpustack/gpustack#4874", said, raw(parts(part(Finished)), last)),
		row("mark-of-another-protocol", Unreported, said, raw(parts(part(Finished)), last, "[DONE]")),
		row("one-id-for-two-calls", Unreported, both,
			raw(parts(`{"functionCall":{"id":"x","name":"read_file","args":{"file_path":"a.txt"}}},{"functionCall":{"id":"x","name":"read_file","args":{"file_path":"b.txt"}}}`), last), done(api)),
		row("wrapped-in-a-response", Unreported, said, raw(`{"response":`+parts(part(Finished))+`}`,
			`{"response":`+last+`}`)),
		row("surrogates-in-two-events", "elizaOS/eliza#30904", Want{Out: []string{"Fine 🎉. " + Finished}, Least: 1,
			Most: 1}, raw(parts(`{"text":"Fine \ud83c"}`), parts(`{"text":"\udf89. `+Finished+`"}`), last)),
		row("error-as-a-text", Unreported, fails(6, "no GPU"), raw(`{"error":"no GPU is free"}`)),
	}
}
