package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"kerf/internal/front/frames"
)

// ErrNoToken says that a server was to be started without a token.
var ErrNoToken = errors.New("a server over HTTP needs a token: other users and programs of this machine reach it, too")

// endpoint is where the protocol is spoken.
const endpoint = "/mcp"

// idle is how long a connection without requests is kept.
const idle = time.Hour

// HTTP serves clients on l at /mcp until ctx is done. Each request must carry the
// token as a bearer. Requests with a foreign Origin or Host are refused, so that no
// web page can reach the server through the user's browser.
func HTTP(ctx context.Context, o Options, l net.Listener, token string) error {
	if token == "" {
		return ErrNoToken
	}
	v := newVisitors(o)
	defer v.close()
	handler := Handler(func() *mcp.Server { return (&conn{o: o, visitors: v}).server() }, token)
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
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

// Handler is what HTTP answers with, for servers of any make; each connection gets one
// of its own, and so does each request of a revision without connections. Without a token
// it answers nobody.
func Handler(newServer func() *mcp.Server, token string) http.Handler {
	make := func(*http.Request) *mcp.Server { return newServer() }
	streams := mcp.NewStreamableHTTPHandler(make, &mcp.StreamableHTTPOptions{SessionTimeout: idle,
		MaxRequestBodyBytes: frameLimit, EventStore: mcp.NewMemoryEventStore(nil)})
	single := mcp.NewStreamableHTTPHandler(make, &mcp.StreamableHTTPOptions{Stateless: true,
		MaxRequestBodyBytes: frameLimit, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.HandleFunc(endpoint, func(w http.ResponseWriter, r *http.Request) {
		read, ok := body(w, r)
		if !ok {
			return
		}
		if singly(r, read) {
			single.ServeHTTP(w, r)
		} else {
			streams.ServeHTTP(w, r)
		}
	})
	return guard(mux, token)
}

// singly reports whether a request is of a revision without connections: its header says
// so, or, where there is none and no connection, what is sent does.
func singly(r *http.Request, body []byte) bool {
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" {
		return v >= sessionless
	}
	return r.Header.Get("Mcp-Session-Id") == "" && bytes.Contains(body, []byte(mcp.MetaKeyProtocolVersion))
}

// body reads what a request says, and puts it back. What is no message is answered with the
// error that JSON-RPC has for it, and with 400, as over stdin; then it returns false.
func body(w http.ResponseWriter, r *http.Request) (read []byte, ok bool) {
	if r.Method != http.MethodPost || r.Body == nil {
		return nil, true
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, frameLimit+1))
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), rest), rest}
	if err != nil || len(read) > frameLimit {
		return nil, true // the handler tells why
	}
	answer, refused := frames.Filter{Limit: frameLimit, Check: readable, Batches: true}.Refuse(read)
	if !refused {
		return read, true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(answer)
	return nil, false
}

// guard lets only requests through that come from where they should.
func guard(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		switch {
		case !ownHost(r.Host, addr):
			http.Error(w, "this host name is not served here", http.StatusForbidden)
		case !ownOrigin(r.Header.Get("Origin"), addr):
			http.Error(w, "requests from this origin are not served", http.StatusForbidden)
		case !bears(r, token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="kerf"`)
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// bears reports whether a request carries the token. Sums are compared, in constant
// time, so that nothing of the token can be learned from how long it takes.
func bears(r *http.Request, token string) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	scheme, given, _ := strings.Cut(headers[0], " ")
	is, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token))
	return token != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(is[:], want[:]) == 1
}

// ownHost reports whether a Host header names this machine's loopback, or the very
// address at which the request arrived. Names of other make could be those of a web
// page that had its own name point here.
func ownHost(host string, addr net.Addr) bool {
	return loopback(host) || addr != nil && host == addr.String()
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

// Listen opens a TCP address for HTTP.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("address %q: expected HOST:PORT, such as 127.0.0.1:7337", address)
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}
