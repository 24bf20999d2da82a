// Package page reads pages of the web within bounds, as text.
//
// A page is fetched without cookies, keys or a referrer, from an address that the rules
// about hosts let through. Redirects are followed on the same host only: another host is
// another decision.
package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kerf/internal/work/hosts"
)

// The bounds of one fetch.
const (
	timeLimit    = 30 * time.Second
	sizeLimit    = 5 << 20 // of what is read, after decompression
	headerLimit  = 64 << 10
	mostMoves    = 5
	mostAddress  = 4096 // bytes of a URL
	acceptHeader = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, " +
		"application/json;q=0.8, */*;q=0.1"
)

// Options make a Reader.
type Options struct {
	Rules hosts.Rules
	// Agent is sent as the User-Agent.
	Agent string
	// Resolve, Dial and Proxy stand for the system's own when they are nil.
	Resolve hosts.Resolver
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Proxy   func(*http.Request) (*url.URL, error)
}

// Reader fetches pages. It may be used by several goroutines.
type Reader struct{ o Options }

// New returns a Reader. It connects to nothing.
func New(o Options) *Reader {
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return &Reader{o}
}

// Target is where a page is asked for. Make one with [Parse].
type Target struct {
	url  *url.URL
	Host string // as it is judged
	Port int
}

// String is the address of the page.
func (t Target) String() string { return t.url.String() }

// Parse reads an address. What is not plainly http or https, or has a user name in it, is
// an error, written for who gave it.
func Parse(address string) (Target, error) {
	if len(address) > mostAddress {
		return Target{}, fmt.Errorf("the address has %d bytes; at most %d are taken", len(address), mostAddress)
	}
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return Target{}, errors.New("it is not an address that can be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return Target{}, fmt.Errorf("expected an address that begins with https:// or http://, found %q", address)
	case u.User != nil:
		return Target{}, errors.New("an address with a user name or password in it is not fetched")
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return Target{}, fmt.Errorf("%q is not a port", p)
		}
	}
	host, err := hosts.Canonical(u.Hostname())
	if err != nil {
		return Target{}, fmt.Errorf("%q: %w", u.Hostname(), err)
	}
	u.Fragment, u.RawFragment = "", ""
	return Target{u, host, port}, nil
}

// Judge says what the rules say of a target.
func (r *Reader) Judge(t Target) hosts.Verdict { return r.o.Rules.Judge(t.Host, t.Port) }

// Page is what was read.
type Page struct {
	// Moved is set, and all else is empty, where the page is on another host now.
	Moved string
	// URL is where it was in the end.
	URL string
	// Text is Markdown for HTML, else as it came.
	Text string
	// Cut says that only the beginning was read.
	Cut bool
}

// Get reads a page from a host that was admitted: by the rules, or by the user. An address
// that is not public is refused unless a rule names it.
func (r *Reader) Get(ctx context.Context, t Target) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	page, err := r.get(ctx, t)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Page{}, fmt.Errorf("%s did not answer whole within %s", t.Host, timeLimit)
	}
	return page, err
}

func (r *Reader) get(ctx context.Context, t Target) (Page, error) {
	for range mostMoves {
		resp, err := r.ask(ctx, t)
		if err != nil {
			return Page{}, err
		}
		if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
			resp.Body.Close()
			next, err := t.url.Parse(to)
			if err != nil {
				return Page{}, fmt.Errorf("%s redirects to an address that cannot be read", t.Host)
			}
			moved, err := Parse(next.String())
			switch {
			case err != nil:
				return Page{}, fmt.Errorf("%s redirects to %q: %w", t.Host, next, err)
			case !sameSite(t, moved):
				return Page{Moved: moved.String()}, nil
			}
			t = moved
			continue
		}
		defer resp.Body.Close()
		return read(resp, t)
	}
	return Page{}, fmt.Errorf("%s redirects more than %d times", t.Host, mostMoves)
}

// sameSite reports whether a redirect stays where it was allowed: at the host and port,
// or with TLS in place of none.
func sameSite(a, b Target) bool {
	return a.Host == b.Host && (a.Port == b.Port && a.url.Scheme == b.url.Scheme || a.Port == 80 && b.Port == 443 &&
		b.url.Scheme == "https")
}

func (r *Reader) ask(ctx context.Context, t Target) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", acceptHeader)
	req.Header.Set("User-Agent", r.o.Agent)
	verdict := r.Judge(t)
	if verdict == hosts.Denied {
		return nil, fmt.Errorf("%s:%d is denied", t.Host, t.Port)
	}
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: headerLimit}
	switch via, err := r.o.Proxy(req); {
	case err != nil:
		return nil, err
	case via != nil: // it resolves names; an address is judged here all the same
		if _, err := netip.ParseAddr(t.Host); err == nil {
			if _, err := r.o.Rules.Address(ctx, r.o.Resolve, t.Host, t.Port, verdict); err != nil {
				return nil, err
			}
		}
		transport.Proxy = http.ProxyURL(via)
	default:
		addr, err := r.o.Rules.Address(ctx, r.o.Resolve, t.Host, t.Port, verdict)
		if err != nil {
			return nil, err
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return r.o.Dial(ctx, "tcp", addr.String())
		}
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", t.Host, err)
	}
	return resp, nil
}

// read takes the text out of a response.
func read(resp *http.Response, t Target) (Page, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	if kind != "" && !readable(kind) {
		return Page{}, fmt.Errorf("%s is %s, which is no text; fetch a page, or have a command download it", t, kind)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, sizeLimit+1))
	if err != nil {
		return Page{}, fmt.Errorf("%s broke off: %w", t.Host, err)
	}
	p := Page{URL: t.String(), Cut: len(body) > sizeLimit}
	body = body[:min(len(body), sizeLimit)]
	if p.Text, err = text(body, kind, resp.Header.Get("Content-Type"), t.url); err != nil {
		return Page{}, fmt.Errorf("%s: %w", t, err)
	}
	if resp.StatusCode/100 != 2 {
		return Page{}, &StatusError{Status: resp.Status, Text: p.Text}
	}
	return p, nil
}

// StatusError is an answer that is no page: what the server says instead.
type StatusError struct{ Status, Text string }

// Error names the status.
func (e *StatusError) Error() string { return "the server answers " + e.Status }

// readable reports whether a media type is text.
func readable(kind string) bool {
	kind = strings.ToLower(kind)
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml",
		"application/toml", "application/x-sh", "application/xhtml+xml", "application/x-ndjson", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml")
}
