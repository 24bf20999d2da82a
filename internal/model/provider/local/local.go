// Package local knows the model servers of this machine: Ollama, LM Studio and
// llama.cpp.
package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kerf/internal/text/order"
	"kerf/internal/text/visible"
)

// Providers are the providers that are servers of this machine, in the order in
// which they are tried.
func Providers() []string { return []string{"ollama", "lmstudio", "llamacpp"} }

// Is reports whether a provider is a server of this machine.
func Is(provider string) bool { return slices.Contains(Providers(), provider) }

// probeTime bounds the search for a server on this machine.
const probeTime = 800 * time.Millisecond

// maxAnswer bounds what a server may answer.
const maxAnswer = 16 << 20

// Address is where the server of a provider is looked for.
type Address struct {
	Provider, Name string
	BaseURL        string // with or without /v1
}

// Server is a model server of this machine that answered.
type Server struct {
	Provider, Name string
	Models         []Model // that can talk, the best choice first
}

// Model is a model of a local server.
type Model struct {
	Name   string
	Window int // tokens, 0 when the server does not tell
	Loaded bool
}

// Servers asks what the servers at some addresses have, all at once. Servers that
// do not answer are left out.
func Servers(ctx context.Context, at []Address) []Server {
	found := make([]*Server, len(at))
	var probes sync.WaitGroup
	for i, a := range at {
		probes.Go(func() {
			if models, err := a.Probe(ctx); err == nil {
				found[i] = &Server{Provider: a.Provider, Name: a.Name, Models: models}
			}
		})
	}
	probes.Wait()
	var servers []Server
	for _, s := range found {
		if s != nil {
			servers = append(servers, *s)
		}
	}
	return servers
}

// PullHint is the step that gets a model onto the server.
func (s Server) PullHint(name string) string {
	if s.Provider != "ollama" {
		return "load one there"
	}
	return "fetch it with: kerf models pull " + name
}

// Has reports whether the server has a model.
func (s Server) Has(name string) bool {
	return slices.ContainsFunc(s.Models, func(m Model) bool { return m.named(name) })
}

func (m Model) named(name string) bool { return m.Name == name || m.Name == name+":latest" }

// List names the models of the server for a message.
func (s Server) List() string {
	if len(s.Models) == 0 {
		return "none"
	}
	var names []string
	for _, m := range s.Models[:min(len(s.Models), 12)] {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// WindowHint is the step that gives the models of a server a larger window.
func WindowHint(provider string) string {
	switch provider {
	case "ollama":
		return "start it with OLLAMA_CONTEXT_LENGTH=32768"
	case "lmstudio":
		return "load the model with a longer context"
	}
	return "start it with a larger -c"
}

// Root is the address without the path of the OpenAI protocol.
func (a Address) Root() string {
	return strings.TrimSuffix(strings.TrimRight(a.BaseURL, "/"), "/v1")
}

// Probe is List within the short time that a server of this machine needs.
func (a Address) Probe(ctx context.Context) ([]Model, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return a.List(ctx)
}

// List asks for the models that can talk, the best choice first.
func (a Address) List(ctx context.Context) ([]Model, error) {
	root := a.Root()
	var models []Model
	var err error
	switch a.Provider {
	case "ollama":
		models, err = listOllama(ctx, root)
	case "lmstudio":
		models, err = listStudio(ctx, root)
	default:
		models, err = listOpenAI(ctx, root)
	}
	if err != nil {
		return nil, err
	}
	models = slices.DeleteFunc(models, func(m Model) bool { return !talks(m.Name) })
	order.Stably(models, func(a, b Model) int { return preference(b) - preference(a) })
	return models, nil
}

// talks reports whether a model by its name is one to talk with.
func talks(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"embed", "bge-", "rerank", "whisper", "minilm"} {
		if strings.Contains(name, word) {
			return false
		}
	}
	return name != ""
}

// preference puts loaded models first, and such as are known to use tools well.
func preference(m Model) int {
	points := 0
	if m.Loaded {
		points = 100
	}
	for i, family := range []string{"llama3", "mistral", "granite", "qwen2.5-coder", "qwen3", "glm-4", "devstral",
		"gpt-oss", "qwen3-coder"} {
		if strings.Contains(strings.ToLower(m.Name), family) {
			points += i + 1
		}
	}
	return points
}

func listOllama(ctx context.Context, root string) ([]Model, error) {
	var tags, running struct {
		Models []struct {
			Name    string `json:"name"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if err := ask(ctx, root+"/api/tags", nil, &tags); err != nil {
		return nil, err
	}
	_ = ask(ctx, root+"/api/ps", nil, &running) // older servers do not tell
	var models []Model
	for _, t := range tags.Models {
		m := Model{Name: t.Name}
		for _, r := range running.Models {
			if r.Name == t.Name {
				m.Loaded, m.Window = true, r.Context
			}
		}
		models = append(models, m)
	}
	return models, nil
}

func listStudio(ctx context.Context, root string) ([]Model, error) {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			State  string `json:"state"`
			Loaded int    `json:"loaded_context_length"`
		} `json:"data"`
	}
	if err := ask(ctx, root+"/api/v0/models", nil, &list); err != nil {
		return listOpenAI(ctx, root)
	}
	var models []Model
	for _, m := range list.Data {
		if m.Type == "" || m.Type == "llm" || m.Type == "vlm" {
			models = append(models, Model{Name: m.ID, Window: m.Loaded, Loaded: m.State == "loaded"})
		}
	}
	return models, nil
}

func listOpenAI(ctx context.Context, root string) ([]Model, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := ask(ctx, root+"/v1/models", nil, &list); err != nil {
		return nil, err
	}
	var models []Model
	for _, m := range list.Data {
		models = append(models, Model{Name: m.ID})
	}
	return models, nil
}

// Window is how many tokens a model holds on its server, 0 when the server does
// not say.
func (a Address) Window(ctx context.Context, name string) int {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	root := a.Root()
	if a.Provider == "llamacpp" {
		var props struct {
			Settings struct {
				Context int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		_ = ask(ctx, root+"/props", nil, &props) // without an answer it is not known
		return props.Settings.Context
	}
	models, err := a.List(ctx)
	if err != nil {
		return 0
	}
	for _, m := range models {
		if m.Window > 0 && m.named(name) {
			return m.Window
		}
	}
	if a.Provider == "ollama" {
		return ollamaParameter(ctx, root, name)
	}
	return 0
}

// ollamaParameter is the context that the model's own file asks for.
func ollamaParameter(ctx context.Context, root, name string) int {
	var show struct {
		Parameters string `json:"parameters"`
	}
	_ = ask(ctx, root+"/api/show", map[string]string{"model": name}, &show) // without an answer it is not known
	for _, line := range strings.Split(show.Parameters, "\n") {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			n, err := strconv.Atoi(f[1])
			if err == nil && n > 0 {
				return n
			}
		}
	}
	return 0
}

// Trained is the largest context of a model of Ollama, 0 when the server does not say.
func (a Address) Trained(ctx context.Context, name string) int {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var show struct {
		Info map[string]any `json:"model_info"`
	}
	_ = ask(ctx, a.Root()+"/api/show", map[string]string{"model": name}, &show) // without an answer it is not known
	for key, value := range show.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n > 0 && n < 1<<30 {
			return int(n)
		}
	}
	return 0
}

// ask makes one small request of a server of this machine. It goes through no
// proxy and follows no redirect.
func ask(ctx context.Context, url string, body, into any) error {
	resp, err := send(ctx, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	return json.Unmarshal(b, into)
}

func send(ctx context.Context, url string, body any) (*http.Response, error) {
	method, reader := http.MethodGet, io.Reader(http.NoBody)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, reader = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(req)
}

// ErrSilent says that a server does not answer.
var ErrSilent = errors.New("no answer")

// Pull has Ollama fetch a model, telling how it goes. The error is ErrSilent when
// nothing answers.
func (a Address) Pull(ctx context.Context, name string, tell func(status string, done, total int64)) error {
	resp, err := send(ctx, a.Root()+"/api/pull", map[string]any{"model": name, "stream": true})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return ErrSilent
	}
	defer resp.Body.Close()
	d := json.NewDecoder(resp.Body)
	for {
		var line struct {
			Status    string `json:"status"`
			Error     string `json:"error"`
			Completed int64  `json:"completed"`
			Total     int64  `json:"total"`
		}
		switch err := d.Decode(&line); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("pull %s: the answer of Ollama ended too soon", name)
		case line.Error != "":
			return fmt.Errorf("pull %s: %s", name, visible.Line(line.Error))
		}
		tell(visible.Line(line.Status), line.Completed, line.Total)
		if line.Status == "success" {
			return nil
		}
	}
}
