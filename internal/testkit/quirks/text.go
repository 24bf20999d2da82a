package quirks

import (
	"strings"

	"kerf/internal/model/script/dialect"
)

// textCalls are the dialects in which models write calls as text. The control is the
// same text where it is quoted code, which is no call.
func textCalls() []Quirk {
	const api = dialect.Chat
	args := `{"file_path": "a.txt"}`
	var rows []Quirk
	for _, r := range []struct{ name, source, text string }{
		{"hermes", "andrewyng/aisuite#339", "<tool_call>\n{\"name\": \"read_file\", \"arguments\": " + args + "}\n</tool_call>"},
		{"qwen-coder", "continuedev/continue#13057", "I'll read it.\n\n<function=read_file>\n<parameter=file_path>\na.txt\n" +
			"</parameter>\n</function>\n</tool_call>"},
		{"qwen-coder-without-ends", "continuedev/continue#13057", "I'll read it.\n\n<function=read_file>\n<parameter=file_path> " +
			"a.txt"},
		{"glm", "zai-org/GLM-5#84", "<tool_call>read_file\n<arg_key>file_path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>"},
		{"mistral", "lmstudio-ai/lmstudio-bug-tracker#797", `[TOOL_CALLS][{"name": "read_file", "arguments": ` + args + `}]`},
		{"mistral-args", "ml-explore/mlx-lm#874", `[TOOL_CALLS]read_file[ARGS]` + args},
		{"kimi", "MoonshotAI/Kimi-K2#89", "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0" +
			"<|tool_call_argument_begin|>" + args + "<|tool_call_end|><|tool_calls_section_end|>"},
		{"deepseek", "sgl-project/sglang#4379", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n" +
			args + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
		{"llama-json", "ollama/ollama#13519", `{"name": "read_file", "parameters": ` + args + `}`},
		{"llama-python-tag", "meta-llama/llama-models#266", `<|python_tag|>{"type": "function", "name": "read_file", "parameters": ` +
			args + `}`},
		{"llama-python-call", "meta-llama/llama-models#266", `<|python_tag|>read_file(file_path="a.txt")`},
		{"minimax", "earendil-works/pi#368", "<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"file_path\">" +
			"a.txt</parameter>\n</invoke>\n</minimax:tool_call>"},
		{"invoke", "MiniMax-AI/MiniMax-M2.5#10", "<invoke name=\"read_file\"><parameter name=\"file_path\">a.txt</parameter></invoke>"},
		{"harmony", "waybarrios/vllm-mlx#50", "<|channel|>analysis<|message|>I need the file.<|end|><|start|>assistant" +
			"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>" + args + "<|call|>"},
		{"harmony-to-first", "ggml-org/llama.cpp#21286", "<|start|>assistant to=functions.read_file<|channel|>commentary json" +
			"<|message|>" + args + "<|call|>"},
		{"harmony-without-end", "ggml-org/llama.cpp#15181", "<|channel|>commentary to=functions.read_file<|message|>" + args},
		{"gemma-python", "andrewyng/aisuite#339", "```tool_code\nread_file(file_path=\"a.txt\")\n```"},
		{"gemma-python-print", "andrewyng/aisuite#339", "I will look.\n```tool_code\nprint(read_file(file_path='a.txt'))\n```"},
		{"gemma-native", "ml-explore/mlx-lm#1096", `<|tool_call>call:read_file{file_path:<|"|>a.txt<|"|>}<tool_call|>`},
		{"gemma-native-parenthesis", "NousResearch/hermes-agent#7449", `<|tool_call>call:read_file(file_path: "a.txt")<tool_call|>`},
		{"gemma-native-without-tokens", "Gitlawb/openclaude#380", `call:read_file{file_path:a.txt}`},
	} {
		fence := "````\n" + r.text + "\n````\nThat is how it looks."
		rows = append(rows, Quirk{Name: "text/" + r.name, Source: r.source, API: api,
			Control: &Case{Answers: []Answer{pieces(fence)}, Want: Want{Out: []string{"That is how it looks."}, Least: 1, Most: 1}},
			Case: Case{Answers: []Answer{pieces(r.text), done(api)}, Want: Want{Out: []string{Finished}, Least: 2, Most: 2,
				Last: []string{"alpha beta"}, NotOut: []string{"read_file", "<|"}}}})
	}
	two := `{"file_path":"a.txt"}{"file_path":"b.txt"}`
	plainRead := &Case{Answers: []Answer{reads(api), done(api)},
		Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}}
	got := Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}
	whole := func(name, source, args string, w Want) Quirk {
		return Quirk{Name: "text/" + name, Source: source, API: api, Control: plainRead,
			Case: Case{Answers: []Answer{chat("tool_calls", call(0, "c1", "read_file", args)), done(api)}, Refuses: chatRules, Want: w}}
	}
	both := got
	both.Last = []string{"alpha beta", "gamma delta"}
	return append(rows,
		whole("empty-object-before-arguments", "openai/openai-agents-js#712", "{}"+args, got),
		whole("arguments-twice", "mudler/cogito#66", args+args, got),
		whole("arguments-of-two-calls", "NousResearch/hermes-agent#36039", two, both),
		Quirk{Name: "text/braces-within-a-text", Source: "intrafind/ihub-apps#1802", API: api, Control: plainRead,
			Case: Case{Answers: []Answer{chat("tool_calls", call(0, "c1", "write_file",
				`{"file_path":"n.txt","content":"a}{b"}`)), done(api)}, Refuses: chatRules,
				Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"a}{b"}}}},
		Quirk{Name: "text/empty-object-then-pieces", Source: "unslothai/unsloth#10275", API: api, Control: plainRead,
			Case: Case{Answers: []Answer{chat("tool_calls",
				`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":{}}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{\"file_path\":"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"\"a.txt\"}"}}]}`), done(api)}, Refuses: chatRules, Want: got}},
		Quirk{Name: "text/object-as-a-piece-of-a-text", Source: "mcowger/plexus#759", API: api, Control: plainRead,
			Case: Case{Answers: []Answer{chat("tool_calls",
				`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{\"file_path\":\"n.txt\",\"content\":\"x "}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":" y\"}"}}]}`), done(api)}, Refuses: chatRules,
				Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"x {} y"}}}},
		Quirk{Name: "text/harmony-final-channel", Source: "NVIDIA/TensorRT-LLM#9256", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Answers: []Answer{pieces("<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final" +
				"<|message|>" + Finished + "<|return|>")},
				Want: Want{Out: []string{Finished}, NotOut: []string{"<|", "Easy", "final"}, Least: 1, Most: 1}}},
		Quirk{Name: "text/tool-that-is-not-offered", Source: "baidu/vLLM-Kunlun#288", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Answers: []Answer{pieces("<tool_call>\n{\"name\": \"launch\", \"arguments\": {}}\n</tool_call> is an example.")},
				Want: Want{Out: []string{"is an example"}, Least: 1, Most: 1}}},
		Quirk{Name: "text/prose-about-a-call", Source: "andrewyng/aisuite#339", API: api,
			Control: &Case{Answers: []Answer{done(api)}, Want: well(1)},
			Case: Case{Answers: []Answer{pieces("You could run `read_file(file_path=\"a.txt\")`, or call:read_file yourself.")},
				Want: Want{Out: []string{"or call:read_file yourself."}, Least: 1, Most: 1}}})
}

// pieces is a text in small pieces, as it streams.
func pieces(s string) Answer {
	var deltas []string
	for len(s) > 0 {
		n := min(7, len(s))
		for n < len(s) && s[n]&0xC0 == 0x80 {
			n++ // not amid a letter
		}
		deltas = append(deltas, say(s[:n]))
		s = s[n:]
	}
	return chat("stop", deltas...)
}

// local are the model servers of this machine.
func local() []Quirk {
	const api = dialect.Chat
	ollama := func(ps, show string) Case {
		return Case{Steps: []Step{{Provider: "ollama", API: api, Model: "qwen3:8b"}}, Answers: []Answer{done(api)},
			Gets: map[string]string{"/api/tags": `{"models":[{"name":"qwen3:8b"}]}`, "/api/ps": ps, "/api/show": show}}
	}
	// named has the model name its provider, which is not the default one.
	named := func(c Case) Case {
		step := c.Steps[0]
		step.Model, step.Flags = step.Provider+":"+step.Model, []string{"-c", "model_provider=openai"}
		c.Steps = []Step{step}
		return c
	}
	const none = `{"models":[]}`
	trained := `{"parameters":"stop \"x\"","model_info":{"qwen3.context_length":40960}}`
	with := func(c Case, w Want) Case { c.Want = w; return c }
	large := with(ollama(`{"models":[{"name":"qwen3:8b","context_length":65536}]}`, trained),
		Want{Out: []string{Finished}, Least: 1, Most: 1, NotErr: []string{"warning"}})
	studio := func(loaded string) Case {
		return Case{Steps: []Step{{Provider: "lmstudio", API: api, Model: "gemma-3"}}, Answers: []Answer{done(api)},
			Gets: map[string]string{"/api/v0/models": `{"data":[{"id":"gemma-3","type":"llm","state":"loaded",` +
				`"loaded_context_length":` + loaded + `}]}`}}
	}
	fine := func(c Case) *Case { return &c }
	return []Quirk{
		{Name: "local/ollama-is-asked-for-room", Source: "NousResearch/hermes-agent#5929", API: api, Control: &large,
			Case: with(ollama(none, trained), Want{Out: []string{Finished}, Least: 1, Most: 1, Last: []string{`"num_ctx":32768`}})},
		{Name: "local/ollama-is-asked-for-room-where-the-model-names-it", Source: Unreported, API: api, Control: &large,
			Case: with(named(ollama(none, trained)), Want{Out: []string{Finished}, Least: 1, Most: 1, Last: []string{`"num_ctx":32768`}})},
		{Name: "local/ollama-not-asked-for-more-than-trained", Source: "odysseus-dev/odysseus#1055", API: api, Control: &large,
			Case: with(ollama(none, strings.Replace(trained, "40960", "8192", 1)), Want{Out: []string{Finished}, Least: 1, Most: 1,
				Last: []string{`"num_ctx":8192`}})},
		{Name: "local/ollama-room-is-assumed", Source: "xencon/aixcl#1707", API: api, Control: &large,
			Case: with(ollama(none, `{}`), Want{Out: []string{Finished}, Least: 1, Most: 1,
				Err: []string{"does not tell", "OLLAMA_CONTEXT_LENGTH"}})},
		{Name: "local/ollama-room-is-small", Source: "microsoft/vscode#255164", API: api, Control: &large,
			Case: with(ollama(`{"models":[{"name":"qwen3:8b","context_length":4096}]}`, trained), Want{Out: []string{Finished},
				Least: 1, Err: []string{"context of 4096 tokens", "OLLAMA_CONTEXT_LENGTH"}})},
		{Name: "local/lmstudio-room-is-small", Source: "cline/cline#3664", API: api,
			Control: fine(with(studio("65536"), Want{Out: []string{Finished}, Least: 1, Most: 1, NotErr: []string{"warning"}})),
			Case: with(studio("7866"), Want{Out: []string{Finished}, Least: 1,
				Err: []string{"context of 7866 tokens", "longer context"}})},
		{Name: "local/prompt-is-larger-than-room", Source: "anomalyco/opencode#2259", API: api, Control: &large,
			Case: with(studio("512"), Want{Out: []string{Finished}, Least: 1, Err: []string{"smaller than the first request"}})},
		{Name: "local/llamacpp-room", Source: "1jehuang/jcode#447", API: api, Control: &large,
			Case: Case{Steps: []Step{{Provider: "llamacpp", API: api, Model: "gemma"}}, Answers: []Answer{done(api)},
				Gets: map[string]string{"/props": `{"default_generation_settings":{"n_ctx":4096}}`,
					"/v1/models": `{"data":[{"id":"gemma"}]}`},
				Want: Want{Out: []string{Finished}, Least: 1, Err: []string{"context of 4096 tokens"}}}},
	}
}
