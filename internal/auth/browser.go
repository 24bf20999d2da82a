package auth

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/oauth2"
)

// browserWait is how long the user may take in the browser.
const browserWait = 10 * time.Minute

// maxAnswer bounds the answer of a sign-in server.
const maxAnswer = 1 << 20

// SignInBrowser shows an address, at which the user signs in, and waits until the browser
// comes back to this machine with a code (RFC 8252, with PKCE). Without a ClientID the code
// is exchanged for a key, as OpenRouter does it; with one, for tokens.
//
// One goroutine serves the browser; it has ended when SignInBrowser returns.
func (d *Device) SignInBrowser(ctx context.Context, show func(address string)) (Credential, error) {
	ctx, cancel := context.WithTimeout(d.context(ctx), browserWait)
	defer cancel()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.RedirectPort)))
	if err != nil {
		if d.RedirectPort != 0 {
			err = fmt.Errorf("%w; end the program that listens there (another kerf login?)", err)
		}
		return Credential{}, fmt.Errorf("the browser cannot come back to this machine: %w", err)
	}
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	back := "http://localhost:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	config := d.config()
	if d.ClientID == "" {
		back += "/" + state // there is no other place for it
	} else {
		back += "/auth/callback"
	}
	config.RedirectURL = back
	address, err := d.address(config, state, verifier)
	if err != nil {
		listener.Close()
		return Credential{}, err
	}
	codes := make(chan arrival, 1)
	server := &http.Server{Handler: callback(back, state, d.ClientID != "", codes), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends when it is closed
	}()
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(bye) != nil {
			_ = server.Close()
		}
		<-served
	}()
	show(address)
	select {
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Credential{}, fmt.Errorf("nobody signed in within %s", browserWait)
		}
		return Credential{}, ctx.Err()
	case got := <-codes:
		if got.err != nil {
			return Credential{}, got.err
		}
		if d.ClientID == "" {
			return d.exchangeKey(ctx, got.code, verifier)
		}
		token, err := config.Exchange(ctx, got.code, oauth2.VerifierOption(verifier))
		if err != nil {
			return Credential{}, told(err)
		}
		return d.credentialOf(token), nil
	}
}

// address is where the user signs in.
func (d *Device) address(config *oauth2.Config, state, verifier string) (string, error) {
	if d.ClientID != "" {
		options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
		for name, value := range d.AuthParams {
			options = append(options, oauth2.SetAuthURLParam(name, value))
		}
		return config.AuthCodeURL(state, options...), nil
	}
	u, err := url.Parse(d.AuthURL)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("callback_url", config.RedirectURL)
	q.Set("code_challenge", oauth2.S256ChallengeFromVerifier(verifier))
	q.Set("code_challenge_method", "S256")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// arrival is what the browser came back with.
type arrival struct {
	code string
	err  error
}

// callback takes the code from the browser, once. What does not know the state is somebody
// else and changes nothing.
func callback(back, state string, inQuery bool, codes chan<- arrival) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, _ := url.Parse(back)
		given := state
		if inQuery {
			given = r.URL.Query().Get("state")
		}
		if r.Method != http.MethodGet || r.URL.Path != want.Path ||
			subtle.ConstantTimeCompare([]byte(given), []byte(state)) != 1 {
			http.NotFound(w, r)
			return
		}
		q, got := r.URL.Query(), arrival{}
		switch got.code = q.Get("code"); {
		case q.Get("error") != "":
			got = arrival{err: fmt.Errorf("the sign-in was refused: %.200s", q.Get("error"))}
		case got.code == "":
			http.NotFound(w, r)
			return
		}
		select {
		case codes <- got:
		default: // it came back before
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "You can close this page and go back to Kerf.\n")
	})
}

// exchangeKey gives a code for a key.
func (d *Device) exchangeKey(ctx context.Context, code, verifier string) (Credential, error) {
	body, err := json.Marshal(map[string]string{"code": code, "code_verifier": verifier, "code_challenge_method": "S256"})
	if err != nil {
		return Credential{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.TokenURL, bytes.NewReader(body))
	if err != nil {
		return Credential{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.client().Do(req)
	if err != nil {
		return Credential{}, err
	}
	defer resp.Body.Close()
	var answer struct {
		Key string `json:"key"`
	}
	if resp.StatusCode != http.StatusOK {
		return Credential{}, errors.New("the sign-in server answered " + resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil || answer.Key == "" {
		return Credential{}, errors.New("the sign-in server answered without a key")
	}
	return Credential{Key: answer.Key}, nil
}
