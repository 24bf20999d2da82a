package quirks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"kerf/internal/model/script/dialect"
)

// well is what is expected when a conversation goes on to its end.
func well(least int) Want { return Want{Out: []string{Finished}, Least: least, Most: least} }

// fails is what is expected when it cannot: a clear error and a bounded number of
// requests.
func fails(most int, words ...string) Want { return Want{Exit: 1, Err: words, Least: 1, Most: most} }

// toldToGoOn are the rows of answers that look good and say nothing: the model is asked
// to go on, and it is an error in the end.
func toldToGoOn(api dialect.API, name, source string, odd Answer, plain *Case) []Quirk {
	return []Quirk{
		{Name: name, Source: source, API: api, Control: plain,
			Case: Case{Answers: []Answer{odd, done(api)}, Want: well(2)}},
		{Name: name + "-again-and-again", Source: source, API: api, Control: plain,
			Case: Case{Answers: []Answer{odd}, Repeat: true, Want: fails(6, "error")}},
	}
}

func chatSilent() []Quirk {
	const api = dialect.Chat
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	var rows []Quirk
	for _, r := range []struct {
		name, source string
		odd          Answer
	}{
		{"empty-stop", "earendil-works/pi#8462", chat("stop")},
		{"white-space-only", "vllm-project/vllm#41355", chat("stop", say("\n\n"))},
		{"thoughts-only", "QwenLM/qwen-code#7034", chat("stop", think("I should look at the files."))},
		{"think-tags-only", "MiniMax-AI/MiniMax-M2#18", chat("stop", say("<think>hm, the files</think>"))},
		{"tool-calls-without-a-call", "askui/python-sdk#278", chat("tool_calls")},
		{"call-without-a-name", "xorbitsai/xagent#1504", chat("tool_calls", call(0, "c", "", `{"file_path":"a.txt"}`))},
	} {
		rows = append(rows, toldToGoOn(api, "chat/"+r.name, r.source, r.odd, plain)...)
	}
	cutCall := `{"file_path":"b.txt","content":"one two thr`
	return append(rows, []Quirk{
		{Name: "chat/empty-behind-tools", Source: "nugget/thane-ai-agent#167", API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), chat("stop"), done(api)}, Want: well(3)}},
		{Name: "chat/text-cut-by-length", Source: "agent0ai/agent-zero#1836", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("length", say("The first half")), done(api)}, Want: well(2)}},
		{Name: "chat/text-cut-by-length-again-and-again", Source: "CherryHQ/stella#1079", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("length", say("words "))}, Repeat: true, Want: fails(6, "max_output_tokens")}},
		{Name: "chat/thoughts-cut-by-length", Source: "CherryHQ/stella#1079", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("length", think("very long"))}, Repeat: true, Want: fails(6, "max_output_tokens")}},
		{Name: "chat/call-cut-by-length", Source: "mattmezza/humux#77", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("length", call(0, "c", "write_file", cutCall)), done(api)},
				Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"cut"}}}},
		{Name: "chat/call-cut-but-told-as-whole", Source: "vllm-project/vllm#48922", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("tool_calls", call(0, "c", "write_file", cutCall)), done(api)},
				Refuses: chatRules, Want: well(2)}},
		{Name: "chat/content-filter", Source: "NousResearch/hermes-agent#43108", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("content_filter")}, Repeat: true, Want: fails(1, "content_filter")}},
		{Name: "chat/content-filter-behind-words", Source: "NousResearch/hermes-agent#43108", API: api, Control: plain,
			Case: Case{Answers: []Answer{chat("content_filter", say("Here is how"))}, Repeat: true,
				Want: fails(1, "content_filter")}},
		{Name: "chat/window-exceeded-as-a-reason", Source: "earendil-works/pi#1868", API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), chat("model_context_window_exceeded"), chat("stop", say("Summary.")),
				done(api)}, Want: well(4)}},
		{Name: "chat/nothing-but-done", Source: "earendil-works/pi#2537", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: "data: [DONE]\n\n"}, done(api)}, Want: well(2)}},
		{Name: "chat/no-event-at-all", Source: "earendil-works/pi#2537", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: ": nothing\n\n"}, done(api)}, Want: well(2)}},
		{Name: "chat/empty-data-lines", Source: "netease-lcap/wave-agent#1326", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: "data:\n\n" + piece(say(Finished)) + "data: \n\n" + stop("stop")}},
				Want: well(1)}},
		{Name: "chat/ping-events", Source: "PhilflowIO/dav-mcp#31", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: `data: {"type":"ping"}` + "\n\n" + piece(say(Finished)) + stop("stop")}},
				Want: well(1)}},
	}...)
}

var (
	openName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	mistralID  = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	refusedEnd = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
)

// chatRules is what all servers of the protocol demand: names that fit, arguments in
// JSON, one output for each call and right behind it, unique ids.
func chatRules(r *Request) string {
	open, seen := map[string]bool{}, map[string]bool{}
	for i, msg := range objects(r.JSON["messages"]) {
		if msg["role"] == "tool" {
			id := str(msg["tool_call_id"])
			if !open[id] {
				return fmt.Sprintf("messages[%d]: tool result %q does not follow its tool call", i, id)
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages", i)
		}
		for n, c := range objects(msg["tool_calls"]) {
			f, _ := c["function"].(map[string]any)
			id, name := str(c["id"]), str(f["name"])
			if seen[id] || id == "" {
				return fmt.Sprintf("Duplicate value for 'tool_call_id' of %q in message[%d]", id, i)
			}
			seen[id], open[id] = true, true
			if !openName.MatchString(name) {
				return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.name': %q does not match pattern", i, n, name)
			}
			var args map[string]any
			if json.Unmarshal([]byte(str(f["arguments"])), &args) != nil {
				return fmt.Sprintf("Expecting ',' delimiter: messages[%d] arguments", i)
			}
		}
	}
	return ""
}

// mistralRules are those of api.mistral.ai besides.
func mistralRules(r *Request) string {
	if words := chatRules(r); words != "" {
		return words
	}
	before := "system"
	for _, msg := range objects(r.JSON["messages"]) {
		role := str(msg["role"])
		if role == "user" && before == "tool" {
			return "Unexpected role 'user' after role 'tool'"
		}
		if msg["reasoning_content"] != nil || msg["reasoning"] != nil {
			return "extra_forbidden: reasoning_content: Extra inputs are not permitted"
		}
		for _, c := range objects(msg["tool_calls"]) {
			if !mistralID.MatchString(str(c["id"])) {
				return "Tool call id was " + str(c["id"]) + " but must be a-z, A-Z, 0-9, with a length of 9."
			}
		}
		before = role
	}
	if before == "assistant" {
		return refusedEnd
	}
	return ""
}

func alternates(r *Request) string {
	if words := chatRules(r); words != "" {
		return words
	}
	before := ""
	for _, msg := range objects(r.JSON["messages"]) {
		role := str(msg["role"])
		if role == before && role != "tool" {
			return "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
		}
		before = role
	}
	return ""
}

// wantsReasoning refuses calls of the model whose thoughts did not come back.
func wantsReasoning(empty bool) func(*Request) string {
	return func(r *Request) string {
		if words := chatRules(r); words != "" {
			return words
		}
		for i, msg := range objects(r.JSON["messages"]) {
			thoughts, ok := msg["reasoning_content"].(string)
			if len(objects(msg["tool_calls"])) > 0 && (!ok || thoughts == "" && !empty) {
				return fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at "+
					"index %d", i)
			}
		}
		return ""
	}
}

// refusesMembers refuses members of messages that a server does not know.
func refusesMembers(names ...string) func(*Request) string {
	return func(r *Request) string {
		for i, msg := range objects(r.JSON["messages"]) {
			for _, name := range names {
				if msg[name] != nil {
					return fmt.Sprintf("messages.%d.assistant.%s: property is unsupported", i, name)
				}
			}
		}
		return chatRules(r)
	}
}

// signedCalls is Gemini behind the protocol: the first call of each answer has its
// signature, one of this model or the word that stands for one.
func signedCalls(valid ...string) func(*Request) string {
	return func(r *Request) string {
		for i, msg := range objects(r.JSON["messages"]) {
			for n, c := range objects(msg["tool_calls"]) {
				extra, _ := c["extra_content"].(map[string]any)
				google, _ := extra["google"].(map[string]any)
				signature := str(google["thought_signature"])
				if n > 0 {
					continue
				}
				if signature == "" {
					return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts, position %d", i)
				}
				if !contains(append(valid, "skip_thought_signature_validator"), signature) {
					return "Corrupted thought signature."
				}
			}
		}
		return chatRules(r)
	}
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// thinkText refuses answers with calls whose thoughts are not in the text, where this
// model wrote them.
func thinkText(r *Request) string {
	for i, msg := range objects(r.JSON["messages"]) {
		if len(objects(msg["tool_calls"])) > 0 && !strings.Contains(str(msg["content"]), "<think>") {
			return fmt.Sprintf("messages[%d]: the <think> part of the answer is gone", i)
		}
	}
	return chatRules(r)
}

// badChat is a request with one answer that calls read_file, changed by an edit.
func badChat(old, by string) string {
	return strings.Replace(`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"","tool_calls":[`+
		`{"id":"abcDEF123","type":"function","function":{"name":"read_file","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"abcDEF123","content":"x"}]}`, old, by, -1)
}

// elsewhere is a conversation that begins with one provider and goes on with another.
func elsewhere(from, to Step, answers ...Answer) Case {
	from.Prompt, to.Prompt, to.Resume = "begin", "go on", true
	return Case{Steps: []Step{from, to}, Answers: answers}
}

func (c Case) refusing(rule func(*Request) string, provider string, w Want) Case {
	c.Refuses = func(r *Request) string {
		if r.Provider != provider {
			return ""
		}
		return rule(r)
	}
	c.Want = w
	return c
}

func chatHistory() []Quirk {
	const api = dialect.Chat
	at := func(provider, model string) Step { return Step{Provider: provider, API: api, Model: model} }
	from := func(a dialect.API) Step { return Step{Provider: "first", API: a} }
	one := func(provider, model string, rule func(*Request) string, w Want, answers ...Answer) Case {
		return Case{Steps: []Step{at(provider, model)}, Answers: answers, Refuses: rule, Want: w}
	}
	plainRead := []Answer{reads(api), done(api)}
	thoughtRead := chat("tool_calls", think("Look."), call(0, "call_1", "read_file", `{"file_path":"a.txt"}`))
	signedRead := chat("tool_calls", `{"tool_calls":[{"index":0,"id":"f1","type":"function","extra_content":{"google":{`+
		`"thought_signature":"SIG-A"}},"function":{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}]}`)
	named := func(name string) Answer { return chat("tool_calls", call(0, "c1", name, `{"file_path":"a.txt"}`)) }
	openai := []Answer{responses("completed", "", function("call_x", "read_file", `{"file_path":"a.txt"}`)),
		responses("completed", "", output("Begun."))}
	imageRead := chat("tool_calls", call(0, "c1", "read_file", `{"file_path":"a.png"}`))
	read := Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}
	return []Quirk{
		{Name: "chat/mistral-ids", Source: "anomalyco/opencode#1680", API: api, Bad: []string{badChat("abcDEF123", "call_1")},
			Case: one("mistral", "devstral-medium", mistralRules, well(2), reads(api), done(api))},
		{Name: "chat/mistral-ids-of-others", Source: "editor-code-assistant/eca#233", API: api,
			Bad: []string{badChat("abcDEF123", "call_x")},
			Case: elsewhere(from(dialect.Responses), at("mistral", "mistral-large-latest"), openai[0], openai[1], done(api)).
				refusing(mistralRules, "mistral", well(3))},
		{Name: "chat/mistral-user-behind-tool", Source: "zed-industries/zed#37021", API: api,
			Bad: []string{badChat(`"x"}]`, `"x"},{"role":"user","content":"y"}]`)},
			Case: Case{Steps: []Step{{Provider: "mistral", API: api, Model: "mistral-medium", Prompt: "go", Exit: 1},
				{Provider: "mistral", API: api, Model: "mistral-medium", Prompt: "again", Resume: true}},
				Answers: []Answer{reads(api), refusal(401, "no"), done(api)}, Refuses: mistralRules, Want: well(3)}},
		{Name: "chat/mistral-pictures-behind-tool", Source: "charmbracelet/crush#279", API: api,
			Bad:  []string{badChat(`"x"}]`, `"x"},{"role":"user","content":"y"}]`)},
			Case: one("mistral", "pixtral-large", mistralRules, well(2), imageRead, done(api))},
		{Name: "chat/mistral-ends-in-an-answer", Source: "0xPlaygrounds/rig#1130", API: api,
			Bad:  []string{`{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"x"}]}`},
			Case: one("mistral", "mistral-medium", mistralRules, well(2), chat("length", say("half")), done(api))},
		{Name: "chat/mistral-thoughts", Source: "QwenLM/qwen-code#11045", API: api,
			Bad:  []string{badChat(`"content":"",`, `"content":"","reasoning_content":"x",`)},
			Case: one("mistral", "magistral-medium", mistralRules, well(2), thoughtRead, done(api))},
		{Name: "chat/roles-alternate", Source: "vllm-project/vllm#6862", API: api,
			Bad:  []string{`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`},
			Case: one("vllm", "mistralai/Mistral-7B-Instruct", alternates, well(2), plainRead...)},
		{Name: "chat/roles-alternate-behind-a-failure", Source: "charmbracelet/crush#279", API: api,
			Bad: []string{`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`},
			Case: Case{Steps: []Step{{Provider: "vllm", API: api, Prompt: "go", Exit: 1},
				{Provider: "vllm", API: api, Prompt: "again", Resume: true}},
				Answers: []Answer{refusal(401, "no"), done(api)}, Refuses: alternates, Want: well(2)}},
		{Name: "chat/name-with-a-channel", Source: "ollama/ollama#12132", API: api, Bad: []string{badChat("read_file", "a<|c")},
			Case: one("", "gpt-oss:20b", chatRules, read, named("read_file<|channel|>commentary"), done(api))},
		{Name: "chat/name-that-is-a-channel", Source: "ollama/ollama#11704", API: api, Bad: []string{badChat("read_file", "a<|c")},
			Case: one("", "gpt-oss:120b", chatRules, well(2), named("assistant<|channel|>analysis"), done(api))},
		{Name: "chat/name-with-a-closing-tag", Source: "fw-ai-external/python-sdk#119", API: api,
			Bad:  []string{badChat("read_file", "read_file</arg_value>")},
			Case: one("", "glm-5", chatRules, read, named("read_file</arg_value>"), done(api))},
		{Name: "chat/invented-name", Source: "weave-os/router#1190", API: api, Bad: []string{badChat("read_file", "ls -la src")},
			Case: one("", "kimi-k2", chatRules, well(2), named("ls -la src --all"), done(api))},
		{Name: "chat/name-with-a-namespace", Source: "microsoft/semantic-kernel#8292", API: api,
			Bad:  []string{badChat("read_file", "functions.read_file")},
			Case: one("", "kimi-k2", chatRules, read, named("functions.read_file"), done(api))},
		{Name: "chat/very-long-name", Source: "anthropics/claude-code#985", API: api,
			Bad:  []string{badChat("read_file", strings.Repeat("n", 70))},
			Case: one("", "some-model", chatRules, well(2), named(strings.Repeat("long_", 20)), done(api))},
		{Name: "chat/one-id-for-two-calls", Source: "can1357/oh-my-pi#2055", API: api,
			Bad: []string{badChat(`"{}"}}]`, `"{}"}},{"id":"abcDEF123","function":{"name":"x","arguments":"{}"}}]`)},
			Case: one("", "mimo-2.5", chatRules, well(2), chat("tool_calls",
				call(0, "dup", "read_file", `{"file_path":"a.txt"}`), call(1, "dup", "read_file", `{"file_path":"b.txt"}`)), done(api))},
		{Name: "chat/one-id-in-every-answer", Source: "charmbracelet/crush#3121", API: api,
			Bad:  []string{badChat(`"{}"}}]`, `"{}"}},{"id":"abcDEF123","function":{"name":"x","arguments":"{}"}}]`)},
			Case: one("", "grok-4.6", chatRules, well(3), named("read_file"), named("read_file"), done(api))},
		{Name: "chat/calls-without-ids", Source: "QwenLM/qwen-code#8382", API: api, Bad: []string{badChat("abcDEF123", "")},
			Case: one("", "some-model", chatRules, read, chat("tool_calls",
				`{"tool_calls":[{"index":0,"function":{"name":"read_file","arguments":"{\"file_path\":\"a.txt\"}"}}]}`), done(api))},
		{Name: "chat/deepseek-wants-thoughts", Source: "earendil-works/pi#3636", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("deepseek", "deepseek-v4-pro", wantsReasoning(true), well(2), thoughtRead, done(api))},
		{Name: "chat/deepseek-wants-thoughts-that-were-not-told", Source: "abhigyanpatwari/GitNexus#43", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("deepseek", "deepseek-v4-pro", wantsReasoning(true), well(2), plainRead...)},
		{Name: "chat/deepseek-wants-thoughts-of-others", Source: "JohnnyZ93/oai-compatible-copilot#215", API: api,
			Bad: []string{badChat("abc", "abc")},
			Case: elsewhere(from(dialect.Responses), at("deepseek", "deepseek-v4-flash"), openai[0], openai[1], done(api)).
				refusing(wantsReasoning(true), "deepseek", well(3))},
		{Name: "chat/kimi-wants-thoughts", Source: "anomalyco/opencode#10996", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("moonshot", "kimi-k2.5", wantsReasoning(false), well(2), thoughtRead, done(api))},
		{Name: "chat/kimi-wants-thoughts-that-were-not-told", Source: "anomalyco/opencode#16318", API: api,
			Bad:  []string{badChat(`"content":"",`, `"content":"","reasoning_content":"",`)},
			Case: one("moonshot", "kimi-k2.6", wantsReasoning(false), well(2), plainRead...)},
		{Name: "chat/kimi-on-openrouter", Source: "OnesoftQwQ/opencode-go-copilot#1", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("openrouter", "moonshotai/kimi-k2.5", wantsReasoning(false), well(2), plainRead...)},
		{Name: "chat/glm-gets-its-thoughts-back", Source: "LionSR/TeXRA#2907", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("zai", "glm-4.7", wantsReasoning(true), well(2), thoughtRead, done(api))},
		{Name: "chat/qwen-gets-its-thoughts-back", Source: "QwenLM/qwen-code#11045", API: api,
			Bad:  []string{badChat("abc", "abc")},
			Case: one("dashscope", "qwen3-max", wantsReasoning(true), well(2), thoughtRead, done(api))},
		{Name: "chat/cerebras-refuses-thoughts", Source: "Kilo-Org/kilocode#10375", API: api,
			Bad:  []string{badChat(`"content":"",`, `"content":"","reasoning_content":"x",`)},
			Case: one("cerebras", "zai-glm-4.7", refusesMembers("reasoning_content", "reasoning"), well(2), thoughtRead, done(api))},
		{Name: "chat/groq-refuses-thoughts", Source: "janhq/jan#8136", API: api,
			Bad:  []string{badChat(`"content":"",`, `"content":"","reasoning_content":"x",`)},
			Case: one("groq", "openai/gpt-oss-120b", refusesMembers("reasoning_content"), well(2), thoughtRead, done(api))},
		{Name: "chat/groq-refuses-thoughts-of-others", Source: "tashfeenahmed/freellmapi#1070", API: api,
			Bad: []string{badChat(`"content":"",`, `"content":"","reasoning_content":"x",`)},
			Case: elsewhere(Step{Provider: "deepseek", API: api, Model: "deepseek-v4-pro"}, at("groq", "llama-3.3-70b"),
				thoughtRead, chat("stop", say("Begun.")), done(api)).
				refusing(refusesMembers("reasoning_content"), "groq", well(3))},
		{Name: "chat/thoughts-of-another-provider", Source: "QwenLM/qwen-code#11045", API: api,
			Bad: []string{badChat(`"content":"",`, `"content":"","reasoning_content":"x",`)},
			Case: elsewhere(Step{Provider: "first", API: api, Model: "some-thinker"}, at("strict", "some-model"),
				thoughtRead, chat("stop", say("Begun.")), done(api)).
				refusing(refusesMembers("reasoning_content", "reasoning"), "strict", well(3))},
		{Name: "chat/details-of-another-model", Source: "CommonstackAI/UncommonRoute#19", API: api,
			Bad: []string{badChat(`"content":"",`, `"content":"","reasoning_details":[{"x":1}],`)},
			Case: Case{Steps: []Step{{Provider: "openrouter", API: api, Model: "anthropic/claude-opus-4.6", Prompt: "begin"},
				{Provider: "openrouter", API: api, Model: "google/gemini-3-pro", Prompt: "go on", Resume: true}},
				Answers: []Answer{chat("tool_calls", `{"reasoning_details":[{"type":"reasoning.text","text":"hm",`+
					`"signature":"S","format":"anthropic-claude-v1"}]}`, call(0, "c1", "read_file", `{"file_path":"a.txt"}`)),
					chat("stop", say("Begun.")), done(api)},
				Refuses: func(r *Request) string {
					if !strings.Contains(str(r.JSON["model"]), "gemini") && str(r.JSON["model"]) != "" {
						return ""
					}
					return refusesMembers("reasoning_details")(r)
				}, Want: well(3)}},
		{Name: "chat/gemini-signatures", Source: "Gitlawb/openclaude#67", API: api, Bad: []string{badChat("abc", "abc")},
			Case: one("google", "gemini-3-pro-preview", signedCalls("SIG-A"), well(2), signedRead, done(api))},
		{Name: "chat/gemini-signatures-of-others", Source: "router-for-me/CLIProxyAPI#994", API: api,
			Bad: []string{badChat("abc", "abc")},
			Case: elsewhere(from(dialect.Responses), at("google", "gemini-3-flash"), openai[0], openai[1], done(api)).
				refusing(signedCalls(), "google", well(3))},
		{Name: "chat/gemini-signatures-of-another-model", Source: "decolua/9router#4136", API: api,
			Bad: []string{badChat("abc", "abc")},
			Case: Case{Steps: []Step{{Provider: "google", API: api, Model: "gemini-3-pro", Prompt: "begin"},
				{Provider: "google", API: api, Model: "gemini-3-flash", Prompt: "go on", Resume: true}},
				Answers: []Answer{signedRead, chat("stop", say("Begun.")), done(api)},
				Refuses: func(r *Request) string {
					if str(r.JSON["model"]) == "gemini-3-pro" {
						return ""
					}
					return signedCalls()(r)
				}, Want: well(3)}},
		{Name: "chat/minimax-think-text", Source: "NousResearch/hermes-agent#85251", API: api, Bad: []string{badChat("abc", "abc")},
			Case: one("minimax", "MiniMax-M2", thinkText, well(2),
				chat("tool_calls", say("<think>Look first.</think>\n"), call(0, "c1", "read_file", `{"file_path":"a.txt"}`)), done(api))},
		{Name: "chat/malformed-arguments-in-history", Source: "MoonshotAI/kimi-cli#2165", API: api,
			Bad: []string{badChat(`"{}"`, `"description\": 1}"`)},
			Case: one("", "some-model", chatRules, well(2),
				chat("tool_calls", call(0, "c1", "read_file", `description": "x"}`)), done(api))},
		{Name: "chat/long-ids-of-others", Source: "vercel/ai#5171", API: api,
			Bad: []string{badChat("abcDEF123", strings.Repeat("i", 60))},
			Case: elsewhere(from(dialect.Responses), at("openai", "gpt-4.1"),
				responses("completed", "", function("call_"+strings.Repeat("z", 100), "read_file", `{"file_path":"a.txt"}`)),
				openai[1], done(api)).
				refusing(func(r *Request) string {
					for _, msg := range objects(r.JSON["messages"]) {
						for _, c := range objects(msg["tool_calls"]) {
							if len(str(c["id"])) > 40 {
								return "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40"
							}
						}
					}
					return chatRules(r)
				}, "openai", well(3))},
	}
}

// waits says how long a slow server needs.
const waits = 1500 * time.Millisecond

func chatErrors() []Quirk {
	const api = dialect.Chat
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	fail := func(status int, body string) Answer { return Answer{Status: status, Body: body} }
	stops := func(source, name string, status int, body string, words ...string) Quirk {
		return Quirk{Name: "chat/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(status, body)}, Repeat: true, Want: fails(1, words...)}}
	}
	again := func(source, name string, bad ...Answer) Quirk {
		return Quirk{Name: "chat/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: append(bad, done(api)), Want: well(len(bad) + 1)}}
	}
	toolUseFailed := fail(400, `{"error":{"message":"Failed to call a function. Please adjust your prompt. See `+
		`'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed",`+
		`"failed_generation":"<function=read_file={\"file_path\": \"a.txt\"}</function>"}}`)
	slow := done(api)
	slow.Wait = waits
	return []Quirk{
		stops("zed-industries/zed#64424", "router-raw", 400, `{"error":{"message":"Provider returned error","code":400,`+
			`"metadata":{"raw":"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Model 'kimi' supports at most 1 image `+
			`per prompt.\"}}","provider_name":"Crucible"}}}`, "supports at most 1 image", "Crucible"),
		stops("open-webui/computer#293", "router-raw-as-text", 403, `{"error":{"message":"Provider returned error","code":403,`+
			`"metadata":{"raw":"Country, region, or territory not supported","provider_name":"OpenAI"}}}`,
			"territory not supported"),
		stops("Gitlawb/openclaude#67", "body-in-a-list", 400, `[{"error":{"code":400,"message":"Thinking level is not `+
			`supported","status":"INVALID_ARGUMENT"}}]`, "Thinking level is not supported"),
		stops("continuedev/continue#11787", "deepseek-balance", 402, `{"error":{"message":"Insufficient Balance",`+
			`"type":"unknown_error","param":null,"code":"invalid_request_error"}}`, "Insufficient Balance"),
		stops("openai/codex#6340", "openai-quota", 429, `{"error":{"message":"You exceeded your current quota, please check `+
			`your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			"exceeded your current quota"),
		stops("anomalyco/opencode#24462", "moonshot-quota", 429, `{"error":{"message":"Your account org-x is suspended due to `+
			`insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}`, "recharge"),
		stops("QwenLM/qwen-code#73", "openrouter-credits", 402, `{"error":{"message":"This request requires more `+
			`credits, or fewer max_tokens.","code":402}}`, "requires more credits"),
		stops("zhayujie/CowAgent#2910", "zai-balance", 429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`,
			"余额不足"),
		stops("warpdotdev/warp#14867", "xai-credits", 403, `{"code":"The caller does not have permission","error":"Your `+
			`team has either used all available credits or reached its monthly spending limit."}`, "monthly spending limit"),
		stops("NousResearch/hermes-agent#36276", "kimi-monthly", 429, `{"error":{"message":"You've reached kimi monthly usage `+
			`limit for this billing cycle. Your quota will be refreshed in the next cycle."}}`, "monthly usage limit"),
		stops("mezmo/aura#593", "credits-as-a-rate", 429, `{"error":{"message":"Insufficient credits. Add more to go on."}}`,
			"Insufficient credits"),
		again("pydantic/pydantic-ai#2774", "groq-tool-use-failed", toolUseFailed),
		again("pydantic/pydantic-ai#4354", "groq-tool-validation", fail(400, `{"error":{"message":"tool call validation failed: `+
			`attempted to call tool 'x' which was not in request.tools","type":"invalid_request_error","code":"tool_use_failed"}}`)),
		{Name: "chat/groq-tool-use-failed-again-and-again", Source: "agno-agi/agno#4090", API: api, Control: plain,
			Case: Case{Answers: []Answer{toolUseFailed}, Repeat: true, Want: fails(4, "Failed to call a function")}},
		again("open-webui/computer#293", "rate-limit-behind-a-router", fail(429, `{"error":{"message":"Provider returned error",`+
			`"code":429,"metadata":{"raw":"glm is temporarily rate-limited upstream. Please retry shortly",`+
			`"provider_name":"BaseTen"}}}`)),
		again("jin-bo/agentao#88", "too-many-tokens-a-minute", fail(429, `{"error":{"message":"ThrottlingException: Too many `+
			`tokens, please wait before trying again.","code":429}}`)),
		again("maximhq/bifrost#5874", "error-amid-the-stream", Answer{Body: piece(say("Half")) + `data: {"error":{"code":502,` +
			`"message":"upstream overloaded"}}` + "\n\n"}),
		again("openai/codex#32467", "cut-amid-the-stream", Answer{Body: piece(say("Half")), Cut: true}),
		again("fw-ai-external/python-sdk#119", "gateway-page", fail(502, "<html><title>502 Bad Gateway</title></html>")),
		{Name: "chat/stream-retries-are-counted", Source: "Astro-Han/pawwork#1006", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Config: []string{"request_max_retries = 4", "stream_max_retries = 2"}}},
				Answers: []Answer{{Body: piece(say("Half")), Cut: true}}, Repeat: true,
				Want: Want{Exit: 1, Least: 3, Most: 3}}},
		{Name: "chat/request-retries-are-counted", Source: "Astro-Han/pawwork#1006", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Config: []string{"request_max_retries = 2", "stream_max_retries = 5"}}},
				Answers: []Answer{fail(503, `{"error":{"message":"busy"}}`)}, Repeat: true,
				Want: Want{Exit: 1, Least: 3, Most: 3, Err: []string{"busy"}}}},
		{Name: "chat/connection-refused", Source: "OpenHands/OpenHands#6128", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Config: []string{}}}, Closed: true,
				Want: Want{Exit: 1, Err: []string{"connection refused"}, MostRefused: 6}}},
		{Name: "chat/local-server-reads-slowly", Source: "cline/cline#9328", API: api,
			Control: &Case{Steps: []Step{{API: api, Config: []string{"stream_idle_timeout_ms = 500", "stream_max_retries = 0"}}},
				Answers: []Answer{{Body: piece(say("Half")), Stall: true}}, Repeat: true, Want: fails(1, "idle timeout")},
			Case: Case{Steps: []Step{{API: api, Config: []string{"stream_idle_timeout_ms = 500", "request_max_retries = 0"}}},
				Answers: []Answer{slow}, Want: well(1)}},
		{Name: "chat/header-wait-is-bounded", Source: "denn-gubsky/loomcycle#625", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Config: []string{"first_answer_timeout_ms = 300", "request_max_retries = 0"}}},
				Answers: []Answer{slow}, Repeat: true, Want: fails(1, "no answer from")}},
	}
}
