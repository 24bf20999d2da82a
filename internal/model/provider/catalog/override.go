package catalog

import (
	"strings"

	"kerf/internal/model/family"
)

// Override is the user's word on models. Zero and empty mean unsaid; Parallel and
// Images are yes or no. Prices are US dollars for a million tokens.
type Override struct {
	Window          int
	MaxOutput       int
	Parallel        string
	Images          string
	Reasoning       string
	EditTool        string
	PriceInput      float64
	PriceCached     float64
	PriceCacheWrite float64
	PriceOutput     float64
}

// override is the user's word on a model: that of the longest name it begins
// with.
func (c *Catalog) override(name string) (Override, bool) {
	best, found := "", false
	for n := range c.overrides {
		if strings.HasPrefix(name, n) && (!found || len(n) > len(best)) {
			best, found = n, true
		}
	}
	return c.overrides[best], found
}

func (o Override) apply(f family.Facts) family.Facts {
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
		f.Reasoning = family.NoReasoning
	default:
		f.Reasoning = family.Reasoning(o.Reasoning)
	}
	if o.EditTool != "" {
		f.EditTool = family.EditTool(o.EditTool)
	}
	for price, to := range map[*float64]*float64{&o.PriceInput: &f.Prices.Input, &o.PriceCached: &f.Prices.Cached,
		&o.PriceCacheWrite: &f.Prices.CacheWrite, &o.PriceOutput: &f.Prices.Output} {
		if *price > 0 {
			*to = *price
		}
	}
	return f
}

// merge takes over what a server told of a model.
func merge(f, told family.Facts) family.Facts {
	if told.Window > 0 {
		f.Window = told.Window
	}
	if told.MaxOutput > 0 {
		f.MaxOutput = told.MaxOutput
	}
	f.Images = f.Images || told.Images
	if told.Prices != (family.Prices{}) {
		f.Prices = told.Prices
	}
	return f
}
