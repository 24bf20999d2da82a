package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"kerf/internal/auth/cloud"
)

// Exchange gives the token of a sign-in for one that lasts shortly and that requests carry,
// as GitHub Copilot does it. The answer may name the address that requests go to.
type Exchange struct {
	URL    string
	Client *http.Client
	// Header is added to the request.
	Header map[string]string

	mu   sync.Mutex
	kept exchanged // guarded by mu
}

// ExchangeAt is one at an address; an empty one is none.
func ExchangeAt(address string, header map[string]string, client *http.Client) *Exchange {
	if address == "" {
		return nil
	}
	return &Exchange{URL: address, Header: header, Client: client}
}

type exchanged struct {
	from, token, base string
	expires           time.Time
}

// of returns a key that is exchanged.
func (e *Exchange) of(k Key, secret func(string)) Key {
	if k.Get == nil {
		return k
	}
	get := k.Get
	k.Bearer = true
	k.Get = func(ctx context.Context) (string, error) {
		from, err := get(ctx)
		if err != nil {
			return "", err
		}
		return e.token(ctx, from, secret)
	}
	k.Base = func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.kept.base
	}
	k.Rejected = func(token string) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.kept.token == token {
			e.kept = exchanged{}
		}
		return true // another exchange may give a better one
	}
	return k
}

// token is the token that from is worth, exchanged again when it is old.
func (e *Exchange) token(ctx context.Context, from string, secret func(string)) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k := e.kept; k.token != "" && k.from == from && time.Now().Before(k.expires.Add(-time.Minute)) {
		return k.token, nil
	}
	got, err := e.ask(ctx, from)
	if err != nil {
		return "", fmt.Errorf("exchange of the token: %w", err)
	}
	secret(got.token)
	e.kept = got
	return got.token, nil
}

func (e *Exchange) ask(ctx context.Context, from string) (exchanged, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL, nil)
	if err != nil {
		return exchanged{}, err
	}
	for name, value := range e.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Authorization", "token "+from)
	req.Header.Set("Accept", "application/json")
	client := &http.Client{Timeout: 30 * time.Second}
	if e.Client != nil {
		*client = *e.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return exchanged{}, &cloud.Passing{Err: err}
	}
	defer resp.Body.Close()
	var said struct {
		Token     string `json:"token"`
		Expires   int64  `json:"expires_at"`
		Endpoints struct {
			API string `json:"api"`
		} `json:"endpoints"`
		Message string `json:"message"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&said)
	switch {
	case cloud.Busy(resp.StatusCode):
		return exchanged{}, &cloud.Passing{Err: errors.New("the server answered " + resp.Status)}
	case resp.StatusCode != http.StatusOK && said.Message != "":
		return exchanged{}, fmt.Errorf("%.200s (%d)", said.Message, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return exchanged{}, errors.New("the server answered " + resp.Status)
	case err != nil || said.Token == "":
		return exchanged{}, errors.New("the server answered without a token")
	}
	got := exchanged{from: from, token: said.Token, expires: time.Unix(said.Expires, 0)}
	switch at, err := http.ParseTime(resp.Header.Get("Date")); {
	case said.Expires == 0:
		got.expires = time.Now().Add(10 * time.Minute)
	case err == nil: // the clocks may differ
		got.expires = time.Now().Add(got.expires.Sub(at))
	}
	got.base, err = e.beside(said.Endpoints.API)
	return got, err
}

// beside takes the address that an answer names if it is as safe as that of the exchange.
func (e *Exchange) beside(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	own, err := url.Parse(e.URL)
	u, wrong := url.Parse(address)
	if err != nil || wrong != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != own.Scheme ||
		u.Hostname() != own.Hostname()) {
		return "", errors.New("the server names an address that requests cannot go to")
	}
	return strings.TrimRight(address, "/"), nil
}
