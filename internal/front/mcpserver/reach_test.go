package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "bearer  "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// listening is a server over HTTP.
func listening(t *testing.T, o Options) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- HTTP(ctx, o, l, "token") }()
	stop = func() error {
		cancel()
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(patience):
			return errors.New("it does not end")
		}
	}
	t.Cleanup(func() { _ = stop() })
	return l.Addr().String(), stop
}

// TestBothKindsOfRevisionsAreServedOverHTTP: tools and sessions go on between the requests of a client, and end with the server.
func TestBothKindsOfRevisionsAreServedOverHTTP(t *testing.T) {
	for _, revision := range Revisions() {
		t.Run(revision, func(t *testing.T) {
			s := &served{t: t, engine: &engine{}, sessions: &sessions{play: say}}
			address, stop := listening(t, Options{Engine: s.engine, Sessions: s.sessions})
			client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: "http://" + address + endpoint, HTTPClient: &http.Client{Transport: bearer("token")}},
				&mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			s.client = client
			s.call("look", nil)
			s.call("look", nil)
			if got := s.engine.all(); len(got) != 3 || !strings.HasPrefix(got[0], "connect c ") {
				t.Errorf("two calls ask the engine %q", got)
			}
			s.agent("kerf", map[string]any{"prompt": "x"})
			if got := s.agent("kerf-reply", map[string]any{"threadId": "s1", "prompt": "y"}); got != "s1: you said y" || s.sessions.count() != 1 {
				t.Errorf("%s, of %d sessions", got, s.sessions.count())
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			<-s.sessions.session(1).closed
			eventually(t, "an engine that is closed", func() bool { return strings.Contains(strings.Join(s.engine.all(), " "), "close") })
		})
	}
}

// TestRequestsFromElsewhereAreRefused: other names of this machine, web pages, and whoever lacks the token, before anything
// of them is read.
func TestRequestsFromElsewhereAreRefused(t *testing.T) {
	address, _ := listening(t, Options{Engine: &engine{}})
	_, port, _ := net.SplitHostPort(address)
	for _, tt := range []struct {
		name, host, origin string
		auth               []string
		want               int
	}{
		{"as it should be", "", "", []string{"Bearer token"}, 400},
		{"by name", "localhost:" + port, "http://LOCALHOST:9", []string{"Bearer token"}, 400},
		{"by the other loopback", "[::1]", "https://127.0.0.2", []string{"Bearer token"}, 400},
		{"a name that points here", "evil.example:" + port, "", []string{"Bearer token"}, 403},
		{"another address", "192.0.2.1", "", []string{"Bearer token"}, 403},
		{"a web page", "", "https://evil.example", []string{"Bearer token"}, 403},
		{"a file that was opened", "", "null", []string{"Bearer token"}, 403},
		{"a page of an extension", "", "ftp://localhost", []string{"Bearer token"}, 403},
		{"no origin that can be read", "", "http://%", []string{"Bearer token"}, 403},
		{"no token", "", "", nil, 401},
		{"another token", "", "", []string{"Bearer tokem"}, 401},
		{"a beginning of it", "", "", []string{"Bearer toke"}, 401},
		{"another scheme", "", "", []string{"Basic token"}, 401},
		{"two tokens", "", "", []string{"Bearer other", "Bearer token"}, 401},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+endpoint, strings.NewReader("{broken"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		r.Header["Authorization"] = tt.auth
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tt.want || (res.Header.Get("WWW-Authenticate") != "") != (tt.want == 401) {
			t.Errorf("%s: %d, want %d; %v", tt.name, res.StatusCode, tt.want, res.Header)
		}
	}
	for host, arrived := range map[string]net.Addr{"192.0.2.1:7": &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 7}} {
		if !ownHost(host, arrived) || ownHost(host, nil) || ownHost("192.0.2.1:8", arrived) {
			t.Error("the address at which a request arrived is its own name, and no other")
		}
	}
}

// TestAServerNeedsATokenAndAnAddress.
func TestAServerNeedsATokenAndAnAddress(t *testing.T) {
	if err := HTTP(t.Context(), Options{}, nil, ""); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
	if _, err := Listen(t.Context(), "7337"); err == nil || err.Error() != `address "7337": expected HOST:PORT, such as 127.0.0.1:7337` {
		t.Error(err)
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := HTTP(t.Context(), Options{Engine: &engine{}}, l, "token"); err == nil {
		t.Error("it serves an address that is closed")
	}
	h := Handler(func() *mcp.Server { return nil }, "")
	r, w := httptest.NewRequest(http.MethodPost, "http://localhost"+endpoint, http.NoBody), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer ")
	if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("a server without a token answers %d", w.Code)
	}
}
