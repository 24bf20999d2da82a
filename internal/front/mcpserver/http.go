package mcpserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNeedsToken says that an address beyond this machine needs a token.
var ErrNeedsToken = errors.New("an address that other machines can reach needs a token: give --token-file FILE, or " +
	"listen on 127.0.0.1")

// endpoint is where the protocol is spoken.
const endpoint = "/mcp"

// idle is how long a connection without requests is kept.
const idle = time.Hour

// HTTP serves clients on l at /mcp until ctx is done. With a token, a request
// must carry it as a bearer. Requests with a foreign Origin or Host are refused,
// so that no web page can reach the server through the user's browser.
func HTTP(ctx context.Context, o Options, l net.Listener, token string) error {
	return Serve(ctx, func() *mcp.Server { return (&conn{o: o}).server() }, l, token)
}

// Serve is HTTP for servers of any make; each connection gets one of its own.
func Serve(ctx context.Context, newServer func() *mcp.Server, l net.Listener, token string) error {
	if token == "" && !loopback(l.Addr().String()) {
		return ErrNeedsToken
	}
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() },
		&mcp.StreamableHTTPOptions{SessionTimeout: idle, MaxRequestBodyBytes: frameLimit,
			EventStore: mcp.NewMemoryEventStore(nil)})
	mux := http.NewServeMux()
	mux.Handle(endpoint, streams)
	s := &http.Server{Handler: guard(mux, token, l.Addr()), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.Shutdown(soon) != nil { // event streams stay open until they are cut
			_ = s.Close()
		}
		return nil
	}
}

// guard lets only requests through that come from where they should.
func guard(next http.Handler, token string, addr net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !ownHost(r.Host, addr):
			http.Error(w, "this host name is not served here", http.StatusForbidden)
		case !ownOrigin(r.Header.Get("Origin"), addr):
			http.Error(w, "requests from this origin are not served", http.StatusForbidden)
		case token != "" && !bears(r, token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="kerf"`)
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func bears(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)),
		[]byte(token)) == 1
}

// ownHost reports whether a Host header names this machine's loopback or the
// very address that is listened on.
func ownHost(host string, addr net.Addr) bool {
	return loopback(host) || host == addr.String()
}

// ownOrigin reports whether an Origin header is absent or local.
func ownOrigin(origin string, addr net.Addr) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && ownHost(u.Host, addr)
}

// loopback reports whether host, with or without a port, is the loopback.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// Listen opens a TCP address for HTTP. It refuses addresses that need a token
// and have none before anything is opened.
func Listen(ctx context.Context, address, token string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: expected HOST:PORT, such as 127.0.0.1:7337", address)
	}
	if token == "" && !loopback(host) {
		return nil, ErrNeedsToken
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}
