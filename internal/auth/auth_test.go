package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"kerf/internal/auth"
)

func fileStore(t *testing.T) *auth.Store {
	return &auth.Store{Home: filepath.Join(t.TempDir(), "home"), Mode: auth.FileOnly}
}

func TestFile(t *testing.T) {
	s := fileStore(t)
	if _, _, err := s.Get("openai"); !errors.Is(err, auth.ErrNone) {
		t.Errorf("empty store: %v", err)
	}
	want := auth.Credential{Key: "sk-1"}
	other := auth.Credential{Access: "a", Refresh: "r", Expires: time.Unix(2000, 0).UTC()}
	for name, c := range map[string]auth.Credential{"openai": want, "corp": other} {
		if place, err := s.Put(name, c); err != nil || place != auth.InFile {
			t.Fatal(place, err)
		}
	}
	got, place, err := s.Get("openai")
	if d := cmp.Diff(want, got); d != "" || place != auth.InFile || err != nil {
		t.Error(d, place, err)
	}
	if got, _, _ := s.Get("corp"); !cmp.Equal(got, other) {
		t.Errorf("got %v", got)
	}
	if err := s.Delete("openai"); err != nil {
		t.Error(err)
	}
	if err := s.Delete("openai"); !errors.Is(err, auth.ErrNone) {
		t.Errorf("deleted twice: %v", err)
	}
	if names, err := s.Names(); !cmp.Equal(names, []string{"corp"}) || err != nil {
		t.Error(names, err)
	}
}

// SEC S4: whatever reads the file while it is replaced finds the old or the new
// one, whole, and nobody else can read it.
func TestSEC_S4_Replace(t *testing.T) {
	s := fileStore(t)
	if _, err := s.Put("p", auth.Credential{Key: "first"}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writers, reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if c, _, err := s.Get("p"); err != nil || c.Key == "" {
				t.Errorf("between: %v %v", c, err)
				return
			}
			list, _ := os.ReadDir(s.Home)
			for _, e := range list {
				if st, err := e.Info(); err == nil && runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", e.Name(), st.Mode())
					return
				}
			}
		}
	})
	for w := range 4 {
		writers.Go(func() {
			for n := range 20 {
				if _, err := s.Put("p", auth.Credential{Key: fmt.Sprint(w, n)}); err != nil {
					t.Error(err)
				}
				if _, err := s.Put(fmt.Sprint("q", w), auth.Credential{Key: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	reader.Wait()
	if names, _ := s.Names(); len(names) != 5 {
		t.Errorf("writers lost each other's keys: %v", names)
	}
	if runtime.GOOS != "windows" {
		if st, err := os.Stat(s.Home); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("home: %v %v", st.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(s.Path() + ".????????????????"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// SEC S5: a planted link is not followed, and a strange file is refused.
func TestSEC_S5_Planted(t *testing.T) {
	s := fileStore(t)
	if err := os.MkdirAll(s.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, s.Path()); err != nil {
		t.Skip("no links here:", err)
	}
	if _, err := s.Put("p", auth.Credential{Key: "k"}); err == nil {
		t.Error("a link was taken for the file")
	}
	if b, _ := os.ReadFile(victim); string(b) != "{}" {
		t.Errorf("written through the link: %s", b)
	}
	_ = os.Remove(s.Path())
	for _, text := range []string{"", "{", `{"version":9}`, `[]`} {
		if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Get("p"); err == nil || !strings.Contains(err.Error(), "kerf login") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeyring(t *testing.T) {
	keyring.MockInit()
	s := &auth.Store{Home: t.TempDir(), Mode: auth.Auto, Env: func(string) string { return "set" }}
	if place, err := s.Put("p", auth.Credential{Key: "k"}); place != auth.InKeyring || err != nil {
		t.Fatal(place, err)
	}
	if _, err := os.Stat(s.Path()); err == nil {
		t.Error("the key is in the file too")
	}
	if c, place, err := s.Get("p"); c.Key != "k" || place != auth.InKeyring || err != nil {
		t.Error(c, place, err)
	}
	if err := s.Delete("p"); err != nil {
		t.Error(err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	if place, err := s.Put("p", auth.Credential{Key: "k"}); place != auth.InFile || err != nil {
		t.Errorf("no fallback to the file: %v %v", place, err)
	}
	s.Mode = auth.KeyringOnly
	if _, err := s.Put("p", auth.Credential{Key: "k"}); err == nil {
		t.Error("keyring only fell back")
	}
}

func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	dir := t.TempDir()
	now := time.Unix(0, 0)
	c := &auth.Command{Argv: []string{"sh", "-c", "echo x >> count; echo token-$(wc -l < count | tr -d ' ')"}, Dir: dir,
		Env:     os.Environ(),
		Refresh: time.Minute, Now: func() time.Time { return now }}
	ask := func(want string) {
		t.Helper()
		if got, err := c.Token(t.Context()); got != want || err != nil {
			t.Errorf("token %q, %v, want %q", got, err, want)
		}
	}
	ask("token-1")
	ask("token-1")
	now = now.Add(2 * time.Minute)
	ask("token-2")
	c.Rejected("token-1") // an older one
	ask("token-2")
	c.Rejected("token-2")
	ask("token-3")
	for script, want := range map[string]string{"echo boom >&2; exit 3": "boom", "true": "expected one line",
		"printf 'a\\nb\\n'": "expected one line"} {
		bad := &auth.Command{Argv: []string{"sh", "-c", script}, Env: os.Environ()}
		if _, err := bad.Token(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	slow := &auth.Command{Argv: []string{"sleep", "30"}, Env: os.Environ(), Timeout: 50 * time.Millisecond}
	if _, err := slow.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "no token within") {
		t.Errorf("slow: %v", err)
	}
}

// signIn is a server of RFC 8628: the second question finds the code entered.
func signIn(t *testing.T) (*httptest.Server, *int) {
	asked := 0
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/device", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"device_code": "dc", "user_code": "ABCD-EFGH",
			"verification_uri": "https://example.test/device", "expires_in": 60, "interval": 1})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") == "refresh_token" {
			if r.FormValue("refresh_token") != "refresh-1" {
				reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "the refresh token is unknown"})
				return
			}
			reply(w, 200, map[string]any{"access_token": "access-2", "token_type": "bearer", "expires_in": 3600})
			return
		}
		if asked++; asked == 1 {
			reply(w, 400, map[string]any{"error": "authorization_pending"})
			return
		}
		reply(w, 200, map[string]any{"access_token": "access-1", "refresh_token": "refresh-1", "token_type": "bearer",
			"expires_in": 1})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s, &asked
}

func TestDevice(t *testing.T) {
	s, asked := signIn(t)
	d := &auth.Device{ClientID: "kerf", DeviceURL: s.URL + "/device", TokenURL: s.URL + "/token"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var shown auth.Prompt
	c, err := d.SignIn(ctx, func(p auth.Prompt) { shown = p })
	if err != nil || c.Secret() != "access-1" || shown.Code != "ABCD-EFGH" || *asked != 2 {
		t.Fatalf("%+v %+v %v", c, shown, err)
	}
	if !c.Stale(time.Now()) {
		t.Error("a token of one second is fresh")
	}
	fresh, err := d.Renew(ctx, c)
	if err != nil || fresh.Access != "access-2" || fresh.Refresh != "refresh-1" || fresh.Stale(time.Now()) {
		t.Errorf("renewed %+v, %v", fresh, err)
	}
	if _, err := d.Renew(ctx, auth.Credential{Refresh: "other"}); err == nil ||
		!strings.Contains(err.Error(), "refresh token is unknown; run kerf login") {
		t.Errorf("refused: %v", err)
	}
	if _, err := d.Renew(ctx, auth.Credential{}); err == nil {
		t.Error("renewed nothing")
	}
}
