package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kerf/internal/auth"
)

// tokenServer renews tokens: each refresh token counts once, as with servers that rotate them.
func tokenServer(t *testing.T) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	var mu sync.Mutex
	valid := "refresh-0"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n := asked.Add(1)
		if r.FormValue("refresh_token") != valid {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		valid = "refresh-" + string(rune('0'+n))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "access-" + string(rune('0'+n)), "refresh_token": valid, "expires_in": 3600})
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

func signedIn(t *testing.T, url string, used *[]string) *auth.Keys {
	t.Helper()
	k := keys(t, auth.Provider{Name: "Corp", Device: auth.Device{ClientID: "c", TokenURL: url, AccountHeader: "X-Account"}}, nil, used)
	old := auth.Credential{Access: "access-old", Refresh: "refresh-0", Expires: time.Unix(1, 0), Account: "me"}
	if _, err := k.Store.Put("corp", old); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestTokensAreRenewedOnce: of several that share a sign-in one asks the server, and the others take what it
// stored. A second use of one refresh token would sign all of them out.
func TestTokensAreRenewedOnce(t *testing.T) {
	url, asked := tokenServer(t)
	var used []string
	k := signedIn(t, url, &used)
	var mu sync.Mutex
	k.Secret = func(s string) { mu.Lock(); used = append(used, s); mu.Unlock() }
	var list []auth.Key
	for range 5 { // each stands for a process
		key, err := k.Key("corp")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, key)
	}
	var all sync.WaitGroup
	for _, key := range list {
		all.Go(func() {
			if token, err := key.Get(t.Context()); err != nil || token != "access-1" {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	if h := list[0].Header(); h["X-Account"] != "me" || !list[0].Bearer {
		t.Errorf("sent along: %v", h)
	}
	for _, secret := range []string{"access-1", "refresh-1", "refresh-0"} {
		if !slices.Contains(used, secret) {
			t.Errorf("%s is not known as a secret", secret)
		}
	}
	if c, _, err := k.Store.Get("corp"); err != nil || c.Access != "access-1" || c.Refresh != "refresh-1" {
		t.Errorf("stored: %+v, %v", c, err)
	}
}

// TestARefusedTokenIsRenewed: or replaced by what somebody stored meanwhile. What cannot be renewed is refused for
// good.
func TestARefusedTokenIsRenewed(t *testing.T) {
	url, _ := tokenServer(t)
	var used []string
	k := signedIn(t, url, &used)
	key, err := k.Key("corp")
	if err != nil {
		t.Fatal(err)
	}
	get := func(want string) {
		t.Helper()
		if token, err := key.Get(t.Context()); err != nil || token != want {
			t.Errorf("%q, %v, want %q", token, err, want)
		}
	}
	get("access-1")
	if !key.Rejected("access-1") {
		t.Error("there is no other token")
	}
	get("access-2")
	if !key.Rejected("access-1") {
		t.Error("a token of before counts")
	}
	get("access-2")
	if _, err := k.Store.Put("corp", auth.Credential{Access: "by-another"}); err != nil {
		t.Fatal(err)
	}
	if !key.Rejected("access-2") {
		t.Error("what another one stored is not taken")
	}
	get("by-another")
	if key.Rejected("by-another") {
		t.Error("a token that cannot be renewed has another one")
	}
	// Signed out while the token is old.
	k = signedIn(t, url, &used)
	if key, err = k.Key("corp"); err != nil {
		t.Fatal(err)
	}
	if err := k.Logout("corp"); err != nil {
		t.Fatal(err)
	}
	if _, err := key.Get(t.Context()); err == nil || err.Error() != "somebody signed out; run kerf login corp again" {
		t.Errorf("signed out: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := key.Get(over); err == nil {
		t.Error("a request that is over waits for tokens")
	}
}

// TestExchangedTokens: the token of a sign-in is given for another one, which is kept until it is old or refused;
// requests go where the answer says if that is as safe.
func TestExchangedTokens(t *testing.T) {
	var answer atomic.Value
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "token the-token" || r.Header.Get("X-More") != "yes" {
			t.Errorf("asked with %v", r.Header)
		}
		a := answer.Load().(string)
		if status, ok := map[string]int{"busy": http.StatusServiceUnavailable, `{"message":"no seat"}`: http.StatusForbidden, "no": http.StatusForbidden}[a]; ok {
			w.WriteHeader(status)
		}
		_, _ = w.Write([]byte(a))
	}))
	t.Cleanup(srv.Close)
	var used []string
	for a, want := range map[string]string{"busy": "503", `{"message":"no seat"}`: "no seat (403)", "no": "403", "{}": "without a token",
		`{"token":"t","endpoints":{"api":"http://elsewhere.invalid"}}`:       "an address that requests cannot go to",
		`{"token":"t","endpoints":{"api":"https://user@elsewhere.invalid"}}`: "an address that requests cannot go to"} {
		answer.Store(a)
		k := keys(t, auth.Provider{Token: "the-token", Exchange: auth.ExchangeAt(srv.URL, map[string]string{"X-More": "yes"}, nil)}, nil, &used)
		key, err := k.Key("corp")
		if err != nil {
			t.Fatal(err)
		}
		if token, err := key.Get(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "exchange of the token: ") {
			t.Errorf("%s: %q, %v", a, token, err)
		}
	}
	k := keys(t, auth.Provider{Token: "the-token", Exchange: auth.ExchangeAt(srv.URL, map[string]string{"X-More": "yes"}, nil)}, nil, &used)
	key, err := k.Key("corp")
	if err != nil || !key.Bearer {
		t.Fatal(err)
	}
	get := func(want string, asks int) {
		t.Helper()
		asked = 0
		token, err := key.Get(t.Context())
		if err != nil || token != want || asked != asks || !slices.Contains(used, want) {
			t.Errorf("%q, %v, asked %d times; want %q, %d", token, err, asked, want, asks)
		}
	}
	answer.Store(`{"token":"short-1","endpoints":{"api":"https://api.example.org/"}}`)
	get("short-1", 1)
	get("short-1", 0)
	if base := key.Base(); base != "https://api.example.org" {
		t.Errorf("requests go to %q", base)
	}
	answer.Store(`{"token":"short-2","expires_at":1}`)
	if !key.Rejected("another") {
		t.Error("no other token")
	}
	get("short-1", 0)
	key.Rejected("short-1")
	get("short-2", 1)
	answer.Store(`{"token":"short-3","endpoints":{"api":"` + srv.URL + `/here"}}`)
	get("short-3", 1) // the one before was old at once
	if base := key.Base(); base != srv.URL+"/here" {
		t.Errorf("requests go to %q", base)
	}
	if auth.ExchangeAt("", nil, nil) != nil {
		t.Error("there is an exchange at no address")
	}
}

// TestWhichKeysThereAre: those of the environment before those that were stored, and faults that say what to do.
func TestWhichKeysThereAre(t *testing.T) {
	env := map[string]string{}
	var used []string
	k := keys(t, auth.Provider{Name: "Corp", EnvKey: "CORP_KEY"}, env, &used)
	k.Providers["also"] = auth.Provider{Name: "Also", EnvKey: "CORP_KEY"}
	k.Providers["flow"] = auth.Provider{Name: "Flow", Device: auth.Device{ClientID: "c", AuthURL: "https://a"}}
	k.Providers["both"] = auth.Provider{Name: "Both", Device: auth.Device{ClientID: "c", AuthURL: "https://a", DeviceURL: "https://d"}}
	k.Providers["bare"] = auth.Provider{Name: "Bare", Device: auth.Device{NeedsClient: true, AuthURL: "https://a"}}
	k.Providers["free"] = auth.Provider{Name: "Free"}
	if found := k.Found(); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if _, err := k.Login(t.Context(), "flow", "stored-key", false); err != nil {
		t.Fatal(err)
	}
	if found := k.Found(); len(found) != 1 || found["flow"] != "" {
		t.Errorf("found %v", found)
	}
	env["CORP_KEY"] = "k"
	if found := k.Found(); len(found) != 1 || found["also"] != "CORP_KEY" {
		t.Errorf("found %v", found)
	}
	delete(env, "CORP_KEY")
	for name, want := range map[string]string{"corp": "set it, or sign in with: kerf login corp", "both": "needs a sign-in; run: kerf login both", "bare": "model_providers.bare.oauth.client_id"} {
		if _, err := k.Key(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if key, err := k.Key("free"); err != nil || key.Get != nil {
		t.Errorf("one that needs none: %+v, %v", key, err)
	}
	for name, want := range map[string][3]bool{"corp": {}, "flow": {false, true, true}, "both": {true, true, false}} {
		has, needs := k.HasBrowserFlow(name)
		if got := [3]bool{k.HasDeviceFlow(name), has, needs}; got != want {
			t.Errorf("%s is signed in to by code, browser, browser only: %v", name, got)
		}
	}
	show := func(string) { t.Error("an address is shown") }
	code := func(string, string, string) { t.Error("a code is shown") }
	for what, err := range map[string]error{
		"a client id":       second(k.LoginBrowser(t.Context(), "bare", show)),
		"client_id":         second(k.LoginDevice(t.Context(), "bare", code)),
		"oauth.token_url":   errors.Join(second(k.LoginBrowser(t.Context(), "flow", show)), second(k.LoginDevice(t.Context(), "flow", code))),
		"subscription":      second(k.Login(t.Context(), "corp", "sk-ant-oat01-x", false)),
		"is not configured": k.Logout("none"),
	} {
		var fault interface{ ExitCode() int }
		if !errors.As(err, &fault) || fault.ExitCode() != 2 || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
