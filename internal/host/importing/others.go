package importing

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kerf/internal/config/hookfile"
	"kerf/internal/text/pattern"
	"kerf/internal/text/redact"
)

func gemini(p *plan) {
	dir := filepath.Join(p.o.Home, ".gemini")
	file := filepath.Join(dir, "settings.json")
	settings := p.table(file)
	p.servers(file, filled(settings["mcpServers"], dollar))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		p.geminiSetting(file, key, settings[key])
	}
	p.copied(filepath.Join(dir, "GEMINI.md"), "AGENTS.md")
	p.used(".gemini/commands", "commands", "*.toml")
	p.used(".gemini/skills", "skills", "*/SKILL.md")
	p.counted(None, "agents", "put them into ~/.agents/agents", filepath.Join(dir, "agents"), "*.md")
	p.counted(None, "policies", "they have another form; see kerf help approvals",
		filepath.Join(dir, "policies"), "*.toml")
	p.counted(None, "extensions", "Kerf has no equal; add their MCP servers with kerf mcp add",
		filepath.Join(dir, "extensions"), "*/gemini-extension.json")
	p.sessions(filepath.Join(dir, "tmp"), "session-*.json", "session-*.jsonl")
	p.there(filepath.Join(dir, "oauth_creds.json"), "oauth_creds.json", "keys are not copied; kerf login gemini")
	for _, name := range envNames(filepath.Join(dir, ".env")) {
		if redact.SecretName(name) {
			p.add(None, filepath.Join(dir, ".env"), name, "keys are not copied; set the variable, or kerf login gemini", nil)
		}
	}
}

// geminiSetting plans one key of Gemini CLI's settings. Older versions have on top what stands in
// tables now.
func (p *plan) geminiSetting(file, key string, v any) {
	table, _ := v.(map[string]any)
	text, _ := v.(string)
	rest := func(used ...string) {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if !slices.Contains(used, name) {
				p.add(None, file, key+"."+name, "Kerf has no equal", nil)
			}
		}
	}
	switch key {
	case "mcpServers", "$schema":
	case "model":
		if name, ok := table["name"].(string); ok {
			text = name
		}
		p.model(file, key, text, "gemini", strings.HasPrefix(text, "gemini-"))
		rest("name")
	case "general":
		if mode, ok := table["defaultApprovalMode"].(string); ok {
			p.mode(file, key+".defaultApprovalMode", mode)
		}
		rest("defaultApprovalMode")
	case "context":
		p.fileNames(file, table["fileName"])
		rest("fileName")
	case "contextFileName":
		p.fileNames(file, v)
	case "tools":
		p.commandsOf(file, "tools.allowed", "run_shell_command", "allow", table["allowed"])
		p.commandsOf(file, "tools.exclude", "run_shell_command", "forbid", table["exclude"])
		rest("allowed", "exclude")
	case "allowedTools":
		p.commandsOf(file, key, "run_shell_command", "allow", v)
	case "excludeTools":
		p.commandsOf(file, key, "run_shell_command", "forbid", v)
	case "hooks":
		p.hooks(file, inSeconds(table))
	default:
		p.add(None, file, key, "Kerf has no equal", nil)
	}
}

// inSeconds are events with handlers whose timeouts are in seconds.
func inSeconds(events map[string]any) map[string]any {
	out := map[string]any{}
	for event, groups := range events {
		out[event] = hookfile.Seconds(groups)
	}
	return out
}

// fileNames plans the names of instruction files.
func (p *plan) fileNames(file string, v any) {
	list := texts(v)
	if name, ok := v.(string); ok {
		list = []string{name}
	}
	list = slices.DeleteFunc(list, func(name string) bool { return name == "GEMINI.md" || name == "AGENTS.md" })
	if len(list) > 0 {
		p.setting(file, "", list, "project_doc_fallback_filenames")
	}
}

func cursor(p *plan) {
	dir := filepath.Join(p.o.Home, ".cursor")
	file := filepath.Join(dir, "mcp.json")
	p.servers(file, p.table(file)["mcpServers"])
	own := filepath.Join(dir, "cli-config.json")
	doc := p.table(own)
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		table, _ := doc[key].(map[string]any)
		switch key {
		case "permissions":
			p.commandsOf(own, "permissions.deny", "Shell", "forbid", table["deny"])
			p.commandsOf(own, "permissions.allow", "Shell", "allow", table["allow"])
		case "version":
		default:
			p.add(None, own, key, "Kerf has no equal", nil)
		}
	}
	p.there(filepath.Join(dir, "hooks.json"), "hooks.json", "its hooks have another form; those of a project are read")
	p.used(".cursor/skills", "skills", "*/SKILL.md")
	p.counted(None, "commands", "put them into ~/.claude/commands", filepath.Join(dir, "commands"), "*.md")
	p.counted(None, "agents", "put them into ~/.claude/agents", filepath.Join(dir, "agents"), "*.md")
	p.counted(None, "rules", "put them into AGENTS.md", filepath.Join(dir, "rules"), "*.mdc")
}

func copilot(p *plan) {
	dir := p.home("COPILOT_HOME", ".copilot")
	file := filepath.Join(dir, "mcp-config.json")
	p.servers(file, p.table(file)["mcpServers"])
	p.copied(filepath.Join(dir, "copilot-instructions.md"), "AGENTS.md")
	p.counted(None, "instructions", "put them into AGENTS.md", filepath.Join(dir, "instructions"), "*.instructions.md")
	settings := filepath.Join(dir, "settings.json")
	doc := p.table(settings)
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		switch text, _ := doc[key].(string); key {
		case "$schema":
		case "model":
			p.add(None, settings, key, "name a model and its provider with kerf config set model", nil)
		case "effortLevel":
			p.setting(settings, "", text, "model_reasoning_effort")
		case "enabledPlugins", "extraKnownMarketplaces":
			p.add(None, settings, key, pluginsApart, nil)
		case "hooks":
			p.add(None, settings, key, "its hooks have another form; those of a project are read", nil)
		default:
			p.add(None, settings, key, "Kerf has no equal", nil)
		}
	}
	p.there(filepath.Join(dir, "config.json"), "config.json", "it holds what the program keeps; keys are not copied")
	p.there(filepath.Join(dir, "permissions-config.json"), "permissions-config.json", "see kerf help approvals")
	p.counted(None, "hooks", "its hooks have another form; those of a project are read",
		filepath.Join(dir, "hooks"), "*.json")
	p.counted(None, "agents", "put them into ~/.agents/agents", filepath.Join(dir, "agents"), "*.md")
	p.counted(None, "skills", "kerf skills add FOLDER copies one", filepath.Join(dir, "skills"), "*/SKILL.md")
}

func opencode(p *plan) {
	dir := filepath.Join(p.home("XDG_CONFIG_HOME", ".config"), "opencode")
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		file := filepath.Join(dir, name)
		doc := p.table(file)
		p.servers(file, filled(doc["mcp"], braces))
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			p.opencodeSetting(file, key, doc[key])
		}
	}
	p.copied(filepath.Join(dir, "AGENTS.md"), "AGENTS.md")
	for _, kind := range []string{"command", "agent"} {
		for _, name := range []string{kind, kind + "s"} {
			p.counted(None, kind+"s", "put them into ~/.claude/"+kind+"s", filepath.Join(dir, name), "*.md")
		}
	}
	for _, name := range []string{"skill", "skills"} {
		p.counted(None, "skills", "kerf skills add FOLDER copies one", filepath.Join(dir, name), "*/SKILL.md")
	}
	data := filepath.Join(p.home("XDG_DATA_HOME", ".local/share"), "opencode")
	p.there(filepath.Join(data, "auth.json"), "auth.json", "keys are not copied; kerf login PROVIDER")
}

// providersOf are the providers that Kerf has under another name, or the same.
var providersOf = map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "gemini",
	"openrouter": "openrouter"}

func (p *plan) opencodeSetting(file, key string, v any) {
	table, _ := v.(map[string]any)
	switch key {
	case "mcp", "$schema":
	case "model":
		text, _ := v.(string)
		provider, name, _ := strings.Cut(text, "/")
		p.model(file, key, name, providersOf[provider], providersOf[provider] != "" && name != "")
	case "permission":
		bash, _ := table["bash"].(map[string]any)
		for _, words := range slices.Sorted(maps.Keys(bash)) {
			what := "permission.bash " + words
			verdict := map[any]string{"allow": "allow", "ask": "prompt", "deny": "forbid"}[bash[words]]
			begins, open := cutAny(words, " *", "*")
			if verdict == "" {
				begins = ""
			}
			p.rule(file, what, begins, !open, verdict)
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if name != "bash" || bash == nil {
				p.add(None, file, "permission."+name, "Kerf has no equal rule", nil)
			}
		}
	case "provider":
		for _, name := range slices.Sorted(maps.Keys(table)) {
			p.opencodeProvider(file, name, table[name])
		}
	default:
		p.add(None, file, key, "Kerf has no equal under this name", nil)
	}
}

// opencodeProvider plans a provider that has an address of its own, with the variable of its key.
func (p *plan) opencodeProvider(file, name string, v any) {
	said, _ := v.(map[string]any)
	options, _ := said["options"].(map[string]any)
	address, _ := options["baseURL"].(string)
	if address == "" || said["npm"] != "@ai-sdk/openai-compatible" {
		p.add(None, file, "provider."+name, "see model_providers in kerf help config", nil)
		return
	}
	value, note := map[string]any{"base_url": address, "wire_api": "chat"}, ""
	if key, _ := options["apiKey"].(string); key != "" {
		if m := braces().FindStringSubmatch(key); m != nil && m[0] == key {
			value["env_key"] = m[1]
		} else {
			note = "its key stays there; use env_key, or kerf login"
		}
	}
	p.setting(file, note, value, "model_providers", name)
}

// The placeholders of agents that are not written ${NAME}: $NAME and {env:NAME}.
var (
	dollar = pattern.Lazy(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	braces = pattern.Lazy(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// filled is a value with the placeholders of one form in the usual one.
func filled(v any, form func() *regexp.Regexp) any {
	switch x := v.(type) {
	case string:
		return form().ReplaceAllString(x, "$${$1}")
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = filled(x[i], form)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key := range x {
			out[key] = filled(x[key], form)
		}
		return out
	}
	return v
}

// envNames are the names that a file of NAME=VALUE lines sets.
func envNames(path string) (names []string) {
	data, err := read(path, maxCopy)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
