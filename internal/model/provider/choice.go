package provider

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/provider/local"
	"kerf/internal/model/wire"
	"kerf/internal/text/spelling"
)

// Choice is the provider and the model of one session. It does not change and may
// be used by several goroutines.
type Choice struct {
	Provider string
	Model    string
	// Warnings are for the user: why it is a local model, and that it holds little.
	Warnings []string

	registry *Registry
	found    string // why another provider than the configured one was chosen
}

// Choose returns the default provider and a model. It is a server of this machine
// when onlyLocal asks for one, or when the default provider, which nobody chose,
// has no key and something answers here.
func (r *Registry) Choose(ctx context.Context, model string, onlyLocal bool) (*Choice, error) {
	c := r.Fixed(model)
	if !onlyLocal {
		c.detect()
	}
	named, bare := c.split(c.Model) // what the model names counts
	fallback := !onlyLocal && named == r.o.Default && r.o.Keyless()
	switch {
	case !onlyLocal && local.Is(named) && !fallback:
		return c, c.tune(ctx, named, bare)
	case !onlyLocal && !fallback:
		return c, nil
	}
	if !r.o.ModelNamed && model == r.o.Model {
		model = "" // the default is another provider's
	}
	servers := r.Servers(ctx)
	for _, s := range servers {
		name := model
		if name == "" && len(s.Models) > 0 {
			name = s.Models[0].Name
		}
		if name == "" || !s.Has(name) && (fallback || len(servers) > 1) {
			continue
		}
		if !s.Has(name) {
			return nil, setupFault("%s has no model %q; it has %s; %s", s.Name, name, s.List(), s.PullHint(name))
		}
		c.Provider, c.Model = s.Provider, name
		if fallback {
			c.warn("no key for the default provider: using %s of %s on this machine", name, s.Name)
		}
		return c, c.tune(ctx, s.Provider, name)
	}
	if fallback {
		return c, nil // the missing key is the error
	}
	return nil, r.noModel(servers, model)
}

// Fixed returns the default provider and a model, without asking anything.
func (r *Registry) Fixed(model string) *Choice {
	return &Choice{Provider: r.o.Default, Model: model, registry: r}
}

// noModel says why no local server can be used.
func (r *Registry) noModel(servers []local.Server, named string) error {
	if len(servers) == 0 {
		var tried []string
		for _, name := range local.Providers() {
			if p, ok := r.o.Providers[name]; ok {
				tried = append(tried, p.Name+" at "+strings.TrimPrefix(r.address(name).Root(), "http://"))
			}
		}
		return setupFault("no model server answers on this machine (tried %s); start one, for example: ollama serve",
			strings.Join(tried, ", "))
	}
	s := servers[0]
	if named != "" {
		return setupFault("no local server has the model %q; %s has %s; %s", named, s.Name, s.List(), s.PullHint(named))
	}
	return setupFault("%s is running but has no model; %s", s.Name, s.PullHint("qwen3:8b"))
}

func (c *Choice) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// tune asks the server how much of a conversation the model holds. Servers that
// hold little cut it silently, so the user is warned.
func (c *Choice) tune(ctx context.Context, provider, name string) error {
	at := c.registry.address(provider)
	if name == "" {
		models, err := at.Probe(ctx)
		if err != nil {
			return setupFault("%s does not answer at %s: %w", at.Name, at.BaseURL, err)
		}
		if len(models) == 0 {
			return c.registry.noModel([]local.Server{{Provider: provider, Name: at.Name}}, "")
		}
		name = models[0].Name
		c.Model = name
	}
	if c.registry.o.Window > 0 {
		return nil
	}
	window := at.Window(ctx, name)
	if window == 0 {
		window = c.askRoom(ctx, at, provider, name)
	}
	if window == 0 {
		return nil
	}
	c.registry.catalog.Learn(provider, name, family.Facts{Window: window})
	if window < 16_000 {
		c.warn("%s gives %s a context of %d tokens, which is too small for most work; %s", at.Name, name, window,
			local.WindowHint(provider))
	}
	return nil
}

// split parts a model's name from the provider that may stand before it, as in
// "anthropic:claude-sonnet-4-6". Without one it is the chosen provider.
func (c *Choice) split(name string) (provider, rest string) {
	if before, after, ok := strings.Cut(name, ":"); ok && after != "" {
		// Ollama has models called mistral:TAG.
		if _, known := c.registry.o.Providers[before]; known && !(before == "mistral" && local.Is(c.Provider)) {
			return before, after
		}
	}
	return c.Provider, name
}

// plainNames are hosts of providers none of whose models has a colon in its name, but for those
// that users trained, which begin with "ft:".
var plainNames = []string{"api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com"}

// unknownProvider refuses a model that names a provider which there is not. Where names of models
// have colons, as those of Ollama do, nobody can tell.
func (c *Choice) unknownProvider(of Provider) error {
	provider, rest := c.split(c.Model)
	before, _, ok := strings.Cut(rest, ":")
	at, err := url.Parse(of.BaseURL)
	if !ok || provider != c.Provider || before == "ft" || err != nil || !slices.Contains(plainNames, at.Host) {
		return nil
	}
	known := slices.Sorted(maps.Keys(c.registry.o.Providers))
	near := spelling.Nearest(before, known)
	if near != "" {
		near = fmt.Sprintf("; did you mean %s%s?", near, strings.TrimPrefix(rest, before))
	}
	return setupFault("model %s: there is no provider %q%s (there are %s)", rest, before, near, strings.Join(known, ", "))
}

// Of is the provider of a model, which may stand before its name.
func (c *Choice) Of(name string) string {
	provider, _ := c.split(name)
	return provider
}

// Retries is how often a model is asked again, see Provider.
func (c *Choice) Retries(name string) (requests, streams int) {
	p := c.registry.o.Providers[c.Of(name)]
	return p.Retries, p.StreamRetries
}

// Bare is the name of a model without the provider that may stand before it.
func (c *Choice) Bare(name string) string {
	_, bare := c.split(name)
	return bare
}

// Facts is what is known of a model, which may name its provider, and whether it is
// known or only assumed.
func (c *Choice) Facts(name string) (family.Facts, bool) {
	return c.registry.catalog.Facts(c.split(name))
}

// Limits are the context window of a model and the size at which the history is
// compacted. What the user says counts, then what is known of the model.
func (c *Choice) Limits(name string) (window, limit int) {
	window, limit = c.registry.o.Window, c.registry.o.CompactLimit
	if window == 0 {
		facts, _ := c.Facts(name)
		window = facts.Window
	}
	if most := window / 10 * 9; most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	return window, limit
}

// Price is what tokens of a model cost in US dollars, and whether that is known.
func (c *Choice) Price(name string, u model.Usage) (float64, bool) {
	facts, _ := c.Facts(name)
	return cost(facts.Prices, u)
}

// cost is what u costs in US dollars, and whether the prices are known.
func cost(p family.Prices, u model.Usage) (float64, bool) {
	if p.Input == 0 && p.Output == 0 {
		return 0, false
	}
	write := p.CacheWrite
	if write == 0 {
		write = p.Input
	}
	plain := max(u.Input-u.Cached-u.CacheWrite, 0)
	return (float64(plain)*p.Input + float64(u.Cached)*p.Cached + float64(u.CacheWrite)*write +
		float64(u.Output)*p.Output) / 1e6, true
}

// Unseal drops from a conversation that was held with another provider what only
// that one can read. Other protocols tag theirs and are told apart later.
func (c *Choice) Unseal(heldWith string, items []*model.Item) {
	if heldWith == "" || heldWith == c.Provider {
		return
	}
	for _, i := range items {
		if i.Kind == model.Reasoning && !wire.Tagged(i.Encrypted) {
			i.Encrypted = ""
		}
	}
}

// Client returns the client of a session. It asks the provider of each request's
// model. A missing key is an error before any request.
func (c *Choice) Client() (model.Client, error) {
	p, err := c.registry.Provider(c.Provider)
	if err != nil {
		return nil, err
	}
	if p.API != "script" && c.Model == "" {
		why := ""
		if c.found != "" {
			why = ", which was chosen because " + c.found
		}
		return nil, setupFault("no model is set for provider %s%s; give one with -m MODEL, or set model in config.toml "+
			"(kerf models --refresh --provider %s lists them)", p.Name, why, c.Provider)
	}
	if err := c.unknownProvider(p); err != nil {
		return nil, err
	}
	r := &router{Choice: c, clients: map[string]model.Client{}}
	name, _ := c.split(c.Model)
	if _, err := r.client(name); err != nil {
		return nil, err
	}
	return r, nil
}

// Freeform reports whether a model takes patches as free text.
func (c *Choice) Freeform(name string) bool {
	provider, bare := c.split(name)
	return c.registry.freeform(provider, bare)
}

// unsealed are items without what only their own provider can read.
func unsealed(items []*model.Item) []*model.Item {
	items = slices.Clone(items)
	for n, i := range items {
		if i.Kind == model.Reasoning && i.Encrypted != "" && !strings.HasPrefix(i.Encrypted, originMark) {
			open := *i
			open.Encrypted = ""
			items[n] = &open
		}
	}
	return items
}
