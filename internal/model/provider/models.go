package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/provider/catalog"
	"kerf/internal/model/provider/local"
	"kerf/internal/model/wire"
)

// Model is one model and what is known of it.
type Model struct {
	Provider string       `json:"provider"`
	Name     string       `json:"name"`
	Facts    family.Facts `json:"facts"`
	// Known is false when the facts are only assumed.
	Known bool `json:"known"`
	// Chosen is the model that a new session gets.
	Chosen bool `json:"chosen,omitempty"`
}

// Models lists the models of a provider, or of all when it is empty: those its
// server told of, and the configured one. With refresh the server is asked.
func (r *Registry) Models(ctx context.Context, provider string, refresh bool) ([]Model, error) {
	names := slices.Sorted(maps.Keys(r.o.Providers))
	if provider == "" && refresh {
		provider = r.o.Default
	}
	if provider != "" {
		if _, err := r.Provider(provider); err != nil {
			return nil, err
		}
		names = []string{provider}
	}
	if refresh {
		if err := r.refresh(ctx, provider); err != nil {
			return nil, err
		}
	}
	var list []Model
	for _, name := range names {
		chosen := ""
		if name == r.o.Default {
			chosen = r.o.Model
		}
		list = append(list, r.modelsOf(name, chosen)...)
	}
	return list, nil
}

// modelsOf are the models of a provider that are known by name, and the chosen one
// unless it is empty.
func (r *Registry) modelsOf(provider, chosen string) []Model {
	names := r.catalog.Names(provider)
	if chosen != "" {
		names = append(names, chosen)
	}
	slices.Sort(names)
	var list []Model
	for _, name := range slices.Compact(names) {
		f, known := r.catalog.Facts(provider, name)
		list = append(list, Model{Provider: provider, Name: name, Facts: f, Known: known, Chosen: name == chosen})
	}
	return list
}

// Models lists the models of the chosen provider that are known by name, the chosen
// one first.
func (c *Choice) Models() []Model {
	list := c.registry.modelsOf(c.Provider, c.Model)
	if i := slices.IndexFunc(list, func(m Model) bool { return m.Chosen }); i > 0 {
		chosen := list[i]
		copy(list[1:], list[:i])
		list[0] = chosen
	}
	return list
}

// refresh asks the server of a provider for its models and keeps the answer.
func (r *Registry) refresh(ctx context.Context, name string) error {
	told, err := r.fetch(ctx, name)
	if err != nil {
		return err
	}
	return r.catalog.Replace(name, told)
}

// fetch asks a server what models it has.
func (r *Registry) fetch(ctx context.Context, name string) (map[string]family.Facts, error) {
	p, err := r.Provider(name)
	if err != nil {
		return nil, err
	}
	if p.API == "script" {
		return nil, setupFault("provider %s plays a scenario and has no list of models", name)
	}
	if p.API == "bedrock" {
		return nil, setupFault("provider %s tells no list of models at this address; see: "+
			"aws bedrock list-inference-profiles", name)
	}
	if local.Is(name) {
		models, err := r.address(name).List(ctx)
		if err != nil {
			return nil, setupFault("%s does not answer at %s: %w", p.Name, p.BaseURL, err)
		}
		told := map[string]family.Facts{}
		for _, m := range models {
			told[m.Name] = family.Facts{Window: m.Window}
		}
		return told, nil
	}
	o, err := r.options(name, p)
	if err != nil {
		return nil, err
	}
	body, err := wire.New(o).Fetch(ctx, listCall(p))
	if err != nil {
		return nil, withHint(err)
	}
	return catalog.Parse(body)
}

// CheckKey asks a provider for its models with a key. Only a refused key and a
// server that cannot be reached are errors: not every server has such a list.
func (r *Registry) CheckKey(ctx context.Context, name, key string) error {
	p, err := r.Provider(name)
	if err != nil || p.API == "script" || p.API == "bedrock" { // Amazon's list is on another host
		return err
	}
	o, err := p.options(name, Key{Get: wire.StaticKey(key)})
	if err != nil {
		return err
	}
	_, err = wire.New(o).Fetch(ctx, listCall(p))
	var e *model.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	case e.Kind == model.Auth:
		return fmt.Errorf("%s refuses the key: %s", p.Name, e.Message)
	case e.Kind == model.Network:
		return fmt.Errorf("%s; to store the key unchecked add --no-check", e.Message)
	}
	return nil
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
func listCall(p Provider) wire.Call {
	c := wire.Call{Path: "/models"}
	switch p.API {
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
