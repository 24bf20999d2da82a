package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// authority is an authorization server. It gives tokens that begin with its name to clients
// that it registered, or that it knew beforehand.
type authority struct {
	*httptest.Server
	name string

	mu      sync.Mutex
	clients []string // that it knows
	seen    []string // client ids at its endpoints, and what came along
}

func newAuthority(t *testing.T, name string, clients ...string) *authority {
	a := &authority{name: name, clients: clients}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"registration_endpoint": a.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": []string{"S256"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "registered-by-" + name
		a.mu.Lock()
		a.clients = append(a.clients, "registered-by-"+name)
		a.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.see(q.Get("client_id"))
		http.Redirect(w, r, fmt.Sprintf("%s?code=c&state=%s", q.Get("redirect_uri"), q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		id, secret, basic := r.BasicAuth()
		if !basic {
			id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
		}
		a.see(id + " " + secret)
		a.mu.Lock()
		known := slices.Contains(a.clients, id)
		a.mu.Unlock()
		if !known {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		tell(w, map[string]any{"access_token": name + "-token", "token_type": "Bearer"})
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *authority) see(what string) {
	a.mu.Lock()
	a.seen = append(a.seen, strings.TrimSpace(what))
	a.mu.Unlock()
}

// heard is what came to the authority.
func (a *authority) heard() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.seen, "|")
}

func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// guarded is an MCP server with the tool "hi". It takes the tokens of one authority, which
// may change.
type guarded struct {
	*httptest.Server
	mu sync.Mutex
	by *authority
}

func newGuarded(t *testing.T, by *authority) *guarded {
	g := &guarded{by: by}
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "hi", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil
		})
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.authority().URL}})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+g.authority().name+"-token" {
			w.Header().Set("WWW-Authenticate",
				fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource"`, g.URL))
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		served.ServeHTTP(w, r)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) authority() *authority {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.by
}

func (g *guarded) moveTo(a *authority) {
	g.mu.Lock()
	g.by = a
	g.mu.Unlock()
}

// one keeps the grant of one server.
type one struct {
	mu    sync.Mutex
	grant *Grant
}

func (o *one) Load(string) (*Grant, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.grant, nil
}

func (o *one) Save(_ string, g *Grant) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.grant = g
	return nil
}

func (o *one) Delete(string) error { return o.Save("", nil) }

// opened does what a browser does with an address.
func opened(address string) {
	go func() {
		if res, err := http.Get(address); err == nil {
			_ = res.Body.Close()
		}
	}()
}

// TestASignInThatNoLongerHolds: the server takes the tokens of another authorization server
// from some moment on. The user is asked to sign in there; Kerf registers there anew and
// takes nothing along. A client that was registered beforehand is not taken elsewhere.
func TestASignInThatNoLongerHolds(t *testing.T) {
	tests := []struct {
		name      string
		client    OAuthClient
		answer    string // of the user; "" is nobody
		text, err string // of the call
		heard     string // by the authority that is new
	}{
		{name: "registered anew", answer: "accept", text: "hi", heard: "registered-by-new|registered-by-new"},
		{name: "declined", answer: "decline", err: "needs a sign-in"},
		{name: "nobody is there", err: "needs a sign-in"},
		{name: "registered beforehand", client: OAuthClient{ID: "mine", Secret: "secret"}, answer: "accept",
			err: "oauth_client_id is known at"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old, next := newAuthority(t, "old", "mine"), newAuthority(t, "new", "mine")
			g := newGuarded(t, old)
			s := Server{Name: "g", URL: g.URL + "/mcp", Store: &one{}, Client: tt.client}
			if err := Login(t.Context(), s, "kerf", "1", nil, opened); err != nil {
				t.Fatal(err)
			}
			o := Options{Servers: []Server{s}}
			if tt.answer != "" {
				o.Elicit = func(_ context.Context, q Elicitation) (Reply, error) {
					if !strings.Contains(q.Message, "does not take the sign-in any more") {
						t.Errorf("asked is %q", q.Message)
					}
					if tt.answer == "accept" {
						opened(q.URL)
					}
					return Reply{Action: tt.answer}, nil
				}
			}
			m := started(t, o)
			m.Settle(t.Context())
			call := func() (string, string) {
				r, err := m.Call(t.Context(), "mcp__g__hi", json.RawMessage(`{}`))
				if err != nil {
					return "", err.Error()
				}
				return r.Text, ""
			}
			if text, err := call(); text != "hi" {
				t.Fatalf("before: %q, %s", text, err)
			}
			g.moveTo(next)
			if text, err := call(); text != tt.text || !strings.Contains(err, tt.err) {
				t.Errorf("the call: %q, %q", text, err)
			}
			if got := next.heard(); got != tt.heard {
				t.Errorf("the new authority heard %q, want %q", got, tt.heard)
			}
		})
	}
}

// TestAWantedSignInIsTold: also where the server has something else to say to what a client
// of an older revision would begin with.
func TestAWantedSignInIsTold(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "server/discover") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		http.Error(w, "a header is missing", http.StatusBadRequest)
	}))
	defer srv.Close()
	m := started(t, Options{Servers: []Server{{Name: "g", URL: srv.URL, Store: &one{}}}})
	m.Settle(t.Context())
	if got := m.Status()[0].Error; got != "it needs a sign-in; run: kerf mcp login g" {
		t.Errorf("told is %q", got)
	}
}
