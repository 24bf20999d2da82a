package provider

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"kerf/internal/model"
	"kerf/internal/model/anthropic"
	"kerf/internal/model/chat"
	"kerf/internal/model/family"
	"kerf/internal/model/gemini"
	"kerf/internal/model/openai"
	"kerf/internal/model/script"
	"kerf/internal/model/wire"
)

// build makes the client of one provider.
func (r *Registry) build(name string) (model.Client, error) {
	p, err := r.Provider(name)
	if err != nil {
		return nil, err
	}
	if p.API == "script" {
		return play(p.BaseURL)
	}
	o, err := r.options(name, p)
	if err != nil {
		return nil, err
	}
	o.Traffic = r.traffic
	o.Facts = func(model string) (family.Facts, bool) { return r.catalog.Facts(name, model) }
	switch p.API {
	case "responses":
		return openai.New(o), nil
	case "chat":
		return chat.New(chat.Options{Options: o, Lenient: name != "openai", Provider: name, Room: r.room(name),
			CacheKey: strings.Contains(p.BaseURL, "api.openai.com"), Router: strings.Contains(p.BaseURL, "openrouter.ai")}), nil
	case "anthropic":
		return anthropic.New(anthropic.Options{Options: o}), nil
	case "bedrock":
		return anthropic.New(anthropic.Options{Options: o, Bedrock: true}), nil
	case "gemini":
		return gemini.New(o), nil
	}
	return nil, setupFault("model_providers.%s: wire_api %q is unknown; use responses, chat, anthropic, gemini, "+
		"bedrock or script", name, p.API)
}

// play returns a client for the scenario in a file.
func play(path string) (model.Client, error) {
	if path == "" {
		return nil, setupFault("the provider script plays a scenario, and none is named; name its file: " +
			"-c model_providers.script.base_url=FILE (kerf help scenario)")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, setupFault("scenario: %w", err)
	}
	defer f.Close()
	c, err := Scripted(f)
	if err != nil {
		return nil, setupFault("%s: %w", path, err)
	}
	return c, nil
}

// Scripted returns a client that plays a scenario.
func Scripted(r io.Reader) (model.Client, error) {
	sc, err := script.Load(r)
	if err != nil {
		return nil, err
	}
	return script.New(sc), nil
}

// options say how a provider is reached.
func (r *Registry) options(name string, p Provider) (wire.Options, error) {
	key, err := r.o.Key(name)
	if err != nil {
		return wire.Options{}, err
	}
	return p.options(name, key)
}

// options say how a provider is reached with a key.
func (p Provider) options(name string, key Key) (wire.Options, error) {
	o := wire.Options{Name: p.Name, BaseURL: p.BaseURL, Key: key.Get, Rejected: key.Rejected, Headers: p.Headers,
		QueryParams: p.QueryParams, IdleTimeout: p.IdleTimeout, FirstAnswer: p.FirstAnswer,
		EnvKey: p.EnvKey, Proxy: p.Proxy, KeyHeader: p.KeyHeader, Bearer: key.Bearer, KeyHeaders: key.Header, Base: key.Base,
		Sign: key.Sign, Clock: key.Clock}
	var err error
	o.RootCAs, err = p.roots(name)
	return o, err
}

// roots are the certificates that are trusted for a provider, nil for the system's.
func (p Provider) roots(name string) (*x509.CertPool, error) {
	if p.CACertificate == "" {
		return nil, nil
	}
	roots, err := certificates(p.CACertificate)
	if err != nil {
		return nil, setupFault("model_providers.%s.ca_certificate: %w", name, err)
	}
	return roots, nil
}

// Transport is how sign-ins of a provider reach their servers: through its proxy, and with its
// certificates; nil where it has neither. What is wrong with these the first request tells.
func (p Provider) Transport(name string) http.RoundTripper {
	if p.Proxy == "" && p.CACertificate == "" {
		return nil
	}
	return transport(sync.OnceValues(func() (*http.Transport, error) {
		roots, err := p.roots(name)
		if err != nil {
			return nil, err
		}
		return wire.Transport(p.Proxy, roots), nil
	}))
}

// transport is made for the first request.
type transport func() (*http.Transport, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	made, err := t()
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return made.RoundTrip(req)
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
