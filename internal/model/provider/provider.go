// Package provider knows the configured providers of models: how each is reached,
// which one a session uses, and what each of their models takes.
package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/provider/catalog"
	"kerf/internal/model/provider/local"
	"kerf/internal/text/pattern"
)

// Provider says how one provider is reached.
type Provider struct {
	Name    string // as people know it
	BaseURL string // of a script, the file
	API     string // responses, chat, anthropic, gemini, bedrock or script
	Headers map[string]string
	// QueryParams are added to every request.
	QueryParams map[string]string
	EnvKey      string // the variable of the key, for hints
	KeyHeader   string // of the key, where it is not the protocol's
	IdleTimeout time.Duration
	// FirstAnswer is how long the beginning of an answer is waited for, 0 for what suits
	// the address, see wire.Options.
	FirstAnswer time.Duration
	// Retries is how often the caller of a client asks again, StreamRetries how often behind an
	// answer that had begun.
	Retries, StreamRetries int
	// CACertificate is a file of certificates that are trusted beside the
	// system's, Proxy an address that replaces those of the environment.
	CACertificate string
	Proxy         string
}

// Key is what the requests to a provider are authorized with, see wire.Options.
// All may be nil.
type Key struct {
	Get      func(ctx context.Context) (string, error)
	Rejected func(key string) bool
	Header   func() map[string]string
	Base     func() string
	Bearer   bool
	Sign     func(req *http.Request, body io.Reader) error
	Clock    func(server time.Time) bool
}

// Options say which providers there are.
type Options struct {
	Providers map[string]Provider
	// Default is the provider of models that name none. Keyless reports whether
	// nobody chose it and there is no key for it.
	Default string
	Keyless func() bool
	// Unchosen says that nobody chose the default provider. Found are the keys that
	// are there, by provider: the variables that hold them, empty where the user signed in.
	Unchosen bool
	Found    func() map[string]string
	// Model is the configured model, ModelNamed whether the user named it.
	Model      string
	ModelNamed bool
	// Fallbacks are the models that are asked when one cannot answer.
	Fallbacks []string
	// Local is the only local server that is looked for; empty means all.
	Local string
	// Lookup tells what stands for a name in an address. It is asked when the provider is
	// used.
	Lookup func(provider, name string) string
	// Key finds the key of a provider. A missing one is an error with an exit code.
	Key func(provider string) (Key, error)
	// CatalogPath is the file of what servers told of their models. Overrides are
	// the user's word, by the beginnings of models' names.
	CatalogPath string
	Overrides   map[string]catalog.Override
	// Window is the user's word on the context window of every model, CompactLimit
	// on the size at which a history is compacted. 0 means unsaid.
	Window       int
	CompactLimit int
	// Redact takes secrets out of what is recorded; nil leaves everything.
	Redact func([]byte) []byte
	// WebSearch is live or cached, or disabled.
	WebSearch string
	// Patch is the tool apply_patch in both forms: with a schema and a grammar.
	Patch model.Tool
}

// Registry knows the configured providers. It may be used by several goroutines.
type Registry struct {
	o       Options
	catalog *catalog.Catalog

	// traffic, when not nil, is put around the connections of the clients.
	traffic func(http.RoundTripper) http.RoundTripper

	mu    sync.Mutex
	rooms map[string]int // tokens of context that Ollama is asked for, by model; guarded by mu
}

// New returns a registry. Nothing is read or asked before it is needed.
func New(o Options) *Registry {
	return &Registry{o: o, catalog: catalog.New(o.CatalogPath, o.Overrides)}
}

// Provider returns a provider by its name in the configuration.
func (r *Registry) Provider(name string) (Provider, error) {
	p, ok := r.o.Providers[name]
	var err error
	if !ok {
		return p, setupFault("model_provider %q is not configured; add [model_providers.%s]", name, name)
	}
	p.BaseURL, err = r.expanded(name, p.BaseURL)
	return p, err
}

// placeholder is a name in an address that something stands for: ${NAME}, or ${NAME|OTHER}
// for the first of several that is set.
var placeholder = pattern.Lazy(`\$\{([A-Za-z_][A-Za-z0-9_]*(?:\|[A-Za-z_][A-Za-z0-9_]*)*)\}`)

// partOfAddress is what may stand for a name: nothing that leads to another host or path.
var partOfAddress = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// expanded is an address with what stands for its names.
func (r *Registry) expanded(provider, address string) (string, error) {
	var fault error
	whole := placeholder().ReplaceAllStringFunc(address, func(s string) string {
		names := strings.Split(s[2:len(s)-1], "|")
		for _, name := range names {
			if r.o.Lookup == nil {
				break
			}
			switch v := r.o.Lookup(provider, name); {
			case v == "":
			case !partOfAddress().MatchString(v):
				fault = setupFault("model_providers.%s.base_url: %s is no part of an address", provider, name)
				return s
			default:
				return v
			}
		}
		fault = setupFault("model_providers.%s.base_url needs %s, which is not set; set it, or base_url itself", provider,
			strings.Join(names, " or "))
		return s
	})
	return whole, fault
}

// setupError is a fault of the configuration that was found before any request.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// ExitCode is that of faults of usage and configuration.
func (e *setupError) ExitCode() int { return 2 }

func setupFault(format string, args ...any) error {
	return &setupError{fmt.Errorf(format, args...)}
}

// address is where a local server is looked for.
func (r *Registry) address(name string) local.Address {
	p := r.o.Providers[name]
	return local.Address{Provider: name, Name: p.Name, BaseURL: p.BaseURL}
}

// Servers asks the servers of this machine what they have. Those that do not
// answer are left out.
func (r *Registry) Servers(ctx context.Context) []local.Server {
	names := local.Providers()
	if r.o.Local != "" {
		names = []string{r.o.Local}
	}
	var at []local.Address
	for _, name := range names {
		if _, ok := r.o.Providers[name]; ok {
			at = append(at, r.address(name))
		}
	}
	return local.Servers(ctx, at)
}

// Pull has Ollama fetch a model, telling how it goes.
func (r *Registry) Pull(ctx context.Context, name string, tell func(status string, done, total int64)) error {
	p, err := r.Provider("ollama")
	if err != nil {
		return err
	}
	err = r.address("ollama").Pull(ctx, name, tell)
	if errors.Is(err, local.ErrSilent) {
		return setupFault("%s does not answer at %s; start it with: ollama serve", p.Name, r.address("ollama").Root())
	}
	return err
}

// Names are the names of the configured providers, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.o.Providers)) }
