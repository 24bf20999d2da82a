package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/chat"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

var tools = []model.Tool{
	{Name: "read_file", Schema: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}}}`)},
	{Name: "exec_command", Schema: json.RawMessage(`{"type":"object","properties":{"cmd":{"type":"string"}}}`)},
}

// answer streams body to a client and returns the whole items.
func answer(t *testing.T, o chat.Options, items []*model.Item, body ...string) ([]*model.Item, []model.Chunk, error) {
	t.Helper()
	s := mt.Start(t, mt.Raw(body...))
	o.Options = wire.Options{Name: "test", BaseURL: s.URL, IdleTimeout: 10 * time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var done []*model.Item
	var chunks []model.Chunk
	err := chat.New(o).Stream(ctx, &model.Request{Model: "some-model", Items: items, Tools: tools, Parallel: true},
		func(c model.Chunk) error {
			if d, ok := c.(model.ItemDone); ok {
				done = append(done, d.Item)
			}
			chunks = append(chunks, c)
			return nil
		})
	return done, chunks, err
}

// piece is one event with a delta.
func piece(delta string) string {
	return `data: {"id":"c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}

func ended(reason string) string {
	return `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"
}

// brief is a call or a text in one line.
func brief(items []*model.Item) []string {
	var all []string
	for _, i := range items {
		switch i.Kind {
		case model.Call:
			all = append(all, "call "+i.Name+" "+i.Input)
		case model.Reasoning:
			all = append(all, "thought "+strings.Join(i.Summary, "")+" "+i.Encrypted)
		default:
			all = append(all, "said "+i.Text())
		}
	}
	return all
}

// Servers cut calls in many ways; what they mean is the same.
func TestCallsInPieces(t *testing.T) {
	a, b := `call read_file {"file_path":"a"}`, `call read_file {"file_path":"b"}`
	tests := []struct {
		name   string
		events []string
		want   []string
	}{
		{"by index", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"read_file","arguments":""}}]}`),
			piece(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"file_p"}}]}`),
			piece(`{"tool_calls":[{"index":0,"function":{"arguments":"ath\":\"a\"}"}}]}`),
			piece(`{"tool_calls":[{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"file_path\":\"b\"}"}}]}`)},
			[]string{a, b}},
		{"interleaved", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"file_path\":"}},{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"file_path\":"}}]}`),
			piece(`{"tool_calls":[{"index":1,"function":{"arguments":"\"b\"}"}},{"index":0,"function":{"arguments":"\"a\"}"}}]}`)}, []string{a, b}},
		{"whole, all at index 0", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"file_path\":\"a\"}"}}]}`),
			piece(`{"tool_calls":[{"index":0,"id":"y","function":{"name":"read_file","arguments":"{\"file_path\":\"b\"}"}}]}`)},
			[]string{a, b}},
		{"without index and id", []string{
			piece(`{"tool_calls":[{"function":{"name":"read_file","arguments":"{\"file_path\":\"a\"}"}}]}`),
			piece(`{"tool_calls":[{"function":{"name":"read_file","arguments":"{\"file_path\":\"b\"}"}}]}`)}, []string{a, b}},
		{"id and name in every piece", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"file_path\":"}}]}`),
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"\"a\"}"}}]}`)}, []string{a}},
		{"name in pieces", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_"}}]}`),
			piece(`{"tool_calls":[{"index":0,"function":{"name":"file","arguments":"{\"file_path\":\"a\"}"}}]}`)}, nil},
		{"arguments as an object", []string{
			piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":{"file_path":"a"}}}]}`)},
			[]string{a}},
		{"no arguments", []string{piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file"}}]}`)}, []string{"call read_file {}"}},
		{"the old function_call", []string{
			piece(`{"function_call":{"name":"read_file","arguments":"{\"file_path\":"}}`),
			piece(`{"function_call":{"arguments":"\"a\"}"}}`)}, []string{a}},
		{"in a whole message", []string{
			`data: {"choices":[{"index":0,"message":{"content":"hm","tool_calls":[{"id":"x","function":{"name":"read_file","arguments":"{\"file_path\":\"a\"}"}}]}}]}` + "\n\n"},
			[]string{"said hm", a}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := answer(t, chat.Options{}, nil, append(tt.events, ended("tool_calls"))...)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				tt.want = []string{a}
			}
			if d := cmp.Diff(tt.want, brief(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Ids that are missing or used before are replaced, by the same ones each time.
func TestCallIDs(t *testing.T) {
	old := []*model.Item{model.UserText("hi"), {Kind: model.Call, CallID: "call_0", Name: "read_file"},
		{Kind: model.Output, CallID: "call_0"}}
	events := []string{piece(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"read_file","arguments":"{}"}}]}`),
		piece(`{"tool_calls":[{"index":1,"function":{"name":"read_file","arguments":"{\"limit\":1}"}}]}`),
		piece(`{"tool_calls":[{"index":2,"id":"fresh","function":{"name":"read_file","arguments":"{\"limit\":2}"}}]}`),
		ended("tool_calls")}
	var before []*model.Item
	for range 2 {
		got, _, err := answer(t, chat.Options{}, old, events...)
		if err != nil || len(got) != 3 {
			t.Fatal(err, brief(got))
		}
		seen := map[string]bool{"call_0": true}
		for _, i := range got {
			if i.CallID == "" || seen[i.CallID] {
				t.Errorf("id %q", i.CallID)
			}
			seen[i.CallID] = true
		}
		if got[2].CallID != "fresh" {
			t.Errorf("a good id became %q", got[2].CallID)
		}
		if before != nil && !cmp.Equal(before, got) {
			t.Error("the same answer has other ids")
		}
		before = got
	}
}

func TestReasoningFields(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning", "thinking", "reasoning_text"} {
		got, _, err := answer(t, chat.Options{}, nil, piece(`{"`+field+`":"Hm, "}`), piece(`{"`+field+`":"so."}`),
			piece(`{"content":"Yes."}`), ended("stop"))
		if d := cmp.Diff([]string{"thought Hm, so. chat:" + field, "said Yes."}, brief(got)); d != "" || err != nil {
			t.Error(field, err, d)
		}
	}
	tests := []struct {
		name   string
		events []string
		want   []string
	}{
		{"tags", []string{piece(`{"content":"<thi"}`), piece(`{"content":"nk>Hm.</th"}`), piece(`{"content":"ink>\n\nYes."}`)}, []string{"thought Hm. chat:think", "said Yes."}},
		{"no opening tag", []string{piece(`{"content":"Hm."}`), piece(`{"content":"</think>Yes."}`)}, []string{"thought Hm. chat:think", "said Yes."}},
		{"parts", []string{piece(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]}`), piece(`{"content":[{"type":"text","text":"Yes."}]}`)},
			[]string{"thought Hm. ", "said Yes."}},
		{"details", []string{piece(`{"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]}`),
			piece(`{"reasoning":".","reasoning_details":[{"type":"reasoning.text","text":".","signature":"s","index":0}]}`),
			piece(`{"content":"Yes."}`)},
			[]string{`thought Hm. chat:reasoning_details:[{"index":0,"signature":"s","text":"Hm.","type":"reasoning.text"}]`,
				"said Yes."}},
	}
	for _, tt := range tests {
		got, _, err := answer(t, chat.Options{}, nil, append(tt.events, ended("stop"))...)
		if d := cmp.Diff(tt.want, brief(got)); d != "" || err != nil {
			t.Error(tt.name, err, d)
		}
	}
}

// content streams a text in pieces of n bytes at character boundaries.
func content(s string, n int) []string {
	var events []string
	for len(s) > 0 {
		end := min(n, len(s))
		for end < len(s) && s[end]&0xC0 == 0x80 {
			end++
		}
		b, _ := json.Marshal(s[:end])
		events, s = append(events, piece(`{"content":`+string(b)+`}`)), s[end:]
	}
	return events
}

// Calls that small models write as text are found, however they are cut, and
// nothing of them is shown.
func TestLeakedCalls(t *testing.T) {
	read := `call read_file {"file_path":"a.go"}`
	tests := []struct {
		name, text string
		want       []string
	}{
		{"hermes", "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\":\"a.go\"}}\n</tool_call>", []string{"said I look.", read}},
		{"hermes, two", "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"file_path\":\"a.go\"}}</tool_call>\n" +
			"<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"ls\"}}</tool_call>",
			[]string{read, `call exec_command {"cmd":"ls"}`}},
		{"hermes, unclosed", "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\":\"a.go\"}}", []string{read}},
		{"qwen coder", "<tool_call>\n<function=read_file>\n<parameter=file_path>\na.go\n</parameter>\n</function>\n</tool_call>", []string{read}},
		{"qwen coder, bare", "Now.\n<function=read_file>\n<parameter=file_path>\na.go\n</parameter>\n<parameter=limit>\n" +
			"5\n</parameter>\n</function>\n</tool_call>",
			[]string{"said Now.", `call read_file {"file_path":"a.go","limit":5}`}},
		{"glm", "<tool_call>read_file\n<arg_key>file_path</arg_key>\n<arg_value>a.go</arg_value>\n</tool_call>", []string{read}},
		{"mistral list", "[TOOL_CALLS] [{\"name\":\"read_file\",\"arguments\":{\"file_path\":\"a.go\"}}]", []string{read}},
		{"mistral args", "[TOOL_CALLS]read_file[ARGS]{\"file_path\":\"a.go\"}", []string{read}},
		{"kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"file_path\":\"a.go\"}<|tool_call_end|><|tool_calls_section_end|>", []string{read}},
		{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"file_path\":\"a.go\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", []string{read}},
		{"deepseek, newer", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"file_path\":\"a.go\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", []string{read}},
		{"python tag", "<|python_tag|>{\"name\":\"read_file\",\"parameters\":{\"file_path\":\"a.go\"}}", []string{read}},
		{"invoke", "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"file_path\">a.go</parameter>\n</invoke>\n</function_calls>", []string{read}},
		{"bare json", "{\"name\": \"read_file\", \"parameters\": {\"file_path\": \"a.go\"}}", []string{`call read_file {"file_path": "a.go"}`}},
		{"fenced json", "```json\n{\"name\": \"read_file\", \"arguments\": {\"file_path\":\"a.go\"}}\n```", []string{read}},
		{"nested function", "{\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"file_path\\\":\\\"a.go\\\"}\"}}", []string{read}},
		{"raw line ends", "<tool_call>{\"name\":\"exec_command\",\"arguments\":{\"cmd\":\"a\nb\"}}</tool_call>", []string{`call exec_command {"cmd":"a\nb"}`}},
		{"python tag, python", "<|python_tag|>read_file(file_path=\"a.go\")", []string{read}},
		{"qwen coder, no ends", "<function=read_file>\n<parameter=file_path> a.go\n<parameter=limit> 5",
			[]string{`call read_file {"file_path":"a.go","limit":5}`}},
		{"gemma fence", "I look.\n```tool_code\nprint(read_file(file_path='a.go', limit=5))\n```",
			[]string{"said I look.", `call read_file {"file_path":"a.go","limit":5}`}},
		{"gemma, two lines", "```tool_code\nread_file(file_path=\"a.go\")\nexec_command(cmd=\"echo \\\"(x)\\\", y\")\n```",
			[]string{read, `call exec_command {"cmd":"echo \"(x)\", y"}`}},
		{"gemma tokens", "<|tool_call>call:read_file{file_path:<|\"|>a.go<|\"|>,limit:5}<tool_call|>",
			[]string{`call read_file {"file_path":"a.go","limit":5}`}},
		{"gemma bare", "call:exec_command{cmd:ls -la}", []string{`call exec_command {"cmd":"ls -la"}`}},
		{"harmony", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file " +
			"<|constrain|>json<|message|>{\"file_path\":\"a.go\"}<|call|>", []string{"thought Hm. ", read}},
		{"harmony, final", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
			[]string{"thought Hm. ", "said Yes."}},
		{"harmony, another tool", "<|channel|>commentary to=functions.rm_all<|message|>{}<|call|>", []string{"said {}"}},

		{"prose with call:", "call: me later, call:read_file is a name", []string{"said call: me later, call:read_file is a name"}},
		{"python in a fence", "```python\nread_file(file_path=\"a\")\n```", []string{"said ```python\nread_file(file_path=\"a\")\n```"}},
		{"harmony quoted", "`<|channel|>final<|message|>x`", []string{"said `<|channel|>final<|message|>x`"}},
		{"another tool", "<tool_call>{\"name\":\"rm_all\",\"arguments\":{}}</tool_call>", []string{"said <tool_call>{\"name\":\"rm_all\",\"arguments\":{}}</tool_call>"}},
		{"quoted", "Write it as `<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>`.", []string{"said Write it as `<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>`."}},
		{"in a fence", "Like so:\n```\n<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>\n```", []string{"said Like so:\n```\n<tool_call>{\"name\":\"read_file\",\"arguments\":{}}</tool_call>\n```"}},
		{"json that is no call", "{\"answer\": 42}", []string{"said {\"answer\": 42}"}},
		{"json amid words", "The call is {\"name\":\"read_file\",\"arguments\":{}} I think.", []string{"said The call is {\"name\":\"read_file\",\"arguments\":{}} I think."}},
		{"a lone angle", "a < b and <toolbox>", []string{"said a < b and <toolbox>"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 7, 1000} {
				got, chunks, err := answer(t, chat.Options{Lenient: true}, nil, append(content(tt.text, n), ended("stop"))...)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.want, brief(got)); d != "" {
					t.Errorf("pieces of %d: %s", n, d)
				}
				shown := ""
				for _, c := range chunks {
					if x, ok := c.(model.TextDelta); ok {
						shown += x.Text
					}
				}
				said := ""
				for _, w := range tt.want {
					if words, ok := strings.CutPrefix(w, "said "); ok {
						said = words
					}
				}
				if strings.TrimSpace(shown) != said {
					t.Errorf("pieces of %d: shown %q, said %q", n, shown, said)
				}
			}
			strict, _, err := answer(t, chat.Options{}, nil, append(content(tt.text, 1000), ended("stop"))...)
			if err != nil || len(strict) != 1 || strict[0].Kind != model.Message {
				t.Errorf("not lenient: %q %v", brief(strict), err)
			}
		})
	}
}

func TestStops(t *testing.T) {
	call := piece(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"file_path\":\"a"}}]}`)
	got, chunks, err := answer(t, chat.Options{}, nil, piece(`{"content":"Half"}`), call, ended("length"))
	if err != nil || len(got) != 1 || chunks[len(chunks)-1].(model.Done).Incomplete != "max_output_tokens" {
		t.Errorf("cut by length: %q %v", brief(got), err)
	}
	for name, event := range map[string]string{
		"in the stream": `data: {"error":{"message":"out of memory","code":500}}` + "\n\n",
		"as a text":     `data: {"error":"out of memory"}` + "\n\n",
		"in a choice":   `data: {"choices":[{"index":0,"error":{"message":"out of memory","code":502},"finish_reason":"error"}]}` + "\n\n",
	} {
		_, _, err := answer(t, chat.Options{}, nil, piece(`{"content":"x"}`), event)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Server || !strings.Contains(e.Message, "out of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _, err := answer(t, chat.Options{}, nil, piece(`{"content":"x"}`),
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"); err != nil || len(got) != 1 {
		t.Errorf("no [DONE]: %v", err)
	}
}

// What llama.cpp and Ollama tell of tokens is understood.
func TestUsageOfLocalServers(t *testing.T) {
	_, chunks, err := answer(t, chat.Options{}, nil, piece(`{"content":"x"}`),
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":90,"prompt_n":10,"predicted_n":3}}`+"\n\n", "data: [DONE]\n\n")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&model.Usage{Input: 100, Cached: 90, Output: 3}, chunks[len(chunks)-1].(model.Done).Usage); d != "" {
		t.Error(d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(piece(`{"content":"a<tool_call>{\"name\":\"read_file\",\"arguments\":{}}"}`) + ended("stop"))
	f.Add(piece(`{"tool_calls":[{"function":{"name":"x","arguments":[1]}}]}`) + ended("length"))
	f.Fuzz(func(t *testing.T, body string) {
		got, _, err := answer(t, chat.Options{Lenient: true}, nil, body)
		seen := map[string]bool{}
		for _, i := range got {
			if i.Kind != model.Call {
				continue
			}
			// A call may name no tool: it is answered with an error, so that the model can mend it.
			if i.CallID == "" || seen[i.CallID] {
				t.Errorf("call %+v", i)
			}
			seen[i.CallID] = true
		}
		var e *model.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%T %v", err, err)
		}
	})
}
