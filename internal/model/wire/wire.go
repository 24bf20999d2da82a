// Package wire carries one model request over HTTP: it posts a body, reads the
// event stream that answers, and turns everything that goes wrong on the way
// into a *model.Error.
//
// The protocols build on it: each encodes a request and decodes events, and
// knows nothing of connections. An [Endpoint] starts no goroutine of its own and
// may be used by several; connections are kept and used again.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kerf/internal/model"
	"kerf/internal/model/family"
	"kerf/internal/model/sse"
)

// DefaultIdle is the idle limit of providers that set none.
const DefaultIdle = 5 * time.Minute

// LocalFirst is how long a server of this machine may take to begin an answer.
const LocalFirst = 30 * time.Minute

// Options says how a provider is reached.
type Options struct {
	// Name is the provider's name in the configuration, used in messages.
	Name string
	// BaseURL is what paths are appended to. A query in it is kept.
	BaseURL string
	// Key returns the API key; nil, or an empty key, sends none. It is asked for
	// every request.
	Key func(ctx context.Context) (string, error)
	// EnvKey names the environment variable of the key, for hints.
	EnvKey string
	// Headers and QueryParams are added to every request.
	Headers     map[string]string
	QueryParams map[string]string
	// IdleTimeout ends a request when nothing whole arrived for so long after its
	// answer began. Zero means DefaultIdle, negative none.
	IdleTimeout time.Duration
	// FirstAnswer ends a request whose answer does not begin for so long. Zero means
	// LocalFirst for a server of this machine, which may have to load the model and to
	// read a long prompt first, and IdleTimeout for others. Negative means none.
	FirstAnswer time.Duration
	// Rejected is asked when the server refuses the key; it reports whether Key
	// has another one now. Nil means never.
	Rejected func(key string) bool
	// KeyHeader is the header of the key where it is not the protocol's. Bearer says that the
	// key is a token, which is no key of the protocol's and goes where tokens go.
	KeyHeader string
	Bearer    bool
	// KeyHeaders are added to the requests that carry the key, and Base, if not empty, is the
	// address that the key is for. Both are asked after Key, and may be nil.
	KeyHeaders func() map[string]string
	Base       func() string
	// Sign signs a request, which then carries no key; nil means that none is signed.
	Sign func(req *http.Request, body io.Reader) error
	// Clock is told what time it is for a server that refused a signed request; it reports
	// whether Sign now goes by another clock. Nil means never.
	Clock func(server time.Time) bool
	// RootCAs are trusted beside the system's, nil for the system's alone.
	RootCAs *x509.CertPool
	// Proxy is the address of a proxy that replaces those of the environment.
	Proxy string
	// Facts tells what is known of a model; nil is family.Lookup.
	Facts func(model string) (family.Facts, bool)
	// Traffic, when not nil, is put around what makes the connections.
	Traffic func(http.RoundTripper) http.RoundTripper
	// HTTPClient replaces the client that is made otherwise. Its redirect policy
	// is not used; redirects that could carry credentials away are refused.
	HTTPClient *http.Client
}

// StaticKey is a Key function for a key that does not change.
func StaticKey(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// Endpoint is a provider under its base URL.
type Endpoint struct {
	opts   Options
	client *http.Client
}

// New returns an endpoint. Nothing is looked up, opened or checked before the
// first request.
func New(o Options) *Endpoint {
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultIdle
	}
	if o.FirstAnswer == 0 {
		o.FirstAnswer = o.IdleTimeout
		if Local(o.BaseURL) {
			o.FirstAnswer = LocalFirst
		}
	}
	if o.Facts == nil {
		o.Facts = family.Lookup
	}
	client := &http.Client{}
	if o.HTTPClient != nil {
		*client = *o.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = Transport(o.Proxy, o.RootCAs)
	}
	if o.Traffic != nil {
		client.Transport = o.Traffic(client.Transport)
	}
	client.CheckRedirect = checkRedirect
	return &Endpoint{opts: o, client: client}
}

// Local reports whether a URL names a server of this machine.
func Local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Facts is what is known of a model, see Options.
func (e *Endpoint) Facts(name string) (family.Facts, bool) { return e.opts.Facts(name) }

// Transport differs from the default one in what a hostile or broken server
// may cost: nothing is decompressed, headers are bounded, and a connection that
// died silently is noticed. Proxies come from the environment; loopback needs none.
//
// Transport is for requests that belong to those to a model, such as sign-ins: they go through
// the same proxy, empty for that of the environment, and trust the same certificates, nil for the
// system's.
func Transport(proxyURL string, roots *x509.CertPool) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if proxyURL != "" {
		proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxyURL) }
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// checkRedirect follows what repeats the request at the same place and leaves
// every other redirect unfollowed, so that neither key nor prompt goes elsewhere.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	same := req.URL.Scheme == first.URL.Scheme && req.URL.Host == first.URL.Host && req.Method == first.Method
	if !same || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Call is one request.
type Call struct {
	Path   string            // appended to the base URL, escaped where that is needed
	Query  map[string]string // of the protocol; the configured parameters win
	Body   *Body
	Header http.Header // of the protocol; the configured headers win
	// Authorize puts the key into the header. Nil means a bearer token.
	Authorize func(h http.Header, key string)
	// Last names the event that ends a stream, for messages.
	Last string
	// Events, when not nil, makes the event stream of what the server sends instead of one.
	Events func(io.Reader) io.Reader
	// End is asked when the stream ends without an event that was the last: it
	// reports whether the answer was whole nevertheless. Nil means never.
	End func() (whole bool, err error)
	// Stopped reports whether the model has said why it stopped, so that End will find the
	// answer whole. Nil means never.
	Stopped func() bool
	// Whole makes events of an answer that came at once, and nothing of what is no answer.
	// Nil means that none is taken.
	Whole func(body []byte) [][]byte
}

// Stream makes the call and passes each event to each, on the calling
// goroutine, with the rate limits that the headers told. It returns nil when
// each reported done. Every other end is a *model.Error, the context's error, or
// the error that each returned; a *Failure of each becomes a *model.Error.
func (e *Endpoint) Stream(ctx context.Context, c Call,
	each func(ev sse.Event, limits map[string]string) (done bool, err error)) error {
	x := &exchange{Endpoint: e, call: c}
	err := x.run(ctx, each)
	if x.renewable(err) && (x.mistimed() || e.opts.Rejected(x.key)) {
		x = &exchange{Endpoint: e, call: c}
		err = x.run(ctx, each)
	}
	if err != nil && ctx.Err() != nil && !x.theirs {
		return ctx.Err()
	}
	return err
}

// errIdle is the cause of a cancel by the idle limit.
var errIdle = errors.New("idle")

// exchange is one call under way.
type exchange struct {
	*Endpoint
	call   Call
	key    string
	host   string
	first  time.Duration // how long the beginning of the answer is waited for
	began  bool          // an event arrived
	stuck  bool          // only signs of life came for too long
	theirs bool          // the error came from each and is returned as it is
	at     time.Time     // of the server's clock when it refused, zero when it did not tell
}

// mistimed reports whether the request was signed by a clock that is off, and the next one
// will not be.
func (x *exchange) mistimed() bool {
	return x.opts.Clock != nil && !x.at.IsZero() && x.opts.Clock(x.at)
}

// renewable reports whether err says that the key was refused before anything
// was answered.
func (x *exchange) renewable(err error) bool {
	var told *model.Error
	return x.opts.Rejected != nil && x.key != "" && !x.began && errors.As(err, &told) && told.Kind == model.Auth &&
		told.Status != 0
}

func (x *exchange) run(parent context.Context, each func(sse.Event, map[string]string) (bool, error)) error {
	if err := parent.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	req, err := x.request(ctx, http.MethodPost)
	if err != nil {
		return err
	}
	x.first = x.opts.FirstAnswer
	watch := newWatch(x.first, cancel)
	defer watch.stop()

	watch.start()
	resp, err := x.client.Do(req)
	if err != nil {
		return x.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if !good(resp.StatusCode) {
		watch.limit = x.opts.IdleTimeout
		watch.start()
		return x.refused(resp)
	}
	watch.start()
	body, err := x.eventBody(ctx, resp)
	if err != nil {
		return err
	}
	watch.stop()
	if err := x.events(ctx, body, watch, limitsOf(resp.Header), each); err != nil {
		return err
	}
	drain(resp.Body, cancel)
	return nil
}

// events reads until each is done. The watch runs only while waiting for the
// server, not while each works.
func (x *exchange) events(ctx context.Context, body io.Reader, w *watch, limits map[string]string,
	each func(sse.Event, map[string]string) (bool, error)) error {
	if x.call.Events != nil {
		body = x.call.Events(body)
	}
	r := sse.NewReader(body)
	since := time.Now() // something was said
	r.Alive = func() {
		if x.stuck = x.stuck || !x.waits(time.Since(since)); !x.stuck {
			w.start()
		}
	}
	for {
		if r.Alive(); x.stuck {
			return x.ended(ctx, errIdle)
		}
		ev, err := r.Next()
		w.stop()
		if err != nil {
			return x.ended(ctx, err)
		}
		x.began = true
		if w.limit = x.opts.IdleTimeout; x.settled() && w.limit > settle {
			w.limit = settle
		}
		if vain(ev) {
			continue
		}
		since = time.Now()
		done, err := x.each(ev, limits, each)
		if err != nil {
			return x.told(err)
		}
		if done {
			return nil
		}
	}
}

// each passes on what a server put into one event.
func (x *exchange) each(ev sse.Event, limits map[string]string,
	each func(sse.Event, map[string]string) (bool, error)) (done bool, err error) {
	for _, data := range lines(ev.Data) {
		if done, err = each(sse.Event{Name: ev.Name, Data: data}, limits); done || err != nil {
			break
		}
	}
	return done, err
}

// A server may keep itself alive without an event for so many times of the idle limit, so
// that one that is stuck behind a gateway is given up in the end.
const aliveFor = 6

// waits reports whether signs of life still count when nothing else came for so long.
func (x *exchange) waits(quiet time.Duration) bool {
	if x.settled() {
		return quiet < settle
	}
	limit := aliveFor * x.opts.IdleTimeout
	if !x.began {
		limit = max(limit, x.first)
	}
	return x.opts.IdleTimeout < 0 || x.first < 0 && !x.began || quiet < limit
}

// settle is how long what may follow the reason for which the model stopped is waited for:
// the usage, and the end of the stream.
const settle = 10 * time.Second

// settled reports whether the model has said why it stopped.
func (x *exchange) settled() bool { return x.call.Stopped != nil && x.call.Stopped() }

// ended is the end of a stream that did not announce it. Where the model has said why it
// stopped, silence is an end, too.
func (x *exchange) ended(ctx context.Context, cause error) error {
	silent := (x.stuck || context.Cause(ctx) == errIdle) && x.settled()
	if x.call.End == nil || !x.began || ctx.Err() != nil && !silent {
		return x.broken(ctx, cause)
	}
	whole, err := x.call.End()
	switch {
	case err != nil:
		return x.told(err)
	case !whole:
		return x.broken(ctx, cause)
	}
	return nil
}

// told is an error of the decoder.
func (x *exchange) told(err error) error {
	var f *Failure
	if errors.As(err, &f) {
		return x.failure(f, 0, nil)
	}
	x.theirs = true
	return err
}

func (x *exchange) request(ctx context.Context, method string) (*http.Request, error) {
	u, err := x.target(x.opts.BaseURL)
	if err != nil {
		return nil, err
	}
	x.host = u.Host
	if err := x.getKey(ctx); err != nil {
		return nil, err
	}
	if x.opts.Base != nil && x.opts.Base() != "" {
		if u, err = x.target(x.opts.Base()); err != nil {
			return nil, err
		}
		x.host = u.Host
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), x.call.Body.reader())
	if err != nil {
		return nil, x.misconfigured(err.Error())
	}
	req.ContentLength = x.call.Body.Len()
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(x.call.Body.reader()), nil }
	if method == http.MethodGet {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	x.header(req)
	if x.opts.Sign != nil {
		if err := x.opts.Sign(req, x.call.Body.reader()); err != nil {
			return nil, x.noKey(err)
		}
	}
	return req, nil
}

func (x *exchange) getKey(ctx context.Context) error {
	if x.opts.Key == nil {
		return nil
	}
	key, err := x.opts.Key(ctx)
	if err != nil {
		return x.noKey(err)
	}
	x.key = strings.TrimSpace(key)
	return nil
}

func (x *exchange) noKey(err error) error {
	var told *model.Error
	if errors.As(err, &told) {
		return told
	}
	var passing interface{ Passes() bool }
	if errors.As(err, &passing) && passing.Passes() {
		return &model.Error{Kind: model.Network, Message: x.clean("sign-in: " + err.Error()), Err: err,
			Hint: "check the network; the credentials are not at fault"}
	}
	return &model.Error{Kind: model.Auth, Message: x.clean(err.Error()), Hint: x.loginHint(), Err: err}
}

func (x *exchange) header(req *http.Request) {
	if req.Method == http.MethodGet {
		req.Header.Set("Accept", "application/json")
	} else {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "kerf")
	for name, values := range x.call.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	switch authorize := x.call.Authorize; {
	case x.key == "" || x.opts.Sign != nil:
	case x.opts.KeyHeader != "" && !x.opts.Bearer:
		req.Header.Set(x.opts.KeyHeader, x.key)
	case authorize == nil || x.opts.Bearer:
		req.Header.Set("Authorization", "Bearer "+x.key)
	default:
		authorize(req.Header, x.key)
	}
	if x.opts.KeyHeaders != nil {
		for name, value := range x.opts.KeyHeaders() {
			req.Header.Set(name, value)
		}
	}
	for name, value := range x.opts.Headers {
		req.Header.Set(name, value)
	}
}

// target is the URL of the call.
func (x *exchange) target(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The URL itself may hold a password and is not repeated.
		return nil, x.misconfigured("base_url is not an http or https URL")
	}
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + "/" + strings.TrimLeft(x.call.Path, "/")
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		u.Path, u.RawPath = u.RawPath, "" // it is not escaped after all
	}
	u.Fragment = ""
	query := u.Query()
	for name, value := range x.call.Query {
		query.Set(name, value)
	}
	for name, value := range x.opts.QueryParams {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u, nil
}

func (x *exchange) misconfigured(message string) error {
	if x.opts.Name != "" {
		message = fmt.Sprintf("model provider %s: %s", x.opts.Name, message)
	}
	return &model.Error{Kind: model.BadCall, Message: x.clean(message), Hint: "fix the provider in config.toml"}
}

// limitsOf picks the rate limits out of h, bounded, or nil.
func limitsOf(h http.Header) map[string]string {
	var limits map[string]string
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, "x-ratelimit-") && !strings.HasPrefix(name, "anthropic-ratelimit-") {
			continue
		}
		if len(values) == 0 || len(values[0]) > 256 || len(limits) >= 64 {
			continue
		}
		if limits == nil {
			limits = make(map[string]string)
		}
		limits[name] = values[0]
	}
	return limits
}

// watch cancels a request when it is not started again in time.
type watch struct {
	limit time.Duration
	timer *time.Timer
}

func newWatch(limit time.Duration, cancel context.CancelCauseFunc) *watch {
	w := &watch{limit: limit, timer: time.AfterFunc(time.Hour, func() { cancel(errIdle) })}
	w.start()
	return w
}

func (w *watch) start() {
	w.timer.Stop()
	if w.limit > 0 {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() { w.timer.Stop() }

// What is left behind the last event is read so that the connection can be used
// again, but a server that goes on talking, or keeps silent, is left soon.
const (
	drainBytes = 256 << 10
	drainTime  = 50 * time.Millisecond
)

func drain(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes) // the answer is whole; how it ends does not matter
}
