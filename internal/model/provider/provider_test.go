package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/config"
	"kerf/internal/model"
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

// emulated answers as a local server does, from its documented replies.
func emulated(t *testing.T, replies map[string]string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := replies[r.Method+" "+r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

const (
	tags = `{"models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","size":274302450,"details":{"family":"nomic-bert"}},
		{"name":"llama3.2:latest","model":"llama3.2:latest","size":2019393189,"details":{"family":"llama","parameter_size":"3.2B"}},
		{"name":"qwen3:8b","model":"qwen3:8b","size":5200000000,"details":{"family":"qwen3"}}]}`
	running = `{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest","size":6654289920,"context_length":4096}]}`
	shown   = `{"parameters":"num_ctx                        32768\nstop \"x\"","capabilities":["completion","tools"],"model_info":{"qwen3.context_length":40960}}`
)

func local(name, url string) string {
	toml := ""
	for _, n := range locals() {
		base := "http://127.0.0.1:1/v1"
		if n == name {
			base = url + "/v1"
		}
		toml += fmt.Sprintf("[model_providers.%s]\nbase_url = %q\n", n, base)
	}
	return toml
}

func TestOllamaIsFound(t *testing.T) {
	s := emulated(t, map[string]string{"GET /api/tags": tags, "GET /api/ps": running, "POST /api/show": shown})
	h := newHost(t, local("ollama", s.URL))
	h.Local = true
	want := []LocalServer{{Provider: "ollama", Name: "Ollama", Models: []LocalModel{{Name: "llama3.2:latest", Window: 4096, Loaded: true}, {Name: "qwen3:8b"}}}}
	if d := cmp.Diff(want, h.LocalServers(t.Context())); d != "" {
		t.Error(d)
	}
	set := protocol.Settings{Model: h.Config.Model}
	if _, p, err := h.client(t.Context(), &set); err != nil || set.Model != "llama3.2:latest" || p.Name != "Ollama" {
		t.Fatalf("%q of %q, %v", set.Model, p.Name, err)
	}
	if f, _ := h.Facts(set.Model); f.Window != 4096 {
		t.Errorf("window %d", f.Window)
	}
	if len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("warnings %q", h.Warnings)
	}
	set = protocol.Settings{Model: "qwen3:8b"}
	if _, _, err := h.client(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	if f, _ := h.Facts("qwen3:8b"); f.Window != 32768 {
		t.Errorf("the model's own num_ctx: %d", f.Window)
	}
}

// No key at all and a local server: it is used, and the user is told.
func TestNoKeyGoesLocal(t *testing.T) {
	s := emulated(t, map[string]string{"GET /v1/models": `{"object":"list","data":[{"id":"gpt-oss-20b.gguf","object":"model","meta":{"n_ctx_train":131072}}]}`,
		"GET /props": `{"default_generation_settings":{"n_ctx":65536},"total_slots":1}`})
	h := newHost(t, local("llamacpp", s.URL))
	set, err := h.settings(protocol.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.client(t.Context(), &set); err != nil || set.Model != "gpt-oss-20b.gguf" {
		t.Fatalf("%q, %v", set.Model, err)
	}
	if f, _ := h.Facts(set.Model); f.Window != 65536 || f.EditTool != model.JSONPatch {
		t.Errorf("facts %+v", f)
	}
	if len(h.Warnings) != 1 || !strings.Contains(h.Warnings[0], "no key for the default provider: using gpt-oss-20b.gguf of llama.cpp") {
		t.Errorf("warnings %q", h.Warnings)
	}
	// With a key it stays with the provider.
	h = newHost(t, local("llamacpp", s.URL), "OPENAI_API_KEY=k")
	if set, err = h.settings(protocol.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, p, err := h.client(t.Context(), &set); err != nil || p.Name != "OpenAI" {
		t.Errorf("%q %v", p.Name, err)
	}
}

func TestLocalFaults(t *testing.T) {
	empty := emulated(t, map[string]string{"GET /api/tags": `{"models":[]}`})
	full := emulated(t, map[string]string{"GET /api/tags": tags})
	tests := []struct {
		name, toml, model, want string
	}{
		{"nothing runs", local("", ""), "", "no model server answers on this machine (tried Ollama at 127.0.0.1:1"},
		{"no models", local("ollama", empty.URL), "", "Ollama is running but has no model; fetch it with: kerf models pull qwen3:8b"},
		{"another model", local("ollama", full.URL), "phi4", `Ollama has no model "phi4"; it has qwen3:8b, llama3.2:latest; fetch it with: kerf models pull phi4`},
	}
	for _, tt := range tests {
		h := newHost(t, tt.toml)
		h.Local = true
		set, err := h.settings(protocol.Settings{Model: tt.model})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = h.client(t.Context(), &set)
		var coded interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &coded) || coded.ExitCode() != 2 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPull(t *testing.T) {
	s := emulated(t, map[string]string{"POST /api/pull": `{"status":"pulling manifest"}
{"status":"pulling abc","digest":"sha256:abc","total":100,"completed":40}
{"status":"pulling abc","digest":"sha256:abc","total":100,"completed":100}
{"status":"success"}
`})
	var told []PullProgress
	tell := func(p PullProgress) { told = append(told, p) }
	if err := newHost(t, local("ollama", s.URL)).Pull(t.Context(), "x", tell); err != nil {
		t.Fatal(err)
	}
	want := []PullProgress{{"pulling manifest", 0, 0}, {"pulling abc", 40, 100}, {"pulling abc", 100, 100}, {"success", 0, 0}}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	for body, want := range map[string]string{`{"error":"pull model manifest: file does not exist"}`: "file does not exist", `{"status":"pulling"}`: "ended too soon"} {
		s := emulated(t, map[string]string{"POST /api/pull": body})
		if err := newHost(t, local("ollama", s.URL)).Pull(t.Context(), "x", tell); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What the server of a provider tells is kept and counts.
func TestRefresh(t *testing.T) {
	s := emulated(t, map[string]string{"GET /v1/models": `{"data":[{"id":"vendor/new-model","context_length":123456,"top_provider":{"max_completion_tokens":777},
		"architecture":{"input_modalities":["text","image"]},"pricing":{"prompt":"0.0000015","completion":"0.000006"}}]}`})
	toml := fmt.Sprintf("model_provider='corp'\nmodel='m'\n[model_providers.corp]\nbase_url=%q\nwire_api='chat'\n", s.URL+"/v1")
	h := newHost(t, toml)
	list, err := h.ModelList(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Facts{Window: 123456, MaxOutput: 777, Parallel: true, Images: true, EditTool: model.Replacements, Prices: model.Prices{Input: 1.5, Output: 6}}
	if len(list) != 2 || list[1].Name != "vendor/new-model" {
		t.Fatalf("%+v", list)
	}
	if d := cmp.Diff(want, list[1].Facts); d != "" {
		t.Error(d)
	}
	again := &Host{Config: h.Config}
	if f, known := again.Facts("vendor/new-model"); !known || f.Window != 123456 {
		t.Errorf("not kept: %+v", f)
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
	s := mt.Start(t, mt.HTTP(503, "busy"), mt.HTTP(503, "busy"), mt.Answer(mt.Message("two")), mt.Answer(mt.Message("three")))
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
	c, _, err := h.client(t.Context(), &set)
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
	if len(notices) != 2 || !strings.Contains(notices[0], "asking nokey:x instead") || !strings.Contains(notices[1], "UNSET is not set") {
		t.Errorf("notices %q", notices)
	}
	if _, err := chunks(t, c, r); err != nil {
		t.Errorf("it does not stay with the one that answers: %v", err)
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Path != "/v1/messages" || last.JSON()["model"] != "claude-sonnet-4-6" || strings.Contains(string(last.Body), "sealed by a") {
		t.Errorf("asked %s: %s", last.Path, last.Body)
	}
}

// Every model keeps a way to edit, in the form it takes.
func TestToolset(t *testing.T) {
	h := newHost(t, "[model_providers.chatty]\nbase_url='http://x'\nwire_api='chat'\n[models.mine]\nedit_tool='freeform'\n")
	patch, _ := freeformSpec("apply_patch")
	offered := []model.Tool{{Name: "edit_file", Schema: json.RawMessage(`{}`)}, {Name: "apply_patch", Grammar: patch.Grammar}}
	for _, tt := range []struct{ provider, model, want string }{
		{"openai", "gpt-5.5", "edit_file json, apply_patch freeform"}, {"openai", "mine", "edit_file json, apply_patch freeform"},
		{"openai", "gpt-4.1", "edit_file json, apply_patch json"}, {"chatty", "gpt-5.5", "edit_file json, apply_patch json"},
		{"openai", "never-heard-of", "edit_file json, apply_patch json"}, {"chatty", "claude-opus-4-6", "edit_file json"},
	} {
		r := &model.Request{Model: tt.model, Tools: offered}
		h.fit(tt.provider, r)
		var got []string
		for _, tool := range r.Tools {
			form := "json"
			if tool.Schema == nil {
				form = "freeform"
			}
			got = append(got, tool.Name+" "+form)
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.model, s, tt.want)
		}
	}
	if offered[1].Schema != nil {
		t.Error("the session's own list was changed")
	}
}

// The shipped scenarios are scenarios.
func TestShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../../doc/examples/scenarios/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		report, err := CheckScenario(f)
		_ = f.Close()
		if err != nil || len(report.Warnings) > 0 {
			t.Errorf("%s: %v %q", name, err, report.Warnings)
		}
	}
}
