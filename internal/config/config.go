// Package config reads Kerf's settings from files, environment and flags.
//
// The layers, lowest first: built-in defaults, the system file, the user's
// config.toml, the chosen profile, the trusted project's .kerf/config.toml
// files from root to working directory, environment, -c overrides, flags.
// Tables merge; arrays and scalars replace; every value remembers where it came
// from. The struct tags of [Config] are the schema: unknown keys, wrong types
// and unknown words are errors that name file and line.
package config

import (
	"time"

	"kerf/internal/config/document"
	"kerf/internal/config/plugins"
)

// Config is the merged configuration. It is immutable once loaded and may be
// read by several goroutines.
//
// Its tags are those of package schema, and: secret hides the value from Show;
// project allows the key in a project's file: "any" value, or only the value it names.
type Config struct {
	// Home is KERF_HOME, absolute. Root is the project root: the nearest
	// directory at or above Cwd with a root marker, or Cwd itself.
	Home, Cwd, Root string

	Profile                     string   `key:"profile"`
	Model                       string   `key:"model" project:"any"`
	ModelProvider               string   `key:"model_provider"`
	ReviewModel                 string   `key:"review_model" project:"any"`
	CompactModel                string   `key:"compact_model" project:"any"`
	ModelFallbacks              []string `key:"model_fallbacks"`
	OSSProvider                 string   `key:"oss_provider" enum:"ollama lmstudio llamacpp"`
	CredentialStore             string   `key:"cli_auth_credentials_store" enum:"auto file keyring ephemeral"`
	Record                      string   `key:"record"`
	ModelContextWindow          int      `key:"model_context_window" min:"0" project:"any"`
	AutoCompactLimit            int      `key:"model_auto_compact_token_limit" min:"0" project:"any"`
	Effort                      string   `key:"model_reasoning_effort" enum:"none minimal low medium high xhigh max" project:"any"`
	Summary                     string   `key:"model_reasoning_summary" enum:"auto concise detailed none" project:"any"`
	OpenAIBaseURL               string   `key:"openai_base_url"`
	ApprovalPolicy              string   `key:"approval_policy" enum:"untrusted on-request on-failure never auto-edit plan"`
	SandboxMode                 string   `key:"sandbox_mode" enum:"read-only workspace-write danger-full-access" project:"read-only"`
	DefaultPermissions          string   `key:"default_permissions"`
	DeveloperInstructions       string   `key:"developer_instructions" project:"any"`
	ProjectDocMaxBytes          int      `key:"project_doc_max_bytes" min:"0" max:"16777216" project:"any"`
	ProjectDocFallbackFilenames []string `key:"project_doc_fallback_filenames" project:"any"`
	ProjectRootMarkers          []string `key:"project_root_markers"`
	AllowLoginShell             bool     `key:"allow_login_shell"`
	ShellSnapshot               bool     `key:"shell_snapshot"`
	ToolOutputTokenLimit        int      `key:"tool_output_token_limit" min:"1" project:"any"`
	Witness                     bool     `key:"witness"`

	WorkspaceWrite   WorkspaceWrite   `key:"sandbox_workspace_write"`
	ShellEnvironment ShellEnvironment `key:"shell_environment_policy"`
	Tools            Tools            `key:"tools"`
	WebFetch         WebFetch         `key:"web_fetch"`
	Agents           Agents           `key:"agents"`
	Backups          Backups          `key:"backups"`
	EditCorrection   EditCorrection   `key:"edit_correction"`
	History          History          `key:"history"`
	Memory           Memory           `key:"memory"`
	Defaults         Defaults         `key:"defaults"`
	Tries            Tries            `key:"tries"`
	Budget           Budget           `key:"budget"`
	Telemetry        Telemetry        `key:"telemetry"`
	TUI              TUI              `key:"tui"`

	// Checks are run when files were changed; CheckList reads them.
	Checks []Check `key:"checks" project:"any"`
	// LanguageServers are told what files hold, and tell what is wrong in them.
	LanguageServers []LanguageServer `key:"language_servers" project:"any"`

	Permissions map[string]Permission `key:"permissions"`
	// Hooks are tables by event; HookList reads them.
	Hooks      map[string]any        `key:"hooks"`
	Providers  map[string]Provider   `key:"model_providers"`
	Models     map[string]ModelFacts `key:"models"`
	MCPServers map[string]MCPServer  `key:"mcp_servers"`
	// Projects holds the user's decisions about directories, by absolute path. Trust
	// compares them with what the directory holds now.
	Projects map[string]Project `key:"projects"`

	// Required is what the administrator of the machine requires.
	Required Required
	// Peers are what files of other agents in the project name.
	Peers Peers
	// Plugins are those that are installed, or that files of the project name.
	Plugins []plugins.Found

	tree *document.Value
}

// WorkspaceWrite widens or narrows the workspace-write sandbox. Roots are
// absolute.
type WorkspaceWrite struct {
	WritableRoots       []string `key:"writable_roots"`
	NetworkAccess       bool     `key:"network_access"`
	ExcludeTmpdirEnvVar bool     `key:"exclude_tmpdir_env_var"`
	ExcludeSlashTmp     bool     `key:"exclude_slash_tmp"`
	// SharedTmp gives commands the machine's /tmp instead of a private one.
	SharedTmp bool `key:"shared_tmp"`
}

// ShellEnvironment says what environment commands get.
type ShellEnvironment struct {
	Inherit               string            `key:"inherit" enum:"all core none"`
	IgnoreDefaultExcludes bool              `key:"ignore_default_excludes"`
	Exclude               []string          `key:"exclude"`
	IncludeOnly           []string          `key:"include_only"`
	Set                   map[string]string `key:"set" secret:"named"`
}

// Tools switches tools on and off.
type Tools struct {
	UpdatePlan bool `key:"update_plan" form:"toggle" project:"any"`
	ViewImage  bool `key:"view_image" form:"toggle" project:"any"`
	// LanguageServers has servers used that are found on this machine.
	LanguageServers bool `key:"language_servers" form:"toggle" project:"any"`
	// MCPTokens is above how many tokens the tools of MCP servers are found by a search; 0 is
	// no bound.
	MCPTokens int `key:"mcp_tokens" min:"0" project:"any"`
	// WebFetch offers a tool that reads pages of the web.
	WebFetch  bool   `key:"web_fetch" form:"toggle"`
	WebSearch string `key:"web_search" form:"search" enum:"disabled cached live" project:"disabled"`
	// Results and LineNumbers are how models read the results of the file tools; empty
	// ones are as suits the model.
	Results     string `key:"results" enum:"short full" project:"any"`
	LineNumbers string `key:"line_numbers" enum:"tab bar" project:"any"`
}

// WebFetch says which hosts pages are read from without a question.
type WebFetch struct {
	Domains map[string]string `key:"domains" enum:"allow deny"`
}

// Agents bounds sub-agents.
type Agents struct {
	MaxThreads int `key:"max_threads" min:"0" max:"64"`
	MaxDepth   int `key:"max_depth" min:"0" max:"8"`
	// Roles are the tables below agents, by name.
	Roles map[string]AgentRole `key:"*"`
}

// AgentRole is a kind of sub-agent. Empty fields are as the parent has them.
type AgentRole struct {
	Description  string   `key:"description"`
	Instructions string   `key:"instructions"`
	Model        string   `key:"model"`
	Effort       string   `key:"model_reasoning_effort" enum:"none minimal low medium high xhigh max"`
	Tools        []string `key:"tools"`
	Sandbox      string   `key:"sandbox" enum:"read-only workspace-write danger-full-access"`
	Isolation    string   `key:"isolation" enum:"none worktree"`
}

// Backups bounds what the store keeps for undo.
type Backups struct {
	MaxPerFile int   `key:"max_backups_per_file" min:"1"`
	MinHours   int   `key:"min_retention_hours" min:"0"`
	MaxDays    int   `key:"max_retention_days" min:"0"`
	MaxBytes   int64 `key:"max_bytes" min:"0"`
}

// EditCorrection is the optional second look at proposed content.
type EditCorrection struct {
	Enabled bool   `key:"enabled"`
	Model   string `key:"model"`
}

// History says whether prompts are kept for the next session.
type History struct {
	Persistence string `key:"persistence" enum:"save-all none"`
	MaxBytes    int64  `key:"max_bytes" min:"0"`
}

// Memory says whether the model proposes notes for AGENTS.md.
type Memory struct {
	Enabled bool `key:"enabled"`
}

// Defaults are flags that hold where the command line does not say otherwise.
type Defaults struct {
	Try bool `key:"try"` // --try
}

// Tries bounds what tries may keep on disk together, 0 is no bound, and says how they are made.
type Tries struct {
	MaxBytes int64  `key:"max_bytes" min:"0"`
	Way      string `key:"way" enum:"auto overlay copy"` // empty is auto
	// MaxCopy is what a copy may take without a question, in bytes; 0 is no bound.
	MaxCopy int64 `key:"max_copy" min:"0"`
}

// Budget bounds what a run may use; 0 is no bound. MaxTurns counts the model
// requests of one turn, MaxSeconds its time; MaxTokens and MaxCost (US dollars)
// are for the whole run.
type Budget struct {
	MaxTurns   int     `key:"max_turns" min:"0"`
	MaxTokens  int     `key:"max_tokens" min:"0"`
	MaxCost    float64 `key:"max_cost" min:"0"`
	MaxSeconds int     `key:"max_seconds" min:"0"`
}

// Telemetry is off unless the user turns it on.
type Telemetry struct {
	Enabled bool `key:"enabled"`
	// Endpoint is the address of a collector that speaks OTLP over HTTP; empty is that of
	// the environment, or this machine's.
	Endpoint string            `key:"endpoint" secret:"url"`
	Headers  map[string]string `key:"headers" secret:"all"`
	// Signals are those that are sent.
	Signals []string `key:"signals" enum:"traces metrics logs"`
	// Content sends what is said and done, too.
	Content bool `key:"content"`
}

// TUI is what the terminal UI looks like. Other agents' files have this table, too:
// a value of another type belongs to them and is ignored.
type TUI struct {
	Theme           string `key:"theme" form:"loose"`
	Notifications   string `key:"notifications" form:"loose"`
	Plain           bool   `key:"plain" form:"loose"`
	AlternateScreen bool   `key:"alternate_screen" form:"loose"`
	// Animations is nil when it is not set: then nothing moves over ssh.
	Animations *bool `key:"animations" form:"loose"`
	ViMode     bool  `key:"vi_mode" form:"loose"`
	// Keymap is a table of keys by action; the terminal UI checks it.
	Keymap any `key:"keymap"`
	// StatusLine names the items of the status line; the terminal UI checks it.
	StatusLine []string `key:"status_line" form:"loose"`
	// StatusCommand is a command of the user's that says more in the status line.
	StatusCommand string `key:"status_line_command" form:"loose"`
}

// Permission is a named set of path and network rules.
type Permission struct {
	// Filesystem maps a path to read, write or none. Nested tables are joined
	// with a slash.
	Filesystem map[string]string `key:"filesystem" form:"paths" enum:"read write none"`
	Network    Network           `key:"network"`
}

// Network says what commands may reach.
type Network struct {
	Enabled     bool              `key:"enabled"`
	Mode        string            `key:"mode" enum:"full limited"`
	Domains     map[string]string `key:"domains" enum:"allow deny"`
	UnixSockets map[string]string `key:"unix_sockets" enum:"deny none allow"`
}

// Provider is one way to reach models.
type Provider struct {
	Name                    string            `key:"name"`
	BaseURL                 string            `key:"base_url" secret:"url"`
	EnvKey                  string            `key:"env_key"`
	EnvKeyInstructions      string            `key:"env_key_instructions"`
	WireAPI                 string            `key:"wire_api" enum:"responses chat anthropic gemini bedrock script"`
	KeyHeader               string            `key:"key_header"`
	QueryParams             map[string]string `key:"query_params" secret:"named"`
	HTTPHeaders             map[string]string `key:"http_headers" secret:"all"`
	EnvHTTPHeaders          map[string]string `key:"env_http_headers"`
	RequestMaxRetries       int               `key:"request_max_retries" min:"0" max:"100"`
	StreamMaxRetries        int               `key:"stream_max_retries" min:"0" max:"100"`
	StreamIdleTimeout       time.Duration     `key:"stream_idle_timeout_ms" unit:"ms" min:"1"`
	FirstAnswerTimeout      time.Duration     `key:"first_answer_timeout_ms" unit:"ms" min:"1"`
	ExperimentalBearerToken string            `key:"experimental_bearer_token" secret:"all"`
	RequiresAuth            bool              `key:"requires_openai_auth"`
	SupportsWebsockets      bool              `key:"supports_websockets"`
	Auth                    ProviderAuth      `key:"auth"`
	OAuth                   ProviderOAuth     `key:"oauth"`
	// CACertificate is a file of certificates that are trusted beside the
	// system's, Proxy an address that replaces those of the environment.
	CACertificate string `key:"ca_certificate"`
	Proxy         string `key:"proxy" secret:"url"`
}

// MCPServer is one MCP server: a program (Command) or an address (URL).
type MCPServer struct {
	Enabled  bool     `key:"enabled"`
	Required bool     `key:"required"`
	Command  string   `key:"command"`
	Args     []string `key:"args" secret:"shape"`
	// Env is set for the program; EnvVars names variables passed on to it.
	Env     map[string]string `key:"env" secret:"all"`
	EnvVars []string          `key:"env_vars"`
	Cwd     string            `key:"cwd"`

	URL               string            `key:"url" secret:"url"`
	BearerTokenEnvVar string            `key:"bearer_token_env_var"`
	HTTPHeaders       map[string]string `key:"http_headers" secret:"all"`
	EnvHTTPHeaders    map[string]string `key:"env_http_headers"`
	Scopes            []string          `key:"scopes"`
	OAuthResource     string            `key:"oauth_resource"`
	// OAuthClientID is that of a client registered beforehand; OAuthClientMetadata the
	// address of a document that describes one.
	OAuthClientID       string `key:"oauth_client_id"`
	OAuthClientSecret   string `key:"oauth_client_secret_env_var"`
	OAuthClientMetadata string `key:"oauth_client_metadata_url"`
	OAuthCallbackPort   int    `key:"oauth_callback_port"`
	OAuthStore          string `key:"mcp_oauth_credentials_store" enum:"auto file keyring"`
	// SignIn is what the sign-in is kept under; empty is the server's name. A server of a
	// project has its address in it, so that no other one gets the token.
	SignIn string

	StartupTimeout  time.Duration      `key:"startup_timeout_sec" unit:"s" min:"1"`
	ToolTimeout     time.Duration      `key:"tool_timeout_sec" unit:"s" min:"1"`
	EnabledTools    []string           `key:"enabled_tools"`
	DisabledTools   []string           `key:"disabled_tools"`
	ParallelCalls   bool               `key:"supports_parallel_tool_calls"`
	DefaultApproval string             `key:"default_tools_approval_mode" enum:"auto prompt approve"`
	Tools           map[string]MCPTool `key:"tools"`
}

// MCPTool is the user's setting for one tool of a server.
type MCPTool struct {
	Approval string `key:"approval_mode" enum:"auto prompt approve"`
}

// Project is the user's decision about one directory.
type Project struct {
	TrustLevel string `key:"trust_level" enum:"trusted untrusted"`
	// TrustedHash lists the contents of .kerf that the user agreed to. Without
	// one, a trust_level written by hand trusts whatever is there.
	TrustedHash []string `key:"trusted_hash" form:"list"`
}

// Error is a fault in the configuration.
type Error = document.Error

// Warning is something in the configuration that has no effect. It stops
// nothing.
type Warning struct {
	File    string
	Line    int
	Key     string
	Message string
}

// String gives "file:line: message" on one line.
func (w Warning) String() string {
	return document.Origin{File: w.File, Line: w.Line}.String() + ": " + w.Message
}
