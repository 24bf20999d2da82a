package provider

import (
	"slices"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// What a model thought comes back sealed: signatures, encrypted text, the member it came
// under. Only the model that made it can read it, and only at the same provider; others
// refuse the whole request. So it is kept with its origin, and sent nowhere else.

// origin is where a sealed item was made.
type origin struct{ provider, model string }

// originMark begins what is sealed with an origin: of:PROVIDER|MODEL|rest.
const originMark = "of:"

func (o origin) prefix() string {
	plain := strings.NewReplacer("|", "_")
	return originMark + plain.Replace(o.provider) + "|" + plain.Replace(o.model) + "|"
}

// seal returns the item with its origin, or the item itself when nothing of it is sealed.
func (o origin) seal(i *model.Item) *model.Item {
	if i == nil || i.Kind != model.Reasoning || i.Encrypted == "" {
		return i
	}
	marked := *i
	marked.Encrypted = o.prefix() + i.Encrypted
	return &marked
}

// opened is an item as a certain model gets it.
type opened struct {
	item *model.Item
	to   origin
}

// open returns the items as the model of o gets them: what it sealed itself as it was, and
// nothing of what others sealed. The same item always becomes the same one, so that
// encodings are kept.
func (r *router) open(items []*model.Item, o origin) []*model.Item {
	var fit []*model.Item
	for n, i := range items {
		if i.Kind != model.Reasoning || !strings.HasPrefix(i.Encrypted, originMark) {
			continue
		}
		if fit == nil {
			fit = slices.Clone(items)
		}
		fit[n] = r.openedFor(opened{i, o})
	}
	if fit == nil {
		return items
	}
	return fit
}

func (r *router) openedFor(key opened) *model.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.opened[key]; i != nil {
		return i
	}
	i := *key.item
	sealed, own := strings.CutPrefix(i.Encrypted, key.to.prefix())
	if i.Encrypted = sealed; !own {
		i.Encrypted = ""
	}
	if r.opened == nil {
		r.opened = map[opened]*model.Item{}
	}
	r.opened[key] = &i
	return &i
}

// received returns a chunk as the session gets it: calls under the names of the tools that
// were meant, with bare arguments, and what is sealed with its origin.
func (o origin) received(c model.Chunk, tools []model.Tool) model.Chunk {
	switch c := c.(type) {
	case model.ItemAdded:
		c.Item = wire.MeantTool(c.Item, tools)
		return c
	case model.ItemDone:
		c.Item = o.seal(wire.BareArguments(wire.MeantTool(c.Item, tools)))
		return c
	}
	return c
}
