package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kerf/internal/config/document"
)

// DefaultModel is used with the built-in OpenAI provider when none is named.
const DefaultModel = "gpt-5.5"

// finish fills what follows from other values and checks what involves several.
func (c *Config) finish(o Options) error {
	for _, step := range []func(Options) error{c.finishProviders, c.finishModel, c.finishServers, c.finishPaths,
		c.finishPermissions, c.finishHooks, c.finishChecks, c.finishLanguages} {
		if err := step(o); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) fault(message string, path ...string) error {
	key := document.Key(path...)
	v := c.tree.Get(path...)
	for n := len(path); v == nil && n > 0; n-- {
		v = c.tree.Get(path[:n-1]...)
	}
	return v.From.Fault(key, key+": "+message)
}

func (c *Config) finishProviders(Options) error {
	if c.OpenAIBaseURL != "" {
		p := c.Providers["openai"]
		p.BaseURL = c.OpenAIBaseURL
		c.Providers["openai"] = p
		at := c.tree.Get("openai_base_url")
		layer := document.NewTable(at.From)
		layer.Put(&document.Value{Leaf: c.OpenAIBaseURL, From: at.From}, "model_providers", "openai", "base_url")
		c.tree = document.Merge(c.tree, layer)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		has := func(key string) bool { return c.tree.Get("model_providers", name, key) != nil }
		if p.Name == "" {
			p.Name = name
		}
		if p.WireAPI == "" {
			p.WireAPI = "responses"
		}
		if !has("request_max_retries") {
			p.RequestMaxRetries = 4
		}
		if !has("stream_max_retries") {
			p.StreamMaxRetries = 5
		}
		if p.StreamIdleTimeout == 0 {
			p.StreamIdleTimeout = 5 * time.Minute
		}
		p.BaseURL = strings.TrimRight(p.BaseURL, "/")
		if p.BaseURL == "" && p.WireAPI != "script" {
			return c.fault("expected an address, found none", "model_providers", name, "base_url")
		}
		if p.WireAPI != "script" && !strings.HasPrefix(p.BaseURL, "http://") && !strings.HasPrefix(p.BaseURL, "https://") {
			return c.fault("expected an address that begins with http:// or https://", "model_providers", name, "base_url")
		}
		c.Providers[name] = p
	}
	return nil
}

func (c *Config) finishModel(Options) error {
	if _, ok := c.Providers[c.ModelProvider]; !ok {
		names := slices.Sorted(maps.Keys(c.Providers))
		return c.fault("expected one of "+strings.Join(names, ", ")+", found "+document.Quote(document.Clip(c.ModelProvider))+
			document.Hint(c.ModelProvider, names), "model_provider")
	}
	if c.Model == "" && c.ModelProvider == "openai" {
		c.Model = DefaultModel
	}
	return nil
}

func (c *Config) finishServers(Options) error {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		s := c.MCPServers[name]
		path := []string{"mcp_servers", name}
		switch {
		case s.Command == "" && s.URL == "":
			return c.fault("expected command or url, found neither", path...)
		case s.Command != "" && s.URL != "":
			return c.fault("expected command or url, found both", path...)
		case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
			return c.fault("expected an address that begins with http:// or https://", append(path, "url")...)
		}
		if c.tree.Get(append(path, "enabled")...) == nil {
			s.Enabled = true
		}
		if s.StartupTimeout == 0 {
			s.StartupTimeout = 30 * time.Second
		}
		if s.ToolTimeout == 0 {
			s.ToolTimeout = 2 * time.Minute
		}
		if s.OAuthStore == "" {
			s.OAuthStore = "auto"
		}
		if s.DefaultApproval == "" {
			s.DefaultApproval = "auto"
		}
		c.MCPServers[name] = s
	}
	return nil
}

// finishPaths makes the writable roots absolute. A relative one on the command
// line starts at the working directory; in a file it would mean something else
// in every directory and is refused.
func (c *Config) finishPaths(o Options) error {
	key := []string{"sandbox_workspace_write", "writable_roots"}
	for i, dir := range c.WorkspaceWrite.WritableRoots {
		dir = expandHome(dir, o.Env)
		if !filepath.IsAbs(dir) {
			if from := c.tree.Get(key...).From; from.Line > 0 {
				return c.fault("expected absolute paths, found "+document.Quote(document.Clip(dir)), key...)
			}
			dir = filepath.Join(c.Cwd, dir)
		}
		c.WorkspaceWrite.WritableRoots[i] = filepath.Clean(dir)
	}
	return nil
}

func expandHome(path string, env func(string) string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != os.PathSeparator {
		return path
	}
	if home := env("HOME"); home != "" {
		return home + rest
	}
	if home, err := os.UserHomeDir(); err == nil {
		return home + rest
	}
	return path
}

// builtinPermissions are the sandbox modes under the names that stand among those of
// permissions.
var builtinPermissions = map[string]string{":read-only": "read-only", ":workspace": "workspace-write",
	":danger-full-access": "danger-full-access"}

// permissionNames are what a path in a table of permissions may begin with.
var permissionNames = []string{":root", ":workspace_roots", ":project_roots", ":tmpdir", ":slash_tmp", ":minimal"}

// finishPermissions checks that the chosen permissions and the names in them exist. The
// ones that are built in choose the sandbox mode where nothing else does.
func (c *Config) finishPermissions(Options) error {
	for _, name := range slices.Sorted(maps.Keys(c.Permissions)) {
		for _, path := range slices.Sorted(maps.Keys(c.Permissions[name].Filesystem)) {
			first, _, _ := strings.Cut(path, "/")
			if strings.HasPrefix(first, ":") && !slices.Contains(permissionNames, first) {
				return c.fault(fmt.Sprintf("no path is called %q; the names are %s", first,
					strings.Join(permissionNames, ", ")), "permissions", name, "filesystem")
			}
		}
	}
	name := c.DefaultPermissions
	if name == "" {
		return nil
	}
	if mode, ok := builtinPermissions[name]; ok {
		if c.SandboxMode == "" {
			c.SandboxMode = mode
		}
		return nil
	}
	for _, socket := range slices.Sorted(maps.Keys(c.Permissions[name].Network.UnixSockets)) {
		if c.Permissions[name].Network.UnixSockets[socket] == "allow" {
			return c.fault(fmt.Sprintf("%s: no sandbox can open one unix socket and keep the others closed; take it out, or "+
				"let the command that needs it run outside", socket), "permissions", name, "network", "unix_sockets")
		}
	}
	if _, ok := c.Permissions[name]; !ok {
		names := append(slices.Sorted(maps.Keys(c.Permissions)), slices.Sorted(maps.Keys(builtinPermissions))...)
		return c.fault("no [permissions."+document.Key(name)+"]"+document.Hint(name, names)+"; there are "+
			strings.Join(names, ", "), "default_permissions")
	}
	return nil
}
