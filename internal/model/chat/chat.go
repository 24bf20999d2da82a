// Package chat speaks the Chat Completions protocol, as OpenAI, OpenRouter,
// Azure, vLLM, Ollama, LM Studio and llama.cpp serve it.
//
// Servers differ in what they send and small models in what they write, so the
// decoder takes what there is: calls in pieces or whole, with ids or without,
// reasoning under its several names, and, when asked to, calls that a model
// wrote as text.
package chat

import (
	"context"
	"sync"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// Options says how the provider is reached and what it is like.
type Options struct {
	wire.Options
	// Lenient looks for calls in the text of models that are not known to make
	// proper ones. Only offered tools are found.
	Lenient bool
	// Provider is the provider's name in the configuration, which tells what its server
	// wants beside the protocol. Its address tells, too.
	Provider string
	// Room is how many tokens of context are asked for a model, 0 for none; nil asks for
	// none. Only some servers of this machine take it.
	Room func(model string) int
	// CacheKey sends the session's cache key, which only some servers take.
	CacheKey bool
	// Router marks a router that passes the members of its own on: reasoning,
	// usage and cache control.
	Router bool
}

// Client is a model.Client for one provider.
type Client struct {
	o        Options
	endpoint *wire.Endpoint
	effort   effortRule

	mu       sync.Mutex
	messages map[rules]*prefix.Cache // guarded by mu
}

var _ model.Client = (*Client)(nil)

// New returns a client. It does nothing before the first request.
func New(o Options) *Client {
	return &Client{o: o, endpoint: wire.New(o.Options), effort: effortOf(o.Provider, o.BaseURL), messages: map[rules]*prefix.Cache{}}
}

// cache keeps the conversations that are encoded by rules.
func (c *Client) cache(r rules) *prefix.Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages[r] == nil {
		c.messages[r] = &prefix.Cache{Encoder: encoder{r}}
	}
	return c.messages[r]
}

// Stream makes one request, see model.Client.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	body, err := c.body(r)
	if err != nil {
		return &model.Error{Kind: model.BadCall, Message: err.Error(), Err: err}
	}
	_, known := c.endpoint.Facts(r.Model)
	d := newDecoder(r, emit, c.o.Lenient && !(known && c.o.Router))
	call := wire.Call{Path: "/chat/completions", Body: body, Last: "the end of the answer", End: d.end,
		Stopped: func() bool { return d.reason != "" }, Whole: whole}
	return c.endpoint.Stream(ctx, call, func(ev sse.Event, limits map[string]string) (bool, error) {
		return d.event(ev, limits)
	})
}
