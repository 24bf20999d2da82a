package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"

	"kerf/internal/agent/tools"
	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/provider"
	"kerf/internal/model/provider/catalog"
	"kerf/internal/model/script"
	"kerf/internal/protocol"
	"kerf/internal/work/proc"
)

// providers are those of one configuration, and their keys.
type providers struct {
	of       *config.Config
	keys     *auth.Keys
	registry *provider.Registry
}

// providers are made when they are first needed, and again for another configuration.
func (h *Host) providers() *providers {
	c := h.configured()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.made == nil || h.made.of != c.Config {
		h.made = c.newProviders()
	}
	return h.made
}

// Providers knows the configured providers.
func (h *Host) Providers() *provider.Registry { return h.providers().registry }

// Keys finds and stores the keys of the configured providers.
func (h *Host) Keys() *auth.Keys { return h.providers().keys }

func (c configured) newProviders() *providers {
	p := &providers{of: c.Config, keys: c.newKeys()}
	p.registry = provider.New(c.providerOptions(p.keys))
	p.keys.Check = p.registry.CheckKey
	return p
}

func (c configured) newKeys() *auth.Keys {
	k := &auth.Keys{
		Providers: map[string]auth.Provider{},
		Store:     &auth.Store{Home: c.Home, Mode: auth.Mode(c.CredentialStore), Env: c.getenv},
		Getenv:    c.getenv,
		Ephemeral: c.CredentialStore == "ephemeral",
		Secret:    c.secrets.Add,
	}
	clouds := auth.Clouds{Getenv: c.getenv, Secret: c.secrets.Add, Program: func(argv []string) *auth.Command {
		return c.tokenProgram(config.ProviderAuth{Command: argv[0], Args: argv[1:]})
	}}
	for name, p := range c.Providers {
		clouds.Transport = provider.Provider{Proxy: p.Proxy, CACertificate: p.CACertificate}.Transport(name)
		a := auth.Provider{
			Name: p.Name, Token: p.ExperimentalBearerToken, EnvKey: p.EnvKey, Instructions: p.EnvKeyInstructions,
			Device: auth.Device{ClientID: p.OAuth.ClientID, DeviceURL: p.OAuth.DeviceURL, TokenURL: p.OAuth.TokenURL,
				Scopes: p.OAuth.Scopes, Audience: p.OAuth.Audience, AuthURL: p.OAuth.AuthURL, RedirectPort: p.OAuth.RedirectPort,
				AuthParams: p.OAuth.AuthParams, AccountClaim: p.OAuth.AccountClaim, AccountHeader: p.OAuth.AccountHeader,
				NeedsClient: p.OAuth.ClientRequired, Client: auth.Through(clouds.Transport)},
			Cloud:    clouds.Of(p.Auth.Kind, p.Auth.Scope),
			Exchange: auth.ExchangeAt(p.OAuth.ExchangeURL, p.HTTPHeaders, auth.Through(clouds.Transport)),
		}
		if name == "openai" {
			a.FirstEnvKey = "CODEX_API_KEY"
		}
		if p.Auth.Command != "" {
			a.Command = c.tokenProgram(p.Auth)
		}
		k.Providers[name] = a
	}
	return k
}

// tokenProgram is the user's own: nothing of a project starts in its place.
func (c configured) tokenProgram(a config.ProviderAuth) *auth.Command {
	env := proc.OwnEnv(c.env, c.Workspaces(c.Cwd))
	dir, err := c.ProgramDir(a.Cwd, c.Cwd)
	program, missing := proc.Lookup(a.Command, dir, env)
	return &auth.Command{Argv: append([]string{cmp.Or(program, a.Command)}, a.Args...), Dir: dir, Env: env,
		Unfit: cmp.Or(err, missing), Timeout: a.Timeout, Refresh: a.Refresh}
}

func (c configured) providerOptions(keys *auth.Keys) provider.Options {
	o := provider.Options{
		Providers:    map[string]provider.Provider{},
		Default:      c.ModelProvider,
		Model:        c.Model,
		ModelNamed:   c.Origin("model") != "",
		Fallbacks:    c.ModelFallbacks,
		Local:        c.OSSProvider,
		CatalogPath:  filepath.Join(c.Home, "models.json"),
		Overrides:    map[string]catalog.Override{},
		Window:       c.ModelContextWindow,
		CompactLimit: c.AutoCompactLimit,
		WebSearch:    c.Tools.WebSearch,
		Redact:       c.redact,
		Lookup:       keys.InAddress,
	}
	for name, f := range c.Models {
		o.Overrides[name] = catalog.Override(f)
	}
	for name, p := range c.Providers {
		o.Providers[name] = c.providerOf(p)
	}
	unchosen := c.Origin("model_provider") == "default" &&
		c.Origin("model_providers."+c.ModelProvider+".base_url") == "default"
	o.Keyless = func() bool { return unchosen && keys.Missing(c.ModelProvider) }
	o.Unchosen, o.Found = unchosen, keys.Found
	o.Key = func(name string) (provider.Key, error) {
		k, err := keys.Key(name)
		var missing *auth.MissingError
		if errors.As(err, &missing) {
			err = &protocol.CredentialsError{Provider: name, Err: err}
		}
		return provider.Key(k), err
	}
	patch := tools.Patch()
	o.Patch = model.Tool{Name: patch.Name, Schema: patch.Schema, Grammar: patch.Grammar}
	return o
}

// providerOf says how a configured provider is reached.
func (c configured) providerOf(p config.Provider) provider.Provider {
	headers := map[string]string{"originator": "kerf", "user-agent": "kerf/" + Version}
	maps.Copy(headers, p.HTTPHeaders)
	for k, variable := range p.EnvHTTPHeaders {
		if v := c.getenv(variable); v != "" {
			headers[k] = v
		}
	}
	for k, v := range p.HTTPHeaders {
		c.secrets.AddNamed(k, v)
	}
	return provider.Provider{Name: p.Name, BaseURL: p.BaseURL, API: p.WireAPI, Headers: headers,
		QueryParams: p.QueryParams, EnvKey: p.EnvKey, KeyHeader: p.KeyHeader, IdleTimeout: p.StreamIdleTimeout,
		FirstAnswer: p.FirstAnswerTimeout, Retries: p.RequestMaxRetries, StreamRetries: p.StreamMaxRetries,
		CACertificate: p.CACertificate, Proxy: p.Proxy}
}

// choose returns the provider and the model of a session.
func (op opener) choose(ctx context.Context, name string) (*provider.Choice, error) {
	if op.client != nil {
		return op.registry.Fixed(name), nil
	}
	return op.registry.Choose(ctx, name, op.local)
}

// clientFor makes the client of a session. A missing key and a missing local server
// are errors before any request; set gets the model that was found when none was
// named.
func (op opener) clientFor(ctx context.Context, set *protocol.Settings) (model.Client, *provider.Choice, error) {
	choice, err := op.choose(ctx, set.Model)
	if err != nil {
		return nil, nil, err
	}
	set.Model = choice.Model
	if op.client != nil {
		return op.client, choice, nil
	}
	client, err := choice.Client()
	if err != nil {
		return nil, nil, err
	}
	if path := cmp.Or(op.record, op.Record); path != "" {
		client = script.Record(client, script.RecordOptions{Path: path, Title: "recorded with " + set.Model,
			Redact: op.redact})
	}
	return client, choice, nil
}

// Scripted returns a client that plays a scenario.
func Scripted(r io.Reader) (model.Client, error) { return provider.Scripted(r) }

// Told is what `kerf debug provider` tells of an answer.
type Told = provider.Told

// ModelInfo is one model and what is known of it.
type ModelInfo = provider.Model

// Price is what tokens of a model cost in US dollars, and whether that is known.
func (h *Host) Price(name string, u protocol.Usage) (float64, bool) {
	return h.Providers().Fixed(name).Price(name, model.Usage(u))
}
