package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
)

// Each family is asked to think, and told all else beside the conversation, as its server
// wants it. KERF_UPDATE=1 rewrites what is expected.
func TestThinkingIsAskedFor(t *testing.T) {
	var body, beta string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body, beta = string(b), r.Header.Get("Anthropic-Beta")
		http.Error(w, "seen", http.StatusTeapot)
	}))
	defer s.Close()
	var got strings.Builder
	for _, c := range []struct{ provider, api, model string }{
		{"openai", "responses", "gpt-5.2"}, {"openai", "responses", "gpt-4.1"}, {"openai", "responses", "o3"},
		{"chatgpt", "responses", "gpt-5.2-codex"}, {"copilot", "chat", "gpt-4.1"},
		{"anthropic", "anthropic", "claude-opus-4-6"}, {"anthropic", "anthropic", "claude-sonnet-4-6"},
		{"anthropic", "anthropic", "claude-sonnet-4-5"}, {"anthropic", "anthropic", "claude-3-5-haiku"},
		{"bedrock", "bedrock", "eu.anthropic.claude-sonnet-4-5-v1:0"},
		{"gemini", "gemini", "gemini-3-pro"}, {"gemini", "gemini", "gemini-2.5-pro"}, {"gemini", "gemini", "gemini-2.0-flash"},
		{"openrouter", "chat", "moonshotai/kimi-k2.5"}, {"deepseek", "chat", "deepseek-v4-pro"}, {"moonshot", "chat", "kimi-k2.5"},
		{"zai", "chat", "glm-4.7"}, {"dashscope", "chat", "qwen3-max"}, {"groq", "chat", "openai/gpt-oss-120b"},
		{"mistral", "chat", "magistral-medium"}, {"xai", "chat", "grok-4"}, {"minimax", "chat", "MiniMax-M2"},
		{"cerebras", "chat", "zai-glm-4.7"}, {"ollama", "chat", "qwen3"}, {"vllm", "chat", "some-model"},
	} {
		r := registry(Options{Providers: map[string]Provider{c.provider: {Name: c.provider, BaseURL: s.URL + "/v1", API: c.api}}})
		client, err := r.build(c.provider)
		if err != nil {
			t.Fatal(err)
		}
		for _, effort := range []string{"", "none", "low", "high"} {
			body = ""
			if err := client.Stream(t.Context(), &model.Request{Model: c.model, Items: []*model.Item{model.UserText("hi")},
				Effort: effort, Parallel: true}, func(model.Chunk) error { return nil }); err == nil || body == "" {
				t.Fatalf("%s: %v, %q", c.provider, err, body)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &members); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"model", "messages", "input", "contents", "stream", "stream_options", "store"} {
				delete(members, name)
			}
			b, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %s %s: %s%s\n", c.provider, c.model, strings.TrimSpace("effort "+effort), bytes.TrimSpace(b),
				strings.TrimRight(" "+beta, " "))
		}
	}
	path := filepath.Join("testdata", "thinking.txt")
	if os.Getenv("KERF_UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
