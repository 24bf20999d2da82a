package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Provider says how the key of one provider is found, and how one signs in to it.
type Provider struct {
	Name string // as people know it
	// Token is the key itself. It comes first, then what the command prints.
	Token   string
	Command *Command
	// EnvKey names the variable of the key, FirstEnvKey one that is looked at
	// before. Instructions replace the hint of a missing key.
	EnvKey, FirstEnvKey string
	Instructions        string
	Device              Device
	// Cloud is what is used where there is no key: the credentials of a cloud, if it is
	// named.
	Cloud Cloud
	// Exchange is where the key is given for one that lasts shortly, if it is set.
	Exchange *Exchange
}

// needsKey reports whether a provider has a key at all.
func (p Provider) needsKey() bool {
	return p.EnvKey != "" || p.Device.ClientID != "" || p.Device.wantsClient()
}

// Keys finds and stores the keys of providers. It may be used by several
// goroutines.
type Keys struct {
	Providers map[string]Provider
	Store     *Store
	Getenv    func(name string) string
	// Ephemeral forbids to store anything.
	Ephemeral bool
	// Secret is called with every key that is used, before it is.
	Secret func(key string)
	// Check asks a provider whether it takes a key.
	Check func(ctx context.Context, provider, key string) error
}

// Key is a key as requests ask for it. Get returns it; after the server refused it,
// Rejected reports whether Get has another one now. All may be nil.
type Key struct {
	Get      func(context.Context) (string, error)
	Rejected func(key string) bool
	// Header is what goes along with the key that Get returned, Base the address that it is
	// for, if the key decides that.
	Header func() map[string]string
	Base   func() string
	// Bearer says that the key is a token, which goes where tokens go, whatever the keys of
	// the provider do.
	Bearer bool
	// Sign signs a request instead of carrying the key. Body is its body.
	Sign func(req *http.Request, body io.Reader) error
	// Clock is told what time the server thought it was when it refused what was signed; it
	// reports whether Sign now goes by another clock.
	Clock func(server time.Time) bool
}

// MissingError says that a provider needs a key or a sign-in and has none.
type MissingError struct{ Provider, message string }

func (e *MissingError) Error() string { return e.message }

// setupError is a fault of usage or configuration.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// ExitCode is that of faults of usage and configuration.
func (e *setupError) ExitCode() int { return 2 }

func setupFault(format string, args ...any) error {
	return &setupError{fmt.Errorf(format, args...)}
}

// Key finds the key of a provider: its own token, the program or the variable it
// names, what was stored, what a cloud's programs keep, or none where none is needed.
func (k *Keys) Key(name string) (Key, error) {
	key, err := k.found(name)
	if e := k.Providers[name].Exchange; err == nil && e != nil {
		key = e.of(key, k.Secret)
	}
	return key, err
}

func (k *Keys) found(name string) (Key, error) {
	p := k.Providers[name]
	switch {
	case p.Token != "":
		return k.fixed(p.Token), nil
	case p.Command != nil:
		return Key{Bearer: true, Rejected: p.Command.Rejected, Get: func(ctx context.Context) (string, error) {
			token, err := p.Command.Token(ctx)
			k.Secret(token)
			return token, err
		}}, nil
	}
	if _, key := k.envKey(p); key != "" {
		if err := unfit(key); err != nil {
			return Key{}, err
		}
		return k.fixed(key), nil
	}
	stored, _, err := k.Store.Get(name)
	switch {
	case err == nil && stored.Key != "":
		return k.fixed(stored.Key), unfit(stored.Key)
	case err == nil:
		t := &tokens{keys: k, provider: name, device: p.Device, now: stored}
		return Key{Get: t.key, Rejected: t.rejected, Header: t.header, Bearer: true}, nil
	case !errors.Is(err, ErrNone):
		return Key{}, &setupError{err}
	case p.Cloud.Name != "":
		return p.Cloud.Key, nil
	case p.needsKey():
		return Key{}, k.missing(name)
	}
	return Key{}, nil
}

// Missing reports whether a provider needs a key of the environment and there is
// none anywhere.
func (k *Keys) Missing(name string) bool {
	p := k.Providers[name]
	if _, key := k.envKey(p); p.EnvKey == "" || p.Token != "" || p.Command != nil || p.Cloud.Name != "" || key != "" {
		return false
	}
	_, _, err := k.Store.Get(name)
	return errors.Is(err, ErrNone)
}

// envKey is the key that the environment holds, and in which variable.
func (k *Keys) envKey(p Provider) (variable, key string) {
	for _, name := range []string{p.FirstEnvKey, p.EnvKey} {
		if name == "" {
			continue
		}
		if key := strings.TrimSpace(k.Getenv(name)); key != "" {
			return name, key
		}
	}
	return "", ""
}

// fixed is a key that is known already.
func (k *Keys) fixed(key string) Key {
	k.Secret(key)
	return Key{Get: func(context.Context) (string, error) { return key, nil }}
}

// unfit refuses what only looks like a key.
func unfit(key string) error {
	if strings.HasPrefix(key, "sk-ant-oat") {
		return setupFault("this is the token of a Claude subscription, which Anthropic allows in its own programs only; " +
			"use an API key (sk-ant-api…), which its console makes")
	}
	return nil
}

// InEnvironment are the variables of the environment that hold a key, by provider. One that
// several providers name is that of the first by name.
func (k *Keys) InEnvironment() map[string]string {
	found, seen := map[string]string{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(k.Providers)) {
		v := k.Providers[name].EnvKey
		if v != "" && !seen[v] && strings.TrimSpace(k.Getenv(v)) != "" {
			found[name], seen[v] = v, true
		}
	}
	return found
}

// Found are the keys that are there, by provider: the variables that hold one, or, where
// none does, those that kerf login stored, with an empty word.
func (k *Keys) Found() map[string]string {
	if found := k.InEnvironment(); len(found) > 0 {
		return found
	}
	found := map[string]string{}
	for name, p := range k.Providers {
		if !p.needsKey() {
			continue
		}
		if _, _, err := k.Store.Get(name); err == nil {
			found[name] = ""
		}
	}
	return found
}

func (k *Keys) missing(name string) error {
	p := k.Providers[name]
	if p.Device.wantsClient() {
		return &MissingError{name, fmt.Sprintf("provider %s needs a sign-in, and that a client id: set "+
			"model_providers.%s.oauth.client_id to one that is yours, then run: kerf login %s", p.Name, name, name)}
	}
	if p.EnvKey == "" {
		return &MissingError{name, fmt.Sprintf("provider %s needs a sign-in; run: kerf login %s", p.Name, name)}
	}
	hint := p.Instructions
	if hint == "" {
		hint = "set it, or sign in with: kerf login " + name
	}
	const needs = "provider %s needs a key: the environment variable %s is not set; %s"
	message := fmt.Sprintf(needs, p.Name, p.EnvKey, hint)
	found := k.InEnvironment()
	for i, other := range slices.Sorted(maps.Keys(found)) {
		message += []string{"; there are keys for other providers, chosen with -m PROVIDER:MODEL: ", ", "}[min(i, 1)]
		message += fmt.Sprintf("%s (%s)", other, found[other])
	}
	return &MissingError{name, message}
}

// LoginProviders are the providers that one can sign in to.
func (k *Keys) LoginProviders() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(k.Providers)) {
		if k.Providers[name].needsKey() {
			names = append(names, name)
		}
	}
	return names
}

// HasDeviceFlow reports whether a provider is signed in to by a code.
func (k *Keys) HasDeviceFlow(name string) bool { return k.Providers[name].Device.DeviceURL != "" }

// Login checks a key with the provider, unless check is false, and stores it. It
// says where.
func (k *Keys) Login(ctx context.Context, name, key string, check bool) (where string, err error) {
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", setupFault("expected a key: one word without spaces")
	}
	k.Secret(key)
	if err := unfit(key); err != nil {
		return "", err
	}
	if check {
		if err := k.Check(ctx, name, key); err != nil {
			return "", err
		}
	}
	return k.put(name, Credential{Key: key})
}

// HasBrowserFlow reports whether a provider can be signed in to with a browser, and needs
// it whether there is no other way.
func (k *Keys) HasBrowserFlow(name string) (has, needs bool) {
	p := k.Providers[name]
	return p.Device.AuthURL != "", p.Device.AuthURL != "" && p.Device.DeviceURL == "" && p.EnvKey == ""
}

// LoginBrowser signs in with a browser. It returns where the key or the tokens are stored.
func (k *Keys) LoginBrowser(ctx context.Context, name string, show func(address string)) (string, error) {
	p := k.Providers[name]
	if p.Device.wantsClient() {
		return "", k.wantsClient(name)
	}
	if p.Device.AuthURL == "" || p.Device.TokenURL == "" {
		return "", setupFault("provider %s has no oauth.authorization_url and oauth.token_url", name)
	}
	c, err := p.Device.SignInBrowser(ctx, show)
	if err != nil {
		return "", fmt.Errorf("sign in to %s: %w", p.Name, err)
	}
	k.Secret(c.Secret())
	return k.put(name, c)
}

// wantsClient is the fault of a sign-in without a client id, of which none is built in.
func (k *Keys) wantsClient(name string) error {
	return setupFault("kerf login %s needs a client id, which names the program to %s; Kerf ships none: set "+
		"model_providers.%s.oauth.client_id to one that is yours; kerf help models says how to get one",
		name, k.Providers[name].Name, name)
}

// LoginDevice signs in by a code that the user enters in a browser. It returns
// where the tokens are stored.
func (k *Keys) LoginDevice(ctx context.Context, name string, show func(url, complete, code string)) (string, error) {
	p := k.Providers[name]
	if p.Device.wantsClient() {
		return "", k.wantsClient(name)
	}
	if p.Device.DeviceURL == "" || p.Device.TokenURL == "" || p.Device.ClientID == "" {
		return "", setupFault("provider %s has no oauth.client_id, oauth.device_authorization_url and oauth.token_url", name)
	}
	c, err := p.Device.SignIn(ctx, func(a Prompt) { show(a.URL, a.Complete, a.Code) })
	if err != nil {
		return "", fmt.Errorf("sign in to %s: %w", p.Name, err)
	}
	return k.put(name, c)
}

func (k *Keys) put(name string, c Credential) (string, error) {
	if k.Ephemeral {
		return "", setupFault("cli_auth_credentials_store is ephemeral: nothing is stored; set the environment variable " +
			"instead")
	}
	place, err := k.Store.Put(name, c)
	if err != nil {
		return "", err
	}
	if place == InFile {
		return k.Store.Path(), nil
	}
	return "the keyring", nil
}

// Logout forgets the credential of a provider.
func (k *Keys) Logout(name string) error {
	if _, ok := k.Providers[name]; !ok {
		return setupFault("model_provider %q is not configured; add [model_providers.%s]", name, name)
	}
	err := k.Store.Delete(name)
	if errors.Is(err, ErrNone) {
		return fmt.Errorf("nothing is stored for %s", name)
	}
	return err
}

// LoginState is how one provider is signed in to.
type LoginState struct {
	Provider string `json:"provider"`
	// Source says where the key comes from: "environment NAME", "config",
	// "command", "keyring", "file", "cloud NAME", or "none".
	Source string `json:"source"`
	// Key is the beginning and end of the key, the rest hidden.
	Key string `json:"key,omitempty"`
}

// LoginStates are those of all providers that one can sign in to.
func (k *Keys) LoginStates() ([]LoginState, error) {
	var states []LoginState
	for _, name := range k.LoginProviders() {
		s, err := k.loginState(name)
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

func (k *Keys) loginState(name string) (LoginState, error) {
	p := k.Providers[name]
	state := func(source, key string) LoginState {
		return LoginState{Provider: name, Source: source, Key: hidden(key)}
	}
	if p.Token != "" {
		return state("config", p.Token), nil
	}
	if p.Command != nil {
		return LoginState{Provider: name, Source: "command"}, nil
	}
	if variable, key := k.envKey(p); key != "" {
		return state("environment "+variable, key), nil
	}
	c, place, err := k.Store.Get(name)
	if errors.Is(err, ErrNone) && p.Cloud.Name != "" {
		return LoginState{Provider: name, Source: "cloud " + p.Cloud.Name}, nil
	}
	if errors.Is(err, ErrNone) {
		return LoginState{Provider: name, Source: "none"}, nil
	}
	return state(string(place), c.Secret()), err
}

// hidden shows of a key what tells it from another one.
func hidden(key string) string {
	if len(key) < 16 {
		return "…"
	}
	return key[:3] + "…" + key[len(key)-4:]
}
