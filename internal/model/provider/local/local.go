package host

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

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// locals are the providers that are servers of this machine, in the order in
// which they are tried.
func locals() []string { return []string{"ollama", "lmstudio", "llamacpp"} }

func isLocal(provider string) bool { return slices.Contains(locals(), provider) }

// probeTime bounds the search for a server on this machine.
const probeTime = 800 * time.Millisecond

// maxLocalAnswer bounds what a local server may answer.
const maxLocalAnswer = 16 << 20

// LocalServer is a model server of this machine that answered.
type LocalServer struct {
	Provider, Name string
	Models         []LocalModel // that can talk, the best choice first
}

// LocalModel is a model of a local server.
type LocalModel struct {
	Name   string
	Window int // tokens, 0 when the server does not tell
	Loaded bool
}

// LocalServers asks the local servers what they have, all at once. Servers that
// do not answer are left out.
func (h *Host) LocalServers(ctx context.Context) []LocalServer {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	names := locals()
	if h.Config.OSSProvider != "" {
		names = []string{h.Config.OSSProvider}
	}
	found := make([]*LocalServer, len(names))
	var probes sync.WaitGroup
	for i, name := range names {
		p, ok := h.Config.Providers[name]
		if !ok {
			continue
		}
		probes.Go(func() {
			if models, err := listLocal(ctx, name, p); err == nil {
				found[i] = &LocalServer{Provider: name, Name: p.Name, Models: models}
			}
		})
	}
	probes.Wait()
	var servers []LocalServer
	for _, s := range found {
		if s != nil {
			servers = append(servers, *s)
		}
	}
	return servers
}

// chooseLocal turns to a server of this machine when the user asked for one, or
// when the default provider has no key and something answers here.
func (h *Host) chooseLocal(ctx context.Context, set *protocol.Settings) error {
	h.choosing.Lock()
	defer h.choosing.Unlock()
	if h.Client != nil {
		return nil
	}
	fallback := !h.Local && h.keyless()
	if !h.Local && !fallback || h.Local && isLocal(h.Config.ModelProvider) {
		if isLocal(h.Config.ModelProvider) {
			return h.tuneLocal(ctx, set)
		}
		return nil
	}
	servers := h.LocalServers(ctx)
	named := set.Model
	if h.Config.Origin("model") == "" && named == h.Config.Model {
		named = "" // the default is another provider's
	}
	for _, s := range servers {
		name := named
		if name == "" && len(s.Models) > 0 {
			name = s.Models[0].Name
		}
		if name == "" || len(servers) > 1 && !s.has(name) {
			continue
		}
		if fallback && !s.has(name) {
			continue
		}
		if named != "" && !s.has(name) {
			return setupFault("%s has no model %q; it has %s%s", s.Name, name, s.list(), pullHint(s, name))
		}
		h.useProvider(s.Provider)
		if set.Model = name; fallback {
			h.warn(fmt.Sprintf("no key for the default provider: using %s of %s on this machine", name, s.Name))
		}
		return h.tuneLocal(ctx, set)
	}
	if fallback {
		return nil // the missing key is the error
	}
	return h.noLocal(servers, named)
}

func (h *Host) noLocal(servers []LocalServer, named string) error {
	if len(servers) == 0 {
		var tried []string
		for _, name := range locals() {
			if p, ok := h.Config.Providers[name]; ok {
				tried = append(tried, p.Name+" at "+strings.TrimPrefix(strings.TrimSuffix(p.BaseURL, "/v1"), "http://"))
			}
		}
		return setupFault("no model server answers on this machine (tried %s); start one, for example: ollama serve", strings.Join(tried, ", "))
	}
	s := servers[0]
	if named != "" {
		return setupFault("no local server has the model %q; %s has %s%s", named, s.Name, s.list(), pullHint(s, named))
	}
	return setupFault("%s is running but has no model%s", s.Name, pullHint(s, "qwen3:8b"))
}

func pullHint(s LocalServer, name string) string {
	if s.Provider != "ollama" {
		return "; load one there"
	}
	return "; fetch it with: kerf models pull " + name
}

func (s LocalServer) has(name string) bool {
	return slices.ContainsFunc(s.Models, func(m LocalModel) bool { return m.Name == name || m.Name == name+":latest" })
}

func (s LocalServer) list() string {
	if len(s.Models) == 0 {
		return "none"
	}
	var names []string
	for _, m := range s.Models[:min(len(s.Models), 12)] {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// keyless reports whether the provider is the default one, which nobody chose,
// and there is no key for it.
func (h *Host) keyless() bool {
	if h.Config.Origin("model_provider") != "default" {
		return false
	}
	p := h.Config.Providers[h.Config.ModelProvider]
	if p.EnvKey == "" || p.ExperimentalBearerToken != "" || p.Auth.Command != "" || h.envKey(h.Config.ModelProvider, p) != "" ||
		h.Config.Origin("model_providers."+h.Config.ModelProvider+".base_url") != "default" {
		return false
	}
	_, _, err := h.credentials().Get(h.Config.ModelProvider)
	return errors.Is(err, auth.ErrNone)
}

// warn adds a warning once.
func (h *Host) warn(message string) {
	if !slices.Contains(h.Warnings, message) {
		h.Warnings = append(slices.Clone(h.Warnings), message)
	}
}

// useProvider changes the chosen provider of this host.
func (h *Host) useProvider(name string) {
	c := *h.Config
	c.ModelProvider = name
	h.Config = &c
}

// tuneLocal asks the server how much of a conversation the model holds. Servers
// that hold little cut it silently, so that is told.
func (h *Host) tuneLocal(ctx context.Context, set *protocol.Settings) error {
	name := h.Config.ModelProvider
	p := h.Config.Providers[name]
	if set.Model == "" {
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		defer cancel()
		models, err := listLocal(ctx, name, p)
		if err != nil {
			return setupFault("%s does not answer at %s: %w", p.Name, p.BaseURL, err)
		}
		if len(models) == 0 {
			return h.noLocal([]LocalServer{{Provider: name, Name: p.Name}}, "")
		}
		set.Model = models[0].Name
	}
	if h.Config.ModelContextWindow > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	window := localWindow(ctx, name, p, set.Model)
	if window == 0 {
		return nil
	}
	h.learn(name, set.Model, model.Facts{Window: window})
	if window < 16_000 {
		h.warn(fmt.Sprintf("%s gives %s a context of %d tokens, which is little for this work; %s", p.Name, set.Model, window, widen(name)))
	}
	return nil
}

func widen(provider string) string {
	switch provider {
	case "ollama":
		return "start it with OLLAMA_CONTEXT_LENGTH=32768"
	case "lmstudio":
		return "load the model with a longer context"
	}
	return "start it with a larger -c"
}

// listLocal lists what a local server has.
func listLocal(ctx context.Context, name string, p config.Provider) ([]LocalModel, error) {
	root := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	var models []LocalModel
	var err error
	switch name {
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
	models = slices.DeleteFunc(models, func(m LocalModel) bool { return !talks(m.Name) })
	slices.SortStableFunc(models, func(a, b LocalModel) int { return preference(b) - preference(a) })
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
func preference(m LocalModel) int {
	points := 0
	if m.Loaded {
		points = 100
	}
	for i, family := range []string{"llama3", "mistral", "granite", "qwen2.5-coder", "qwen3", "glm-4", "devstral", "gpt-oss", "qwen3-coder"} {
		if strings.Contains(strings.ToLower(m.Name), family) {
			points += i + 1
		}
	}
	return points
}

func listOllama(ctx context.Context, root string) ([]LocalModel, error) {
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
	var models []LocalModel
	for _, t := range tags.Models {
		m := LocalModel{Name: t.Name}
		for _, r := range running.Models {
			if r.Name == t.Name {
				m.Loaded, m.Window = true, r.Context
			}
		}
		models = append(models, m)
	}
	return models, nil
}

func listStudio(ctx context.Context, root string) ([]LocalModel, error) {
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
	var models []LocalModel
	for _, m := range list.Data {
		if m.Type == "" || m.Type == "llm" || m.Type == "vlm" {
			models = append(models, LocalModel{Name: m.ID, Window: m.Loaded, Loaded: m.State == "loaded"})
		}
	}
	return models, nil
}

func listOpenAI(ctx context.Context, root string) ([]LocalModel, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := ask(ctx, root+"/v1/models", nil, &list); err != nil {
		return nil, err
	}
	var models []LocalModel
	for _, m := range list.Data {
		models = append(models, LocalModel{Name: m.ID})
	}
	return models, nil
}

// localWindow is how many tokens a model holds on its server, 0 when the server
// does not say.
func localWindow(ctx context.Context, name string, p config.Provider, wanted string) int {
	root := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	if name == "llamacpp" {
		var props struct {
			Settings struct {
				Context int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		_ = ask(ctx, root+"/props", nil, &props) // without an answer it is not known
		return props.Settings.Context
	}
	models, err := listLocal(ctx, name, p)
	if err != nil {
		return 0
	}
	for _, m := range models {
		if m.Window > 0 && (m.Name == wanted || m.Name == wanted+":latest") {
			return m.Window
		}
	}
	if name == "ollama" {
		return ollamaParameter(ctx, root, wanted)
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

// ask makes one small request of a server of this machine. It goes through no
// proxy and follows no redirect.
func ask(ctx context.Context, url string, body, into any) error {
	resp, err := send(ctx, url, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxLocalAnswer))
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
