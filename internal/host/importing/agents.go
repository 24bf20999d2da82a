package importing

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config"
	"kerf/internal/config/hookfile"
	"kerf/internal/text/pattern"
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
	p.sessions(filepath.Join(dir, "sessions"), "rollout-*.jsonl")
	p.there(filepath.Join(dir, "auth.json"), "auth.json", "keys are not copied; kerf login openai")
}

// sessions are those that the agent recorded, in files below a directory whose names match one of
// the patterns.
func (p *plan) sessions(dir string, patterns ...string) {
	const most = 1000
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(files) < most && slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := filepath.Match(p, e.Name()) // the patterns are those below
			return ok
		}) {
			files = append(files, path)
		}
		return nil
	})
	for _, path := range files {
		p.add(Write, path, "session "+filepath.Base(path), "", func() error { return p.o.Session(path) })
	}
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
		switch key {
		case "$schema":
		case "permissions":
			p.permissions(file, settings[key])
		case "hooks":
			p.hooks(file, settings[key])
		case "model":
			p.add(None, file, key, "name a model and its provider with kerf config set model", nil)
		default:
			p.add(None, file, key, "Kerf has no equal", nil)
		}
	}
	p.copied(filepath.Join(dir, "CLAUDE.md"), "AGENTS.md")
	p.used(".claude/commands", "commands", "*.md")
	p.used(".claude/skills", "skills", "*/SKILL.md")
	p.used(".claude/agents", "agents", "*.md")
	p.sessions(filepath.Join(dir, "projects"), "????????-????-????-????-????????????.jsonl")
	p.there(filepath.Join(dir, ".credentials.json"), ".credentials.json", "keys are not copied; kerf login anthropic")
}

// hooks plans hooks.json of Kerf's home, with the events that Kerf knows.
func (p *plan) hooks(from string, table any) {
	events, _ := table.(map[string]any)
	known := map[string]any{}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		if err := hookfile.Check(map[string]any{event: events[event]}); err != nil {
			why := err.Error()
			if strings.Contains(why, "no such event") {
				why = "Kerf has no such event"
			}
			p.add(None, from, "hooks of "+event, why, nil)
			continue
		}
		known[event] = events[event]
	}
	if len(known) == 0 {
		return
	}
	data, err := json.MarshalIndent(map[string]any{"hooks": known}, "", "  ")
	if err != nil {
		p.add(None, from, "hooks", "they are no JSON", nil)
		return
	}
	p.written(from, "hooks of "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")+" as hooks.json", "hooks.json",
		append(data, '\n'))
}

// ofCommand is a permission of Claude Code about commands.
var ofCommand = pattern.Lazy(`^Bash\(([\w./@%+=-]+(?: [\w./@%+=-]+)*)(:\*| \*)?\)$`)

// permissions plans rules for what is allowed, asked and denied by the first words of a
// command. Nothing becomes wider than it was.
func (p *plan) permissions(from string, table any) {
	all, _ := table.(map[string]any)
	for _, kind := range []struct{ key, verdict string }{{"deny", "forbid"}, {"ask", "prompt"}, {"allow", "allow"}} {
		list, _ := all[kind.key].([]any)
		for _, x := range list {
			text, _ := x.(string)
			m := ofCommand().FindStringSubmatch(text)
			if m == nil {
				p.add(None, from, "permissions."+kind.key+" "+text, "Kerf has no equal rule", nil)
				continue
			}
			line := m[1] + " -> " + kind.verdict
			if m[2] == "" && kind.verdict == "allow" {
				line += " exactly"
			}
			p.add(Write, from, "rule "+line, "", func() error { return config.AddRule(p.o.Kerf, line) })
		}
	}
	if all["defaultMode"] != nil {
		p.add(None, from, "permissions.defaultMode", "see approval_policy in kerf help config", nil)
	}
}

func gemini(p *plan) {
	dir := filepath.Join(p.o.Home, ".gemini")
	file := filepath.Join(dir, "settings.json")
	settings := p.table(file)
	p.servers(file, settings["mcpServers"])
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		switch key {
		case "mcpServers", "$schema":
		case "model":
			p.add(None, file, key, "name a model and its provider with kerf config set model", nil)
		case "hooks":
			p.add(None, file, key, "those of a project are read; write your own into hooks.json", nil)
		default:
			p.add(None, file, key, "Kerf has no equal", nil)
		}
	}
	p.copied(filepath.Join(dir, "GEMINI.md"), "AGENTS.md")
	p.used(".gemini/commands", "commands", "*.toml")
	p.used(".gemini/skills", "skills", "*/SKILL.md")
	p.sessions(filepath.Join(dir, "tmp"), "session-*.json", "session-*.jsonl")
	p.there(filepath.Join(dir, "oauth_creds.json"), "oauth_creds.json", "keys are not copied; kerf login gemini")
}

func cursor(p *plan) {
	file := filepath.Join(p.o.Home, ".cursor", "mcp.json")
	p.servers(file, p.table(file)["mcpServers"])
	p.there(filepath.Join(p.o.Home, ".cursor", "hooks.json"), "hooks.json", "its hooks have another form")
	p.used(".cursor/skills", "skills", "*/SKILL.md")
}

func copilot(p *plan) {
	dir := p.home("COPILOT_HOME", ".copilot")
	file := filepath.Join(dir, "mcp-config.json")
	p.servers(file, p.table(file)["mcpServers"])
	p.copied(filepath.Join(dir, "copilot-instructions.md"), "AGENTS.md")
	p.there(filepath.Join(dir, "config.json"), "config.json", "Kerf has no equal")
	p.counted(None, "agents", "put them into .agents/agents", filepath.Join(dir, "agents"), "*.md")
}

func opencode(p *plan) {
	dir := filepath.Join(p.home("XDG_CONFIG_HOME", ".config"), "opencode")
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		file := filepath.Join(dir, name)
		doc := p.table(file)
		p.servers(file, doc["mcp"])
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			if key != "mcp" && key != "$schema" {
				p.add(None, file, key, "Kerf has no equal under this name", nil)
			}
		}
	}
	p.copied(filepath.Join(dir, "AGENTS.md"), "AGENTS.md")
	for _, kind := range []string{"command", "agent"} {
		p.counted(None, kind+"s", "put them into ~/.claude/"+kind+"s", filepath.Join(dir, kind), "*.md")
	}
}

// Known reports whether there is an agent of a name.
func Known(name string) error {
	if agents[name] == nil {
		return errors.New("there is no agent " + name + "; the agents are " + strings.Join(Agents(), ", "))
	}
	return nil
}
