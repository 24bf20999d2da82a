// Package anthropic speaks the Messages protocol.
//
// Thinking goes back with its signature, as the provider demands while tools are
// in use. Cache marks stand behind the instructions and behind the last two
// messages of the user's side; they are put in when a request is sent, so that
// the messages themselves stay as they were.
package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/prefix"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// protocolVersion is the version of the protocol that is spoken.
const protocolVersion = "2023-06-01"

// Options says how the provider is reached.
type Options = wire.Options

// Client is a model.Client for one provider.
type Client struct {
	path     string
	endpoint *wire.Endpoint
	messages prefix.Cache
}

var _ model.Client = (*Client)(nil)

// New returns a client. It does nothing before the first request.
func New(o Options) *Client {
	c := &Client{endpoint: wire.New(o), path: "/v1/messages"}
	if u, err := url.Parse(o.BaseURL); err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1") {
		c.path = "/messages"
	}
	c.messages.Encoder = encoder{}
	return c
}

// Stream makes one request, see model.Client.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	body, err := c.body(r)
	if err != nil {
		return &model.Error{Kind: model.BadCall, Message: err.Error(), Err: err}
	}
	d := newDecoder(r, emit)
	call := wire.Call{Path: c.path, Body: body, Last: "message_stop", End: d.end,
		Header:    http.Header{"Anthropic-Version": {protocolVersion}},
		Authorize: authorize}
	return c.endpoint.Stream(ctx, call, func(ev sse.Event, limits map[string]string) (bool, error) {
		return d.event(ev, limits)
	})
}

// authorize puts an API key where the protocol has it.
func authorize(h http.Header, key string) { h.Set("X-Api-Key", key) }
