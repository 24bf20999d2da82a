package host

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/chat"
	"kerf/internal/model/gemini"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/model/wire"
	"kerf/internal/protocol"
)

// setupError is a fault of configuration that was found before any request.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }
func (e *setupError) Unwrap() error { return e.err }

// ExitCode is that of faults of usage and configuration.
func (e *setupError) ExitCode() int { return 2 }

func setupFault(format string, args ...any) error {
	return &setupError{fmt.Errorf(format, args...)}
}

// Provider is the chosen provider.
func (h *Host) Provider() (config.Provider, error) { return h.provider(h.Config.ModelProvider) }

func (h *Host) provider(name string) (config.Provider, error) {
	p, ok := h.Config.Providers[name]
	if !ok {
		return p, setupFault("model_provider %q is not configured; add [model_providers.%s]", name, name)
	}
	return p, nil
}

// client makes the client of a session. A missing key and a missing local server
// are errors before any request; set gets the model that was found when none was
// named.
func (h *Host) client(ctx context.Context, set *protocol.Settings) (model.Client, config.Provider, error) {
	if err := h.chooseLocal(ctx, set); err != nil {
		return nil, config.Provider{}, err
	}
	p, err := h.Provider()
	if err != nil {
		return nil, p, err
	}
	if h.Client != nil {
		return h.Client, p, nil
	}
	if p.WireAPI != "script" && set.Model == "" {
		return nil, p, setupFault("no model is named for provider %s; give one with -m, or set model in config.toml (kerf models lists them)", p.Name)
	}
	r := &router{h: h, retries: p.RequestMaxRetries, clients: map[string]model.Client{}}
	name, _ := h.split(set.Model)
	if _, err := r.client(name); err != nil {
		return nil, p, err
	}
	var client model.Client = r
	if path := h.recordPath(); path != "" {
		client = script.Record(client, script.RecordOptions{Path: path, Title: "recorded with " + set.Model, Redact: h.redact})
	}
	return client, p, nil
}

func (h *Host) recordPath() string {
	if h.Record != "" {
		return h.Record
	}
	return h.Config.Record
}

// split parts a model's name from the provider that may stand before it, as in
// "anthropic:claude-sonnet-4-6". Without one it is the chosen provider.
func (h *Host) split(name string) (provider, rest string) {
	if before, after, ok := strings.Cut(name, ":"); ok && after != "" {
		if _, known := h.Config.Providers[before]; known {
			return before, after
		}
	}
	return h.Config.ModelProvider, name
}

// build makes the client of one provider.
func (h *Host) build(name string) (model.Client, error) {
	p, err := h.provider(name)
	if err != nil {
		return nil, err
	}
	if p.WireAPI == "script" {
		f, err := os.Open(p.BaseURL)
		if err != nil {
			return nil, setupFault("scenario: %w", err)
		}
		defer f.Close()
		c, err := Scripted(f)
		if err != nil {
			return nil, setupFault("%s: %w", p.BaseURL, err)
		}
		return c, nil
	}
	o, err := h.wireOptions(name, p)
	if err != nil {
		return nil, err
	}
	facts := func(model string) (model.Facts, bool) { return h.factsOf(name, model) }
	switch p.WireAPI {
	case "responses":
		return openai.New(o), nil
	case "chat":
		return chat.New(chat.Options{Options: o, Facts: facts, Lenient: name != "openai", Join: isLocal(name),
			CacheKey: strings.Contains(p.BaseURL, "api.openai.com"), Router: strings.Contains(p.BaseURL, "openrouter.ai")}), nil
	case "anthropic":
		return anthropic.New(anthropic.Options{Options: o, Facts: facts}), nil
	case "gemini":
		return gemini.New(gemini.Options{Options: o, Facts: facts}), nil
	}
	return nil, setupFault("model_providers.%s: wire_api %q is unknown; use responses, chat, anthropic, gemini or script", name, p.WireAPI)
}

// wireOptions says how a provider is reached.
func (h *Host) wireOptions(name string, p config.Provider) (wire.Options, error) {
	key, rejected, err := h.key(name, p)
	if err != nil {
		return wire.Options{}, err
	}
	headers := map[string]string{"originator": "kerf", "user-agent": "kerf/" + Version}
	maps.Copy(headers, p.HTTPHeaders)
	for k, name := range p.EnvHTTPHeaders {
		if v := h.Getenv(name); v != "" {
			headers[k] = v
		}
	}
	for k, v := range p.HTTPHeaders {
		h.secrets.AddNamed(k, v)
	}
	o := wire.Options{Name: p.Name, BaseURL: p.BaseURL, Key: key, Rejected: rejected, Headers: headers, QueryParams: p.QueryParams,
		IdleTimeout: p.StreamIdleTimeout, EnvKey: p.EnvKey, Proxy: p.Proxy}
	if p.CACertificate != "" {
		if o.RootCAs, err = certificates(p.CACertificate); err != nil {
			return o, setupFault("model_providers.%s.ca_certificate: %w", name, err)
		}
	}
	return o, nil
}

// certificates are the system's and those of a file.
func certificates(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", path)
	}
	return pool, nil
}

// keyFunc tells the key for a request; a rejected one may be replaced.
type (
	keyFunc      = func(context.Context) (string, error)
	rejectedFunc = func(string) bool
)

// key finds the provider's key: its own token, the program or the variable it
// names, what kerf login stored, or none where none is needed.
func (h *Host) key(name string, p config.Provider) (keyFunc, rejectedFunc, error) {
	if p.ExperimentalBearerToken != "" {
		return h.fixed(p.ExperimentalBearerToken), nil, nil
	}
	if p.Auth.Command != "" {
		c := &auth.Command{Argv: append([]string{p.Auth.Command}, p.Auth.Args...), Dir: orElse(p.Auth.Cwd, h.Config.Cwd), Env: h.Env,
			Timeout: p.Auth.Timeout, Refresh: p.Auth.Refresh}
		return func(ctx context.Context) (string, error) {
			token, err := c.Token(ctx)
			h.secrets.Add(token)
			return token, err
		}, c.Rejected, nil
	}
	if k := h.envKey(name, p); k != "" {
		return h.fixed(k), nil, nil
	}
	stored, _, err := h.credentials().Get(name)
	switch {
	case err == nil && stored.Key != "":
		return h.fixed(stored.Key), nil, nil
	case err == nil:
		t := &tokens{h: h, provider: name, now: stored, device: h.device(p)}
		return t.key, t.rejected, nil
	case !errors.Is(err, auth.ErrNone):
		return nil, nil, &setupError{err}
	}
	if p.EnvKey == "" && p.OAuth.ClientID == "" {
		return nil, nil, nil
	}
	return nil, nil, h.missingKey(name, p)
}

// envKey is the key that the environment tells.
func (h *Host) envKey(name string, p config.Provider) string {
	if name == "openai" {
		if k := strings.TrimSpace(h.Getenv("CODEX_API_KEY")); k != "" {
			return k
		}
	}
	if p.EnvKey == "" {
		return ""
	}
	return strings.TrimSpace(h.Getenv(p.EnvKey))
}

func (h *Host) missingKey(name string, p config.Provider) error {
	hint := "set it, or sign in with: kerf login " + name
	if p.EnvKeyInstructions != "" {
		hint = p.EnvKeyInstructions
	}
	if p.EnvKey == "" {
		return &protocol.CredentialsError{Provider: name, Err: fmt.Errorf("provider %s needs a sign-in; run: kerf login %s", p.Name, name)}
	}
	return &protocol.CredentialsError{Provider: name,
		Err: fmt.Errorf("provider %s needs a key: the environment variable %s is not set; %s", p.Name, p.EnvKey, hint)}
}

// fixed is a key that is known already.
func (h *Host) fixed(key string) keyFunc {
	h.secrets.Add(key)
	return wire.StaticKey(key)
}

// tokens are those of a sign-in, renewed when they are old or refused.
type tokens struct {
	h        *Host
	provider string
	device   *auth.Device
	mu       sync.Mutex
	now      auth.Credential // guarded by mu
}

func (t *tokens) key(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Stale(time.Now()) {
		fresh, err := t.device.Renew(ctx, t.now)
		if err != nil {
			return "", err
		}
		t.now = fresh
		if _, err := t.h.credentials().Put(t.provider, fresh); err != nil {
			return "", err
		}
	}
	t.h.secrets.Add(t.now.Access)
	t.h.secrets.Add(t.now.Refresh)
	return t.now.Access, nil
}

func (t *tokens) rejected(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Access != key {
		return true // renewed meanwhile
	}
	if t.now.Refresh == "" {
		return false
	}
	t.now.Expires = time.Unix(1, 0)
	return true
}

// Scripted returns a client that plays a scenario.
func Scripted(r io.Reader) (model.Client, error) {
	sc, err := script.Load(r)
	if err != nil {
		return nil, err
	}
	return script.New(sc), nil
}
