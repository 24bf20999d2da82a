package openai

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// decode runs the decoder over events of bare data.
func decode(events ...string) ([]model.Chunk, error) {
	var chunks []model.Chunk
	d := newDecoder(func(c model.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	for _, e := range events {
		done, err := d.event(sse.Event{Data: []byte(e)}, nil)
		if err != nil || done {
			return chunks, err
		}
	}
	return chunks, io.EOF
}

const (
	created   = `{"type":"response.created","response":{"id":"r1"}}`
	finished  = `{"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":3},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":9}}}`
	callDone  = `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":"{}"}}`
	noUsage   = `{"type":"response.completed","response":{"id":"r1"}}`
	textDelta = `{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"hi"}`
)

func fcall(id string) *model.Item {
	return &model.Item{Kind: model.Call, ID: "fc", CallID: id, Name: "f", Style: model.Function, Input: "{}"}
}

func message(id, text string) *model.Item {
	return &model.Item{Kind: model.Message, ID: id, Role: "assistant", Content: []model.Part{{Text: text}}}
}

func TestDecode(t *testing.T) {
	start, end := model.Started{ResponseID: "r1"}, model.Done{ResponseID: "r1"}
	tests := []struct {
		name string
		in   []string
		want []model.Chunk
	}{
		{"usage", []string{created, finished}, []model.Chunk{start,
			model.Done{ResponseID: "r1", Usage: &model.Usage{Input: 7, Cached: 3, Output: 2, Reasoning: 1}}}},
		{"no created", []string{noUsage}, []model.Chunk{model.Started{}, end}},
		{"created twice", []string{created, created, noUsage}, []model.Chunk{start, end}},
		{"unknown events", []string{created, `{"type":"x.y","item":5}`, `{}`, `[DONE]`, ``, `7`, noUsage}, []model.Chunk{start, end}},
		{"type not first", []string{`{"response":{"id":"r1"},"type":"response.created"}`, ` { "type" : "response.completed" ,"response":{}}`},
			[]model.Chunk{start, end}},
		{"message", []string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}`,
			textDelta, textDelta,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"hihi"}]}}`, noUsage},
			[]model.Chunk{start,
				model.ItemAdded{Index: 0, Item: &model.Item{Kind: model.Message, ID: "m", Role: "assistant",
					Content: []model.Part{}}},
				model.TextDelta{Text: "hi"}, model.TextDelta{Text: "hi"}, model.ItemDone{Item: message("m", "hihi")}, end}},
		{"delta without an item", []string{created, textDelta,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":"hi"}}`, noUsage},
			[]model.Chunk{start, model.ItemAdded{Item: &model.Item{Kind: model.Message, Role: "assistant"}},
				model.TextDelta{Text: "hi"},
				model.ItemDone{Item: message("m", "hi")}, end}},
		{"no ids at all", []string{created,
			`{"type":"response.output_item.added","item":{"type":"message"}}`,
			`{"type":"response.output_text.delta","delta":"a"}`,
			`{"type":"response.output_item.done","item":{"type":"message","content":"a"}}`,
			`{"type":"response.output_item.done","item":{"type":"message","content":"a"}}`, noUsage},
			[]model.Chunk{start,
				model.ItemAdded{Index: 0, Item: &model.Item{Kind: model.Message, Role: "assistant", Content: []model.Part{}}},
				model.TextDelta{Index: 0, Text: "a"},
				model.ItemDone{Index: 0, Item: message("", "a")}, model.ItemDone{Index: 1, Item: message("", "a")}, end}},
		{"always index 0", []string{created,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"a","content":"a"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"b"}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"b"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"b","content":"b"}}`, noUsage},
			[]model.Chunk{start, model.ItemDone{Index: 0, Item: message("a", "a")},
				model.ItemAdded{Index: 1, Item: &model.Item{Kind: model.Message, ID: "b", Role: "assistant",
					Content: []model.Part{}}},
				model.TextDelta{Index: 1, Text: "b"}, model.ItemDone{Index: 1, Item: message("b", "b")}, end}},
		{"reasoning", []string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[]}}`,
			`{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"r","summary_index":0}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"r","summary_index":0,"delta":"a"}`,
			`{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"r","summary_index":1}`,
			`{"type":"response.reasoning_text.delta","output_index":0,"item_id":"r","delta":"b"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"e"}}`, noUsage},
			[]model.Chunk{start, model.ItemAdded{Item: &model.Item{Kind: model.Reasoning, ID: "r"}},
				model.ReasoningDelta{Text: "a"}, model.ReasoningDelta{Text: "\n\n"}, model.ReasoningDelta{Text: "b"},
				model.ItemDone{Item: &model.Item{Kind: model.Reasoning, ID: "r", Summary: []string{"a", "b"},
					Encrypted: "e"}}, end}},
		{"open reasoning", []string{created,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}`, noUsage},
			[]model.Chunk{start, model.ItemDone{Item: &model.Item{Kind: model.Reasoning, Summary: []string{"hm"}}}, end}},
		{"function call", []string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":"{"}`, callDone, noUsage},
			[]model.Chunk{start, model.ItemAdded{Item: &model.Item{Kind: model.Call, ID: "fc", CallID: "c1", Name: "f",
				Style: model.Function}}, model.InputDelta{Text: "{"}, model.ItemDone{Item: fcall("c1")}, end}},
		{"arguments as an object", []string{created,
			`{"type":"response.output_item.done","item":{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":{"a":1}}}`, noUsage},
			[]model.Chunk{start, model.ItemDone{Item: &model.Item{Kind: model.Call, ID: "fc", CallID: "c1", Name: "f",
				Style: model.Function, Input: `{"a":1}`}}, end}},
		{"custom call", []string{created,
			`{"type":"response.output_item.done","output_index":3,"item":{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x\n"}}`, noUsage},
			[]model.Chunk{start, model.ItemDone{Index: 3, Item: &model.Item{Kind: model.Call, CallID: "c", Name: "apply_patch",
				Style: model.Freeform, Input: "x\n"}}, end}},
		{"local shell", []string{created,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"local_shell_call","call_id":"c","status":"completed","action":{"type":"exec","command":["ls"],"working_directory":"/w","timeout_ms":9,"env":{}}}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"local_shell_call","call_id":"d","action":{"command":"ls","timeout_ms":null}}}`, noUsage},
			[]model.Chunk{start,
				model.ItemDone{Item: &model.Item{Kind: model.Call, CallID: "c", Name: "local_shell", Style: model.Shell,
					Input: `{"command":["ls"],"working_directory":"/w","timeout_ms":9}`}},
				model.ItemDone{Index: 1, Item: &model.Item{Kind: model.Call, CallID: "d", Name: "local_shell", Style: model.Shell,
					Input: `{"command":[]}`}}, end}},
		{"other items", []string{created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","action":"odd","content":9}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","arguments":3,"name":7}}`,
			noUsage},
			[]model.Chunk{start, end}},
		{"no call id", []string{created,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","name":"f","arguments":""}}`,
			noUsage},
			[]model.Chunk{start, model.ItemDone{Index: 2, Item: &model.Item{Kind: model.Call, CallID: "call_r1_2", Name: "f",
				Style: model.Function, Input: "{}"}}, end}},
		{"incomplete", []string{created,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","status":"incomplete","call_id":"c1","name":"f","arguments":"{\"a\":\"rm"}}`,
			`{"type":"response.incomplete","response":{"id":"r1","incomplete_details":{"reason":"max_output_tokens"}}}`},
			[]model.Chunk{start, model.Done{ResponseID: "r1", Incomplete: "max_output_tokens", Cut: []string{"f"}}}},
		{"odd usage", []string{created, `{"type":"response.completed","response":{"id":"r1","usage":"none","output":null}}`}, []model.Chunk{start, end}},
		{"hostile usage", []string{created, `{"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":-5,"output_tokens":1e300}}}`},
			[]model.Chunk{start, model.Done{ResponseID: "r1", Usage: &model.Usage{Output: 1 << 40}}}},
		{"silent stream", []string{created, `{"type":"response.completed","response":{"id":"r1","output":[{"type":"message","id":"m","content":"a"},{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":"{}"}]}}`},
			[]model.Chunk{start, model.ItemDone{Index: 0, Item: message("m", "a")},
				model.ItemDone{Index: 1, Item: fcall("c1")}, end}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(tt.in...)
			if err != nil {
				t.Errorf("err = %v", err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("chunks (-want +got):\n%s", d)
			}
		})
	}
}

// SEC D2: each call runs once, by its id, whatever the stream repeats, loses or
// exchanges.
func TestSEC_D2_CallsOnce(t *testing.T) {
	second := strings.ReplaceAll(strings.ReplaceAll(callDone, `"c1"`, `"c2"`), `"output_index":0`, `"output_index":1`)
	added := strings.ReplaceAll(callDone, ".done", ".added")
	withOutput := `{"type":"response.completed","response":{"id":"r1","output":[` +
		`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}]}}`
	tests := []struct {
		name  string
		in    []string
		calls string
	}{
		{"done twice", []string{created, added, callDone, callDone, noUsage}, "c1"},
		{"done twice with other words", []string{created, callDone, strings.ReplaceAll(callDone, `"{}"`, `"{\"x\":1}"`), noUsage}, "c1"},
		{"every event twice", []string{created, created, added, added, callDone, callDone, second, second, noUsage, noUsage}, "c1 c2"},
		{"done before added", []string{created, callDone, added, second, noUsage}, "c1 c2"},
		{"reordered", []string{second, callDone, created, noUsage}, "c2 c1"},
		{"second completed", []string{created, callDone, noUsage, second, noUsage}, "c1"},
		{"added but never done", []string{created, added, noUsage}, ""},
		{"lost done", []string{created, callDone, withOutput}, "c1 c2"},
		{"told again by completed", []string{created, callDone, second, withOutput}, "c1 c2"},
		{"without ids, repeated", []string{created, strings.ReplaceAll(callDone, `"call_id":"c1",`, ""), strings.ReplaceAll(callDone, `"call_id":"c1",`, ""), noUsage}, "call_r1_0"},
	}
	for _, tt := range tests {
		chunks, err := decode(tt.in...)
		var ids []string
		dones := 0
		for _, c := range chunks {
			switch c := c.(type) {
			case model.ItemAdded:
				if slices.Contains(ids, c.Item.CallID) {
					t.Errorf("%s: %s was added after it was done", tt.name, c.Item.CallID)
				}
			case model.ItemDone:
				ids = append(ids, c.Item.CallID)
			case model.Done:
				dones++
			}
		}
		if got := strings.Join(ids, " "); got != tt.calls || err != nil || dones != 1 {
			t.Errorf("%s: calls %q, %d dones, err %v; want %q, 1, nil", tt.name, got, dones, err, tt.calls)
		}
	}
}

func TestLateDeltaMakesNoItem(t *testing.T) {
	chunks, err := decode(created,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":"hi"}}`, textDelta,
		`{"type":"response.output_text.delta","output_index":0,"delta":"hi"}`, noUsage)
	want := []model.Chunk{model.Started{ResponseID: "r1"}, model.ItemDone{Item: message("m", "hi")},
		model.Done{ResponseID: "r1"}}
	if d := cmp.Diff(want, chunks); d != "" || err != nil {
		t.Errorf("err %v (-want +got):\n%s", err, d)
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct {
		name, in, code, message string
	}{
		{"failed", `{"type":"response.failed","response":{"id":"r1","error":{"code":"rate_limit_exceeded","message":"try again in 2s"}}}`, "rate_limit_exceeded", "try again in 2s"},
		{"failed without words", `{"type":"response.failed","response":{"id":"r1"}}`, "", "the provider ended the response (response.failed)"},
		{"error event", `{"type":"error","code":"server_error","message":"oops","param":null}`, "server_error", "oops"},
		{"nested error event", `{"type":"error","status":429,"error":{"type":"usage_limit_reached","message":"wait","resets_in_seconds":60}}`, "", "wait"},
		{"bare error", `{"type":"error"}`, "", "the provider ended the response (error)"},
	}
	for _, tt := range tests {
		_, err := decode(created, tt.in)
		var f *wire.Failure
		if !errors.As(err, &f) || f.Code != tt.code || f.Message != tt.message {
			t.Errorf("%s: %#v, want code %q, message %q", tt.name, err, tt.code, tt.message)
		}
	}
	for _, in := range []string{
		`{"type":"response.output_item.done","item":"x"}`,
		`{"type":"response.output_item.done","item":{"type":"function_call","name":7}}`,
		`{"type":"response.completed","response":7}`,
	} {
		_, err := decode(created, in)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Broken {
			t.Errorf("%s: %v, want a broken stream", in, err)
		}
	}
}

func TestItemsAreBounded(t *testing.T) {
	d := newDecoder(func(model.Chunk) error { return nil })
	for i := range maxItems + 1 {
		_, err := d.event(sse.Event{Data: []byte(`{"type":"response.output_item.done","item":{"type":"message","content":"x"}}`)}, nil)
		if (err != nil) != (i == maxItems) {
			t.Fatalf("item %d: %v", i, err)
		}
	}
}

// No sequence of events panics, delivers a call twice, or starts twice.
func FuzzDecode(f *testing.F) {
	f.Add(strings.Join([]string{created, textDelta, callDone, callDone, finished}, "\n"))
	f.Add(`{"type":"response.output_item.done","output_index":-9,"item":{"type":"function_call"}}`)
	f.Add(`{"type":"response.output_item.added","output_index":99999999999,"item":{"type":"reasoning","summary":"x"}}`)
	f.Fuzz(func(t *testing.T, in string) {
		chunks, _ := decode(strings.Split(in, "\n")...)
		seen, started := map[string]bool{}, 0
		for i, c := range chunks {
			switch c := c.(type) {
			case model.Started:
				started++
			case model.ItemDone:
				if c.Item.Kind != model.Call {
					continue
				}
				if seen[c.Item.CallID] || c.Item.CallID == "" {
					t.Errorf("call %q twice or without id", c.Item.CallID)
				}
				seen[c.Item.CallID] = true
			case model.Done:
				if i != len(chunks)-1 {
					t.Error("chunks after the end")
				}
			}
		}
		if len(chunks) > 0 && started != 1 {
			t.Errorf("started %d times", started)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	one := "event: response.output_text.delta\ndata: " +
		"{\"type\":\"response.output_text.delta\",\"sequence_number\":12,\"item_id\":\"msg_0123456789\",\"output_index\":0,\"content_index\":0,\"delta\":\" hello\"}\n\n"
	in := strings.Repeat(one, 10_000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := sse.NewReader(strings.NewReader(in))
		d := newDecoder(func(model.Chunk) error { return nil })
		for {
			ev, err := r.Next()
			if err != nil {
				break
			}
			if _, err := d.event(ev, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
}
