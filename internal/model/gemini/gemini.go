// Package gemini speaks the generateContent protocol.
//
// The provider signs what its models think; the signatures travel as reasoning
// items before the calls they belong to, and go back with them.
package gemini

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

// Options says how the provider is reached.
type Options = wire.Options

// Client is a model.Client for one provider.
type Client struct {
	base     string // of the path, when base_url has none
	vertex   bool
	endpoint *wire.Endpoint
	contents prefix.Cache
	strict   prefix.Cache // for models that insist on signatures
}

var _ model.Client = (*Client)(nil)

// New returns a client. It does nothing before the first request.
func New(o Options) *Client {
	c := &Client{endpoint: wire.New(o)}
	if u, err := url.Parse(o.BaseURL); err == nil && strings.Trim(u.Path, "/") == "" {
		c.base = "/v1beta"
	}
	c.vertex = isVertex(o.BaseURL)
	c.contents.Encoder = encoder{nameless: c.vertex}
	c.strict.Encoder = encoder{sign: true, nameless: c.vertex}
	return c
}

// Stream makes one request, see model.Client.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	body, err := c.body(r)
	if err != nil {
		return &model.Error{Kind: model.BadCall, Message: err.Error(), Err: err}
	}
	d := newDecoder(r, emit)
	call := wire.Call{Path: c.base + "/models/" + strings.TrimPrefix(r.Model, "models/") + ":streamGenerateContent",
		Query: map[string]string{"alt": "sse"}, Body: body, Last: "the finish reason", End: d.end,
		Stopped: func() bool { return d.reason != "" }, Whole: whole,
		Authorize: c.authorize}
	return c.endpoint.Stream(ctx, call, func(ev sse.Event, limits map[string]string) (bool, error) {
		return false, d.event(ev, limits)
	})
}

// isVertex reports whether a base URL is one of Vertex: its host, or its path behind a proxy.
func isVertex(base string) bool {
	return strings.Contains(base, "aiplatform.googleapis.com") || strings.Contains(base, "/publishers/")
}

// authorize puts an API key where the protocol has it. Vertex takes tokens, as bearers; a key
// of its express mode begins like all API keys.
func (c *Client) authorize(h http.Header, key string) {
	if c.vertex && !strings.HasPrefix(key, "AIza") && !strings.HasPrefix(key, "AQ.") {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set("X-Goog-Api-Key", key)
}
