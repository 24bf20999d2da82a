package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// ModelInfo is one model and what is known of it.
type ModelInfo struct {
	Provider string      `json:"provider"`
	Name     string      `json:"name"`
	Facts    model.Facts `json:"facts"`
	// Known is false when the facts are only assumed.
	Known bool `json:"known"`
	// Chosen is the model that a new session gets.
	Chosen bool `json:"chosen,omitempty"`
}

// toldFacts are what servers told of their models, on disk and in this process.
type toldFacts struct {
	mu     sync.Mutex
	loaded bool                              // guarded by mu
	all    map[string]map[string]model.Facts // by provider and model; guarded by mu
}

// catalog is models.json in the home: what servers told when they were asked.
type catalog struct {
	Version   int                               `json:"version"`
	Providers map[string]map[string]model.Facts `json:"providers"`
}

const maxCatalog = 32 << 20

func (h *Host) catalogPath() string { return filepath.Join(h.Config.Home, "models.json") }

// load reads the catalog once; one that cannot be read is as good as none.
func (t *toldFacts) load(path string) {
	if t.loaded {
		return
	}
	t.loaded, t.all = true, map[string]map[string]model.Facts{}
	st, err := os.Stat(path)
	if err != nil || st.Size() > maxCatalog {
		return
	}
	b, err := os.ReadFile(path)
	var c catalog
	if err == nil && json.Unmarshal(b, &c) == nil && c.Version == 1 && c.Providers != nil {
		t.all = c.Providers
	}
}

func (h *Host) told(provider, name string) (model.Facts, bool) {
	h.facts.mu.Lock()
	defer h.facts.mu.Unlock()
	h.facts.load(h.catalogPath())
	f, ok := h.facts.all[provider][name]
	return f, ok
}

func (h *Host) learn(provider, name string, f model.Facts) {
	h.facts.mu.Lock()
	defer h.facts.mu.Unlock()
	h.facts.load(h.catalogPath())
	if h.facts.all[provider] == nil {
		h.facts.all[provider] = map[string]model.Facts{}
	}
	h.facts.all[provider][name] = f
}

// ModelList lists the models of a provider, or of all when it is empty: those its
// server told of, and the one that is chosen. With refresh the server is asked.
func (h *Host) ModelList(ctx context.Context, provider string, refresh bool) ([]ModelInfo, error) {
	names := slices.Sorted(maps.Keys(h.Config.Providers))
	if provider == "" && refresh {
		provider = h.Config.ModelProvider
	}
	if provider != "" {
		if _, err := h.provider(provider); err != nil {
			return nil, err
		}
		names = []string{provider}
	}
	if refresh {
		if err := h.refresh(ctx, provider); err != nil {
			return nil, err
		}
	}
	var list []ModelInfo
	for _, p := range names {
		for _, m := range h.namesOf(p) {
			f, known := h.factsOf(p, m)
			list = append(list, ModelInfo{Provider: p, Name: m, Facts: f, Known: known, Chosen: p == h.Config.ModelProvider && m == h.Config.Model})
		}
	}
	return list, nil
}

// namesOf are the models of a provider that are known by name.
func (h *Host) namesOf(provider string) []string {
	h.facts.mu.Lock()
	h.facts.load(h.catalogPath())
	names := slices.Collect(maps.Keys(h.facts.all[provider]))
	h.facts.mu.Unlock()
	if provider == h.Config.ModelProvider && h.Config.Model != "" {
		names = append(names, h.Config.Model)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refresh asks the server of a provider for its models and keeps the answer.
func (h *Host) refresh(ctx context.Context, name string) error {
	told, err := h.fetchModels(ctx, name)
	if err != nil {
		return err
	}
	h.facts.mu.Lock()
	defer h.facts.mu.Unlock()
	h.facts.load(h.catalogPath())
	h.facts.all[name] = told
	b, err := json.MarshalIndent(catalog{1, h.facts.all}, "", " ")
	if err != nil {
		return err
	}
	return writePrivate(h.catalogPath(), append(b, '\n'))
}

func writePrivate(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// fetchModels asks a server what models it has.
func (h *Host) fetchModels(ctx context.Context, name string) (map[string]model.Facts, error) {
	p, err := h.provider(name)
	if err != nil {
		return nil, err
	}
	if p.WireAPI == "script" {
		return nil, setupFault("provider %s plays a scenario and has no list of models", name)
	}
	if isLocal(name) {
		models, err := listLocal(ctx, name, p)
		if err != nil {
			return nil, setupFault("%s does not answer at %s: %w", p.Name, p.BaseURL, err)
		}
		told := map[string]model.Facts{}
		for _, m := range models {
			told[m.Name] = model.Facts{Window: m.Window}
		}
		return told, nil
	}
	o, err := h.wireOptions(name, p)
	if err != nil {
		return nil, err
	}
	body, err := wire.New(o).Fetch(ctx, listCall(p))
	if err != nil {
		return nil, withHint(err)
	}
	return parseModels(body)
}

// withHint adds the step that helps to an error of a provider.
func withHint(err error) error {
	var e *model.Error
	if errors.As(err, &e) && e.Hint != "" {
		return fmt.Errorf("%w; %s", err, e.Hint)
	}
	return err
}

// listCall is the request for the models of a provider.
func listCall(p config.Provider) wire.Call {
	c := wire.Call{Path: "/models"}
	switch p.WireAPI {
	case "anthropic":
		if !strings.HasSuffix(p.BaseURL, "/v1") {
			c.Path = "/v1/models"
		}
		c.Query = map[string]string{"limit": "1000"}
		c.Header = http.Header{"Anthropic-Version": {"2023-06-01"}}
		c.Authorize = func(h http.Header, key string) { h.Set("X-Api-Key", key) }
	case "gemini":
		c.Query = map[string]string{"pageSize": "1000"}
		c.Authorize = func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
	}
	return c
}

// listed is a model in the lists of the providers.
type listed struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Context int    `json:"context_length"`
	MaxLen  int    `json:"max_model_len"`
	Input   int    `json:"inputTokenLimit"`
	Output  int    `json:"outputTokenLimit"`
	Window  int    `json:"max_input_tokens"`
	Tokens  int    `json:"max_tokens"`
	Top     struct {
		Output int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct {
		Inputs []string `json:"input_modalities"`
	} `json:"architecture"`
	Pricing struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		Read       string `json:"input_cache_read"`
		Write      string `json:"input_cache_write"`
	} `json:"pricing"`
	Methods []string `json:"supportedGenerationMethods"`
}

func parseModels(body []byte) (map[string]model.Facts, error) {
	var list struct {
		Data   []listed `json:"data"`
		Models []listed `json:"models"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil && list.Models == nil {
		return nil, errors.New("the server's list of models cannot be read; check base_url")
	}
	told := map[string]model.Facts{}
	for _, m := range append(list.Data, list.Models...) {
		if len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
			continue
		}
		name := m.ID
		if name == "" {
			name = strings.TrimPrefix(m.Name, "models/")
		}
		if name == "" {
			continue
		}
		told[name] = model.Facts{Window: max(m.Context, m.MaxLen, m.Input, m.Window), MaxOutput: max(m.Output, m.Top.Output, m.Tokens),
			Images: slices.Contains(m.Architecture.Inputs, "image"),
			Prices: model.Prices{Input: dollars(m.Pricing.Prompt), Output: dollars(m.Pricing.Completion),
				Cached: dollars(m.Pricing.Read), CacheWrite: dollars(m.Pricing.Write)}}
	}
	return told, nil
}

// dollars is a price for one token as one for a million.
func dollars(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 {
		return 0
	}
	return float64(int64(f*1e12+0.5)) / 1e6
}

// PullProgress is how far the fetching of a model has come.
type PullProgress struct {
	Status           string
	Completed, Total int64
}

// Pull has Ollama fetch a model, telling how it goes.
func (h *Host) Pull(ctx context.Context, name string, tell func(PullProgress)) error {
	p, err := h.provider("ollama")
	if err != nil {
		return err
	}
	root := strings.TrimSuffix(p.BaseURL, "/v1")
	resp, err := send(ctx, root+"/api/pull", map[string]any{"model": name, "stream": true})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return setupFault("Ollama does not answer at %s; start it with: ollama serve", root)
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
			return fmt.Errorf("pull %s: %s", name, visible(line.Error))
		}
		tell(PullProgress{visible(line.Status), line.Completed, line.Total})
		if line.Status == "success" {
			return nil
		}
	}
}
