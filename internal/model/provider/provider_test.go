package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/provider/catalog"
	"kerf/internal/model/provider/local"
	mt "kerf/internal/testkit/modeltest"
)

// registry is one whose providers need no key.
func registry(o Options) *Registry {
	if o.Key == nil {
		o.Key = func(string) (Key, error) { return Key{}, nil }
	}
	if o.Keyless == nil {
		o.Keyless = func() bool { return false }
	}
	return New(o)
}

const (
	tags = `{"models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","size":274302450,"details":{"family":"nomic-bert"}},
		{"name":"llama3.2:latest","model":"llama3.2:latest","size":2019393189,"details":{"family":"llama","parameter_size":"3.2B"}},
		{"name":"qwen3:8b","model":"qwen3:8b","size":5200000000,"details":{"family":"qwen3"}}]}`
	running = `{"models":[{"name":"llama3.2:latest","model":"llama3.2:latest","size":6654289920,"context_length":4096}]}`
	shown   = `{"parameters":"num_ctx                        32768\nstop \"x\"","capabilities":["completion","tools"],"model_info":{"qwen3.context_length":40960}}`
)

// servers are the servers of this machine, of which only one answers.
func servers(name, url string) map[string]Provider {
	all := map[string]Provider{}
	for n, display := range map[string]string{"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp"} {
		base := "http://127.0.0.1:1/v1"
		if n == name {
			base = url + "/v1"
		}
		all[n] = Provider{Name: display, BaseURL: base, API: "chat"}
	}
	return all
}

func TestOllamaIsFound(t *testing.T) {
	s := mt.Local(t, map[string]string{"GET /api/tags": tags, "GET /api/ps": running, "POST /api/show": shown})
	r := registry(Options{Providers: servers("ollama", s), Default: "openai", Model: "gpt-5.5"})
	want := []local.Server{{Provider: "ollama", Name: "Ollama",
		Models: []local.Model{{Name: "llama3.2:latest", Window: 4096, Loaded: true}, {Name: "qwen3:8b"}}}}
	if d := cmp.Diff(want, r.Servers(t.Context())); d != "" {
		t.Error(d)
	}
	c, err := r.Choose(t.Context(), "gpt-5.5", true)
	if err != nil || c.Model != "llama3.2:latest" || c.Provider != "ollama" {
		t.Fatalf("%+v, %v", c, err)
	}
	if f, _ := c.Facts(c.Model); f.Window != 4096 {
		t.Errorf("window %d", f.Window)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("warnings %q", c.Warnings)
	}
	if _, err := c.Client(); err != nil {
		t.Error(err)
	}
	if list := c.Models(); len(list) != 1 || list[0].Name != c.Model || !list[0].Chosen {
		t.Errorf("models %+v", list)
	}
	if c, err = r.Choose(t.Context(), "qwen3:8b", true); err != nil {
		t.Fatal(err)
	}
	if f, _ := c.Facts("qwen3:8b"); f.Window != 32768 {
		t.Errorf("the model's own num_ctx: %d", f.Window)
	}
}

func TestLocalFaults(t *testing.T) {
	empty := mt.Local(t, map[string]string{"GET /api/tags": `{"models":[]}`})
	full := mt.Local(t, map[string]string{"GET /api/tags": tags})
	tests := []struct {
		name        string
		providers   map[string]Provider
		model, want string
	}{
		{"nothing runs", servers("", ""), "", "no model server answers on this machine (tried Ollama at 127.0.0.1:1"},
		{"no models", servers("ollama", empty), "", "Ollama is running but has no model; fetch it with: kerf models pull qwen3:8b"},
		{"another model", servers("ollama", full), "phi4", `Ollama has no model "phi4"; it has qwen3:8b, llama3.2:latest; fetch it with: kerf models pull phi4`},
	}
	for _, tt := range tests {
		_, err := registry(Options{Providers: tt.providers}).Choose(t.Context(), tt.model, true)
		var coded interface{ ExitCode() int }
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &coded) || coded.ExitCode() != 2 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPull(t *testing.T) {
	s := mt.Local(t, map[string]string{"POST /api/pull": `{"status":"pulling manifest"}
{"status":"pulling abc","digest":"sha256:abc","total":100,"completed":40}
{"status":"pulling abc","digest":"sha256:abc","total":100,"completed":100}
{"status":"success"}
`})
	var told []string
	tell := func(status string, done, total int64) { told = append(told, fmt.Sprint(status, " ", done, "/", total)) }
	if err := registry(Options{Providers: servers("ollama", s)}).Pull(t.Context(), "x", tell); err != nil {
		t.Fatal(err)
	}
	want := []string{"pulling manifest 0/0", "pulling abc 40/100", "pulling abc 100/100", "success 0/0"}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	for body, want := range map[string]string{`{"error":"pull model manifest: file does not exist"}`: "file does not exist", `{"status":"pulling"}`: "ended too soon"} {
		s := mt.Local(t, map[string]string{"POST /api/pull": body})
		if err := registry(Options{Providers: servers("ollama", s)}).Pull(t.Context(), "x", tell); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What the server of a provider tells is kept and counts.
func TestRefresh(t *testing.T) {
	s := mt.Local(t, map[string]string{"GET /v1/models": `{"data":[{"id":"vendor/new-model","context_length":123456,"top_provider":{"max_completion_tokens":777},
		"architecture":{"input_modalities":["text","image"]},"pricing":{"prompt":"0.0000015","completion":"0.000006"}}]}`})
	o := Options{Default: "corp", Model: "m", CatalogPath: filepath.Join(t.TempDir(), "models.json"),
		Providers: map[string]Provider{"corp": {Name: "corp", BaseURL: s + "/v1", API: "chat"}}}
	list, err := registry(o).Models(t.Context(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	want := family.Facts{Window: 123456, MaxOutput: 777, Parallel: true, Images: true, EditTool: family.Replacements,
		Prices: family.Prices{Input: 1.5, Output: 6}}
	if len(list) != 2 || list[1].Name != "vendor/new-model" {
		t.Fatalf("%+v", list)
	}
	if d := cmp.Diff(want, list[1].Facts); d != "" {
		t.Error(d)
	}
	if f, known := registry(o).Fixed("m").Facts("vendor/new-model"); !known || f.Window != 123456 {
		t.Errorf("not kept: %+v", f)
	}
}

// Every model keeps a way to edit, in the form it takes.
func TestToolset(t *testing.T) {
	r := registry(Options{Providers: map[string]Provider{"openai": {API: "responses"}, "chatty": {API: "chat"}},
		Overrides: map[string]catalog.Override{"mine": {EditTool: "freeform"}},
		Patch:     model.Tool{Name: "apply_patch", Schema: json.RawMessage(`{}`), Grammar: "start: patch"}})
	offered := []model.Tool{{Name: "edit_file", Schema: json.RawMessage(`{}`)},
		{Name: "apply_patch", Grammar: "start: patch"}}
	for _, tt := range []struct{ provider, model, want string }{
		{"openai", "gpt-5.5", "edit_file json, apply_patch freeform"}, {"openai", "mine", "edit_file json, apply_patch freeform"},
		{"openai", "gpt-4.1", "edit_file json, apply_patch json"}, {"chatty", "gpt-5.5", "edit_file json, apply_patch json"},
		{"openai", "never-heard-of", "edit_file json, apply_patch json"}, {"chatty", "claude-opus-4-6", "edit_file json"},
	} {
		req := &model.Request{Model: tt.model, Tools: offered}
		r.fit(tt.provider, req)
		var got []string
		for _, tool := range req.Tools {
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
