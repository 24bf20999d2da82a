package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
)

func TestBody(t *testing.T) {
	call := &model.Item{Kind: model.Call, ID: "fc_1", CallID: "c1", Name: "read_file", Style: model.Function,
		Input: `{"a": 1}`}
	patch := &model.Item{Kind: model.Call, CallID: "c2", Name: "apply_patch", Style: model.Freeform,
		Input: "*** <Begin>\n"}
	shell := &model.Item{Kind: model.Call, CallID: "c3", Name: "local_shell", Style: model.Shell,
		Input: `{"command":["ls","-l"],"working_directory":"/w","timeout_ms":50}`}
	r := &model.Request{
		Model:        "m",
		Instructions: "be brief & exact",
		Items: []*model.Item{
			{Kind: model.Message, Role: "developer", Content: []model.Part{{Text: "rules"}}},
			{Kind: model.Message, Role: "user", Content: []model.Part{{Text: "see"}, {ImageURL: "data:image/png;base64,AA"}}},
			{Kind: model.Reasoning, ID: "rs_1", Summary: []string{"one", "two"}, Encrypted: "xyz"},
			{Kind: model.Reasoning, ID: "rs_2", Summary: []string{"not sealed"}},
			{Kind: model.Message, ID: "msg_1", Role: "assistant", Content: []model.Part{{Text: "ok"}}},
			call, model.OutputText(call, "text"),
			patch, model.OutputText(patch, ""),
			shell, {Kind: model.Output, CallID: "c3", Style: model.Shell,
				Content: []model.Part{{Text: "t"}, {ImageURL: "data:x"}}},
		},
		Tools: []model.Tool{
			{Name: "read_file", Description: "reads", Schema: json.RawMessage("{ \"type\": \"object\" }")},
			{Name: "apply_patch", Description: "edits", Grammar: "start: \"x\""},
			{Name: "free"},
		},
		Parallel: true, Effort: "high", Summary: "auto",
		Schema:   json.RawMessage(`{"type": "object"}`),
		CacheKey: "session",
	}
	body, err := New(Options{}).body(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","instructions":"be brief & exact","input":[` +
		`{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]},` +
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],"encrypted_content":"xyz"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},` +
		`{"type":"function_call","call_id":"c1","name":"read_file","arguments":"{\"a\": 1}"},` +
		`{"type":"function_call_output","call_id":"c1","output":"text"},` +
		`{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** <Begin>\n"},` +
		`{"type":"custom_tool_call_output","call_id":"c2","output":""},` +
		`{"type":"local_shell_call","call_id":"c3","status":"completed","action":{"type":"exec","command":["ls","-l"],"working_directory":"/w","timeout_ms":50,"env":{}}},` +
		`{"type":"function_call_output","call_id":"c3","output":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"data:x"}]}` +
		`],"tools":[` +
		`{"type":"function","name":"read_file","description":"reads","parameters":{"type":"object"},"strict":false},` +
		`{"type":"custom","name":"apply_patch","description":"edits","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}},` +
		`{"type":"custom","name":"free"}` +
		`],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true,` +
		`"include":["reasoning.encrypted_content"],"prompt_cache_key":"session",` +
		`"text":{"format":{"type":"json_schema","strict":true,"name":"kerf_output_schema","schema":{"type":"object"}}}}`
	if d := cmp.Diff(want, string(body.Bytes())); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
	if !json.Valid(body.Bytes()) {
		t.Error("not JSON")
	}
}

func TestSmallestBody(t *testing.T) {
	body, err := New(Options{}).body(&model.Request{Model: "m", Summary: "none"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","input":[],"tools":[],"tool_choice":"auto","parallel_tool_calls":false,` +
		`"store":false,"stream":true,"include":["reasoning.encrypted_content"]}`
	if got := string(body.Bytes()); got != want {
		t.Errorf("body\n got %s\nwant %s", got, want)
	}
}

func TestBodyErrors(t *testing.T) {
	good := model.UserText("a")
	for name, r := range map[string]*model.Request{
		"tool schema":   {Tools: []model.Tool{{Name: "t", Schema: json.RawMessage("{")}}},
		"output schema": {Schema: json.RawMessage("nope")},
		"item kind":     {Items: []*model.Item{good, {Kind: "odd"}}},
	} {
		c := New(Options{})
		if _, err := c.body(r); err == nil {
			t.Errorf("%s: no error", name)
		}
		body, err := c.body(&model.Request{Items: []*model.Item{good}})
		if err != nil || !json.Valid(body.Bytes()) {
			t.Errorf("%s: afterwards %s, %v", name, body.Bytes(), err)
		}
	}
}

func drawItem(t *rapid.T) *model.Item {
	text := rapid.String()
	i := &model.Item{CallID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Input: text.Draw(t, "input")}
	i.Kind = rapid.SampledFrom([]model.Kind{model.Message, model.Reasoning, model.Call, model.Output}).Draw(t, "kind")
	i.Style = rapid.SampledFrom([]model.CallStyle{model.Function, model.Freeform, model.Shell}).Draw(t, "style")
	i.Encrypted = text.Draw(t, "encrypted")
	for range rapid.IntRange(0, 2).Draw(t, "parts") {
		i.Content = append(i.Content, model.Part{Text: text.Draw(t, "text")})
	}
	return i
}

// Whatever the order of requests, the encoding is that of a fresh client, and
// bytes handed out do not change when other requests follow.
func TestInputsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			in   = prefix.Cache{Encoder: encoder{}}
			pool []*model.Item
		)
		for range rapid.IntRange(1, 6).Draw(t, "pool") {
			pool = append(pool, drawItem(t))
		}
		type sent struct {
			live, copied []byte
		}
		var history []sent
		items := map[string][]*model.Item{}
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			keep := rapid.IntRange(0, len(items[key])).Draw(t, "keep")
			if rapid.Bool().Draw(t, "extend") {
				keep = len(items[key])
			}
			next := append([]*model.Item{}, items[key][:keep]...)
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				next = append(next, rapid.SampledFrom(pool).Draw(t, "item"))
			}
			items[key] = next
			text, err := in.Encode(key, next)
			got := text.Bytes
			if err != nil {
				t.Fatal(err)
			}
			fresh := prefix.Cache{Encoder: encoder{}}
			text, err = fresh.Encode("", next)
			want := text.Bytes
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) || !json.Valid([]byte("["+string(got)+"]")) {
				t.Fatalf("encoded %s\nwant %s", got, want)
			}
			history = append(history, sent{got, bytes.Clone(got)})
		}
		for _, s := range history {
			if !bytes.Equal(s.live, s.copied) {
				t.Fatalf("bytes changed: %s\nwere %s", s.live, s.copied)
			}
		}
	})
}

// A long session pays for what is new.
func BenchmarkRound(b *testing.B) {
	for _, rounds := range []int{10, 200} {
		b.Run(fmt.Sprint(rounds), func(b *testing.B) {
			var items []*model.Item
			for range rounds * 3 {
				items = append(items, model.UserText(strings.Repeat("some text ", 400)))
			}
			c := New(Options{})
			b.ReportAllocs()
			for b.Loop() {
				items = append(items[:rounds*3:rounds*3], model.UserText("next"))
				if _, err := c.inputs.Encode("k", items[:rounds*3]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
