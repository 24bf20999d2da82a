package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/model"
	"kerf/internal/model/wire"
)

// credentials is where keys are kept.
func (h *Host) credentials() *auth.Store {
	return &auth.Store{Home: h.Config.Home, Mode: auth.Mode(h.Config.CredentialStore), Env: h.Getenv}
}

func (h *Host) device(p config.Provider) *auth.Device {
	return &auth.Device{ClientID: p.OAuth.ClientID, DeviceURL: p.OAuth.DeviceURL, TokenURL: p.OAuth.TokenURL,
		Scopes: p.OAuth.Scopes, Audience: p.OAuth.Audience}
}

// LoginProviders are the providers that one can sign in to.
func (h *Host) LoginProviders() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(h.Config.Providers)) {
		if p := h.Config.Providers[name]; p.EnvKey != "" || p.OAuth.ClientID != "" {
			names = append(names, name)
		}
	}
	return names
}

// HasDeviceFlow reports whether a provider is signed in to by a code.
func (h *Host) HasDeviceFlow(name string) bool {
	return h.Config.Providers[name].OAuth.DeviceURL != ""
}

// LoginKey checks a key with the provider, unless check is false, and stores it.
// It says where.
func (h *Host) LoginKey(ctx context.Context, name, key string, check bool) (where string, err error) {
	p, err := h.provider(name)
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", setupFault("expected a key: one word without spaces")
	}
	if check {
		if err := h.checkKey(ctx, name, p, key); err != nil {
			return "", err
		}
	}
	return h.put(name, auth.Credential{Key: key})
}

// checkKey asks the provider for its models. Only a refused key is an error: not
// every server has such a list.
func (h *Host) checkKey(ctx context.Context, name string, p config.Provider, key string) error {
	if p.WireAPI == "script" {
		return nil
	}
	p.ExperimentalBearerToken = key
	o, err := h.wireOptions(name, p)
	if err != nil {
		return err
	}
	_, err = wire.New(o).Fetch(ctx, listCall(p))
	var e *model.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	case e.Kind == model.Auth:
		return fmt.Errorf("%s refuses the key: %s", p.Name, e.Message)
	case e.Kind == model.Network:
		return fmt.Errorf("%s; to store the key unchecked add --no-check", e.Message)
	}
	return nil
}

// LoginDevice signs in by a code that the user enters in a browser.
func (h *Host) LoginDevice(ctx context.Context, name string, show func(url, complete, code string)) (where string, err error) {
	p, err := h.provider(name)
	if err != nil {
		return "", err
	}
	if p.OAuth.DeviceURL == "" || p.OAuth.TokenURL == "" || p.OAuth.ClientID == "" {
		return "", setupFault("provider %s has no oauth.client_id, oauth.device_authorization_url and oauth.token_url", name)
	}
	c, err := h.device(p).SignIn(ctx, func(a auth.Prompt) { show(visible(a.URL), visible(a.Complete), visible(a.Code)) })
	if err != nil {
		return "", fmt.Errorf("sign in to %s: %w", p.Name, err)
	}
	return h.put(name, c)
}

func (h *Host) put(name string, c auth.Credential) (string, error) {
	if h.Config.CredentialStore == "ephemeral" {
		return "", setupFault("cli_auth_credentials_store is ephemeral: nothing is stored; set the environment variable instead")
	}
	place, err := h.credentials().Put(name, c)
	if err != nil {
		return "", err
	}
	if place == auth.InFile {
		return h.credentials().Path(), nil
	}
	return "the keyring", nil
}

// LoginState is how one provider is signed in to.
type LoginState struct {
	Provider string `json:"provider"`
	// Source says where the key comes from: "environment NAME", "config",
	// "command", "keyring", "file", or "none".
	Source string `json:"source"`
	// Key is the beginning and end of the key, the rest hidden.
	Key string `json:"key,omitempty"`
}

// LoginStates are those of all providers that one can sign in to.
func (h *Host) LoginStates() ([]LoginState, error) {
	var states []LoginState
	for _, name := range h.LoginProviders() {
		s, err := h.loginState(name)
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

func (h *Host) loginState(name string) (LoginState, error) {
	p := h.Config.Providers[name]
	s := LoginState{Provider: name, Source: "none"}
	switch {
	case p.ExperimentalBearerToken != "":
		s.Source, s.Key = "config", hidden(p.ExperimentalBearerToken)
		return s, nil
	case p.Auth.Command != "":
		s.Source = "command"
		return s, nil
	}
	if key := h.envKey(name, p); key != "" {
		s.Source, s.Key = "environment "+p.EnvKey, hidden(key)
		return s, nil
	}
	c, place, err := h.credentials().Get(name)
	if errors.Is(err, auth.ErrNone) {
		return s, nil
	}
	s.Source, s.Key = string(place), hidden(c.Secret())
	return s, err
}

// hidden shows of a key what tells it from another one.
func hidden(key string) string {
	if len(key) < 16 {
		return "…"
	}
	return key[:3] + "…" + key[len(key)-4:]
}

// Logout forgets the credential of a provider.
func (h *Host) Logout(name string) error {
	if _, err := h.provider(name); err != nil {
		return err
	}
	err := h.credentials().Delete(name)
	if errors.Is(err, auth.ErrNone) {
		return fmt.Errorf("nothing is stored for %s", name)
	}
	return err
}
