package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// frameLimit bounds one message of a server, in bytes.
const frameLimit = 16 << 20

// errUnauthorized says that a server wants a sign-in; trying again is no use.
var errUnauthorized = errors.New("it needs a sign-in; run: kerf mcp login")

// dial opens a session with the server. end frees what lies beneath it.
func (c *connection) dial(ctx context.Context) (*mcp.ClientSession, func() string, error) {
	if c.Unfit != nil {
		return nil, nil, c.Unfit
	}
	if c.Command != "" {
		return c.dialProgram(ctx)
	}
	http, err := c.httpClient(ctx)
	if err != nil {
		return nil, nil, err
	}
	streamable := &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: http, MaxEventSize: frameLimit}
	signIn := &stored{}
	if c.Store != nil {
		if signIn, err = c.signedIn(); err != nil {
			return nil, nil, err
		}
		streamable.OAuthHandler = signIn
	}
	first, cancel := context.WithTimeout(ctx, patience(c.StartupTimeout))
	session, err := c.client().Connect(first, streamable, nil)
	silent := first.Err() != nil && ctx.Err() == nil
	cancel()
	if err != nil && silent { // it does not answer what it does not know
		session, err = c.client().Connect(ctx, streamable, older())
	}
	silence := func() string { return "" }
	if err == nil {
		return session, silence, nil
	}
	if unauthorized(err) || signIn.wanted() {
		return nil, nil, fmt.Errorf("%w %s", errUnauthorized, c.Name)
	}
	if ctx.Err() != nil {
		return nil, nil, err
	}
	// Servers of the first revision speak over a stream of events.
	old, failure := c.client().Connect(ctx, &mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: http}, nil)
	if failure != nil {
		return nil, nil, err
	}
	return old, silence, nil
}

// dialProgram starts the server's program and opens a session over its streams. One that
// ends at the first request of the newest revision is started again and spoken to in an
// older one.
func (c *connection) dialProgram(ctx context.Context) (*mcp.ClientSession, func() string, error) {
	session, end, again, err := c.tryProgram(ctx, c.older)
	if again && ctx.Err() == nil {
		if session, end, _, err = c.tryProgram(ctx, true); err == nil {
			c.older = true
		}
	}
	return session, end, err
}

// tryProgram does so once; again says that an older revision may help.
func (c *connection) tryProgram(ctx context.Context, old bool) (s *mcp.ClientSession, end func() string, again bool,
	err error) {
	select {
	case c.m.forks <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, false, ctx.Err()
	}
	p, err := start(c.Server)
	<-c.m.forks
	if err != nil {
		return nil, nil, false, err
	}
	c.stream = newMessages(p.out)
	between := newProbe(c.stream, p.in, patience(c.StartupTimeout))
	var options *mcp.ClientSessionOptions
	if old {
		options = older()
	}
	session, err := c.client().Connect(ctx,
		&mcp.IOTransport{Reader: between, Writer: between, MaxLineLength: frameLimit + 1}, options)
	if err == nil {
		stream := c.stream
		return session, func() string { return p.end(stream.over()) }, false, nil
	}
	words, cause := p.end(c.stream.over()), c.stream.ended()
	switch {
	case cause != nil:
		err = cause
	case words != "" && ctx.Err() == nil:
		err = errors.New(words)
	case words != "":
		err = fmt.Errorf("%w; it said: %s", context.Cause(ctx), words)
	}
	return nil, nil, cause == nil && between.unanswered(), err
}

// httpClient sends the headers of the server with every request, but only to its
// own host.
func (c *connection) httpClient(context.Context) (*http.Client, error) {
	headers := http.Header{}
	for k, v := range c.Headers {
		headers.Set(k, v)
	}
	if c.Bearer != "" {
		headers.Set("Authorization", "Bearer "+c.Bearer)
	}
	r, err := http.NewRequest(http.MethodGet, c.URL, nil)
	if err != nil || r.URL.Host == "" || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("url %q is not an http address", c.URL)
	}
	return &http.Client{Transport: withHeaders{headers, r.URL.Host}}, nil
}

type withHeaders struct {
	headers http.Header
	host    string
}

// RoundTrip adds the headers and bounds what comes back.
func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == w.host {
		r = r.Clone(r.Context())
		for k, v := range w.headers {
			r.Header[k] = v
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = &boundedBody{res.Body, frameLimit + 1} // events are bounded one by one
	}
	return res, err
}

// unauthorized reports whether a connection failed for want of a sign-in.
func unauthorized(err error) bool {
	var signIn signInError
	text := err.Error()
	return errors.As(err, &signIn) || strings.Contains(text, "401") || strings.Contains(text, "Unauthorized")
}
