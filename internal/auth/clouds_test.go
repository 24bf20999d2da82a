package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kerf/internal/auth"
)

// clouds are those of an environment without any files.
func clouds(t *testing.T, env map[string]string) auth.Clouds {
	t.Helper()
	home := t.TempDir()
	return auth.Clouds{Secret: func(string) {}, Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}}
}

// TestNoCloudHasNoCredentials, and knows nothing of addresses.
func TestNoCloudHasNoCredentials(t *testing.T) {
	c := clouds(t, map[string]string{"AWS_REGION": "eu-west-1"}).Of("", "")
	if c.Name != "" || c.Key.Get != nil || c.Lookup("AWS_REGION") != "" {
		t.Errorf("%+v", c)
	}
}

// TestAWSSignsForTheRegionOfTheHost, or where the host tells none for that of the environment, or for the first region.
func TestAWSSignsForTheRegionOfTheHost(t *testing.T) {
	for _, tt := range []struct{ url, region, want string }{
		{"https://bedrock-runtime.eu-central-1.amazonaws.com/m", "eu-west-1", "eu-central-1"},
		{"https://proxy.example.org/m", "eu-west-1", "eu-west-1"},
		{"https://proxy.example.org/m", "", "us-east-1"},
		{"https://a.b.notaws.com/m", "eu-west-1", "eu-west-1"},
	} {
		c := clouds(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not a secret", "AWS_REGION": tt.region}).Of("aws", "")
		if id, err := c.Key.Get(t.Context()); err != nil || id != "AKIAEXAMPLE" {
			t.Fatalf("%q, %v", id, err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Key.Sign(r, strings.NewReader("body")); err != nil {
			t.Fatal(err)
		}
		signed := r.Header.Get("Authorization")
		if !strings.Contains(signed, "Credential=AKIAEXAMPLE/") || !strings.Contains(signed, "/"+tt.want+"/bedrock/aws4_request") {
			t.Errorf("%+v: %s", tt, signed)
		}
		if got := c.Lookup("AWS_REGION"); got != tt.region || c.Lookup("HOME") != "" {
			t.Errorf("the address has the region %q", got)
		}
	}
}

// TestWhatStandsInAnAddressIsTheVariable, or what the files of its provider's cloud say for it.
func TestWhatStandsInAnAddressIsTheVariable(t *testing.T) {
	lookup := func(name string) string { return "file " + name }
	k := &auth.Keys{Getenv: func(name string) string { return map[string]string{"SET": "env"}[name] },
		Providers: map[string]auth.Provider{"a": {Cloud: auth.Cloud{Lookup: lookup}}, "b": {}}}
	for want, of := range map[string][2]string{"env": {"a", "SET"}, "file OTHER": {"a", "OTHER"}, "": {"b", "OTHER"}} {
		if got := k.InAddress(of[0], of[1]); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
	if got := k.InAddress("none", "SET"); got != "env" {
		t.Errorf("of a provider that there is not: %q", got)
	}
}

// identity is a token that says something of its user.
func identity(says string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(says)) + ".sig"
}

// TestTheAccountIsTheOneThatTheIdentityTells: where it is told in a form that may stand in a header. Else the one that is
// known stays.
func TestTheAccountIsTheOneThatTheIdentityTells(t *testing.T) {
	for _, tt := range []struct{ token, want string }{
		{identity(`{"org":{"id":"new"}}`), "new"},
		{identity(`{"org":{"id":"new"}}`) + ".more", "old"},
		{"e30.%.sig", "old"},
		{identity(`{broken`), "old"},
		{identity(`{"org":"id"}`), "old"},
		{identity(`{"org":{"id":7}}`), "old"},
		{identity(`{"org":{"id":"a b"}}`), "old"},
		{identity(`{"org":{"id":"a\r\nX: y"}}`), "old"},
		{identity(`{"org":{"id":"` + strings.Repeat("a", 201) + `"}}`), "old"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": tt.token})
		}))
		d := auth.Device{ClientID: "c", TokenURL: s.URL, AccountClaim: []string{"org", "id"}, Client: auth.Through(http.DefaultTransport)}
		got, err := d.Renew(t.Context(), auth.Credential{Refresh: "r", Account: "old"})
		if err != nil || got.Account != tt.want || got.Access != "a" || got.Refresh != "r" {
			t.Errorf("%s: %+v, %v; want the account %q", tt.token, got, err, tt.want)
		}
		s.Close()
	}
	if auth.Through(nil) != nil {
		t.Error("no transport is one")
	}
}

// TestRefusalsOfSignInServersAreToldInTheirWords, or by their status; one that may pass says so.
func TestRefusalsOfSignInServersAreToldInTheirWords(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{400, `{"error":"invalid_grant","error_description":"it was used"}`, "it was used; run kerf login again"},
		{400, `{"error":"invalid_grant"}`, "invalid_grant; run kerf login again"},
		{418, `tea`, "the sign-in server answered 418 I'm a teapot; run kerf login again"},
		{503, `busy`, "the tokens cannot be renewed: the sign-in server answered 503 Service Unavailable"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		d := auth.Device{ClientID: "c", TokenURL: s.URL}
		old := auth.Credential{Refresh: "r", Access: "a"}
		got, err := d.Renew(t.Context(), old)
		if err == nil || err.Error() != tt.want || got != old {
			t.Errorf("%d: %+v, %v; want %s", tt.status, got, err, tt.want)
		}
		s.Close()
		if _, err := d.Renew(t.Context(), old); err == nil || !strings.HasPrefix(err.Error(), "the tokens cannot be renewed: cannot reach 127.0.0.1: ") {
			t.Errorf("a server that is gone: %v", err)
		}
	}
	if _, err := (&auth.Device{}).Renew(t.Context(), auth.Credential{Access: "a"}); err == nil || err.Error() != "the sign-in has expired; run kerf login again" {
		t.Errorf("without a refresh token: %v", err)
	}
}
