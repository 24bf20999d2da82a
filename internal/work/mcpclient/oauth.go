package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Grant is a sign-in that is kept: the token, and the client it was given to.
type Grant struct {
	ClientID     string        `json:"client_id"`
	ClientSecret string        `json:"client_secret,omitempty"`
	AuthURL      string        `json:"auth_url"`
	TokenURL     string        `json:"token_url"`
	Scopes       []string      `json:"scopes,omitempty"`
	Token        *oauth2.Token `json:"token"`
}

// TokenStore keeps grants by the name of the server. Load returns nil when there
// is none.
type TokenStore interface {
	Load(server string) (*Grant, error)
	Save(server string, g *Grant) error
	Delete(server string) error
}

// OAuthClient is what Kerf is to an authorization server. The zero value is registered
// at the first sign-in.
type OAuthClient struct {
	ID, Secret  string // of a client registered beforehand
	MetadataURL string // of a document that describes the client, for servers that take one
	Port        int    // on the loopback, where browsers come back to; 0 is any
}

// signInError says that a server wants a sign-in while nobody is there for it.
type signInError struct {
	server string
	scopes []string // the rights that are missing, if the server names them
}

func (e signInError) Error() string {
	if len(e.scopes) > 0 {
		return fmt.Sprintf("server %s wants further rights; run: kerf mcp login --scopes %s %s", e.server,
			strings.Join(e.scopes, ","), e.server)
	}
	return "server " + e.server + " needs a sign-in"
}

// stored authorises with the grant that is kept. When the server wants further rights for
// a call, or does not take the sign-in any more, the user is asked to sign in, if there is
// one.
type stored struct {
	c *connection

	mu      sync.Mutex
	grant   *Grant
	source  oauth2.TokenSource
	refused bool // a request, for want of a sign-in; nobody was asked
}

func (s *stored) TokenSource(context.Context) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source, nil
}

func (s *stored) Authorize(ctx context.Context, req *http.Request, r *http.Response) error {
	scopes, more := missing(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.StatusCode == http.StatusForbidden && !more:
		_ = r.Body.Close()
		return nil // the answer to the call is this one
	case s.grant == nil || s.c.m.o.Elicit == nil || !more && !s.c.isReady():
		_ = r.Body.Close()
		s.refused = true
		return signInError{s.c.Name, scopes}
	}
	why := "The server does not take the sign-in any more."
	if more {
		why = "The server wants further rights for this call: " + oneLine(strings.Join(scopes, " ")) + "."
	}
	all := slices.Clone(s.grant.Scopes)
	for _, scope := range scopes {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, signInTime)
	defer cancel()
	grant, err := signIn(ctx, s.c.Server, s.c.m.o.Name, all, func(url string) error {
		if err := s.bound(url); err != nil {
			return err
		}
		go func() { // ends with the answer, or with ctx
			reply, err := s.c.m.o.Elicit(ctx, Elicitation{Server: s.c.Name, URL: url,
				Message: why + " Sign in at the address, then accept."})
			if err != nil || reply.Action != "accept" {
				cancel()
			}
		}()
		return nil
	}, func(h auth.OAuthHandler) error { return h.Authorize(ctx, req, r) })
	if err != nil {
		return fmt.Errorf("%w (%s)", signInError{s.c.Name, scopes}, oneLine(err.Error()))
	}
	if grant == nil {
		return signInError{s.c.Name, scopes}
	}
	s.grant, s.source = grant, s.c.keep(grant)
	return s.c.Store.Save(s.c.Name, grant)
}

// wanted reports whether the server refused a request for want of a sign-in. What a client
// then tries in older revisions may end in another error.
func (s *stored) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// bound refuses to take a client that was registered beforehand, and its secret, to another
// authorization server than the one that knows it: the server could name any.
func (s *stored) bound(address string) error {
	if s.c.Client.ID == "" {
		return nil // Kerf registers anew
	}
	known, err := url.Parse(s.grant.AuthURL)
	if err != nil {
		return err
	}
	named, err := url.Parse(address)
	if err != nil {
		return err
	}
	if named.Scheme != known.Scheme || named.Host != known.Host {
		return fmt.Errorf("it names %s to sign in at, but oauth_client_id is known at %s", oneLine(named.Host), known.Host)
	}
	return nil
}

// missing tells the rights that a refused call lacks, and whether it was refused for them.
func missing(r *http.Response) (scopes []string, more bool) {
	challenges, err := oauthex.ParseWWWAuthenticate(r.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, false
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return strings.Fields(c.Params["scope"]), true
		}
	}
	return nil, false
}

// signedIn authorises with the kept grant and keeps tokens that were renewed.
func (c *connection) signedIn() (*stored, error) {
	g, err := c.Store.Load(c.Name)
	if err != nil {
		return nil, fmt.Errorf("sign-in: %w", err)
	}
	if g == nil || g.Token == nil {
		return &stored{c: c}, nil
	}
	return &stored{c: c, grant: g, source: c.keep(g)}, nil
}

// keep is the source of g's tokens, which keeps those that it renews.
func (c *connection) keep(g *Grant) oauth2.TokenSource {
	return &keeping{source: g.config().TokenSource(context.Background(), g.Token), store: c.Store, server: c.Name, grant: g}
}

func (g *Grant) config() *oauth2.Config {
	return &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: g.AuthURL, TokenURL: g.TokenURL}}
}

// keeping saves every token that differs from the one before.
type keeping struct {
	source oauth2.TokenSource
	store  TokenStore
	server string

	mu    sync.Mutex
	grant *Grant
}

func (k *keeping) Token() (*oauth2.Token, error) {
	t, err := k.source.Token()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grant.Token == nil || k.grant.Token.AccessToken != t.AccessToken {
		k.grant.Token = t
		if err := k.store.Save(k.server, k.grant); err != nil {
			return nil, fmt.Errorf("keep the renewed sign-in: %w", err)
		}
	}
	return t, nil
}

// signInTime is how long a sign-in may take.
const signInTime = 5 * time.Minute

// Login signs in to a server: show is given the address that the user must open,
// and the answer is awaited on the loopback. The grant is kept in the server's
// store. A server that wants no sign-in is fine.
func Login(ctx context.Context, s Server, name, version string, scopes []string, show func(url string)) error {
	if s.URL == "" {
		return errors.New("only servers with a url take a sign-in")
	}
	ctx, cancel := context.WithTimeout(ctx, signInTime)
	defer cancel()
	open := func(url string) error { show(url); return nil }
	grant, err := signIn(ctx, s, name, scopes, open, func(h auth.OAuthHandler) error {
		client := mcp.NewClient(&mcp.Implementation{Name: name, Version: version}, nil)
		session, err := client.Connect(ctx,
			&mcp.StreamableClientTransport{Endpoint: s.URL, OAuthHandler: h, DisableStandaloneSSE: true}, nil)
		if err != nil {
			return err
		}
		return session.Close()
	})
	if err != nil {
		return errors.New(oneLine(err.Error()))
	}
	if grant == nil {
		return nil
	}
	return s.Store.Save(s.Name, grant)
}

// signIn runs do with what signs in to the server when it is asked to, and returns the
// grant, nil if no sign-in was wanted. Show has the user open an address, unless it refuses.
func signIn(ctx context.Context, s Server, name string, scopes []string, show func(url string) error,
	do func(auth.OAuthHandler) error) (*Grant, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", s.Client.Port))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	redirect := fmt.Sprintf("http://%s/callback", l.Addr())
	var grant *Grant
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: name, RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none"}},
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if err := show(a.URL); err != nil {
				return nil, err
			}
			return callback(ctx, l)
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			grant = &Grant{ClientID: c.ClientID, ClientSecret: c.ClientSecret, AuthURL: c.Endpoint.AuthURL,
				TokenURL: c.Endpoint.TokenURL, Scopes: c.Scopes, Token: t}
			return c.TokenSource(ctx, t), nil
		},
	}
	if s.Client.ID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.Client.ID}
		if s.Client.Secret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: s.Client.Secret}
		}
	}
	if s.Client.MetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.Client.MetadataURL}
	}
	if len(scopes) > 0 {
		config.ScopeFilter = func([]string) []string { return scopes }
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return nil, err
	}
	if err := do(handler); err != nil {
		return nil, err
	}
	return grant, nil
}

// callback waits for the browser to come back with a code.
func callback(ctx context.Context, l net.Listener) (*auth.AuthorizationResult, error) {
	type answer struct {
		result *auth.AuthorizationResult
		err    error
	}
	answers := make(chan answer, 1)
	srv := &http.Server{ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/callback" {
				http.NotFound(w, r)
				return
			}
			a := answer{result: &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}}
			if a.result.Code == "" {
				a = answer{err: fmt.Errorf("the sign-in was refused: %s", oneLine(q.Get("error")+" "+q.Get("error_description")))}
			}
			_, _ = w.Write([]byte("Kerf has what it needs. You can close this page.\n"))
			select {
			case answers <- a:
			default:
			}
		})}
	go func() { _ = srv.Serve(l) }()
	defer func() {
		soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = srv.Shutdown(soon)
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the sign-in was not finished: %w", context.Cause(ctx))
	}
}
