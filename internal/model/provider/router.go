package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// router sends a request to the provider of its model, in the form that suits
// the model, and to the next model when one cannot answer. Clients are made when
// they are first used.
type router struct {
	*Choice
	mu       sync.Mutex
	clients  map[string]model.Client  // by provider; guarded by mu
	pictures map[pictured]*model.Item // items with their images made to fit; guarded by mu
	opened   map[opened]*model.Item   // items as a model gets them; guarded by mu
	fallen   int                      // how many models of the chain were given up; guarded by mu
	failures int                      // in a row, of the model in use; guarded by mu
	warned   bool                     // that the context is too small; guarded by mu
}

var _ model.Client = (*router)(nil)

// client returns the client of a provider.
func (r *router) client(provider string) (model.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[provider]; c != nil {
		return c, nil
	}
	c, err := r.registry.build(provider)
	if err != nil {
		return nil, err
	}
	r.clients[provider] = c
	return c, nil
}

// Stream makes one request, see model.Client.
func (r *router) Stream(ctx context.Context, req *model.Request, emit func(model.Chunk) error) error {
	chain := append([]string{req.Model}, r.registry.o.Fallbacks...)
	r.mu.Lock()
	at := min(r.fallen, len(chain)-1)
	r.mu.Unlock()
	for {
		began := false
		err := r.one(ctx, chain[at], at > 0, req, func(c model.Chunk) error {
			if _, told := c.(model.Notice); !told {
				began = true
			}
			return emit(c)
		})
		if err == nil || began || at == len(chain)-1 || !r.givesUp(req.Model, err) {
			r.count(err)
			return err
		}
		at++
		r.mu.Lock()
		r.fallen, r.failures = at, 0
		r.mu.Unlock()
		notice := fmt.Sprintf("%s cannot answer (%v); asking %s instead", chain[at-1], err, chain[at])
		if err := emit(model.Notice{Text: notice}); err != nil {
			return err
		}
	}
}

// givesUp reports whether a model is no longer asked: at once when it cannot
// answer at all, and when the caller, who wants an answer of a model, would ask no more
// otherwise.
func (r *router) givesUp(wanted string, err error) bool {
	var setup interface{ ExitCode() int } // a fault of the configuration
	var e *model.Error
	switch {
	case errors.As(err, &setup):
		return true
	case !errors.As(err, &e):
		return false
	case e.Kind == model.Auth, e.Kind == model.Quota, e.Status == http.StatusNotFound:
		return true
	}
	most, _ := r.Retries(wanted)
	r.mu.Lock()
	defer r.mu.Unlock()
	return e.Passes() && r.failures >= most
}

func (r *router) count(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if err == nil {
		r.failures = 0
	}
}

// one asks one model. What another provider or another model sealed stays at home.
func (r *router) one(ctx context.Context, name string, elsewhere bool, req *model.Request,
	emit func(model.Chunk) error) error {
	provider, bare := r.split(name)
	c, err := r.client(provider)
	if err != nil {
		return err
	}
	fit := *req
	fit.Model = bare
	r.registry.fit(provider, &fit)
	fit.Items = r.fitPictures(provider, &fit)
	if elsewhere && provider != r.Provider {
		fit.Items = unsealed(fit.Items)
	}
	here := origin{provider, bare}
	fit.Items = r.open(fit.Items, here)
	if err := r.warn(provider, &fit, emit); err != nil {
		return err
	}
	stream := func(ctx context.Context, emit func(model.Chunk) error) error {
		return c.Stream(ctx, &fit, func(c model.Chunk) error { return emit(here.received(c, fit.Tools)) })
	}
	if p := r.registry.o.Providers[provider]; wire.Local(p.BaseURL) {
		return patient(ctx, p.Name, firstWait, nextWait, emit, stream)
	}
	return stream(ctx, emit)
}

// warn tells once that a model of this machine holds less than what it is sent.
func (r *router) warn(provider string, req *model.Request, emit func(model.Chunk) error) error {
	text := r.tooSmall(provider, req)
	r.mu.Lock()
	tell := text != "" && !r.warned
	r.warned = true
	r.mu.Unlock()
	if !tell {
		return nil
	}
	return emit(model.Notice{Text: text})
}
