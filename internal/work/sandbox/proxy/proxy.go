// Package proxy lets sandboxed commands reach the hosts that a policy names.
//
// It speaks HTTP, plain and CONNECT.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"kerf/internal/work/hosts"
)

// Options say what is let through.
type Options struct {
	Domains map[string]string // as [hosts.Parse] reads them
	// Limited lets requests through that only ask for something: GET, HEAD and OPTIONS.
	// What passes through CONNECT cannot be read.
	Limited bool
	// Ask decides on hosts that no pattern names, once for each host and port; it
	// may be called by several goroutines. Without it they are refused.
	Ask func(host string, port int) bool
	// Log gets one line for each request that was refused.
	Log func(line string)
	// Resolve and Dial stand for the system's own when they are nil.
	Resolve hosts.Resolver
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// Proxy serves one sandbox. Serve has one goroutine for each connection; Close
// ends them.
type Proxy struct {
	o       Options
	rules   hosts.Rules
	server  *http.Server
	mu      sync.Mutex // guards what follows
	tunnels map[net.Conn]bool
	answers map[string]*answer
	closed  bool
}

// answer is what Ask said; ready is closed when it did.
type answer struct {
	ready chan struct{}
	yes   bool
}

const (
	dialTimeout   = 30 * time.Second
	headerTimeout = 30 * time.Second
	maxHeader     = 64 << 10
)

// New returns a proxy. A pattern that cannot be read is an error.
func New(o Options) (*Proxy, error) {
	p := &Proxy{o: o, tunnels: make(map[net.Conn]bool), answers: make(map[string]*answer)}
	var err error
	if p.rules, err = hosts.Parse(o.Domains); err != nil {
		return nil, err
	}
	if p.o.Resolve == nil {
		p.o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if p.o.Dial == nil {
		p.o.Dial = (&net.Dialer{}).DialContext
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader}
	return p, nil
}

// Serve accepts connections until Close.
func (p *Proxy) Serve(l net.Listener) error {
	err := p.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends all connections.
func (p *Proxy) Close() {
	_ = p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.tunnels {
		c.Close()
	}
}

// ServeHTTP carries out one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, port, err := targetOf(r)
	if err == nil && p.o.Limited && !asksOnly(r.Method) {
		err = fmt.Errorf("the network mode limited lets GET, HEAD and OPTIONS through, not %s", r.Method)
	}
	if err == nil {
		var addr netip.AddrPort
		if addr, err = p.admit(r.Context(), target, port); err == nil {
			if r.Method == http.MethodConnect {
				p.tunnel(w, r, addr)
			} else {
				p.forward(w, r, addr)
			}
			return
		}
	}
	if p.o.Log != nil {
		p.o.Log(fmt.Sprintf("blocked %s %q: %v", r.Method, r.RequestURI, err))
	}
	http.Error(w, "blocked by the sandbox: "+err.Error(), http.StatusForbidden)
}

func asksOnly(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodConnect:
		return true
	}
	return false
}

// targetOf is where a request wants to go.
func targetOf(r *http.Request) (host string, port int, err error) {
	authority := r.URL.Host
	fallback := "80"
	switch {
	case r.Method == http.MethodConnect:
		authority, fallback = r.RequestURI, ""
	case r.URL.Scheme != "http" || authority == "":
		return "", 0, errors.New("only http:// and CONNECT pass through")
	case r.URL.User != nil:
		return "", 0, errors.New("an address with a user name is not allowed")
	}
	name, number, err := net.SplitHostPort(authority)
	if err != nil {
		if fallback == "" {
			return "", 0, errors.New("no port is named")
		}
		name, number = authority, fallback
	}
	port, err = strconv.Atoi(number)
	if err != nil || port < 1 || port > 65535 || strconv.Itoa(port) != number {
		return "", 0, fmt.Errorf("%q is not a port", number)
	}
	host, err = hosts.Canonical(name)
	return host, port, err
}

// admit judges a host and returns the one address to connect to.
func (p *Proxy) admit(ctx context.Context, host string, port int) (netip.AddrPort, error) {
	verdict := p.rules.Judge(host, port)
	if verdict == hosts.Denied {
		return netip.AddrPort{}, fmt.Errorf("%s:%d is denied", host, port)
	}
	if verdict == hosts.Unknown && !p.ask(ctx, host, port) {
		return netip.AddrPort{}, fmt.Errorf("%s:%d is not on the list of allowed domains", host, port)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return p.rules.Address(ctx, p.o.Resolve, host, port, verdict)
}

// ask calls Ask at most once for each host and port.
func (p *Proxy) ask(ctx context.Context, host string, port int) bool {
	if p.o.Ask == nil {
		return false
	}
	key := net.JoinHostPort(host, strconv.Itoa(port))
	p.mu.Lock()
	a, known := p.answers[key]
	if !known {
		a = &answer{ready: make(chan struct{})}
		p.answers[key] = a
	}
	p.mu.Unlock()
	if !known {
		a.yes = p.o.Ask(host, port)
		close(a.ready)
	}
	select {
	case <-a.ready:
		return a.yes
	case <-ctx.Done():
		return false
	}
}

// hop are the headers of one connection, which are not passed on.
var hop = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade"}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, addr netip.AddrPort) {
	out := r.Clone(r.Context())
	out.RequestURI, out.Host, out.Close = "", r.URL.Host, true
	if p.o.Limited {
		out.Body, out.ContentLength = http.NoBody, 0
	}
	for _, name := range hop {
		out.Header.Del(name)
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 5 * time.Minute,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return p.o.Dial(ctx, "tcp", addr.String())
		}}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for _, name := range hop {
		resp.Header.Del(name)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(flushing{w}, resp.Body) // either side may go away
}

// flushing passes on what comes as it comes.
type flushing struct{ w http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if flusher, ok := f.w.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err
}

func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, addr netip.AddrPort) {
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	out, err := p.o.Dial(ctx, "tcp", addr.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer in.Close()
	if !p.track(in, out) {
		return
	}
	defer p.forget(in, out)
	_ = in.SetDeadline(time.Time{})
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { pass(out, buffered) })
	pass(in, out)
	wg.Wait()
}

// pass copies one direction and tells the other side when it is over.
func pass(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from) // either side may go away
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	to.Close()
}

func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.tunnels[c] = true
	}
	return !p.closed
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.tunnels, c)
	}
}
