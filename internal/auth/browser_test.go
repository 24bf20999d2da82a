package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"kerf/internal/auth"
)

// signInServer is one that keeps PKCE: a code is worth something only to who shows the
// verifier of its challenge. Tokens are given for forms, keys for JSON.
func signInServer(t *testing.T, challenge *string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var code, verifier string
		if r.URL.Path == "/keys" {
			var in map[string]string
			if json.NewDecoder(r.Body).Decode(&in) != nil || in["code_challenge_method"] != "S256" {
				http.Error(w, "bad", http.StatusBadRequest)
				return
			}
			code, verifier = in["code"], in["code_verifier"]
		} else {
			code, verifier = r.FormValue("code"), r.FormValue("code_verifier")
		}
		sum := sha256.Sum256([]byte(verifier))
		if r.FormValue("refresh_token") != "r1" &&
			(code != "the-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != *challenge) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			_, _ = w.Write([]byte(`{"key":"sk-or-1"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"a1","refresh_token":"r1","expires_in":1,"token_type":"Bearer"}`))
	}))
	t.Cleanup(server.Close)
	return server
}

// A sign-in in the browser ends with tokens, or with a key where there is no client id.
// Who does not know the state does not get in between.
func TestSignInBrowser(t *testing.T) {
	for _, client := range []string{"", "my-client"} {
		var challenge string
		server := signInServer(t, &challenge)
		d := auth.Device{ClientID: client, AuthURL: server.URL + "/authorize", TokenURL: server.URL + "/token"}
		if client == "" {
			d.TokenURL = server.URL + "/keys"
		}
		got, err := d.SignInBrowser(t.Context(), func(address string) {
			u, _ := url.Parse(address)
			q := u.Query()
			challenge = q.Get("code_challenge")
			back := q.Get("redirect_uri") + q.Get("callback_url")
			if q.Get("code_challenge_method") != "S256" || !strings.HasPrefix(back, "http://localhost:") {
				t.Errorf("the user is sent to %s", address)
			}
			for _, foreign := range []string{back + "?code=evil&state=guess", back + "x?code=evil", back + "?error=no&state=x"} {
				if client == "" && !strings.Contains(foreign, "x?code") {
					continue // the state is in the path
				}
				if resp, err := http.Get(foreign); err != nil || resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %v %v", foreign, resp, err)
				}
			}
			resp, err := http.Get(back + "?code=the-code&state=" + url.QueryEscape(q.Get("state")))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("the browser comes back and gets %v %v", resp, err)
			}
		})
		switch {
		case err != nil:
			t.Errorf("client %q: %v", client, err)
		case client == "" && got.Key != "sk-or-1", client != "" && (got.Access != "a1" || got.Refresh != "r1"):
			t.Errorf("client %q: got %+v", client, got)
		}
		if client == "" {
			continue
		}
		if fresh, err := d.Renew(t.Context(), got); err != nil || fresh.Access != "a1" {
			t.Errorf("renewed: %+v %v", fresh, err)
		}
	}
}

func TestSignInBrowserEnds(t *testing.T) {
	var challenge string
	server := signInServer(t, &challenge)
	d := auth.Device{ClientID: "c", AuthURL: server.URL, TokenURL: server.URL + "/token"}
	back := func(query string) func(string) {
		return func(address string) {
			u, _ := url.Parse(address)
			resp, err := http.Get(u.Query().Get("redirect_uri") + "?state=" + u.Query().Get("state") + query)
			if err == nil {
				resp.Body.Close()
			}
		}
	}
	if _, err := d.SignInBrowser(t.Context(), back("&error=access_denied")); err == nil ||
		!strings.Contains(err.Error(), "refused: access_denied") {
		t.Errorf("a refusal is told as %v", err)
	}
	// The challenge stays unknown to the server, so that the verifier does not fit.
	if _, err := d.SignInBrowser(t.Context(), back("&code=the-code")); err == nil || err.Error() != "invalid_grant" {
		t.Errorf("a wrong verifier is told as %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.SignInBrowser(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
