package config

import "time"

// ModelFacts replace what Kerf knows of a model. A zero or empty field replaces
// nothing.
type ModelFacts struct {
	Window    int    `key:"context_window" min:"0"`
	MaxOutput int    `key:"max_output_tokens" min:"0"`
	Parallel  string `key:"parallel_tool_calls" form:"yesno" enum:"yes no"`
	Images    string `key:"images" form:"yesno" enum:"yes no"`
	Reasoning string `key:"reasoning" enum:"none effort adaptive budget level"`
	EditTool  string `key:"edit_tool" enum:"freeform patch edit"`
	// Prices are US dollars for a million tokens.
	PriceInput      float64 `key:"price_input" min:"0"`
	PriceCached     float64 `key:"price_cached_input" min:"0"`
	PriceCacheWrite float64 `key:"price_cache_write" min:"0"`
	PriceOutput     float64 `key:"price_output" min:"0"`
}

// ProviderAuth is a program that prints a token, or the credentials of a cloud.
type ProviderAuth struct {
	// Kind is whose credentials are used when there is no key.
	Kind    string        `key:"kind" enum:"aws entra google"`
	Scope   string        `key:"scope"`
	Command string        `key:"command"`
	Args    []string      `key:"args" secret:"shape"`
	Cwd     string        `key:"cwd"`
	Timeout time.Duration `key:"timeout_ms" unit:"ms" min:"1"`
	Refresh time.Duration `key:"refresh_interval_ms" unit:"ms" min:"1"`
}

// ProviderOAuth are the endpoints of a sign-in, by device code or with a browser.
type ProviderOAuth struct {
	ClientID  string `key:"client_id"`
	DeviceURL string `key:"device_authorization_url"`
	// AuthURL is where one signs in with a browser, which comes back to RedirectPort.
	AuthURL      string   `key:"authorization_url"`
	RedirectPort int      `key:"redirect_port" min:"0" max:"65535"`
	TokenURL     string   `key:"token_url"`
	Scopes       []string `key:"scopes"`
	Audience     string   `key:"audience"`
	// ClientRequired says that nobody signs in without a client id.
	ClientRequired bool              `key:"client_required"`
	AuthParams     map[string]string `key:"authorization_params"`
	AccountClaim   []string          `key:"account_claim"`
	AccountHeader  string            `key:"account_header"`
	ExchangeURL    string            `key:"exchange_url"`
}
