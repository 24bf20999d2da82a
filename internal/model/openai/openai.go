// Package openai speaks the Responses protocol to a model provider.
//
// Requests keep nothing at the provider and ask for encrypted reasoning, so the
// conversation travels whole in each of them. It is encoded once: request n+1
// begins with the bytes of request n, see package prefix.
package openai

import (
	"context"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// Options says how the provider is reached.
type Options = wire.Options

// Client is a model.Client for one provider.
type Client struct {
	endpoint *wire.Endpoint
	inputs   prefix.Cache
}

var _ model.Client = (*Client)(nil)

// New returns a client. It does nothing before the first request.
func New(o Options) *Client {
	return &Client{endpoint: wire.New(o), inputs: prefix.Cache{Encoder: encoder{}}}
}

// Stream makes one request, see model.Client.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	body, err := c.body(r)
	if err != nil {
		return &model.Error{Kind: model.BadCall, Message: err.Error(), Err: err}
	}
	d := newDecoder(emit)
	call := wire.Call{Path: "/responses", Body: body, Last: completed, End: d.end, Whole: whole}
	return c.endpoint.Stream(ctx, call, func(ev sse.Event, limits map[string]string) (bool, error) {
		return d.event(ev, limits)
	})
}
