package host

import (
	"strings"

	"kerf/internal/config"
	"kerf/internal/model"
)

// Facts is what is known of a model, which may name its provider: what the user
// says counts, then what the server told, then what is built in.
func (h *Host) Facts(name string) (model.Facts, bool) {
	provider, bare := h.split(name)
	return h.factsOf(provider, bare)
}

func (h *Host) factsOf(provider, name string) (model.Facts, bool) {
	facts, known := model.Lookup(name)
	if told, ok := h.told(provider, name); ok {
		facts, known = merge(facts, told), true
	}
	if over, ok := h.override(name); ok {
		facts, known = correct(facts, over), true
	}
	return facts, known
}

// override is the user's word on a model: that of the longest name it begins
// with.
func (h *Host) override(name string) (config.ModelFacts, bool) {
	best, found := "", false
	for n := range h.Config.Models {
		if strings.HasPrefix(name, n) && (!found || len(n) > len(best)) {
			best, found = n, true
		}
	}
	return h.Config.Models[best], found
}

// merge takes over what a server told of a model.
func merge(f, told model.Facts) model.Facts {
	if told.Window > 0 {
		f.Window = told.Window
	}
	if told.MaxOutput > 0 {
		f.MaxOutput = told.MaxOutput
	}
	f.Images = f.Images || told.Images
	if told.Prices != (model.Prices{}) {
		f.Prices = told.Prices
	}
	return f
}

func correct(f model.Facts, o config.ModelFacts) model.Facts {
	if o.Window > 0 {
		f.Window = o.Window
	}
	if o.MaxOutput > 0 {
		f.MaxOutput = o.MaxOutput
	}
	if o.Parallel != "" {
		f.Parallel = o.Parallel == "yes"
	}
	if o.Images != "" {
		f.Images = o.Images == "yes"
	}
	switch o.Reasoning {
	case "":
	case "none":
		f.Reasoning = model.NoReasoning
	default:
		f.Reasoning = model.ReasoningStyle(o.Reasoning)
	}
	if o.EditTool != "" {
		f.EditTool = model.EditTool(o.EditTool)
	}
	for price, to := range map[*float64]*float64{&o.PriceInput: &f.Prices.Input, &o.PriceCached: &f.Prices.Cached,
		&o.PriceCacheWrite: &f.Prices.CacheWrite, &o.PriceOutput: &f.Prices.Output} {
		if *price > 0 {
			*to = *price
		}
	}
	return f
}
