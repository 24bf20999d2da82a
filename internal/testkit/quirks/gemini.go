package quirks

import (
	"fmt"
	"regexp"
	"strings"

	"kerf/internal/model/script/dialect"
)

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// contentsRules is what the generateContent protocol demands.
func contentsRules(r *Request) string {
	calls := 0
	for i, c := range objects(r.JSON["contents"]) {
		parts := objects(c["parts"])
		if len(parts) == 0 {
			return "Unable to submit request because it must include at least one parts field"
		}
		results := 0
		made := 0
		for n, p := range parts {
			at := fmt.Sprintf("contents[%d].parts[%d]", i, n)
			call, called := p["functionCall"].(map[string]any)
			_, answered := p["functionResponse"]
			if called {
				made++
				if !geminiName.MatchString(str(call["name"])) {
					return at + ".function_call.name: Invalid function name."
				}
			}
			if answered {
				results++
			}
			if !called && !answered && p["inlineData"] == nil && p["fileData"] == nil && p["thoughtSignature"] == nil &&
				str(p["text"]) == "" {
				return at + ".data: required oneof field 'data' must have one initialized field"
			}
		}
		if results != calls {
			return "Please ensure that the number of function response parts is equal to the number of function call parts of " +
				"the function call turn."
		}
		calls = made
	}
	return ""
}

// vertexRules are those of Vertex besides.
func vertexRules(r *Request) string {
	if strings.Contains(string(r.Body), `"functionCall":{"id"`) || strings.Contains(string(r.Body), `"functionResponse":{"id"`) {
		return `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`
	}
	if r.Header.Get("Authorization") != "Bearer test-key" {
		return "API keys are not supported by this API. Expected OAuth2 access token"
	}
	return contentsRules(r)
}

// signatures demands one for the first call of each answer: one of the model, or the
// word that stands for one.
func signatures(valid ...string) func(*Request) string {
	return func(r *Request) string {
		for i, c := range objects(r.JSON["contents"]) {
			first := true
			for _, p := range objects(c["parts"]) {
				signature := str(p["thoughtSignature"])
				if signature != "" && !contains(append(valid, "skip_thought_signature_validator"), signature) {
					return "Corrupted thought signature."
				}
				if p["functionCall"] != nil && first {
					first = false
					if signature == "" {
						return fmt.Sprintf("Function call is missing a thought_signature in functionCall parts, position %d", i)
					}
				}
			}
		}
		return contentsRules(r)
	}
}

func badContents(old, by string) string {
	return strings.Replace(`{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{`+
		`"name":"read_file","args":{}},"thoughtSignature":"SIG-A"}]},{"role":"user","parts":[{"functionResponse":{`+
		`"name":"read_file","response":{}}}]}]}`, old, by, -1)
}

func geminiRows() []Quirk {
	const api = dialect.Gemini
	const args = `{"file_path":"a.txt"}`
	plain := &Case{Answers: []Answer{done(api)}, Want: well(1)}
	var rows []Quirk
	for _, r := range []struct {
		name, source string
		odd          Answer
	}{
		{"empty-stop", "BerriAI/litellm#24462", gemini("STOP")},
		{"empty-text", "AstrBotDevs/AstrBot#6735", gemini("STOP", part(""))},
		{"thoughts-only", "ahmadrosid/nakama#1189", gemini("STOP", thought("hm"))},
		{"malformed-call", "NousResearch/hermes-agent#83882", gemini("MALFORMED_FUNCTION_CALL")},
		{"unexpected-call", "agentjido/req_llm#944", gemini("UNEXPECTED_TOOL_CALL")},
	} {
		rows = append(rows, toldToGoOn(api, "gemini/"+r.name, r.source, r.odd, plain)...)
	}
	at := func(provider, model string) Step { return Step{Provider: provider, API: api, Model: model} }
	calls := func(name, rest string) string {
		return `{"functionCall":{"name":` + quoted(name) + `,"args":` + args + `}` + rest + `}`
	}
	own := func(rule func(*Request) string, w Want, answers ...Answer) Case {
		return Case{Answers: answers, Refuses: rule, Want: w}
	}
	from := func(first Step, rule func(*Request) string, answers ...Answer) Case {
		first.Provider = "first"
		return elsewhere(first, at("second", "gemini-3-pro"), append(answers, done(api))...).
			refusing(rule, "second", well(len(answers)+1))
	}
	fail := func(status int, body string) Answer { return Answer{Status: status, Body: body} }
	wrapped := func(code int, status, words, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"status":%s,"message":%s,"details":[%s]}}`, code, quoted(status), quoted(words), details)
	}
	shorter := func(name, source string, bad Answer) Quirk {
		return Quirk{Name: "gemini/" + name, Source: source, API: api, Control: plain,
			Case: Case{Answers: []Answer{reads(api), bad, gemini("STOP", part("Summary.")), done(api)}, Want: well(4)}}
	}
	vertex := Step{Provider: "vertex", API: api, Base: "/v1/projects/p/locations/global/publishers/google", Model: "gemini-2.5-pro"}
	ids := calls("read_file", "")
	return append(rows, []Quirk{
		{Name: "gemini/text-cut-by-length", Source: "anima-research/agent-framework#135", API: api, Control: plain,
			Case: own(contentsRules, well(2), gemini("MAX_TOKENS", part("The first half")), done(api))},
		{Name: "gemini/thoughts-cut-by-length", Source: "CherryHQ/stella#1079", API: api, Control: plain,
			Case: Case{Answers: []Answer{gemini("MAX_TOKENS", thought("long"))}, Repeat: true, Want: fails(6, "max_output_tokens")}},
		{Name: "gemini/malformed-call-with-a-call", Source: "NousResearch/hermes-agent#83886", API: api, Control: plain,
			Case: Case{Answers: []Answer{gemini("MALFORMED_FUNCTION_CALL", calls("read_file", "")), done(api)},
				Want: Want{Out: []string{Finished}, Least: 2, Most: 2, NotLast: []string{"alpha beta"}}}},
		{Name: "gemini/safety", Source: "googleapis/python-genai#1789", API: api, Control: plain,
			Case: Case{Answers: []Answer{gemini("SAFETY", part("Half"))}, Repeat: true, Want: fails(1, "safety")}},
		{Name: "gemini/prohibited", Source: "googleapis/python-genai#1789", API: api, Control: plain,
			Case: Case{Answers: []Answer{gemini("PROHIBITED_CONTENT")}, Repeat: true, Want: fails(1, "prohibited")}},
		{Name: "gemini/prompt-blocked", Source: "mozilla-ai/any-llm#1306", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: `data: {"promptFeedback":{"blockReason":"OTHER"}}` + "\n\n"}}, Repeat: true,
				Want: fails(1, "blocked the prompt")}},
		{Name: "gemini/candidate-without-content", Source: "agentjido/req_llm#944", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: `data: {"candidates":[{"index":0,"finishReason":"OTHER"}]}` + "\n\n"}}, Repeat: true,
				Want: fails(6, "other")}},
		{Name: "gemini/vertex-takes-no-ids", Source: "charmbracelet/fantasy#265", API: api,
			Bad:  []string{badContents(`"functionCall":{`, `"functionCall":{"id":"x",`)},
			Case: Case{Steps: []Step{vertex}, Answers: []Answer{gemini("STOP", ids), done(api)}, Refuses: vertexRules, Want: well(2)}},
		{Name: "gemini/vertex-takes-no-ids-of-two-calls", Source: "vercel/ai#15664", API: api,
			Bad:  []string{badContents(`"functionCall":{`, `"functionCall":{"id":"x",`)},
			Case: Case{Steps: []Step{vertex}, Answers: []Answer{gemini("STOP", ids, ids), done(api)}, Refuses: vertexRules, Want: well(2)}},
		{Name: "gemini/made-up-ids", Source: "vellum-ai/vellum-assistant#26282", API: api,
			Bad: []string{badContents(`"functionCall":{`, `"functionCall":{"id":"x",`)},
			Case: own(func(r *Request) string {
				if strings.Contains(string(r.Body), `"functionCall":{"id"`) {
					return `Unknown name "id" at 'contents[1].parts[0].function_call'`
				}
				return contentsRules(r)
			}, well(2), gemini("STOP", ids), done(api))},
		{Name: "gemini/own-ids-go-back", Source: "brainlid/langchain#619", API: api, Control: plain,
			Case: own(contentsRules, Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{`"id":"own-1"`}},
				gemini("STOP", `{"functionCall":{"id":"own-1","name":"read_file","args":`+args+`}}`), done(api))},
		{Name: "gemini/signature-goes-back", Source: "RooCodeInc/Roo-Code#9499", API: api,
			Bad:  []string{badContents(`,"thoughtSignature":"SIG-A"`, "")},
			Case: own(signatures("SIG-A"), well(2), gemini("STOP", calls("read_file", `,"thoughtSignature":"SIG-A"`)), done(api))},
		{Name: "gemini/signature-of-claude", Source: "badrisnarayanan/antigravity-claude-proxy#18", API: api,
			Bad: []string{badContents("SIG-A", "SIG-X")},
			Case: from(Step{API: dialect.Anthropic}, signatures(), messages("tool_use", thinking("hm", "C-SIG"),
				use("toolu_1", "read_file", args)), messages("end_turn", text("Begun.")))},
		{Name: "gemini/signature-of-another-model", Source: "NoeFabris/opencode-antigravity-auth#70", API: api,
			Bad: []string{badContents("SIG-A", "SIG-X")},
			Case: Case{Steps: []Step{{API: api, Model: "gemini-3-pro", Prompt: "begin"}, {API: api, Model: "gemini-3-flash",
				Prompt: "go on", Resume: true}}, Answers: []Answer{gemini("STOP", calls("read_file", `,"thoughtSignature":"SIG-A"`)),
				gemini("STOP", part("Begun.")), done(api)}, Refuses: func(r *Request) string {
				if strings.Contains(r.Path, "gemini-3-pro") {
					return ""
				}
				return signatures()(r)
			}, Want: well(3)}},
		{Name: "gemini/signature-of-another-provider", Source: "OpenRouterTeam/ai-sdk-provider#491", API: api,
			Bad: []string{badContents("SIG-A", "SIG-X")},
			Case: from(Step{API: api, Model: "gemini-3-pro"}, signatures(), gemini("STOP", calls("read_file",
				`,"thoughtSignature":"SIG-A"`)), gemini("STOP", part("Begun.")))},
		{Name: "gemini/parallel-calls", Source: "continuedev/continue#9578", API: api,
			Bad:  []string{badContents(`{"functionCall":{`, `{"functionCall":{"name":"x"}},{"functionCall":{`)},
			Case: own(contentsRules, well(2), gemini("STOP", ids, ids, ids), done(api))},
		{Name: "gemini/invented-name", Source: "google-gemini/gemini-cli#5333", API: api, Bad: []string{badContents("read_file", "ls -la")},
			Case: own(contentsRules, well(2), gemini("STOP", calls("ls -la src", "")), done(api))},
		{Name: "gemini/name-with-a-namespace", Source: "microsoft/semantic-kernel#8292", API: api, Control: plain,
			Case: own(contentsRules, Want{Out: []string{Finished}, Least: 2, Most: 2, Last: []string{"alpha beta"}},
				gemini("STOP", calls("default_api:read_file", "")), done(api))},
		{Name: "gemini/empty-parts", Source: "QuantumNous/new-api#632", API: api, Bad: []string{badContents(`"text":"go"`, `"text":""`)},
			Case: own(contentsRules, well(2), gemini("STOP", part(""), ids), done(api))},
		{Name: "gemini/empty-answer-in-history", Source: "langgenius/dify#30566", API: api,
			Bad:  []string{`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[]}]}`},
			Case: own(contentsRules, well(2), gemini("STOP"), done(api))},
		shorter("token-count", "jin-bo/agentao#88", fail(400, wrapped(400, "INVALID_ARGUMENT",
			"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", ""))),
		shorter("supports-up-to", "NousResearch/hermes-agent#99701", fail(400, wrapped(400, "INVALID_ARGUMENT", "Unable to submit "+
			"request because the input token count is 32825 but model only supports up to 32768.", ""))),
		{Name: "gemini/quota-of-the-day", Source: "UKGovernmentBEIS/inspect_ai#5526", API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(429, wrapped(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check "+
				"your plan and billing details.", `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":`+
				`"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo",`+
				`"retryDelay":"0.1s"}`))}, Repeat: true, Want: fails(1, "exceeded your current quota")}},
		{Name: "gemini/quota-of-the-minute", Source: "JerryZLiu/Dayflow#57", API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(429, wrapped(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check "+
				"your plan and billing details.", `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":`+
				`"GenerateRequestsPerMinutePerProjectPerModel"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo",`+
				`"retryDelay":"0.1s"}`)), done(api)}, Want: well(2)}},
		{Name: "gemini/empty-data-lines", Source: "netease-lcap/wave-agent#1326", API: api, Control: plain,
			Case: Case{Answers: []Answer{{Body: "data:\n\n" + gemini("STOP", part(Finished)).Body}}, Want: well(1)}},
		{Name: "gemini/error-in-a-list", Source: "labring/aiproxy#450", API: api, Control: plain,
			Case: Case{Answers: []Answer{fail(400, "["+wrapped(400, "INVALID_ARGUMENT", "Function calling is not enabled", "")+"]")},
				Repeat: true, Want: fails(1, "Function calling is not enabled")}},
	}...)
}
