package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/protocol"
	mt "kerf/internal/testkit/modeltest"
)

// newHost is a host with a configuration of its own and no environment.
func newHost(t *testing.T, toml string, env ...string) *Host {
	t.Helper()
	home, cwd := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Home: home, Cwd: cwd, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return &Host{Config: cfg, Env: env}
}

// localServer configures the servers of this machine, of which only one answers.
func localServer(name, url string) string {
	toml := ""
	for _, n := range []string{"ollama", "lmstudio", "llamacpp"} {
		base := "http://127.0.0.1:1/v1"
		if n == name {
			base = url + "/v1"
		}
		toml += fmt.Sprintf("[model_providers.%s]\nbase_url = %q\n", n, base)
	}
	return toml
}

// No key at all and a local server: it is used, and the user is told.
func TestNoKeyGoesLocal(t *testing.T) {
	s := mt.Local(t, map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":"gpt-oss-20b.gguf","object":"model","meta":{"n_ctx_train":131072}}]}`,
		"GET /props": `{"default_generation_settings":{"n_ctx":65536},"total_slots":1}`})
	h := newHost(t, localServer("llamacpp", s))
	set, err := h.configured().settings(protocol.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, c, err := h.opener().clientFor(t.Context(), &set)
	if err != nil || set.Model != "gpt-oss-20b.gguf" {
		t.Fatalf("%q, %v", set.Model, err)
	}
	if f, _ := c.Facts(set.Model); f.Window != 65536 || f.EditTool != family.JSONPatch {
		t.Errorf("facts %+v", f)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0],
		"no key for the default provider: using gpt-oss-20b.gguf of llama.cpp") {
		t.Errorf("warnings %q", c.Warnings)
	}
	// With a key it stays with the provider.
	h = newHost(t, localServer("llamacpp", s), "OPENAI_API_KEY=k")
	if set, err = h.configured().settings(protocol.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, c, err := h.opener().clientFor(t.Context(), &set); err != nil || c.Provider != "openai" {
		t.Errorf("%+v %v", c, err)
	}
}

// Sessions that are opened at once choose each for itself; no choice changes what
// the others share.
func TestLocalSessionsAtOnce(t *testing.T) {
	s := mt.Local(t, map[string]string{"GET /api/tags": `{"models":[{"name":"qwen3:8b"}]}`,
		"GET /api/ps": `{"models":[{"name":"qwen3:8b","context_length":4096}]}`})
	h := newHost(t, localServer("ollama", s), "PATH="+os.Getenv("PATH"))
	var opened sync.WaitGroup
	for range 4 {
		opened.Go(func() {
			s, err := h.Open(context.Background(), protocol.OpenOptions{Ephemeral: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			var warnings []string
			for e := range s.Events() {
				switch m := e.Msg.(type) {
				case protocol.SessionStarted:
					if m.Provider != "ollama" || m.Settings.Model != "qwen3:8b" {
						t.Errorf("%s of %s", m.Settings.Model, m.Provider)
					}
				case protocol.Warning:
					warnings = append(warnings, m.Message)
				}
				if len(warnings) == 2 {
					break
				}
			}
			if d := cmp.Diff([]string{"no key for the default provider: using qwen3:8b of Ollama on this machine",
				"Ollama gives qwen3:8b a context of 4096 tokens, which is too small for most work; start it with " +
					"OLLAMA_CONTEXT_LENGTH=32768"}, warnings); d != "" {
				t.Error(d)
			}
		})
	}
	opened.Wait()
	if h.Config.ModelProvider != "openai" || len(h.Warnings) > 0 {
		t.Errorf("the host was changed: %s, %q", h.Config.ModelProvider, h.Warnings)
	}
}

// chunks asks a client and returns what came, or the error.
func chunks(t *testing.T, c model.Client, r *model.Request) ([]model.Chunk, error) {
	t.Helper()
	var all []model.Chunk
	err := c.Stream(t.Context(), r, func(ch model.Chunk) error {
		all = append(all, ch)
		return nil
	})
	return all, err
}

func TestFallback(t *testing.T) {
	s := mt.Start(t, mt.HTTP(503, "busy"), mt.HTTP(503, "busy"), mt.Answer(mt.Message("two")),
		mt.Answer(mt.Message("three")))
	toml := fmt.Sprintf(`model_provider="a"
model="m1"
model_fallbacks=["nokey:x", "b:claude-sonnet-4-6"]
[model_providers.a]
base_url=%q
request_max_retries=1
[model_providers.nokey]
base_url="http://127.0.0.1:1"
env_key="UNSET"
[model_providers.b]
base_url=%q
wire_api="anthropic"
`, s.URL, s.URL)
	h := newHost(t, toml)
	set := protocol.Settings{Model: "m1"}
	c, _, err := h.opener().clientFor(t.Context(), &set)
	if err != nil {
		t.Fatal(err)
	}
	sealed := &model.Item{Kind: model.Reasoning, ID: "r", Encrypted: "sealed by a"}
	r := &model.Request{Model: "m1", Items: []*model.Item{model.UserText("hi"), sealed, model.UserText("go")}}
	if _, err := chunks(t, c, r); err == nil {
		t.Fatal("the first failure is not told: the caller would ask again")
	}
	got, err := chunks(t, c, r)
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	for _, ch := range got {
		if n, ok := ch.(model.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	if len(notices) != 2 || !strings.Contains(notices[0], "asking nokey:x instead") ||
		!strings.Contains(notices[1], "UNSET is not set") {
		t.Errorf("notices %q", notices)
	}
	if _, err := chunks(t, c, r); err != nil {
		t.Errorf("it does not stay with the one that answers: %v", err)
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Path != "/v1/messages" || last.JSON()["model"] != "claude-sonnet-4-6" ||
		strings.Contains(string(last.Body), "sealed by a") {
		t.Errorf("asked %s: %s", last.Path, last.Body)
	}
}
