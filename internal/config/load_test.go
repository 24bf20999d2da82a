package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/config/document"
)

// world is a home and a project in a temporary directory.
type world struct {
	t             *testing.T
	home, project string
	env           map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, filepath.Join(dir, "home"), filepath.Join(dir, "repo"), map[string]string{"HOME": dir}}
	for _, d := range []string{w.home, filepath.Join(w.project, ".git"), filepath.Join(w.project, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.home, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) options() Options {
	return Options{Home: w.home, Cwd: w.project, System: filepath.Join(w.home, "system.toml"),
		Env: func(k string) string { return w.env[k] }}
}

func (w *world) load(change func(*Options)) (*Config, []Warning, error) {
	o := w.options()
	if change != nil {
		change(&o)
	}
	return Load(o)
}

func (w *world) must(change func(*Options)) *Config {
	w.t.Helper()
	c, _, err := w.load(change)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	w := newWorld(t)
	c := w.must(nil)
	if c.Model != DefaultModel || c.ModelProvider != "openai" || c.ApprovalPolicy != "on-request" || c.SandboxMode != "" {
		t.Errorf("model %q, provider %q, approval %q, sandbox %q", c.Model, c.ModelProvider, c.ApprovalPolicy, c.SandboxMode)
	}
	if !c.Tools.UpdatePlan || c.ProjectDocMaxBytes != 32<<10 || c.ToolOutputTokenLimit != 10000 || c.Telemetry.Enabled {
		t.Errorf("tools %+v, doc %d, output %d, telemetry %v", c.Tools, c.ProjectDocMaxBytes,
			c.ToolOutputTokenLimit, c.Telemetry)
	}
	want := Provider{Name: "OpenAI", BaseURL: "https://api.openai.com/v1", EnvKey: "OPENAI_API_KEY", WireAPI: "responses",
		RequestMaxRetries: 4, StreamMaxRetries: 5, StreamIdleTimeout: 5 * time.Minute}
	if d := cmp.Diff(want, c.Providers["openai"]); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"anthropic", "gemini", "openrouter", "ollama", "lmstudio", "llamacpp", "script", "deepseek",
		"groq", "mistral", "xai", "zai", "moonshot", "dashscope", "minimax", "together", "fireworks", "cerebras", "vllm", "sglang"} {
		if _, ok := c.Providers[name]; !ok {
			t.Errorf("no built-in provider %s", name)
		}
	}
	if c.Root != w.project || c.Trust(c.Root) != Undecided {
		t.Errorf("root %q, trust %s", c.Root, c.Trust(c.Root))
	}
}

func TestLayersInOrder(t *testing.T) {
	w := newWorld(t)
	w.write("system.toml", "model = 'system'\nreview_model = 'system'\n")
	w.write("config.toml", "model = 'user'\nprofile = 'p'\n[profiles.p]\nmodel = 'profile'\nmodel_reasoning_effort = "+
		"'low'\n")
	w.write("p.config.toml", "model = 'file'\n")
	w.write(filepath.Join(w.project, ".kerf/config.toml"), "model = 'root'\nreview_model = 'root'\n")
	w.write(filepath.Join(w.project, "sub/.kerf/config.toml"), "model = 'sub'\n")
	steps := []struct {
		name, want, origin string
		change             func(*Options)
	}{
		{"flag", "flag", "command line", func(o *Options) {
			o.Flags = map[string]any{"model": "flag"}
			o.Overrides = []string{"model=o"}
		}},
		{"override", "o", "-c", func(o *Options) { o.Overrides = []string{"model=o"}; o.Trusted = true }},
		{"below", "sub", filepath.Join(w.project, "sub/.kerf/config.toml") + ":1", func(o *Options) {
			o.Trusted = true
			o.Cwd = filepath.Join(w.project, "sub")
		}},
		{"project", "root", filepath.Join(w.project, ".kerf/config.toml") + ":1", func(o *Options) { o.Trusted = true }},
		{"profile file", "file", filepath.Join(w.home, "p.config.toml") + ":1", nil},
	}
	for _, s := range steps {
		c := w.must(s.change)
		if c.Model != s.want || c.Origin("model") != s.origin {
			t.Errorf("%s: model %q from %q, want %q from %q", s.name, c.Model, c.Origin("model"), s.want, s.origin)
		}
	}
	c := w.must(nil)
	if c.Effort != "low" || c.ReviewModel != "system" || c.Profile != "p" {
		t.Errorf("effort %q, review %q, profile %q", c.Effort, c.ReviewModel, c.Profile)
	}
}

func TestTablesMergeAndArraysReplace(t *testing.T) {
	w := newWorld(t)
	w.write("system.toml", "[shell_environment_policy]\nexclude = ['A', 'B']\nset = { X = '1' }\n")
	w.write("config.toml", "[shell_environment_policy]\nexclude = ['C']\n[shell_environment_policy.set]\nY = "+
		"'2'\n[model_providers.openai]\nrequest_max_retries = 0\n")
	c := w.must(func(o *Options) { o.Overrides = []string{"shell_environment_policy.set.Z=3"} })
	want := ShellEnvironment{Inherit: "all", Exclude: []string{"C"}, Set: map[string]string{"X": "1", "Y": "2", "Z": "3"}}
	if d := cmp.Diff(want, c.ShellEnvironment); d != "" {
		t.Error(d)
	}
	if p := c.Providers["openai"]; p.RequestMaxRetries != 0 || p.StreamMaxRetries != 5 || p.EnvKey != "OPENAI_API_KEY" {
		t.Errorf("%+v", p)
	}
}

func TestErrorsNameFileLineAndKey(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"misspelt", "\naproval_policy = 'never'\n", `:2: unknown key "aproval_policy" (did you mean "approval_policy"?)`},
		{"misspelt below", "[sandbox_workspace_write]\nnetwork_acces = true\n", `:2: unknown key "sandbox_workspace_write.network_acces" (did you mean "sandbox_workspace_write.network_access"?)`},
		{"misspelt table", "[mcp_server.x]\ncommand = 'a'\n", `:1: unknown key "mcp_server" (did you mean "mcp_servers"?)`},
		{"misspelt in inline", "a = 1\n", `:1: unknown key "a"`},
		{"inline", "model = 'x'\nmodel_providers.p = { base_url = 'http://a', wire_ap = 'chat' }\n", `:2: unknown key "model_providers.p.wire_ap" (did you mean "model_providers.p.wire_api"?)`},
		{"type", "model = 'x'\nmodel_context_window = 'big'\n", `:2: model_context_window: expected a whole number, found "big"`},
		{"bool", "[sandbox_workspace_write]\nnetwork_access = 'yes'\n", `:2: sandbox_workspace_write.network_access: expected true or false, found "yes"`},
		{"table", "tools = 3\n", `:1: tools: expected a table, found 3`},
		{"enum", "approval_policy = 'nevr'\n", `:1: approval_policy: expected one of untrusted, on-request, on-failure, never, auto-edit, plan, found "nevr" (did you mean "never"?)`},
		{"enum in map", "[permissions.p.filesystem]\n'/a' = 'write'\n'/b' = 'rw'\n", `:3: permissions.p.filesystem."/b": expected one of read, write, none, found "rw"`},
		{"list", "[shell_environment_policy]\nexclude = ['a', 1]\n", `:2: shell_environment_policy.exclude: expected only strings in the array, found 1`},
		{"duplicate", "model = 'a'\n\nmodel = 'b'\n", `:3: key model is already defined`},
		{"half written", "model = 'a'\n[mcp_servers.x]\ncommand = \"np", `:3: `},
		{"no value", "model = \n", `:1: `},
		{"wire", "[model_providers.p]\nbase_url='http://a'\nwire_api='soap'\n", `:3: model_providers.p.wire_api: expected one of responses, chat, anthropic, gemini, bedrock, script, found "soap"`},
		{"no base", "[model_providers.p]\nwire_api='chat'\n", `:1: model_providers.p.base_url: expected an address, found none`},
		{"provider", "model_provider = 'opnai'\n", `:1: model_provider: expected one of anthropic, azure, bedrock, cerebras, chatgpt, copilot, dashscope, deepseek, fireworks, gemini, groq, llamacpp, lmstudio, minimax, mistral, moonshot, ollama, openai, openrouter, script, sglang, together, vertex, vertex-claude, vllm, xai, zai, found "opnai" (did you mean "openai"?)`},
		{"server", "[mcp_servers.x]\nargs = []\n", `:1: mcp_servers.x: expected command or url, found neither`},
		{"roots", "sandbox_workspace_write.writable_roots = ['sub']\n", `:1: sandbox_workspace_write.writable_roots: expected absolute paths, found "sub"`},
		{"permissions", "default_permissions = 'x'\n", `:1: default_permissions: no [permissions.x]`},
		{"negative", "model_context_window = -1\n", `:1: model_context_window: expected at least 0, found -1`},
		{"in profile", "[profiles.a]\nmodle = 'x'\n", `:2: unknown key "profiles.a.modle" (did you mean "profiles.a.model"?)`},
		{"granular", "approval_policy = { granular = { rules = true } }\n", `:1: approval_policy: expected a string, found a table`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			file := w.write("config.toml", tt.text)
			_, _, err := w.load(nil)
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.HasPrefix(err.Error(), file+tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %s\nwant %s%s", err, file, tt.want)
			}
		})
	}
}

func TestFaultsBelowHigherLayersAreTold(t *testing.T) {
	w := newWorld(t)
	w.write("config.toml", "sandbox_mode = 'danger'\n")
	if _, _, err := w.load(func(o *Options) { o.Flags = map[string]any{"sandbox_mode": "read-only"} }); err == nil {
		t.Error("a bad value in the file passed because a flag hides it")
	}
}

func TestForeignKeysPass(t *testing.T) {
	w := newWorld(t)
	w.write("config.toml", `check_for_update_on_startup = false
notify = ["x"]
hide_agent_reasoning = true
file_opener = "vscode"
web_search = "cached"
service_tier = "fast"
[analytics]
enabled = false
[features]
anything = true
[tui]
theme = "x"
notifications = ["a"]
status_line = ["a"]
[otel]
environment = "x"
[notice]
hide = true
[tools]
update_plan = { enabled = false }
[agents.reviewer]
description = "d"
config_file = "reviewer.toml"
sandbox = "read-only"
tools = ["read_file"]
`)
	c, warnings, err := w.load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "notify, otel, agents.reviewer.config_file") {
		t.Errorf("warnings %v", warnings)
	}
	if r := c.Agents.Roles["reviewer"]; r.Description != "d" || r.Sandbox != "read-only" || len(r.Tools) != 1 ||
		len(c.Agents.Roles) != 1 {
		t.Errorf("roles %+v", c.Agents.Roles)
	}
	if c.Tools.UpdatePlan || c.Tools.WebSearch != "cached" || c.TUI.Theme != "x" || c.TUI.Notifications != "" {
		t.Errorf("tools %+v tui %+v", c.Tools, c.TUI)
	}
	if _, _, err := w.load(func(o *Options) { o.Overrides = []string{"agents.max_thread=3"} }); err == nil {
		t.Error("agents.max_thread passed")
	}
	if _, _, err := w.load(func(o *Options) { o.Overrides = []string{"agents.mine.modle=3"} }); err == nil {
		t.Error("agents.mine.modle passed")
	}
}

func TestOverrides(t *testing.T) {
	w := newWorld(t)
	c := w.must(func(o *Options) {
		o.Overrides = []string{
			`model=gpt-5`, `model_context_window=1_000`, `sandbox_workspace_write.network_access=true`,
			`sandbox_workspace_write.writable_roots=["sub"]`, `projects."/a=b".trust_level="trusted"`,
			`mcp_servers.m={command="x", args=["-c", "a=b"]}`, `review_model=5`, `openai_base_url="http://127.0.0.1:9/v1/"`,
			"developer_instructions=two\nlines = 3", `web_search="live"`, `model_reasoning_effort=` + `"high"`,
		}
	})
	if c.Model != "gpt-5" || c.ModelContextWindow != 1000 || !c.WorkspaceWrite.NetworkAccess || c.ReviewModel != "5" ||
		c.DeveloperInstructions != "two\nlines = 3" || c.Tools.WebSearch != "live" || c.Effort != "high" {
		t.Errorf("%+v", c)
	}
	if d := cmp.Diff([]string{filepath.Join(w.project, "sub")}, c.WorkspaceWrite.WritableRoots); d != "" {
		t.Error(d)
	}
	if c.Trust("/a=b") != Trusted || c.MCPServers["m"].Args[1] != "a=b" ||
		c.Providers["openai"].BaseURL != "http://127.0.0.1:9/v1" {
		t.Errorf("%+v %+v", c.MCPServers, c.Providers["openai"])
	}
	for arg, want := range map[string]string{
		"model":                      `-c: expected key=value, found "model"`,
		"=x":                         `-c: expected a dotted key, found ""`,
		"aproval_policy=never":       `-c: unknown key "aproval_policy" (did you mean "approval_policy"?)`,
		"tools.update_plan=True":     `-c: tools.update_plan: expected true or false, found "True"`,
		"a]\n[sandbox_mode.b=1":      "-c: expected a dotted key",
		"model_context_window=large": `-c: model_context_window: expected a whole number, found "large"`,
	} {
		_, _, err := w.load(func(o *Options) { o.Overrides = []string{arg} })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", arg, err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	w.env["CODEX_API_KEY"] = "k"
	w.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
	w.write(filepath.Join(w.project, ".env"), "KERF_HOME=/evil\nOPENAI_BASE_URL=http://evil\n")
	c := w.must(nil)
	if p := c.Providers["openai"]; p.EnvKey != "CODEX_API_KEY" || p.BaseURL != "http://127.0.0.1:1/v1" {
		t.Errorf("%+v", p)
	}
	if got := c.Origin("model_providers.openai.env_key"); got != "environment CODEX_API_KEY" {
		t.Errorf("origin %q", got)
	}
}

func TestProfileErrors(t *testing.T) {
	w := newWorld(t)
	w.write("config.toml", "[profiles.fast]\nmodel = 'x'\n")
	for name, want := range map[string]string{"fsat": `did you mean "fast"?`, "../x": "expected letters",
		"nope": "no [profiles.nope]"} {
		_, _, err := w.load(func(o *Options) { o.Profile = name })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if c := w.must(func(o *Options) { o.Profile = "fast" }); c.Model != "x" {
		t.Errorf("model %q", c.Model)
	}
}

func TestIrregularFilesAreRefused(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.home, "config.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.load(nil); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("got %v", err)
	}
	os.Remove(filepath.Join(w.home, "config.toml"))
	w.write("config.toml", strings.Repeat("#", document.MaxFile+1))
	if _, _, err := w.load(nil); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("got %v", err)
	}
}

func TestHomeDir(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	get := func(k string) string { return env[k] }
	if dir, err := HomeDir(get); err != nil || dir != filepath.Join(env["HOME"], ".kerf") {
		t.Errorf("%q, %v", dir, err)
	}
	env["KERF_HOME"] = filepath.Join(env["HOME"], "k")
	if dir, err := HomeDir(get); err != nil || dir != env["KERF_HOME"] {
		t.Errorf("%q, %v", dir, err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("model = 'x'\n[mcp_servers.a]\ncommand='b'\nenv={A='b'}\n")
	f.Add("[profiles.p.tools]\nupdate_plan={enabled=true}\n[[a.b]]\nc=1\n")
	f.Add(defaults)
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld(t)
		w.write("config.toml", text)
		c, _, err := w.load(nil)
		if err != nil {
			var fault *Error
			if !errors.As(err, &fault) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: error %q", text, err)
			}
			return
		}
		var b strings.Builder
		if err := c.Show(&b, true); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
			t.Fatalf("control character in %q", b.String())
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	o := Options{Home: dir, Cwd: dir, System: filepath.Join(dir, "none"), Env: func(string) string { return "" }}
	for b.Loop() {
		if _, _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}
