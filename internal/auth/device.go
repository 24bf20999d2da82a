package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"kerf/internal/auth/cloud"
)

// Device is a sign-in by a code that the user enters in a browser (RFC 8628).
type Device struct {
	ClientID     string
	DeviceURL    string
	TokenURL     string
	Scopes       []string
	Audience     string
	Client       *http.Client
	ClientSecret string
	// AuthURL is where one signs in with a browser that comes back to RedirectPort of this
	// machine, 0 for any port.
	AuthURL      string
	RedirectPort int
	// AuthParams are added to AuthURL.
	AuthParams map[string]string
	// AccountClaim is where the identity token tells the account, AccountHeader the header
	// in which requests name it.
	AccountClaim  []string
	AccountHeader string
	// Client ids name the program to a server. NeedsClient says that nobody signs in
	// without one.
	NeedsClient bool
}

// wantsClient reports whether a client id is missing.
func (d *Device) wantsClient() bool { return d.NeedsClient && d.ClientID == "" }

// Prompt is what the user must do.
type Prompt struct{ URL, Complete, Code string }

func (d *Device) config() *oauth2.Config {
	c := &oauth2.Config{ClientID: d.ClientID, ClientSecret: d.ClientSecret, Scopes: d.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: d.AuthURL, DeviceAuthURL: d.DeviceURL, TokenURL: d.TokenURL}}
	if d.ClientSecret == "" {
		// A client without a secret is named in the form. The library would find that out by asking
		// twice, and codes and refresh tokens are good for once.
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// patient is a client that gives up a sign-in server that does not answer.
var patient = &http.Client{Timeout: 30 * time.Second}

// Through is the client of sign-ins that reach their servers by a transport, nil for nil.
func Through(t http.RoundTripper) *http.Client {
	if t == nil {
		return nil
	}
	return &http.Client{Timeout: patient.Timeout, Transport: t}
}

func (d *Device) client() *http.Client { return cmp.Or(d.Client, patient) }

func (d *Device) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, d.client())
}

// SignIn asks for a code, shows it, and waits until the user has entered it.
func (d *Device) SignIn(ctx context.Context, show func(Prompt)) (Credential, error) {
	ctx = d.context(ctx)
	var options []oauth2.AuthCodeOption
	if d.Audience != "" {
		options = append(options, oauth2.SetAuthURLParam("audience", d.Audience))
	}
	code, err := d.config().DeviceAuth(ctx, options...)
	if err != nil {
		return Credential{}, told(err)
	}
	show(Prompt{URL: code.VerificationURI, Complete: code.VerificationURIComplete, Code: code.UserCode})
	token, err := d.entered(ctx, code)
	if err != nil {
		return Credential{}, told(err)
	}
	return d.credentialOf(token), nil
}

// entered waits until the user has entered a code. A server that is away for a while, or busy,
// does not end that: the code stays good.
func (d *Device) entered(ctx context.Context, code *oauth2.DeviceAuthResponse) (*oauth2.Token, error) {
	for {
		token, err := d.config().DeviceAccessToken(ctx, code) // it waits before it asks
		switch {
		case err == nil || ctx.Err() != nil:
			return token, err
		case !code.Expiry.IsZero() && !time.Now().Before(code.Expiry):
			return nil, errors.New("the code was not entered in time; run kerf login again")
		case !passes(err) || code.Expiry.IsZero():
			return nil, err
		}
	}
}

// Renew returns fresh tokens for stale ones.
func (d *Device) Renew(ctx context.Context, c Credential) (Credential, error) {
	if c.Refresh == "" {
		return c, errors.New("the sign-in has expired; run kerf login again")
	}
	old := &oauth2.Token{RefreshToken: c.Refresh, Expiry: time.Unix(1, 0)}
	token, err := d.config().TokenSource(d.context(ctx), old).Token()
	if passes(err) {
		return c, &cloud.Passing{Err: fmt.Errorf("the tokens cannot be renewed: %w", told(err))}
	}
	if err != nil {
		return c, fmt.Errorf("%w; run kerf login again", told(err))
	}
	fresh := d.credentialOf(token)
	fresh.Refresh = cmp.Or(fresh.Refresh, c.Refresh)
	fresh.Account = cmp.Or(fresh.Account, c.Account)
	return fresh, nil
}

func (d *Device) credentialOf(t *oauth2.Token) Credential {
	c := Credential{Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry.UTC()}
	if identity, ok := t.Extra("id_token").(string); ok && len(d.AccountClaim) > 0 {
		c.Account = claim(identity, d.AccountClaim)
	}
	return c
}

// claim is what an identity token says, or empty. The token came from the server itself, so
// its signature proves nothing more.
func claim(token string, path []string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var at any
	if err != nil || json.Unmarshal(b, &at) != nil {
		return ""
	}
	for _, name := range path {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	s, _ := at.(string)
	if len(s) > 200 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "" // it becomes a header
	}
	return s
}

// passes reports whether a sign-in server may answer better at another try: it could not be
// reached, or was busy.
func passes(err error) bool {
	var r *oauth2.RetrieveError
	if errors.As(err, &r) {
		return r.Response != nil && cloud.Busy(r.Response.StatusCode)
	}
	var u *url.Error
	return errors.As(err, &u) || err != nil && strings.HasPrefix(err.Error(), "oauth2: cannot fetch token: ")
}

// told is the provider's word of an error, without the answer that holds it.
func told(err error) error {
	var r *oauth2.RetrieveError
	var u *url.Error
	switch {
	case errors.As(err, &u):
		at, _ := url.Parse(u.URL)
		return fmt.Errorf("cannot reach %s: %w", at.Hostname(), u.Err)
	case !errors.As(err, &r):
		return err
	}
	switch {
	case r.ErrorDescription != "":
		return errors.New(r.ErrorDescription)
	case r.ErrorCode != "":
		return errors.New(r.ErrorCode)
	case r.Response != nil:
		return errors.New("the sign-in server answered " + r.Response.Status)
	}
	return errors.New("the sign-in server refused")
}
