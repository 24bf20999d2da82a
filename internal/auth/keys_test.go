package auth_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/auth"
)

// keys are those of one provider, with an environment of their own. They remember
// the secrets in used.
func keys(t *testing.T, p auth.Provider, env map[string]string, used *[]string) *auth.Keys {
	t.Helper()
	return &auth.Keys{
		Providers: map[string]auth.Provider{"corp": p},
		Store:     fileStore(t),
		Getenv:    func(name string) string { return env[name] },
		Secret:    func(key string) { *used = append(*used, key) },
		Check: func(_ context.Context, _, key string) error {
			if key == "refused" {
				return errors.New("refused")
			}
			return nil
		},
	}
}

// The sources of a key, the first one first; each key is known as a secret before
// it is used.
func TestKeySources(t *testing.T) {
	both := map[string]string{"FIRST": " first-key ", "SECOND": "second-key"}
	for _, tt := range []struct {
		name         string
		provider     auth.Provider
		env          map[string]string
		stored       string
		want, source string
	}{
		{"the token comes first", auth.Provider{Token: "the-token", EnvKey: "SECOND"}, both, "stored-key", "the-token", "config"},
		{"a variable before the usual one", auth.Provider{FirstEnvKey: "FIRST", EnvKey: "SECOND"}, both, "stored-key",
			"first-key", "environment FIRST"},
		{"the usual variable", auth.Provider{EnvKey: "SECOND"}, both, "stored-key", "second-key", "environment SECOND"},
		{"what was stored", auth.Provider{EnvKey: "SECOND"}, nil, "stored-key", "stored-key", "file"},
		{"nothing", auth.Provider{EnvKey: "SECOND"}, nil, "", "", "none"},
	} {
		var used []string
		k := keys(t, tt.provider, tt.env, &used)
		if tt.stored != "" {
			if _, err := k.Store.Put("corp", auth.Credential{Key: tt.stored}); err != nil {
				t.Fatal(err)
			}
		}
		states, err := k.LoginStates()
		if err != nil || len(states) != 1 || states[0].Source != tt.source {
			t.Errorf("%s: %+v, %v", tt.name, states, err)
		}
		if missing := tt.want == ""; k.Missing("corp") != missing {
			t.Errorf("%s: missing is %v", tt.name, !missing)
		}
		key, err := k.Key("corp")
		var missing *auth.MissingError
		if tt.want == "" {
			if !errors.As(err, &missing) || missing.Provider != "corp" {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		got, err2 := key.Get(t.Context())
		if err != nil || err2 != nil || got != tt.want || !slices.Contains(used, tt.want) {
			t.Errorf("%s: %q, %v, %v; secrets %q", tt.name, got, err, err2, used)
		}
	}
}

// A key is checked before it is stored, and gone after a logout.
func TestLogin(t *testing.T) {
	var used []string
	k := keys(t, auth.Provider{Name: "Corp", EnvKey: "KEY"}, nil, &used)
	for _, bad := range []string{"", "two words", "refused"} {
		if _, err := k.Login(t.Context(), "corp", bad, true); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
	where, err := k.Login(t.Context(), "corp", "  refused\n", false)
	if err != nil || where != k.Store.Path() {
		t.Fatalf("unchecked: %q, %v", where, err)
	}
	if d := cmp.Diff([]string{"corp"}, k.LoginProviders()); d != "" {
		t.Error(d)
	}
	if err := k.Logout("corp"); err != nil {
		t.Error(err)
	}
	if err := k.Logout("corp"); err == nil || err.Error() != "nothing is stored for corp" {
		t.Errorf("twice: %v", err)
	}
	k.Ephemeral = true
	if _, err := k.Login(t.Context(), "corp", "a-key", true); err == nil {
		t.Error("an ephemeral key was stored")
	}
}
