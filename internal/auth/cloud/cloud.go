// Package cloud gets what programs sign in to a cloud with, from where its own programs keep
// it: keys of AWS, tokens of Google and of Microsoft Entra.
//
// The clouds' own libraries are larger than Kerf. A module of their own,
// internal/testkit/oracle, holds this package against them.
package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// World is what lies around the program.
type World struct {
	Getenv func(name string) string
	Home   string // of the user
	// Config is where programs keep their configuration on this system, see
	// os.UserConfigDir. Only Windows differs from what is below Home.
	Config string
	// Run runs a program that the configuration of a cloud names, and returns what it
	// prints. Nil means that no program is run.
	Run func(ctx context.Context, argv []string) (string, error)
	// Secret is called with every secret that was got, before it is used.
	Secret func(string)
	// Client makes the requests, nil for one that follows no redirects.
	Client *http.Client
	// Transport is that of requests to other servers than those that only machines of the
	// cloud can reach; nil for the usual one.
	Transport http.RoundTripper
	// Now is the clock, nil for the real one.
	Now func() time.Time
}

func (w World) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

// Token is what a request is authorized with.
type Token struct {
	Value   string
	Expires time.Time // zero means never
	// Header is added to the requests that carry the token.
	Header map[string]string
}

// early is how long before its end a token is no longer used.
const early = 2 * time.Minute

// Tokens gets tokens and keeps the one that is fresh. It may be used by several goroutines.
type Tokens struct {
	get func(context.Context) (Token, error)
	w   World

	mu   sync.Mutex
	kept Token // guarded by mu
}

// Get returns a token that is fresh.
func (t *Tokens) Get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kept; k.Value != "" && (k.Expires.IsZero() || t.w.now().Before(k.Expires.Add(-early))) {
		return k.Value, nil
	}
	got, err := t.get(ctx)
	if err != nil {
		return "", err
	}
	if got.Value == "" {
		return "", errors.New("the sign-in server answered without a token")
	}
	t.w.Secret(got.Value)
	t.kept = got
	return got.Value, nil
}

// Header is what goes along with the token that is kept.
func (t *Tokens) Header() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept.Header
}

// Rejected forgets a token that a server refused, and reports that there may be another.
func (t *Tokens) Rejected(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.Value == token {
		t.kept = Token{}
	}
	return true
}

// maxAnswer bounds the answer of a server and the files that are read.
const maxAnswer = 1 << 20

// near is a client for servers that only machines of a cloud can reach: elsewhere they do
// not answer, which is noticed soon. No proxy is asked.
var near = &http.Client{Timeout: 3 * time.Second, CheckRedirect: noRedirect,
	Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, DisableKeepAlives: true}}

// far is a client for all others.
var far = &http.Client{Timeout: 30 * time.Second, CheckRedirect: noRedirect}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (w World) client(of *http.Client) *http.Client {
	switch {
	case w.Client != nil:
		return w.Client
	case w.Transport != nil && of == far:
		through := *far
		through.Transport = w.Transport
		return &through
	}
	return of
}

// answered is a server's refusal. Its words hold no secret of the request.
type answered struct {
	status int
	words  string
	at     time.Time // by its clock, zero when it did not tell
}

func (e *answered) Error() string {
	if e.words == "" {
		return fmt.Sprintf("the server answered %d %s", e.status, http.StatusText(e.status))
	}
	return fmt.Sprintf("%s (%d)", e.words, e.status)
}

// ask makes a request and reads the JSON of its answer into into; a nil into wants none. It
// returns the whole answer.
func ask(client *http.Client, req *http.Request, into any) ([]byte, error) {
	req.Header.Set("User-Agent", "kerf")
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address may hold secrets
		}
		return nil, &Passing{fmt.Errorf("cannot reach %s: %w", req.URL.Host, err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &Passing{fmt.Errorf("%s: %w", req.URL.Host, err)}
	}
	if resp.StatusCode != http.StatusOK {
		at, _ := http.ParseTime(resp.Header.Get("Date")) // a server may tell none
		err := fmt.Errorf("%s: %w", req.URL.Host, &answered{resp.StatusCode, refusal(body), at})
		if Busy(resp.StatusCode) {
			return nil, &Passing{err}
		}
		return nil, err
	}
	if into == nil {
		return body, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("%s: the answer cannot be read", req.URL.Host)
	}
	return body, nil
}

// refusal are the words of a sign-in server for why it refused.
func refusal(body []byte) string {
	var said struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
		Message     string          `json:"message"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var code string
	switch {
	case said.Description != "":
		return firstLine(said.Description)
	case said.Message != "":
		return firstLine(said.Message)
	case json.Unmarshal(said.Error, &code) == nil:
		return firstLine(code)
	case json.Unmarshal(said.Error, &inner) == nil:
		return firstLine(inner.Message)
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line[:min(len(line), 400)]
}

// absent is the failure of a server that only machines of a cloud can reach: this is none, or
// the server is busy.
func absent(err error) error {
	var said *answered
	if errors.As(err, &said) && Busy(said.status) {
		return err
	}
	return errors.New(err.Error()) // no other try finds it
}

func get(ctx context.Context, address string, header map[string]string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return req, nil
}

func post(ctx context.Context, address, kind, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	return req, nil
}

const form = "application/x-www-form-urlencoded"

// granted is the answer of a token endpoint. Some servers write numbers as texts.
type granted struct {
	Access string      `json:"access_token"`
	In     json.Number `json:"expires_in"`
	On     json.Number `json:"expires_on"`
}

func (g granted) token(now time.Time) Token {
	t := Token{Value: g.Access}
	if on, err := g.On.Int64(); err == nil && on > 0 {
		t.Expires = time.Unix(on, 0)
	}
	if in, err := g.In.Int64(); err == nil && in > 0 {
		t.Expires = now.Add(time.Duration(in) * time.Second)
	}
	return t
}
