package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/script"
	"kerf/internal/model/script/dialect"
)

// requests say the same in each protocol.
var requests = map[dialect.API]string{
	dialect.Responses: `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"find "},{"type":"input_text","text":"it"}]},
		{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":\"a\"}"},
		{"type":"function_call_output","call_id":"c1","output":"found"},{"type":"message","role":"assistant","content":"done"}],
		"tools":[{"type":"function","name":"look"},{"type":"function","name":"patch"}]}`,
	dialect.Chat: `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"find "},{"type":"text","text":"it"}]},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"look","arguments":"{\"at\":\"a\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"found"},{"role":"assistant","content":"done"}],
		"tools":[{"function":{"name":"look"}},{"function":{"name":"patch"}}]}`,
	dialect.Anthropic: `{"system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"find it"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"at":"a"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"found"}]}]},
		{"role":"assistant","content":[{"type":"text","text":"done"}]}],"tools":[{"name":"look"},{"name":"patch"}]}`,
	dialect.Gemini: `{"contents":[{"role":"user","parts":[{"text":"find it"}]},
		{"role":"model","parts":[{"functionCall":{"id":"c1","name":"look","args":{"at":"a"}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"c1","response":{"output":"found"}}}]},
		{"role":"model","parts":[{"text":"done"},{"text":""}]}],"tools":[{"functionDeclarations":[{"name":"look"},{"name":"patch"}]}]}`,
}

// TestRequestsReadAlike, whatever protocol they are in: their conversation, their texts and their tools.
func TestRequestsReadAlike(t *testing.T) {
	for _, api := range dialect.All() {
		body := []byte(requests[api])
		var items []string
		for _, i := range api.Input(body) {
			one := []string{}
			for _, name := range []string{"type", "role", "call_id", "name", "arguments", "content", "output"} {
				if s := dialect.Text(i[name]); s != "" {
					one = append(one, s)
				}
			}
			if dialect.IsOutput(i) != (i["output"] != nil) {
				t.Errorf("%s: %v is an output: %t", api, i, dialect.IsOutput(i))
			}
			items = append(items, strings.Join(one, " "))
		}
		want := []string{"message user find it", `function_call c1 look {"at":"a"}`, "function_call_output c1 found", "message assistant done"}
		if d := cmp.Diff(want, items); d != "" {
			t.Errorf("%s (-want +got):\n%s", api, d)
		}
		input, outputs := api.Texts(body)
		if input != "find it\nlook\n{\"at\":\"a\"}\nfound\ndone\n" || outputs != "found" {
			t.Errorf("%s: texts %q, outputs %q", api, input, outputs)
		}
		if d := cmp.Diff([]string{"look", "patch"}, api.Tools(body)); d != "" {
			t.Errorf("%s: tools (-want +got):\n%s", api, d)
		}
		for _, body := range []string{"", "{", "[]", "{}", `{"input":7,"messages":{},"contents":"x","tools":[7,{}]}`} {
			if got := api.Input([]byte(body)); len(got) != 0 {
				t.Errorf("%s: %q reads as %v", api, body, got)
			}
			if got := strings.Join(api.Tools([]byte(body)), ""); got != "" {
				t.Errorf("%s: %q offers %q", api, body, got)
			}
		}
	}
}

// TestThoughtsAreKeptSealed: what a provider hides comes back in the requests as it left.
func TestThoughtsAreKeptSealed(t *testing.T) {
	for api, body := range map[dialect.API]string{
		dialect.Anthropic: `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sealed item_1_1"}]}]}`,
		dialect.Gemini:    `{"contents":[{"role":"model","parts":[{"text":"","thoughtSignature":"sealed item_1_1"}]}]}`,
	} {
		got := api.Input([]byte(body))
		if len(got) != 1 || got[0]["type"] != "reasoning" || got[0]["encrypted_content"] != "sealed item_1_1" {
			t.Errorf("%s: %v", api, got)
		}
	}
}

// TestPathsTellTheProtocol.
func TestPathsTellTheProtocol(t *testing.T) {
	for path, want := range map[string]dialect.API{"/v1/responses": dialect.Responses, "/v1/chat/completions": dialect.Chat, "/v1/messages": dialect.Anthropic,
		"/v1beta/models/gemini-3-pro:streamGenerateContent": dialect.Gemini, "/v1/models": "", "/": "", "": ""} {
		if got, ok := dialect.Of(path); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %t", path, got, ok)
		}
	}
}

// TestRefusals have the status and the words of their providers.
func TestRefusals(t *testing.T) {
	kinds := map[model.ErrorKind]int{model.Auth: 401, model.Quota: 429, model.RateLimit: 429, model.BadCall: 400, model.Context: 400, model.Server: 500}
	for _, api := range dialect.All() {
		seen := map[string]model.ErrorKind{}
		for kind, want := range kinds {
			status, body := api.Refusal(&script.Failure{Kind: kind})
			var m dialect.M
			if err := json.Unmarshal([]byte(body), &m); err != nil || status != want || !strings.Contains(body, "scripted error: "+string(kind)) {
				t.Errorf("%s, %s: %d %s, %v", api, kind, status, body, err)
			}
			told := strings.ReplaceAll(body, string(kind), "")
			if other, twice := seen[told]; twice {
				t.Errorf("%s tells %s and %s alike", api, kind, other)
			}
			seen[told] = kind
		}
		status, body := api.Refusal(&script.Failure{Kind: model.Server, Status: 529, Message: "too <busy>"})
		if status != 529 || !strings.Contains(body, "too <busy>") || strings.Contains(body, "scripted error") {
			t.Errorf("%s: %d %s", api, status, body)
		}
	}
}

// TestEventsAreWellFormed: each is one whole event with JSON in it, and a stream ends as its protocol
// says, unless it is cut.
func TestEventsAreWellFormed(t *testing.T) {
	free := "raw\ntext"
	items := []script.Item{{Reasoning: "so it is"}, {Message: "two words"}, {Call: "a", Args: json.RawMessage(`{"b":1}`)},
		{Call: "a", Args: json.RawMessage(`"not JSON"`)}, {Call: "p", Input: &free}, {Call: "sh", Style: "shell", Args: json.RawMessage(`{"command":["ls"]}`)}}
	last := map[dialect.API]string{dialect.Responses: "response.completed", dialect.Chat: "[DONE]", dialect.Anthropic: "message_stop", dialect.Gemini: "STOP"}
	for _, api := range dialect.All() {
		for name, r := range map[string]script.Round{"whole": {Items: items, Usage: &script.Usage{Input: 3, Output: 2}}, "cut": {Items: items, Cut: true},
			"failed": {Items: items, Error: &script.Failure{Kind: model.Server, Message: "gone"}}, "empty": {}} {
			events := api.Render(r, 1)
			for _, e := range events {
				if !strings.HasSuffix(e, "\n\n") || strings.Count(e, "\n\n") != 1 {
					t.Errorf("%s, %s: no single event: %q", api, name, e)
				}
				_, data, ok := strings.Cut(e, "data: ")
				if data = strings.TrimSpace(data); ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s, %s: no JSON: %q", api, name, e)
				}
			}
			end := ""
			if len(events) > 0 {
				end = events[len(events)-1]
			}
			ends := strings.Contains(end, last[api])
			if want := name == "whole" || name == "empty"; ends != want {
				t.Errorf("%s, %s ends in %q", api, name, end)
			}
			if name == "failed" && !strings.Contains(end, "gone") {
				t.Errorf("%s: the failure is told as %q", api, end)
			}
		}
	}
}
