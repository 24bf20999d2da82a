package provider

import (
	"slices"

	"kerf/internal/model"
	"kerf/internal/model/picture"
	"kerf/internal/model/wire"
)

// pictured is an item made to fit the limits of a provider.
type pictured struct {
	item *model.Item
	api  string
	none bool // the model takes no images
}

// pictureLimits are what providers take without making images smaller on their
// side, which only costs time.
func pictureLimits(api string) picture.Limits {
	switch api {
	case "anthropic":
		return picture.Limits{Side: 1568, Bytes: 3_700_000}
	case "gemini":
		return picture.Limits{Side: 3072, Bytes: 7_000_000}
	}
	return picture.Limits{Side: 2048, Bytes: 7_000_000}
}

// fitPictures returns the items with images as the provider wants them. The same
// item always becomes the same one, so that what was sent is sent again byte for
// byte, and encodings are kept.
func (r *router) fitPictures(provider string, req *model.Request) []*model.Item {
	facts, known := r.registry.catalog.Facts(provider, req.Model)
	key := pictured{api: r.registry.o.Providers[provider].API, none: known && !facts.Images}
	items := req.Items
	for n, i := range req.Items {
		if !slices.ContainsFunc(i.Content, func(p model.Part) bool { return p.ImageURL != "" }) {
			continue
		}
		if &items[0] == &req.Items[0] {
			items = slices.Clone(items)
		}
		key.item = i
		items[n] = r.fitted(key)
	}
	return items
}

func (r *router) fitted(key pictured) *model.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.pictures[key]; i != nil {
		return i
	}
	fit := *key.item
	fit.Content = slices.Clone(fit.Content)
	for n, p := range fit.Content {
		switch {
		case p.ImageURL == "":
		case key.none:
			fit.Content[n] = model.Part{Text: wire.NoImage}
		default:
			fit.Content[n].ImageURL = picture.Fit(p.ImageURL, pictureLimits(key.api))
		}
	}
	if r.pictures == nil {
		r.pictures = map[pictured]*model.Item{}
	}
	r.pictures[key] = &fit
	return &fit
}
