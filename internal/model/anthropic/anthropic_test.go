package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

// ask sends r to a server that plays a round, and returns what the server got and what came of it, one item a line.
func ask(t *testing.T, below string, r *model.Request, round mt.Round) (*mt.Request, []string, error) {
	t.Helper()
	s := mt.Start(t, round)
	o := anthropic.Options{Options: wire.Options{BaseURL: s.URL + below, IdleTimeout: 10 * time.Second, Key: wire.StaticKey("key")}}
	var got []string
	err := anthropic.New(o).Stream(t.Context(), r, func(c model.Chunk) error {
		switch c := c.(type) {
		case model.ItemDone:
			i := c.Item
			got = append(got, strings.Join(strings.Fields(strings.Join([]string{string(i.Kind), i.CallID, i.Name, i.Input, i.Text(),
				strings.Join(i.Summary, "|"), i.Encrypted}, " ")), " "))
		case model.Searched:
			got = append(got, "searched "+c.Query)
		case model.Done:
			line := strings.TrimSpace("over " + c.Incomplete + " " + strings.Join(c.Cut, ","))
			if c.Usage != nil {
				line += fmt.Sprintf(" %+v", *c.Usage)
			}
			got = append(got, line)
		}
		return nil
	})
	if len(s.Requests()) == 0 {
		return nil, got, err
	}
	return s.Request(t, 0), got, err
}

func data(s string) string { return "data: " + s + "\n\n" }

// block is a block at an index, with what comes of it and its end.
func block(index int, begins string, deltas ...string) string {
	at := fmt.Sprintf(`"index":%d`, index)
	text := data(`{"type":"content_block_start",` + at + `,"content_block":` + begins + `}`)
	for _, d := range deltas {
		text += data(`{"type":"content_block_delta",` + at + `,"delta":` + d + `}`)
	}
	return text + data(`{"type":"content_block_stop",`+at+`}`)
}

func stops(reason string) string {
	return data(`{"type":"message_delta","delta":{"stop_reason":"`+reason+`"}}`) + data(`{"type":"message_stop"}`)
}

func hello(name string) *model.Request {
	return &model.Request{Model: name, Items: []*model.Item{model.UserText("hi")}}
}

// TestAnswersAreItems: what a recorded stream says comes as these items, whatever its form.
func TestAnswersAreItems(t *testing.T) {
	text := block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I "}`, `{"type":"text_delta","text":"look."}`)
	call := block(1, `{"type":"tool_use","id":"c1","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`,
		`{"type":"input_json_delta","partial_json":"1}"}`)
	half := block(1, `{"type":"tool_use","id":"c1","name":"f"}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`)
	for _, tt := range []struct{ name, stream, want string }{
		{"a message", text + stops("end_turn"), "message I look.\nover"},
		{"a call", text + call + stops("tool_use"), `message I look.` + "\n" + `call c1 f {"a":1}` + "\nover"},
		{"a call that came at once", block(0, `{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}`) + stops("tool_use"), `call c1 f {"a":1}` + "\nover"},
		{"arguments as an object", block(0, `{"type":"tool_use","id":"c1","name":"f"}`, `{"type":"input_json_delta","partial_json":{"a":1}}`) + stops("tool_use"),
			`call c1 f {"a":1}` + "\nover"},
		{"a call without arguments", block(0, `{"type":"tool_use","id":"c1","name":"f"}`) + stops("tool_use"), "call c1 f {}\nover"},
		{"a call that the length cut", text + half + stops("max_tokens"), "message I look.\nover max_output_tokens f"},
		{"a call that the model wrote badly", half + stops("tool_use"), `call c1 f {"a":` + "\nover"},
		{"a call that was announced and not made", text + stops("tool_use"), "message I look.\nover call_announced"},
		{"a refusal", stops("refusal"), "over refusal"},
		{"a pause", text + stops("pause_turn"), "message I look.\nover pause_turn"},
		{"thoughts with their signature", block(0, `{"type":"thinking","thinking":"Hm","signature":""}`, `{"type":"thinking_delta","thinking":"."}`,
			`{"type":"signature_delta","signature":"si"}`, `{"type":"signature_delta","signature":"g"}`) + stops("end_turn"), "reasoning Hm. anthropic:sig\nover"},
		{"thoughts that are sealed", block(0, `{"type":"redacted_thinking","data":"xyz"}`) + stops("end_turn"), "reasoning anthropic-redacted:xyz\nover"},
		{"a search and what it found", block(0, `{"type":"server_tool_use","id":"s1","name":"web_search"}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}`) +
			block(1, `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`) + stops("end_turn"),
			"searched q\n" + `reasoning anthropic-block:{"id":"s1","input":{"query":"q"},"name":"web_search","type":"server_tool_use"}` + "\n" +
				`reasoning anthropic-block:{"content":[],"tool_use_id":"s1","type":"web_search_tool_result"}` + "\nover"},
		{"blocks of which the beginning was not told", data(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`) +
			data(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes."}}`) +
			data(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}`) + stops("end_turn"),
			"reasoning Hm. anthropic:\nmessage Yes.\nover"},
		{"blocks of which the end was not told", strings.ReplaceAll(text, "content_block_stop", "odd") + stops("end_turn"), "message I look.\nover"},
		{"block after block at one index", text + strings.ReplaceAll(call, `"index":1`, `"index":0`) + stops("tool_use"), `message I look.` + "\n" + `call c1 f {"a":1}` + "\nover"},
		{"blocks and events of no use", block(0, `{"type":"odd"}`) + block(1, `7`) + data(`{"type":"odd"}`) + data("[DONE]") + stops("end_turn"), "over"},
		{"an end that is told by its reason alone", text + data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), "message I look.\nover"},
		{"an end without a reason", text + data(`{"type":"message_stop"}`), "message I look.\nover"},
		{"usage is the most that was told", data(`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":1}}}`) +
			data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}}}`) + data(`{"type":"message_stop"}`),
			"over {Input:15 Cached:3 CacheWrite:2 Output:7 Reasoning:4}"},
		{"an answer that is no stream", `{"type":"message","content":[{"type":"text","text":"Yes."},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}],"stop_reason":"tool_use"}`,
			`message Yes.` + "\n" + `call c1 f {"a":1}` + "\nover {Input:0 Cached:0 CacheWrite:0 Output:0 Reasoning:0}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := ask(t, "", hello("claude-sonnet-4-6"), mt.Raw(tt.stream))
			if d := cmp.Diff(strings.Split(tt.want, "\n"), got); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestStreamsThatBreakAreErrors, and no answer is told as over.
func TestStreamsThatBreakAreErrors(t *testing.T) {
	text := block(0, `{"type":"text","text":"Half"}`)
	for _, tt := range []struct {
		stream string
		kind   model.ErrorKind
		words  string
	}{
		{text, model.Broken, "stream closed before message_stop"},
		{text + data("{broken"), model.Broken, "unreadable event"},
		{text + data(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), model.Server, "busy"},
		{"event: error\ndata: {}\n\n", model.Server, "the provider ended the response"},
		{text + stops("network_error"), model.Server, "the provider ended the response (network_error)"},
		{block(-1, `{"type":"text"}`), model.Server, "too many blocks"},
		{`{"type":"odd"}`, model.BadCall, "JSON instead of an event stream"},
	} {
		_, got, err := ask(t, "", hello("claude-sonnet-4-6"), mt.Raw(tt.stream))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Message, tt.words) || strings.Contains(strings.Join(got, " "), "over") {
			t.Errorf("%q: %#v after %q", tt.stream, err, got)
		}
	}
}

// TestWhatIsSent: the whole request, for conversations and wishes of each kind.
func TestWhatIsSent(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	const hi = `{"role":"user","content":[{"type":"text","text":"hi"` + mark + `}]}`
	f := &model.Item{Kind: model.Call, CallID: "c1", Name: "f", Style: model.Function, Input: `{"a":1}`}
	out := model.OutputText(f, "fine")
	out.Content = append(out.Content, model.Part{ImageURL: "data:image/png;base64,QUJD"}, model.Part{ImageURL: "https://a/b.png"}, model.Part{Text: " "})
	think := func(seal string) *model.Item {
		return &model.Item{Kind: model.Reasoning, Summary: []string{"Hm."}, Encrypted: seal}
	}
	user := model.UserText("hi")
	const called = `{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}`
	const answered = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"fine"},{"type":"image","source":{"type":"base64",` +
		`"media_type":"image/png","data":"QUJD"}},{"type":"image","source":{"type":"url","url":"https://a/b.png"}}]` + mark + `}]}`
	search := `{"id":"s1","input":{},"name":"web_search","type":"server_tool_use"}`
	tools := []model.Tool{{Name: "f", Description: "does f", Schema: json.RawMessage(`{}`)}}
	for _, tt := range []struct {
		name string
		r    model.Request
		want string // between the name of the model with its bound, and the end
	}{
		{"a message", model.Request{Items: []*model.Item{user}}, `"messages":[` + hi + `]`},
		{"instructions", model.Request{Items: []*model.Item{user}, Instructions: "Be short."}, `"system":[{"type":"text","text":"Be short."` + mark + `}],"messages":[` + hi + `]`},
		{"a call and its output", model.Request{Items: []*model.Item{user, think("anthropic:sig"), think("chat:x"), f, out}},
			`"messages":[` + hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"sig"},` + called + `]},` + answered + `]`},
		{"thoughts that are sealed", model.Request{Items: []*model.Item{user, think("anthropic-redacted:x"), f, out}},
			`"messages":[` + hi + `,{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},` + called + `]},` + answered + `]`},
		{"thoughts alone are no message", model.Request{Items: []*model.Item{user, think("anthropic:sig"), user}}, `"messages":[` + hi + `,` + hi + `]`},
		{"an answer that broke off is to go on", model.Request{Items: []*model.Item{user, {Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "Half"}}}}},
			`"messages":[` + hi + `,{"role":"assistant","content":[{"type":"text","text":"Half"}]},{"role":"user","content":[{"type":"text","text":"Go on where you stopped."}]}]`},
		{"a search that paused goes back last", model.Request{Items: []*model.Item{user, think("anthropic-block:" + search)}},
			`"messages":[` + hi + `,{"role":"assistant","content":[` + search + `]}]`},
		{"a search without its result is left out", model.Request{Items: []*model.Item{user, think("anthropic-block:" + search), f, out}},
			`"messages":[` + hi + `,{"role":"assistant","content":[` + called + `]},` + answered + `]`},
		{"tools one at a time, marked where nothing else is", model.Request{Items: []*model.Item{user}, Tools: tools},
			`"messages":[` + hi + `],"tools":[{"name":"f","description":"does f","input_schema":{}` + mark + `}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{"tools at a time and a search", model.Request{Items: []*model.Item{user}, Tools: tools, Parallel: true, WebSearch: "live", Instructions: "x"},
			`"system":[{"type":"text","text":"x"` + mark + `}],"messages":[` + hi + `],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8},` +
				`{"name":"f","description":"does f","input_schema":{}}]`},
		{"a form of the last message", model.Request{Items: []*model.Item{user}, Schema: json.RawMessage(`{}`)},
			`"messages":[` + hi + `],"output_config":{"format":{"type":"json_schema","schema":{}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Model = "unknown"
			got, _, err := ask(t, "", &tt.r, mt.Raw(stops("end_turn")))
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got.Body) {
				t.Fatalf("no JSON: %s", got.Body)
			}
			if d := cmp.Diff(`{"model":"unknown","max_tokens":32000,`+tt.want+`,"stream":true}`, string(got.Body)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if got.Path != "/v1/messages" || got.Header.Get("X-Api-Key") != "key" || got.Header.Get("Anthropic-Version") != "2023-06-01" {
				t.Errorf("%s, %v", got.Path, got.Header)
			}
		})
	}
	for words, r := range map[string]*model.Request{"schema of tool f": {Items: []*model.Item{user}, Tools: []model.Tool{{Name: "f", Schema: json.RawMessage(`{`)}}},
		"output schema": {Items: []*model.Item{user}, Schema: json.RawMessage(`{`)}, `unknown kind "odd"`: {Items: []*model.Item{{Kind: "odd"}}}} {
		got, _, err := ask(t, "", r, mt.Raw(""))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.BadCall || !strings.Contains(e.Message, words) || got != nil {
			t.Errorf("%s: %#v, sent %v", words, err, got)
		}
	}
}

// TestVertexHasTheModelInThePath, and a bearer.
func TestVertexHasTheModelInThePath(t *testing.T) {
	got, _, err := ask(t, "/publishers/anthropic", hello("claude@1:x"), mt.Raw(stops("end_turn")))
	if err != nil || !strings.HasSuffix(got.Path, "/publishers/anthropic/models/claude@1:x:streamRawPredict") ||
		!strings.Contains(string(got.Body), `"anthropic_version":"vertex-2023-10-16"`) || got.Header.Get("Authorization") != "Bearer key" {
		t.Errorf("%v: %s %v %s", err, got.Path, got.Header, got.Body)
	}
}
