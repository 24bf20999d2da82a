// Package anthropic speaks the Messages protocol.
//
// Thinking goes back with its signature, as the provider demands while tools are
// in use. Cache marks stand behind the instructions and behind the last two
// messages of the user's side; they are put in when a request is sent, so that
// the messages themselves stay as they were.
//
// Amazon Bedrock and Google's Vertex serve the same protocol with the model in the path.
package anthropic

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"kerf/internal/model"
	"kerf/internal/model/eventstream"
	"kerf/internal/model/prefix"
	"kerf/internal/model/sse"
	"kerf/internal/model/wire"
)

// protocolVersion is the version of the protocol that is spoken.
const protocolVersion = "2023-06-01"

// Options says how the provider is reached.
type Options struct {
	wire.Options
	// Bedrock says that the provider is Amazon's, which has the name of the model in the
	// path and streams frames of its own.
	Bedrock bool
}

// Client is a model.Client for one provider.
type Client struct {
	path     string
	host     host
	endpoint *wire.Endpoint
	messages prefix.Cache
}

var _ model.Client = (*Client)(nil)

// host is who serves the models.
type host int

const (
	anthropicHost host = iota
	bedrockHost
	vertexHost
)

// versions are what the body of a request names to hosts that have the model in the path.
var versions = map[host]string{bedrockHost: "bedrock-2023-05-31", vertexHost: "vertex-2023-10-16"}

// New returns a client. It does nothing before the first request.
func New(o Options) *Client {
	c := &Client{endpoint: wire.New(o.Options), path: "/v1/messages"}
	switch {
	case o.Bedrock:
		c.host = bedrockHost
	case strings.HasSuffix(strings.TrimRight(o.BaseURL, "/"), "/publishers/anthropic"):
		c.host = vertexHost
	}
	if u, err := url.Parse(o.BaseURL); err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1") {
		c.path = "/messages"
	}
	c.messages.Encoder = encoder{}
	return c
}

// Stream makes one request, see model.Client.
func (c *Client) Stream(ctx context.Context, r *model.Request, emit func(model.Chunk) error) error {
	if c.host == bedrockHost && r.WebSearch != "" {
		plain := *r
		plain.WebSearch = "" // it has none
		r = &plain
	}
	body, err := c.body(r)
	if err != nil {
		return &model.Error{Kind: model.BadCall, Message: err.Error(), Err: err}
	}
	d := newDecoder(r, emit)
	call := wire.Call{Path: c.path, Body: body, Last: "message_stop", End: d.end, Header: http.Header{},
		Stopped: func() bool { return d.reason != "" }, Whole: whole}
	if facts, _ := c.endpoint.Facts(r.Model); c.host != bedrockHost && interleaves(thinkingOf(r, facts), facts) {
		call.Header.Set("Anthropic-Beta", interleaved)
	}
	switch c.host {
	case bedrockHost:
		call.Path = "/model/" + escaped(r.Model) + "/invoke-with-response-stream"
		call.Events = eventstream.NewReader
	case vertexHost:
		call.Path = "/models/" + escaped(r.Model) + ":streamRawPredict"
	default:
		call.Header.Set("Anthropic-Version", protocolVersion)
		call.Authorize = authorize
	}
	return c.endpoint.Stream(ctx, call, func(ev sse.Event, limits map[string]string) (bool, error) {
		return d.event(ev, limits)
	})
}

// escaped is the name of a model within a path, as the service's own library writes it:
// Amazon's names have colons and slashes.
func escaped(name string) string { return strings.ReplaceAll(url.PathEscape(name), ":", "%3A") }

// authorize puts an API key where the protocol has it.
func authorize(h http.Header, key string) { h.Set("X-Api-Key", key) }
