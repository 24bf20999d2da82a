package quirks

import (
	"encoding/json"
	"fmt"
	"strings"

	"kerf/internal/model/script/dialect"
)

// inputRules is what the Responses protocol demands. The sealed reasoning that counts is
// that of the provider and the model.
func inputRules(sealed ...string) func(*Request) string {
	return func(r *Request) string {
		list := objects(r.JSON["input"])
		seen, answered := map[string]bool{}, map[string]bool{}
		for i, item := range list {
			id := str(item["call_id"])
			switch kind := str(item["type"]); kind {
			case "function_call":
				if len(id) > 64 {
					return fmt.Sprintf("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64", i)
				}
				if seen[id] {
					return "Duplicate function_call for call_id " + id
				}
				seen[id] = true
				if !openName.MatchString(str(item["name"])) {
					return fmt.Sprintf("Invalid 'input[%d].name': string does not match pattern", i)
				}
				var args map[string]any
				if json.Unmarshal([]byte(str(item["arguments"])), &args) != nil {
					return fmt.Sprintf("input[%d].arguments: Expecting ',' delimiter", i)
				}
			case "function_call_output":
				if answered[id] {
					return "Duplicate function_call_output for call_id " + id
				}
				answered[id] = true
				if !seen[id] {
					return "No tool call found for function call output with call_id " + id
				}
			case "reasoning":
				if item["summary"] == nil {
					return fmt.Sprintf("Input[%d] missing required field `summary`", i)
				}
				if !contains(sealed, str(item["encrypted_content"])) {
					return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
				}
				next := ""
				if i+1 < len(list) {
					next = str(list[i+1]["type"]) + str(list[i+1]["role"])
				}
				if next != "reasoning" && next != "function_call" && next != "custom_tool_call" && next != "messageassistant" {
					return "Item 'rs_1' of type 'reasoning' was provided without its required following item."
				}
			}
		}
		return ""
	}
}

func badInput(old, by string) string {
	return strings.Replace(`{"input":[{"type":"message","role":"user","content":"go"},{"type":"reasoning","summary":[],`+
		`"encrypted_content":"SEAL-A"},{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{}"},`+
		`{"type":"function_call_output","call_id":"call_1","output":"x"}]}`, old, by, -1)
}

func responsesRows() []Quirk {
	const api = dialect.Responses
	const args = `{"file_path":"a.txt"}`
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	var rows []Quirk
	for _, r := range []struct {
		name, source string
		odd          Answer
	}{
		{"empty-output", "odysseus-dev/odysseus#5202", responses("completed", "")},
		{"empty-message", "jundot/omlx#2817", responses("completed", "", output(""))},
		{"reasoning-only", "jundot/omlx#2817", responses("completed", "", reasoning("rs_1", "SEAL-A"))},
	} {
		rows = append(rows, toldToGoOn(api, "responses/"+r.name, r.source, r.odd, plain)...)
	}
	own := func(rule func(*Request) string, w Want, answers ...Answer) Case {
		return Case{Answers: answers, Refuses: rule, Want: w}
	}
	sealedRead := responses("completed", "", reasoning("rs_1", "SEAL-A"), function("call_1", "read_file", args))
	begun := responses("completed", "", output("Begun."))
	noInclude := func(r *Request) string {
		if r.JSON["include"] != nil {
			return "Encrypted content is not supported with this model."
		}
		return ""
	}
	include := func(model, source string) Quirk {
		return Quirk{Name: "responses/no-encrypted-content-of-" + model, Source: source, API: api,
			Bad:  []string{`{"include":["reasoning.encrypted_content"],"input":[]}`},
			Case: Case{Steps: []Step{{API: api, Model: model}}, Answers: []Answer{done(api)}, Refuses: noInclude, Want: well(1)}}
	}
	cutCall := `{"type":"function_call","id":"fc_1","status":"incomplete","call_id":"call_1","name":"write_file","arguments":` +
		quoted(`{"file_path":"b.txt","content":"one`) + `}`
	fail := func(status int, body string) Answer { return Answer{Status: status, Body: body} }
	failed := func(code, words string) string {
		return event("response.failed", `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":`+
			quoted(code)+`,"message":`+quoted(words)+`}}}`)
	}
	from := func(first Step, answers ...Answer) Case {
		first.Provider = "first"
		return elsewhere(first, Step{Provider: "second", API: api, Model: "gpt-5"}, append(answers, done(api))...).
			refusing(inputRules("SEAL-B"), "second", well(len(answers)+1))
	}
	return append(rows, []Quirk{
		{Name: "responses/incomplete-text", Source: "NousResearch/hermes-agent#91786", API: api, Control: plain,
			Case: own(inputRules(), well(2), responses("incomplete", "max_output_tokens", output("The first half")), done(api))},
		{Name: "responses/incomplete-again-and-again", Source: "langfuse/langfuse#16803", API: api, Control: plain,
			Case: Case{Answers: []Answer{responses("incomplete", "max_output_tokens", output("words"))}, Repeat: true,
				Want: fails(6, "max_output_tokens")}},
		{Name: "responses/incomplete-reasoning", Source: "jundot/omlx#2817", API: api, Control: plain,
			Case: own(inputRules("SEAL-A"), well(2), responses("incomplete", "max_output_tokens", reasoning("rs_1", "SEAL-A")), done(api))},
		{Name: "responses/incomplete-call", Source: "OpenRouterTeam/typescript-agent#125", API: api, Control: plain,
			Case: own(inputRules(), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"cut"}},
				responses("incomplete", "max_output_tokens", cutCall), done(api))},
		{Name: "responses/incomplete-call-told-as-whole", Source: "OpenRouterTeam/typescript-agent#125", API: api, Control: plain,
			Case: own(inputRules(), Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"cut"}}, responses("incomplete",
				"max_output_tokens", function("call_1", "write_file", `{"file_path":"b.txt","content":"one`)), done(api))},
		{Name: "responses/content-filter", Source: "microsoft/agent-framework#7051", API: api, Control: plain,
			Case: Case{Answers: []Answer{responses("incomplete", "content_filter", output("Half"))}, Repeat: true,
				Want: fails(1, "content_filter")}},
		{Name: "responses/incomplete-without-a-reason", Source: "NousResearch/hermes-agent#91786", API: api, Control: plain,
			Case: own(inputRules(), well(2), responses("incomplete", "", output("The first half")), done(api))},
		include("gpt-4o", "pydantic/pydantic-ai#2865"),
		include("gpt-4.1-mini", "miquido/draive#399"),
		include("gpt-5-chat-latest", "pydantic/pydantic-ai#3326"),
		{Name: "responses/encrypted-content-of-reasoning-models", Source: "can1357/oh-my-pi#50", API: api,
			Bad: []string{`{"input":[]}`},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-5"}}, Answers: []Answer{done(api)}, Refuses: func(r *Request) string {
				if r.JSON["include"] == nil {
					return "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
				}
				return ""
			}, Want: well(1)}},
		{Name: "responses/reasoning-without-its-follower", Source: "continuedev/continue#8933", API: api,
			Bad: []string{badInput(`{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{}"},`, "")},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-5", Prompt: "go", Exit: 1}, {API: api, Model: "gpt-5", Prompt: "more", Resume: true}},
				Answers: []Answer{responses("incomplete", "content_filter", reasoning("rs_1", "SEAL-A")), done(api)},
				Refuses: inputRules("SEAL-A"), Want: well(2)}},
		{Name: "responses/reasoning-goes-back", Source: "vercel/ai#7099", API: api, Bad: []string{badInput("SEAL-A", "SEAL-X")},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-5"}}, Answers: []Answer{sealedRead, done(api)},
				Refuses: inputRules("SEAL-A"), Want: Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"SEAL-A"}}}},
		{Name: "responses/reasoning-of-another-provider", Source: "openai/codex#3573", API: api, Bad: []string{badInput("SEAL-A", "SEAL-X")},
			Case: elsewhere(Step{Provider: "first", API: api, Model: "gpt-5"}, Step{Provider: "second", API: api, Model: "gpt-5"},
				sealedRead, begun, done(api)).refusing(inputRules("SEAL-B"), "second", well(3))},
		{Name: "responses/reasoning-of-another-model", Source: "openai/codex#17541", API: api, Bad: []string{badInput("SEAL-A", "SEAL-X")},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-5.4-mini", Prompt: "begin"}, {API: api, Model: "gpt-5.4", Prompt: "go on",
				Resume: true}}, Answers: []Answer{sealedRead, begun, done(api)}, Refuses: func(r *Request) string {
				if str(r.JSON["model"]) == "gpt-5.4-mini" {
					return ""
				}
				return inputRules()(r)
			}, Want: well(3)}},
		{Name: "responses/reasoning-of-other-protocols", Source: "openai/codex#3573", API: api, Bad: []string{badInput("SEAL-A", "SEAL-X")},
			Case: from(Step{API: dialect.Anthropic}, messages("tool_use", thinking("hm", "C-SIG"), use("toolu_1", "read_file", args)),
				messages("end_turn", text("Begun.")))},
		{Name: "responses/long-ids-of-others", Source: "dyad-sh/dyad#4304", API: api,
			Bad: []string{badInput("call_1", strings.Repeat("i", 391))},
			Case: from(Step{API: dialect.Chat}, chat("tool_calls", call(0, strings.Repeat("id_", 130), "read_file", args)),
				chat("stop", say("Begun.")))},
		{Name: "responses/one-id-in-every-answer", Source: "NousResearch/hermes-agent#111443", API: api,
			Bad: []string{badInput(`"output":"x"}`, `"output":"x"},{"type":"function_call_output","call_id":"call_1","output":"y"}`)},
			Case: own(inputRules(), well(3), responses("completed", "", function("terminal:0", "read_file", args)),
				responses("completed", "", function("terminal:0", "read_file", `{"file_path":"b.txt"}`)), done(api))},
		{Name: "responses/invented-name", Source: "weave-os/router#1190", API: api, Bad: []string{badInput("read_file", "ls -la")},
			Case: own(inputRules(), well(2), responses("completed", "", function("call_1", "dots schema search --db prod", args)), done(api))},
		{Name: "responses/empty-name", Source: "openai/codex#14355", API: api, Bad: []string{badInput(`"name":"read_file"`, `"name":""`)},
			Case: own(inputRules(), well(2), responses("completed", "", function("call_1", "", args)), done(api))},
		{Name: "responses/broken-arguments", Source: "local-inference-lab/vllm#684", API: api, Bad: []string{badInput(`"{}"`, `"{\"value\": "`)},
			Case: own(inputRules(), well(2), responses("completed", "", function("call_1", "read_file", `{"value": `)), done(api))},
		{Name: "responses/summary-is-always-there", Source: "newo-ether/Agora#141", API: api, Bad: []string{badInput(`"summary":[],`, "")},
			Case: Case{Steps: []Step{{API: api, Model: "gpt-5"}}, Answers: []Answer{sealedRead, done(api)},
				Refuses: inputRules("SEAL-A"), Want: well(2)}},
		{Name: "responses/empty-reasoning", Source: "am17an/llama.cpp#50", API: api, Bad: []string{badInput("SEAL-A", "")},
			Case: own(inputRules("SEAL-A"), well(2), responses("completed", "", `{"type":"reasoning","id":"rs_1","summary":[],"content":[]}`,
				function("call_1", "read_file", args)), done(api))},
		{Name: "responses/empty-data-lines", Source: "maximhq/bifrost#5874", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: "data:\n\n" + items(output(Finished)) + "data: \n\n" +
				event("response.completed", `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`)}},
				Want: well(1)}},
		{Name: "responses/window-exceeded", Source: "anthropics/claude-code#820", API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), {Body: failed("context_length_exceeded", "Your input exceeds the context window "+
				"of this model.")}, responses("completed", "", output("Summary.")), done(api)}, Want: well(4)}},
		{Name: "responses/quota", Source: "openai/codex#6340", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: failed("insufficient_quota", "You exceeded your current quota.")}}, Repeat: true,
				Want: fails(1, "exceeded your current quota")}},
		{Name: "responses/rate-limit-amid-the-stream", Source: "openai/codex#32467", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: failed("rate_limit_exceeded", "Rate limit reached. Please try again in 0.1s.")},
				done(api)}, Want: well(2)}},
		{Name: "responses/cut-behind-a-message", Source: "Jia-Ethan/codex-keysmith#81", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Flags: []string{"--json"}}}, Answers: []Answer{{Body: items(output(Finished)), Cut: true},
				done(api)}, Want: Want{Once: []string{Finished}, Least: 2, Most: 2}}},
		{Name: "responses/cut-behind-a-call", Source: "NousResearch/hermes-agent#99241", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Flags: []string{"--json"}}},
				Answers: []Answer{{Body: items(output("Looking."), function("call_1", "read_file", args)), Cut: true}, done(api)},
				Refuses: inputRules(), Want: Want{Once: []string{"Looking.", Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}}}},
		{Name: "responses/stream-retries-are-counted", Source: "Astro-Han/pawwork#1006", API: api, Control: plain,
			Case: Case{Steps: []Step{{API: api, Config: []string{"request_max_retries = 4", "stream_max_retries = 1"}}},
				Answers: []Answer{{Body: items(), Cut: true}}, Repeat: true, Want: Want{Exit: 1, Least: 2, Most: 2}}},
		{Name: "responses/server-error", Source: "Wei-Shaw/sub2api#4277", API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(500, `{"error":{"message":"Service temporarily unavailable"}}`), done(api)}, Want: well(2)}},
	}...)
}
