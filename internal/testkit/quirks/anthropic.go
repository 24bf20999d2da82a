package quirks

import (
	"fmt"
	"regexp"
	"strings"

	"kerf/internal/model/script/dialect"
)

var messagesID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// messagesRules is what the Messages protocol demands. The signatures that count are
// those of the model.
func messagesRules(signatures ...string) func(*Request) string {
	return func(r *Request) string {
		before, seen := "", map[string]bool{}
		var open []string
		for i, msg := range objects(r.JSON["messages"]) {
			role := str(msg["role"])
			list := objects(msg["content"])
			if len(list) == 0 {
				return fmt.Sprintf("messages.%d: all messages must have non-empty content", i)
			}
			var results []string
			for n, b := range list {
				at := fmt.Sprintf("messages.%d.content.%d", i, n)
				switch b["type"] {
				case "text":
					if strings.TrimSpace(str(b["text"])) == "" {
						return "messages: text content blocks must be non-empty"
					}
				case "thinking":
					if len(signatures) > 0 && !contains(signatures, str(b["signature"])) {
						return at + ": Invalid `signature` in `thinking` block"
					}
				case "tool_use":
					id := str(b["id"])
					if seen[id] {
						return at + ": tool_use ids must be unique"
					}
					seen[id] = true
					if !messagesID.MatchString(id) {
						return at + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
					}
					if !openName.MatchString(str(b["name"])) {
						return at + ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
					}
				case "tool_result":
					results = append(results, str(b["tool_use_id"]))
				}
			}
			if strings.Join(open, " ") != strings.Join(results, " ") {
				return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i)
			}
			open = nil
			for _, b := range list {
				if b["type"] == "tool_use" {
					open = append(open, str(b["id"]))
				}
			}
			before = role
		}
		if before == "assistant" {
			return "This model does not support assistant message prefill. The conversation must end with a user message."
		}
		return ""
	}
}

func badMessages(old, by string) string {
	return strings.Replace(`{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[`+
		`{"type":"thinking","thinking":"x","signature":"SIG-A"},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1"}]}]}`, old, by, -1)
}

func anthropicRows() []Quirk {
	const api = dialect.Anthropic
	const args = `{"file_path":"a.txt"}`
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	var rows []Quirk
	for _, r := range []struct {
		name, source string
		odd          Answer
	}{
		{"empty-end", "nugget/thane-ai-agent#167", messages("end_turn")},
		{"white-space-only", "home-assistant/core#175637", messages("end_turn", text("\n"))},
		{"thoughts-only", "LiveBench/LiveBench#425", messages("end_turn", thinking("hm", "SIG-A"))},
		{"tool-use-without-a-call", "earendil-works/pi#9681", messages("tool_use")},
	} {
		rows = append(rows, toldToGoOn(api, "anthropic/"+r.name, r.source, r.odd, plain)...)
	}
	at := func(provider, model string) Step { return Step{Provider: provider, API: api, Model: model} }
	own := func(rule func(*Request) string, w Want, answers ...Answer) Case {
		return Case{Answers: answers, Refuses: rule, Want: w}
	}
	signed := messages("tool_use", thinking("hm", "SIG-A"), use("toolu_1", "read_file", args))
	switched := func(first, second string) Case {
		return Case{Steps: []Step{{API: api, Model: first, Prompt: "begin"}, {API: api, Model: second, Prompt: "go on", Resume: true}},
			Answers: []Answer{signed, messages("end_turn", text("Begun.")), done(api)},
			Refuses: func(r *Request) string {
				if str(r.JSON["model"]) == first {
					return ""
				}
				return messagesRules("SIG-B")(r)
			}, Want: well(3)}
	}
	from := func(a dialect.API, answers ...Answer) Case {
		return elsewhere(Step{Provider: "first", API: a}, at("second", "claude-sonnet-4-6"), append(answers, done(api))...).
			refusing(messagesRules("SIG-A"), "second", well(len(answers)+1))
	}
	search := blockOf(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`,
		`{"type":"input_json_delta","partial_json":"{\"query\":\"kerf\"}"}`)
	fail := func(status int, body string) Answer { return Answer{Status: status, Body: body} }
	wrapped := func(kind, words string) string {
		return `{"type":"error","error":{"type":` + quoted(kind) + `,"message":` + quoted(words) + `}}`
	}
	shorter := func(name, source string, bad Answer) Quirk {
		return Quirk{Name: "anthropic/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), bad, messages("end_turn", text("Summary.")), done(api)}, Want: well(4)}}
	}
	again := func(name, source string, bad ...Answer) Quirk {
		return Quirk{Name: "anthropic/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: append(bad, done(api)), Want: well(len(bad) + 1)}}
	}
	return append(rows, []Quirk{
		{Name: "anthropic/text-cut-by-length", Source: "anima-research/agent-framework#135", API: api, Control: plain,
			Case: own(messagesRules(), well(2), messages("max_tokens", text("The first half")), done(api))},
		{Name: "anthropic/text-cut-again-and-again", Source: "anima-research/agent-framework#135", API: api, Control: plain,
			Case: Case{Answers: []Answer{messages("max_tokens", text("words"))}, Repeat: true, Want: fails(6, "max_output_tokens")}},
		{Name: "anthropic/call-cut-by-length", Source: "mattmezza/humux#77", API: api, Control: plain,
			Case: own(messagesRules(), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"cut"}},
				messages("max_tokens", text("Writing."), use("toolu_1", "write_file", `{"file_path":"b.txt","content":"one`)), done(api))},
		{Name: "anthropic/call-cut-with-empty-input", Source: "mattmezza/humux#77", API: api, Control: plain,
			Case: own(messagesRules(), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"cut"}},
				messages("max_tokens", use("toolu_1", "write_file", "")), done(api))},
		{Name: "anthropic/pause", Source: "dust-tt/dust#28390", API: api, Control: plain,
			Case: Case{Answers: []Answer{messages("pause_turn", text("Searching."), search), done(api)}, Want: well(2)}},
		{Name: "anthropic/pause-goes-back-as-it-was", Source: "gsd-build/gsd-2#3248", API: api, Control: plain,
			Case: Case{Answers: []Answer{messages("pause_turn", text("Searching."), search), done(api)},
				Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"srvtoolu_1", `"query":"kerf"`}}}},
		{Name: "anthropic/pause-again-and-again", Source: "laravel/ai#493", API: api, Control: plain,
			Case: Case{Answers: []Answer{messages("pause_turn", search)}, Repeat: true, Want: fails(12, "pause_turn")}},
		{Name: "anthropic/refusal", Source: "griffinwork40/agent-afk#290", API: api, Control: plain,
			Case: Case{Answers: []Answer{messages("refusal")}, Repeat: true, Want: fails(1, "refus")}},
		{Name: "anthropic/refusal-behind-tools", Source: "griffinwork40/agent-afk#290", API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), messages("refusal")}, Repeat: true, Want: fails(2, "refus")}},
		shorter("window-exceeded-as-a-reason", "turnstonelabs/turnstone#1162", messages("model_context_window_exceeded", text("Half"))),
		{Name: "anthropic/signature-of-another-model", Source: "vybestack/llxprt-code#2335", API: api,
			Bad: []string{badMessages("SIG-A", "SIG-X")}, Case: switched("claude-opus-4-6", "claude-sonnet-4-6")},
		{Name: "anthropic/signature-of-another-provider", Source: "anomalyco/opencode#6418", API: api,
			Bad: []string{badMessages("SIG-A", "SIG-X")},
			Case: elsewhere(at("minimax", "MiniMax-M2.1"), at("second", "claude-opus-4-6"),
				messages("tool_use", thinking("hm", "MM-SIG"), use("call_1", "read_file", args)),
				messages("end_turn", text("Begun.")), done(api)).refusing(messagesRules("SIG-A"), "second", well(3))},
		{Name: "anthropic/signature-of-gemini", Source: "cline/cline#7620", API: api, Bad: []string{badMessages("SIG-A", "SIG-X")},
			Case: from(dialect.Gemini, gemini("STOP", thought("hm"), `{"functionCall":{"name":"read_file","args":`+args+
				`},"thoughtSignature":"G-SIG"}`), gemini("STOP", part("Begun.")))},
		{Name: "anthropic/signature-goes-back", Source: "NousResearch/hermes-agent#85251", API: api,
			Bad:  []string{badMessages("SIG-A", "SIG-X")},
			Case: own(messagesRules("SIG-A"), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"SIG-A"}}, signed, done(api))},
		{Name: "anthropic/thinking-without-a-signature", Source: "decolua/9router#2397", API: api,
			Bad: []string{badMessages(`{"type":"thinking","thinking":"x","signature":"SIG-A"},`, "")},
			Case: Case{Steps: []Step{at("deepseek", "deepseek-v4-pro")}, Refuses: func(r *Request) string {
				for _, msg := range objects(r.JSON["messages"]) {
					uses, thoughts := false, false
					for _, b := range objects(msg["content"]) {
						uses = uses || b["type"] == "tool_use"
						thoughts = thoughts || b["type"] == "thinking"
					}
					if uses && !thoughts {
						return "The `content[].thinking` in the thinking mode must be passed back to the API."
					}
				}
				return messagesRules()(r)
			}, Answers: []Answer{messages("tool_use", thinking("hm", ""), use("call_1", "read_file", args)), done(api)}, Want: well(2)}},
		{Name: "anthropic/invented-name", Source: "NVIDIA-NeMo/Switchyard#502", API: api,
			Bad:  []string{badMessages("read_file", "ls -la")},
			Case: own(messagesRules(), well(2), messages("tool_use", use("toolu_1", "ls -la src", args)), done(api))},
		{Name: "anthropic/one-id-in-every-answer", Source: "NVIDIA-NeMo/Switchyard#502", API: api,
			Bad: []string{badMessages(`"input":{}}`, `"input":{}},{"type":"tool_use","id":"toolu_1","name":"x","input":{}}`)},
			Case: own(messagesRules(), well(3), messages("tool_use", use("call_0", "read_file", args)),
				messages("tool_use", use("call_0", "read_file", `{"file_path":"b.txt"}`)), done(api))},
		{Name: "anthropic/ids-of-others", Source: "brainlid/langchain#619", API: api, Bad: []string{badMessages("toolu_1", "functions.x:0")},
			Case: from(dialect.Chat, chat("tool_calls", call(0, "functions.read_file:0", "read_file", args)), chat("stop", say("Begun.")))},
		{Name: "anthropic/broken-arguments-of-others", Source: "openai/openai-agents-python#2061", API: api,
			Bad:  []string{badMessages(`"name":"read_file"`, `"name":""`)},
			Case: from(dialect.Chat, chat("tool_calls", call(0, "c1", "read_file", `{"file_path": "a.txt"`)), chat("stop", say("Begun.")))},
		{Name: "anthropic/empty-blocks", Source: "block/buzz#559", API: api,
			Bad:  []string{badMessages(`"text":"go"`, `"text":" "`)},
			Case: own(messagesRules(), well(2), messages("tool_use", text(" "), use("toolu_1", "read_file", args)), done(api))},
		{Name: "anthropic/input-at-once", Source: "openai/openai-agents-js#712", API: api, Bad: []string{badMessages("toolu_1", "a.b")},
			Case: own(messagesRules(), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}},
				messages("tool_use", blockOf(`{"type":"tool_use","id":"t1","name":"read_file","input":`+args+`}`)), done(api))},
		{Name: "anthropic/text-calls", Source: "MiniMax-AI/MiniMax-M2.5#10", API: api, Control: plain,
			Case: Case{Steps: []Step{at("minimax", "MiniMax-M2.5")}, Answers: []Answer{messages("end_turn",
				text("<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"file_path\">a.txt</parameter>\n</invoke>\n"+
					"</minimax:tool_call>")), done(api)}, Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}}},
		shorter("prompt-too-long", "anthropics/claude-code#820", fail(400, wrapped("invalid_request_error",
			"prompt is too long: 210118 tokens > 200000 maximum"))),
		shorter("input-and-output-too-long", "openclaw/openclaw#20539", fail(400, wrapped("invalid_request_error",
			"input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease input length or `max_tokens`"))),
		shorter("request-too-large", "anthropics/claude-code#6434", fail(413, wrapped("request_too_large",
			"Request exceeds the maximum size"))),
		{Name: "anthropic/credit", Source: "continuedev/continue#11787", API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(400, wrapped("invalid_request_error", "Your credit balance is too low to access the "+
				"Anthropic API. Please go to Plans & Billing"))}, Repeat: true, Want: fails(1, "credit balance is too low")}},
		again("overloaded-amid-the-stream", "openai/codex#32467", Answer{Body: blocks(text("Half")) +
			event("error", wrapped("overloaded_error", "Overloaded"))}),
		again("overloaded", "Astro-Han/pawwork#1006", fail(529, wrapped("overloaded_error", "Overloaded"))),
		{Name: "anthropic/empty-data-lines", Source: "caozhiyuan/copilot-api#88", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: event("ping", "") + messages("end_turn", text(Finished)).Body}}, Want: well(1)}},
		{Name: "anthropic/cut-behind-a-message", Source: "NousResearch/hermes-agent#94526", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Flags: []string{"--json"}}},
				Answers: []Answer{{Body: blocks(text(Finished)), Cut: true}, done(api)},
				Want:    Want{Once: []string{Finished}, Least: 2, Most: 2}}},
		{Name: "anthropic/cut-behind-a-message-and-another-comes", Source: "NousResearch/hermes-agent#99241", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Flags: []string{"--json"}}},
				Answers: []Answer{{Body: blocks(text("First things first.")), Cut: true},
					messages("tool_use", text("First things first."), use("toolu_1", "read_file", args)), done(api)},
				Want: Want{Once: []string{"First things first.", Finished}, Least: 3, Most: 3}}},
	}...)
}
