// Package cassette keeps what was said with a provider over HTTP in a file, and plays it
// again: a failing exchange becomes a test case that anybody can run without a key.
//
// Only the headers that mean something to a client are kept, keys in addresses are left out,
// and the caller's Redact takes secrets out of the rest.
package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"kerf/internal/atomicfile"
)

// Version is that of the format, see doc/cassette.md.
const Version = 1

// Cassette is the file.
type Cassette struct {
	Version  int    `json:"version"`
	Provider string `json:"provider"` // in the configuration
	API      string `json:"wire_api"`
	BaseURL  string `json:"base_url"`
	Model    string `json:"model"`
	// Tools are the names of the tools that were offered.
	Tools     []string   `json:"tools,omitempty"`
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is one request with its answer.
type Exchange struct {
	Request  Request  `json:"request"`
	Response Response `json:"response"`
}

// Request is one request.
type Request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
}

// Response is one answer. Cut is set when it broke off behind Body, Failed says why there
// was none at all.
type Response struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Cut     bool              `json:"cut,omitempty"`
	Failed  string            `json:"failed,omitempty"`
}

// kept are the headers that are kept.
var kept = []string{"Accept", "Content-Type", "Content-Encoding", "Anthropic-Version", "Anthropic-Beta", "Retry-After",
	"Retry-After-Ms"}

func headersOf(h http.Header) map[string]string {
	all := map[string]string{}
	for _, name := range kept {
		if v := h.Get(name); v != "" {
			all[name] = v
		}
	}
	return all
}

// address is a URL without user, password and the values of its query.
func address(u *url.URL) string {
	plain := *u
	plain.User = nil
	query := plain.Query()
	for name, values := range query {
		if name != "alt" && name != "api-version" {
			query[name] = slices.Repeat([]string{"removed"}, len(values))
		}
	}
	plain.RawQuery = query.Encode()
	return plain.String()
}

// Recorder passes requests on and keeps what was said. It may be used by several goroutines.
type Recorder struct {
	Next http.RoundTripper

	mu        sync.Mutex
	exchanges []*Exchange // in the order of the requests; guarded by mu
}

// RoundTrip passes one request on.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &Exchange{Request: Request{Method: req.Method, URL: address(req.URL), Headers: headersOf(req.Header)}}
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		sent, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		if json.Valid(sent) {
			e.Request.Body = sent
		}
	}
	r.mu.Lock()
	r.exchanges = append(r.exchanges, e)
	r.mu.Unlock()
	resp, err := r.Next.RoundTrip(req)
	if err != nil {
		e.Response.Failed = err.Error()
		return nil, err
	}
	e.Response.Status, e.Response.Headers = resp.StatusCode, headersOf(resp.Header)
	resp.Body = &tee{ReadCloser: resp.Body, to: &e.Response}
	return resp, nil
}

// tee keeps what is read of an answer.
type tee struct {
	io.ReadCloser
	to   *Response
	read bytes.Buffer
}

// Read keeps what it reads.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.read.Write(p[:n])
	t.to.Body = t.read.String()
	t.to.Cut = err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// Save writes what was said since the recorder was made. Every answer must have ended.
func (r *Recorder) Save(path string, c Cassette, redact func([]byte) []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Version, c.Exchanges = Version, nil
	for _, e := range r.exchanges {
		c.Exchanges = append(c.Exchanges, *e)
	}
	if u, err := url.Parse(c.BaseURL); err == nil {
		c.BaseURL = address(u)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(c); err != nil {
		return err
	}
	text := b.Bytes()
	if redact != nil {
		text = redact(text)
	}
	if !json.Valid(text) {
		return fmt.Errorf("%s is not written: without its secrets it would be no JSON", path)
	}
	return atomicfile.WriteCache(path, text)
}

// Load reads a cassette.
func Load(path string) (*Cassette, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c Cassette
	switch err := json.Unmarshal(b, &c); {
	case err != nil:
		return nil, fmt.Errorf("%s is no cassette: %w", path, err)
	case c.Version != Version:
		return nil, fmt.Errorf("%s is a cassette of version %d; this Kerf reads version %d", path, c.Version, Version)
	case len(c.Exchanges) == 0:
		return nil, fmt.Errorf("%s holds no exchange", path)
	}
	return &c, nil
}

// Player answers request n with answer n of a cassette. Nothing is sent.
type Player struct {
	Cassette *Cassette

	mu   sync.Mutex
	next int // guarded by mu
}

// RoundTrip answers one request.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	n := p.next
	p.next++
	p.mu.Unlock()
	if n >= len(p.Cassette.Exchanges) {
		return nil, fmt.Errorf("the cassette holds %d exchanges, and this is request %d", len(p.Cassette.Exchanges), n+1)
	}
	r := p.Cassette.Exchanges[n].Response
	if r.Failed != "" {
		return nil, errors.New(r.Failed)
	}
	resp := &http.Response{StatusCode: r.Status, Status: http.StatusText(r.Status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{}, Request: req, ContentLength: -1}
	for name, value := range r.Headers {
		resp.Header.Set(name, value)
	}
	body := io.Reader(strings.NewReader(r.Body))
	if r.Cut {
		body = io.MultiReader(body, broken{})
	}
	resp.Body = io.NopCloser(body)
	return resp, nil
}

// broken is the end of an answer that broke off.
type broken struct{}

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
