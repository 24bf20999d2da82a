package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"kerf/internal/agent/history"
	"kerf/internal/agent/tool"
	"kerf/internal/agent/tools"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// router sends a request to the provider of its model, in the form that suits
// the model, and to the next model when one cannot answer. Clients are made when
// they are first used.
type router struct {
	h       *Host
	retries int // how often the caller asks again

	mu       sync.Mutex
	clients  map[string]model.Client  // by provider; guarded by mu
	pictures map[pictured]*model.Item // items with their images made to fit; guarded by mu
	fallen   int                      // how many models of the chain were given up; guarded by mu
	failures int                      // in a row, of the model in use; guarded by mu
}

var _ model.Client = (*router)(nil)

// client returns the client of a provider.
func (r *router) client(provider string) (model.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[provider]; c != nil {
		return c, nil
	}
	c, err := r.h.build(provider)
	if err != nil {
		return nil, err
	}
	r.clients[provider] = c
	return c, nil
}

// Stream makes one request, see model.Client.
func (r *router) Stream(ctx context.Context, req *model.Request, emit func(model.Chunk) error) error {
	chain := append([]string{req.Model}, r.h.Config.ModelFallbacks...)
	r.mu.Lock()
	at := min(r.fallen, len(chain)-1)
	r.mu.Unlock()
	for {
		began := false
		err := r.one(ctx, chain[at], at > 0, req, func(c model.Chunk) error {
			began = true
			return emit(c)
		})
		if err == nil || began || at == len(chain)-1 || !r.givesUp(err) {
			r.count(err)
			return err
		}
		at++
		r.mu.Lock()
		r.fallen, r.failures = at, 0
		r.mu.Unlock()
		if err := emit(model.Notice{Text: fmt.Sprintf("%s cannot answer (%v); asking %s instead", chain[at-1], err, chain[at])}); err != nil {
			return err
		}
	}
}

// givesUp reports whether a model is no longer asked: at once when it cannot
// answer at all, and when the caller would ask no more otherwise.
func (r *router) givesUp(err error) bool {
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
	r.mu.Lock()
	defer r.mu.Unlock()
	return e.Passes() && r.failures >= r.retries
}

func (r *router) count(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	if err == nil {
		r.failures = 0
	}
}

// one asks one model. Reasoning that another provider sealed stays at home.
func (r *router) one(ctx context.Context, name string, elsewhere bool, req *model.Request, emit func(model.Chunk) error) error {
	provider, bare := r.h.split(name)
	c, err := r.client(provider)
	if err != nil {
		return err
	}
	fit := *req
	fit.Model = bare
	r.h.fit(provider, &fit)
	fit.Items = r.fitPictures(provider, &fit)
	if elsewhere && provider != r.h.Config.ModelProvider {
		fit.Items = unsealed(fit.Items)
	}
	return c.Stream(ctx, &fit, emit)
}

// fit gives a request the toolset of its model: a patch as free text only where
// that is known to work, and never no way to edit.
func (h *Host) fit(provider string, r *model.Request) {
	facts, known := h.factsOf(provider, r.Model)
	r.Parallel = r.Parallel && facts.Parallel
	if w := h.Config.Tools.WebSearch; w != "disabled" && len(r.Tools) > 0 {
		r.WebSearch = w
	}
	p := h.Config.Providers[provider]
	r.Tools = slices.Clone(r.Tools)
	for i, t := range r.Tools {
		spec, ok := freeformSpec(t.Name)
		if !ok {
			continue
		}
		if takesFreeform(facts, p) {
			r.Tools[i].Schema, r.Tools[i].Grammar = nil, spec.Grammar
		} else {
			r.Tools[i].Schema, r.Tools[i].Grammar = spec.Schema, ""
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == name })
	}
	if known && facts.EditTool == model.Replacements && has("edit_file") {
		r.Tools = slices.DeleteFunc(r.Tools, func(t model.Tool) bool { return t.Name == "apply_patch" })
	}
}

// freeform reports whether a model takes patches as free text.
func (h *Host) freeform(name string) bool {
	provider, bare := h.split(name)
	facts, _ := h.factsOf(provider, bare)
	return takesFreeform(facts, h.Config.Providers[provider])
}

func takesFreeform(f model.Facts, p config.Provider) bool {
	return f.EditTool == model.FreeformPatch && p.WireAPI == "responses"
}

// freeformSpec is the tool of a name if it has a grammar.
func freeformSpec(name string) (tool.Spec, bool) {
	t, ok := tools.Lookup(name)
	if !ok || name != "apply_patch" {
		return tool.Spec{}, false
	}
	spec := t.Spec()
	return spec, spec.Grammar != ""
}

// unsealed are items without what only their own provider can read.
func unsealed(items []*model.Item) []*model.Item {
	items = slices.Clone(items)
	for n, i := range items {
		if i.Kind == model.Reasoning && i.Encrypted != "" {
			open := *i
			open.Encrypted = ""
			items[n] = &open
		}
	}
	return items
}

// unseal drops from a resumed conversation what only the provider could read
// that it was held with. Other protocols tag theirs and are told apart later.
func (h *Host) unseal(st *history.State) {
	if st.Meta.Provider == "" || st.Meta.Provider == h.Config.ModelProvider {
		return
	}
	for _, i := range st.Items {
		if i.Kind == model.Reasoning && !wire.Tagged(i.Encrypted) {
			i.Encrypted = ""
		}
	}
}
