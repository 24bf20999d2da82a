package chat_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/chat"
	"kerf/internal/model/wire"
	mt "kerf/internal/testkit/modeltest"
)

// TestRequestsAreWhatEachServerTakes: a conversation with everything in it, as servers that differ get it:
// how pictures, thoughts and signatures go back, how thinking is asked for, what is left out. Each golden
// is one request, looked at.
func TestRequestsAreWhatEachServerTakes(t *testing.T) {
	image := "data:image/png;base64,AAAA"
	sealed := func(s string) string { return wire.ChatTag + ":" + s }
	call := func(id, name, input string) *model.Item {
		return &model.Item{Kind: model.Call, CallID: id, Name: name, Style: model.Function, Input: input}
	}
	output := func(id string, parts ...model.Part) *model.Item {
		return &model.Item{Kind: model.Output, CallID: id, Content: parts}
	}
	items := []*model.Item{
		{Kind: model.Message, Role: "user", Content: []model.Part{{Text: "look"}, {ImageURL: image}, {Text: "at it"}}},
		{Kind: model.Message, Role: "user", Content: []model.Part{{Text: "now"}}},
		{Kind: model.Reasoning, Summary: []string{"Hm."}, Encrypted: sealed("reasoning_content")},
		{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "I look."}}},
		{Kind: model.Reasoning, Encrypted: sealed(`extra_content:{"sig":"s1"}`)},
		call("call-with-an-id-that-is-longer-than-forty-characters", "read_file", `{"file_path":"a"}`), call("c2", "read file", "not JSON"),
		output("call-with-an-id-that-is-longer-than-forty-characters", model.Part{Text: "text"}, model.Part{ImageURL: image}),
		output("c2", model.Part{Text: "none"}),
		{Kind: model.Message, Role: "user", Content: []model.Part{{Text: "and?"}}},
		{Kind: model.Reasoning, Summary: []string{"So."}, Encrypted: sealed(`reasoning_details:[{"type":"reasoning.text","text":"So."}]`)},
		call("c3", "read_file", "{}"), output("c3", model.Part{Text: "done"}),
		{Kind: model.Reasoning, Summary: []string{"Well."}, Encrypted: sealed("think")},
		{Kind: model.Message, Role: "assistant", Content: []model.Part{{Text: "It is"}}},
	}
	for name, c := range map[string]struct {
		o chat.Options
		r model.Request
	}{
		"plain":      {chat.Options{}, model.Request{Model: "some-model", Effort: "high"}},
		"router":     {chat.Options{Router: true, Provider: "openrouter"}, model.Request{Model: "anthropic/claude-sonnet-4.5", Effort: "low", WebSearch: "live"}},
		"mistral":    {chat.Options{Provider: "mistral"}, model.Request{Model: "codestral-latest"}},
		"deepseek":   {chat.Options{Provider: "deepseek"}, model.Request{Model: "deepseek-chat", Effort: "high"}},
		"moonshot":   {chat.Options{Provider: "moonshot"}, model.Request{Model: "kimi-k2", Effort: "none"}},
		"minimax":    {chat.Options{Provider: "minimax"}, model.Request{Model: "MiniMax-M2"}},
		"dashscope":  {chat.Options{Provider: "dashscope"}, model.Request{Model: "qwen3-coder-plus", Effort: "none"}},
		"zai":        {chat.Options{Provider: "zai"}, model.Request{Model: "glm-4.6", Effort: "medium"}},
		"old gpt":    {chat.Options{Provider: "openai", CacheKey: true}, model.Request{Model: "gpt-4o", Effort: "none", CacheKey: "key", Parallel: true}},
		"no picture": {chat.Options{Provider: "groq"}, model.Request{Model: "deepseek-chat"}},
		"signed":     {chat.Options{Provider: "google"}, model.Request{Model: "gemini-3-pro"}},
		"room":       {chat.Options{Room: func(string) int { return 4096 }}, model.Request{Model: "m", Schema: json.RawMessage(`{"type":"object"}`)}},
	} {
		s := mt.Start(t, mt.Raw(piece(`{"content":"ok"}`), ended("stop")))
		c.o.Options = wire.Options{Name: "test", BaseURL: s.URL, IdleTimeout: 10 * time.Second}
		c.r.Items, c.r.Tools, c.r.Instructions = items, tools, "be brief"
		if err := chat.New(c.o).Stream(t.Context(), &c.r, func(model.Chunk) error { return nil }); err != nil {
			t.Fatal(name, err)
		}
		var v any
		if err := json.Unmarshal(s.Request(t, 0).Body, &v); err != nil {
			t.Fatal(name, err)
		}
		got, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "requests", strings.ReplaceAll(name, " ", "-")+".json")
		if os.Getenv("KERF_UPDATE") != "" {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)+"\n"); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestUsageIsTold in each of the ways in which servers tell it, and failures in all of theirs.
func TestUsageIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		want  model.Usage
	}{
		"details": {`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`,
			model.Usage{Input: 10, Cached: 4, CacheWrite: 3, Output: 5, Reasoning: 2}},
		"cache hits": {`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":6}}`, model.Usage{Input: 10, Cached: 6, Output: 5}},
		"timings":    {`{"choices":[],"timings":{"cache_n":3,"prompt_n":7,"predicted_n":5}}`, model.Usage{Input: 10, Cached: 3, Output: 5}},
	} {
		_, chunks, err := answer(t, chat.Options{}, nil, piece(`{"content":"hi"}`), "data: "+c.event+"\n\n", ended("stop"))
		if err != nil {
			t.Fatal(name, err)
		}
		done, ok := chunks[len(chunks)-1].(model.Done)
		if !ok || done.Usage == nil || *done.Usage != c.want {
			t.Errorf("%s: %+v", name, chunks[len(chunks)-1])
		}
	}
	for name, event := range map[string]string{
		"an error": `data: {"error":{"message":"it broke","code":500}}`, "an error in a choice": `data: {"choices":[{"index":0,"error":{"message":"it broke","code":502}}]}`,
		"by its name": "event: error\ndata: {\"message\":\"it broke\"}", "by its object": `data: {"object":"error","message":"it broke","code":500}`,
		"in other words": "event: error\ndata: {\"trouble\":\"it broke\"}",
	} {
		_, _, err := answer(t, chat.Options{}, nil, piece(`{"content":"hi"}`), event+"\n\n", ended("stop"))
		if err == nil || !strings.Contains(err.Error(), "it broke") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := answer(t, chat.Options{}, nil, piece(`{"content":"hi"}`), "data: {\"cho\n\n", ended("stop")); err == nil {
		t.Error("half an event counts")
	}
}

// TestAnAnswerThatIsNotStreamed counts as one that is.
func TestAnAnswerThatIsNotStreamed(t *testing.T) {
	s := mt.Start(t, mt.HTTP(200, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"whole","tool_calls":[{"id":"c1","function":{"name":"read_file","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`).With("Content-Type", "application/json"))
	var got []*model.Item
	var used *model.Usage
	err := chat.New(chat.Options{Options: wire.Options{Name: "test", BaseURL: s.URL, IdleTimeout: 10 * time.Second}}).Stream(t.Context(),
		&model.Request{Model: "m", Items: []*model.Item{model.UserText("hi")}, Tools: tools}, func(c model.Chunk) error {
			switch c := c.(type) {
			case model.ItemDone:
				got = append(got, c.Item)
			case model.Done:
				used = c.Usage
			}
			return nil
		})
	if d := cmp.Diff([]string{"said whole", "call read_file {}"}, brief(got)); d != "" || err != nil || used == nil || used.Input != 3 || used.Output != 2 {
		t.Errorf("%v, %+v (-want +got):\n%s", err, used, d)
	}
}
