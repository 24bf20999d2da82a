package importing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kerf/internal/config/peers"
	"kerf/internal/text/pattern"
	"kerf/internal/text/redact"
)

// servers plans the MCP servers of a table.
func (p *plan) servers(from string, table any) {
	all, _ := table.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		what := "mcp_servers." + name
		if name == "" || strings.ContainsAny(name, "\x00\n") {
			p.add(None, from, what, "its name is none", nil)
			continue
		}
		s := peers.Parse(all[name])
		if s.Why != "" {
			p.add(None, from, what, s.Why, nil)
			continue
		}
		value, notes, err := settingOf(name, s)
		if err != nil {
			p.add(None, from, what, err.Error(), nil)
			continue
		}
		if len(s.Left) > 0 {
			notes = append(notes, "without "+strings.Join(s.Left, ", "))
		}
		p.setting(from, strings.Join(notes, "; "), value, "mcp_servers", name)
	}
}

// errPlaceholder says that something is filled in where config.toml has no placeholders.
var errPlaceholder = errors.New("it has a ${…} where config.toml can have none")

// onlyVariable is a text that is one variable.
var onlyVariable = pattern.Lazy(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-)?\}$`)

// settingOf is a server as config.toml has it. A secret is not among it: its variable is,
// and a note says which one to set.
func settingOf(name string, s peers.Server) (map[string]any, []string, error) {
	g, out := s.Given, map[string]any{}
	var notes []string
	for _, text := range append([]string{g.Command, g.URL, g.Cwd}, g.Args...) {
		if strings.Contains(text, "${") {
			return nil, nil, errPlaceholder
		}
		if redact.SecretValue(text) {
			return nil, nil, errors.New("it has a secret among its words; add it with kerf mcp add")
		}
	}
	put := func(key string, value any, there bool) {
		if there {
			out[key] = value
		}
	}
	put("command", g.Command, g.Command != "")
	put("args", g.Args, len(g.Args) > 0)
	put("url", g.URL, g.URL != "")
	put("cwd", g.Cwd, g.Cwd != "")
	put("bearer_token_env_var", g.BearerVar, g.BearerVar != "")
	put("startup_timeout_sec", int64(max(g.Startup, 1)), g.Startup > 0)
	put("tool_timeout_sec", int64(max(g.Timeout, 1)), g.Timeout > 0)
	put("enabled_tools", g.EnabledTools, len(g.EnabledTools) > 0)
	put("disabled_tools", g.NotEnabled, len(g.NotEnabled) > 0)
	env, vars := map[string]any{}, slices.Clone(g.EnvVars)
	for _, key := range slices.Sorted(maps.Keys(g.Env)) {
		value := g.Env[key]
		switch m := onlyVariable().FindStringSubmatch(value); {
		case m != nil && m[1] == key:
			vars = append(vars, key)
		case m != nil:
			vars = append(vars, key)
			notes = append(notes, "set the variable "+key+" to what "+m[1]+" has")
		case strings.Contains(value, "${"):
			return nil, nil, errPlaceholder
		case value != "" && (redact.SecretName(key) || redact.SecretValue(value)):
			vars = append(vars, key)
			notes = append(notes, "the value of "+key+" stays there; set the variable "+key)
		default:
			env[key] = value
		}
	}
	put("env", env, len(env) > 0)
	put("env_vars", vars, len(vars) > 0)
	headers, named := map[string]any{}, map[string]any{}
	for key, variable := range g.EnvHeaders {
		named[key] = variable
	}
	for _, key := range slices.Sorted(maps.Keys(g.Headers)) {
		value := g.Headers[key]
		token, bearer := strings.CutPrefix(value, "Bearer ")
		m := onlyVariable().FindStringSubmatch(strings.TrimSpace(token))
		own := variableOf(name, key)
		switch {
		case bearer && strings.EqualFold(key, "Authorization") && m != nil:
			out["bearer_token_env_var"] = m[1]
		case bearer && strings.EqualFold(key, "Authorization") && !strings.Contains(value, "${"):
			out["bearer_token_env_var"] = variableOf(name, "TOKEN")
			notes = append(notes, "its token stays there; set the variable "+variableOf(name, "TOKEN"))
		case !bearer && m != nil:
			named[key] = m[1]
		case strings.Contains(value, "${"):
			return nil, nil, errPlaceholder
		case redact.SecretName(key) || redact.SecretValue(value) || strings.EqualFold(key, "Authorization"):
			named[key] = own
			notes = append(notes, fmt.Sprintf("the header %s stays there; set the variable %s", key, own))
		default:
			headers[key] = value
		}
	}
	put("http_headers", headers, len(headers) > 0)
	put("env_http_headers", named, len(named) > 0)
	return out, notes, nil
}

// variableOf is a name for the variable of a server's secret.
func variableOf(server, what string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return '_'
	}, server+"_"+what), "_0123456789")
}
