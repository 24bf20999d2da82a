package importing

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/redact"
)

// carried are the settings of Codex that Kerf has under the same name. Tables below the
// first three are carried over one by one.
var carried = []string{"model_providers", "profiles", "permissions", "model", "model_provider", "review_model",
	"model_context_window", "model_auto_compact_token_limit", "model_reasoning_effort", "model_reasoning_summary",
	"approval_policy", "sandbox_mode", "sandbox_workspace_write", "shell_environment_policy", "project_doc_max_bytes",
	"project_doc_fallback_filenames", "project_root_markers", "developer_instructions", "allow_login_shell",
	"tool_output_token_limit", "oss_provider", "web_search", "default_permissions"}

// secretKeys are keys of a provider whose values stay where they are.
var secretKeys = []string{"experimental_bearer_token", "http_headers"}

func codex(p *plan) {
	dir := p.home("CODEX_HOME", ".codex")
	file := filepath.Join(dir, "config.toml")
	doc := p.table(file)
	for _, key := range carried {
		table, ok := doc[key].(map[string]any)
		switch {
		case doc[key] == nil:
		case ok && slices.Index(carried, key) < 3:
			for _, name := range slices.Sorted(maps.Keys(table)) {
				note := ""
				if t, ok := table[name].(map[string]any); ok {
					for _, secret := range secretKeys {
						if t[secret] != nil {
							delete(t, secret)
							note = secret + " stays there; use env_key, or kerf login"
						}
					}
				}
				p.setting(file, note, table[name], key, name)
			}
		case key == "web_search":
			p.setting(file, "", doc[key], "tools", "web_search")
		default:
			p.setting(file, "", doc[key], key)
		}
	}
	p.servers(file, doc["mcp_servers"])
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch {
		case key == "mcp_servers" || slices.Contains(carried, key):
		case key == "projects":
			p.add(None, file, key, "trust is not carried over; kerf trust in each project", nil)
		case key == "hooks":
			p.hooks(file, doc[key])
		case key == "plugins" || key == "marketplaces":
			p.add(None, file, key, pluginsApart, nil)
		default:
			p.add(None, file, key, "Kerf has no equal", nil)
		}
	}
	if hooks := p.table(filepath.Join(dir, "hooks.json")); hooks != nil {
		p.hooks(filepath.Join(dir, "hooks.json"), hooks["hooks"])
	}
	p.copied(filepath.Join(dir, "AGENTS.md"), "AGENTS.md")
	p.used(".codex/prompts", "commands", "*.md")
	p.used(".codex/skills", "skills", "*/SKILL.md")
	p.used(".codex/agents", "agents", "*.toml")
	p.counted(None, "rules", "they have another form; see kerf help approvals", filepath.Join(dir, "rules"), "*.rules")
	for _, kept := range []string{"sessions", "archived_sessions"} {
		p.sessions(filepath.Join(dir, kept), "rollout-*.jsonl", "rollout-*.jsonl.zst")
	}
	p.there(filepath.Join(dir, "auth.json"), "auth.json", "keys are not copied; kerf login openai")
}

// pluginsApart says what becomes of the plugins of other agents.
const pluginsApart = "plugins are not carried over; kerf plugin add SOURCE shows what one runs, and asks"

// maxSessions bounds the sessions of one agent.
const maxSessions = 1000

// sessions are those that the agent recorded, in files below a directory whose names match one of
// the patterns.
func (p *plan) sessions(dir string, patterns ...string) {
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(files) <= maxSessions && matches(e.Name(), patterns) {
			files = append(files, path)
		}
		return nil
	})
	if len(files) > maxSessions {
		files = files[:maxSessions]
		p.add(None, dir, "other sessions", "there are more than 1000; kerf sessions import FILE imports one", nil)
	}
	for _, path := range files {
		what := "session " + filepath.Base(path)
		switch plain, packed := strings.CutSuffix(path, ".zst"); {
		case packed && slices.Contains(files, plain): // Codex reads the other one, too
		case p.o.Imported != nil && p.o.Imported(path):
			p.add(Kept, path, what, "it was imported already", nil)
		default:
			p.add(Write, path, what, "", func() error { return p.o.Session(path) })
		}
	}
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := filepath.Match(p, name) // the patterns are those above and in others.go
		return ok
	})
}

// used are files in the user's home that Kerf reads there.
func (p *plan) used(dir, what, pattern string) {
	p.counted(Used, what, "read where they are", filepath.Join(p.o.Home, filepath.FromSlash(dir)), pattern)
}

func claude(p *plan) {
	dir := p.home("CLAUDE_CONFIG_DIR", ".claude")
	own := filepath.Join(p.o.Home, ".claude.json")
	doc := p.table(own)
	p.servers(own, doc["mcpServers"])
	projects, _ := doc["projects"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(projects)) {
		project, _ := projects[name].(map[string]any)
		if servers, _ := project["mcpServers"].(map[string]any); len(servers) > 0 {
			p.add(None, own, "MCP servers of "+name, "config.toml has none of one project; put them into its .mcp.json", nil)
		}
	}
	file := filepath.Join(dir, "settings.json")
	settings := p.table(file)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		p.claudeSetting(file, key, settings[key])
	}
	p.copied(filepath.Join(dir, "CLAUDE.md"), "AGENTS.md")
	p.used(".claude/commands", "commands", "*.md")
	p.used(".claude/skills", "skills", "*/SKILL.md")
	p.used(".claude/agents", "agents", "*.md")
	p.sessions(filepath.Join(dir, "projects"), "????????-????-????-????-????????????.jsonl")
	p.there(filepath.Join(dir, ".credentials.json"), ".credentials.json", "keys are not copied; kerf login anthropic")
}

// claudeSetting plans one key of Claude Code's settings.
func (p *plan) claudeSetting(file, key string, v any) {
	text, _ := v.(string)
	switch key {
	case "$schema":
	case "permissions":
		p.permissions(file, v)
	case "hooks":
		p.hooks(file, v)
	case "env":
		p.variables(file, v)
	case "statusLine":
		line, _ := v.(map[string]any)
		if command, _ := line["command"].(string); line["type"] == "command" && command != "" {
			p.setting(file, "", command, "tui", "status_line_command")
			return
		}
		p.add(None, file, key, "Kerf has no equal", nil)
	case "apiKeyHelper":
		if text == "" {
			return
		}
		p.setting(file, "the program prints the key", map[string]any{"command": "/bin/sh", "args": []any{"-c", text}},
			"model_providers", "anthropic", "auth")
	case "model":
		p.model(file, key, text, "anthropic", strings.HasPrefix(text, "claude-"))
	case "enabledPlugins", "extraKnownMarketplaces":
		p.add(None, file, key, pluginsApart, nil)
	default:
		p.add(None, file, key, "Kerf has no equal", nil)
	}
}

// model plans the model and its provider, if the name is one that the provider knows.
func (p *plan) model(file, key, name, provider string, whole bool) {
	switch {
	case !whole:
		p.add(None, file, key, "name a model and its provider with kerf config set model", nil)
	case p.tree.Get("model") != nil:
		p.add(Kept, file, key, "there is one already", nil)
	case p.tree.Get("model_provider") != nil:
		p.add(Kept, file, key, "model_provider is set already, and it may have no such model", nil)
	default:
		p.setting(file, "", name, "model")
		p.setting(file, "kerf login "+provider+", or its variable, gives the key", provider, "model_provider")
	}
}

// ofClaude are beginnings of variables that only the program itself or its provider obeys.
var ofClaude = []string{"ANTHROPIC_", "CLAUDE_", "DISABLE_", "MCP_", "OTEL_"}

// variables plans the variables that commands get. Secrets stay where they are.
func (p *plan) variables(file string, v any) {
	table, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, ok := table[name].(string)
		switch {
		case !ok:
			p.add(None, file, "env."+name, "it is no text", nil)
		case redact.SecretName(name) || redact.SecretValue(value):
			p.add(None, file, "env."+name, "its value stays there; set the variable "+name, nil)
		case slices.ContainsFunc(ofClaude, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			p.add(None, file, "env."+name, "it says nothing to Kerf", nil)
		default:
			p.setting(file, "", value, "shell_environment_policy", "set", name)
		}
	}
}

// Known reports whether there is an agent of a name.
func Known(name string) error {
	if agents[name] == nil {
		return errors.New("there is no agent " + name + "; the agents are " + strings.Join(Agents(), ", "))
	}
	return nil
}
