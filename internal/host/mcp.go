package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/mcpclient"
	"kerf/internal/work/proc"
)

// servers are the MCP servers of a session: the configured ones that are on, and
// those that the face passes on. Where both have a name, the face's counts.
func (h *Host) servers(cwd string, passed []protocol.MCPServer) []mcpclient.Server {
	all := map[string]mcpclient.Server{}
	for name, s := range h.Config.MCPServers {
		if s.Enabled {
			all[name] = h.server(name, s, cwd)
		}
	}
	for _, p := range passed {
		s := config.MCPServer{Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, HTTPHeaders: p.Headers}
		all[p.Name] = h.server(p.Name, s, cwd)
	}
	list := make([]mcpclient.Server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// server is one configured server as the client takes it. Its program gets the
// core variables, those that are named, and nothing else of Kerf's environment.
func (h *Host) server(name string, s config.MCPServer, cwd string) mcpclient.Server {
	set := map[string]string{}
	for _, v := range s.EnvVars {
		if value := h.Getenv(v); value != "" {
			set[v] = value
		}
	}
	maps.Copy(set, s.Env)
	dir := s.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	out := mcpclient.Server{Name: name, Command: s.Command, Args: s.Args, Dir: dir, URL: s.URL, Headers: maps.Clone(s.HTTPHeaders),
		Env:            proc.Environment(h.Env, proc.EnvPolicy{Inherit: "core", Set: set}),
		StartupTimeout: s.StartupTimeout, ToolTimeout: s.ToolTimeout, Enabled: s.EnabledTools, Disabled: s.DisabledTools}
	for header, variable := range s.EnvHTTPHeaders {
		if value := h.Getenv(variable); value != "" {
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[header] = value
		}
	}
	if s.BearerTokenEnvVar != "" {
		out.Bearer = h.Getenv(s.BearerTokenEnvVar)
	}
	if s.URL != "" && out.Bearer == "" {
		out.Store = h.grants(s)
	}
	return out
}

// required names the servers without which no session starts.
func (h *Host) required() []string {
	var names []string
	for name, s := range h.Config.MCPServers {
		if s.Enabled && s.Required {
			names = append(names, name)
		}
	}
	return names
}

// mcpApproval is the user's word on a tool of a server.
func (h *Host) mcpApproval(server, tool string) string {
	s := h.Config.MCPServers[server]
	if t := s.Tools[tool]; t.Approval != "" {
		return t.Approval
	}
	return s.DefaultApproval
}

// grants keeps the sign-ins of MCP servers beside those of providers.
func (h *Host) grants(s config.MCPServer) grantStore {
	mode := auth.Mode(orElse(s.OAuthStore, string(auth.Auto)))
	return grantStore{&auth.Store{Home: h.Config.Home, Mode: mode, Env: h.Getenv}}
}

// grantStore is an auth.Store as the MCP client takes it.
type grantStore struct{ store *auth.Store }

func grantName(server string) string { return "mcp:" + server }

func (g grantStore) Load(server string) (*mcpclient.Grant, error) {
	c, _, err := g.store.Get(grantName(server))
	if errors.Is(err, auth.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var grant mcpclient.Grant
	if err := json.Unmarshal([]byte(c.Key), &grant); err != nil {
		return nil, fmt.Errorf("the sign-in of %s is not what kerf wrote; sign in again with: kerf mcp login %s", server, server)
	}
	return &grant, nil
}

func (g grantStore) Save(server string, grant *mcpclient.Grant) error {
	text, err := json.Marshal(grant)
	if err != nil {
		return err
	}
	_, err = g.store.Put(grantName(server), auth.Credential{Key: string(text)})
	return err
}

func (g grantStore) Delete(server string) error { return g.store.Delete(grantName(server)) }

// MCPServer finds a configured server.
func (h *Host) MCPServer(name string) (config.MCPServer, error) {
	s, ok := h.Config.MCPServers[name]
	if !ok {
		return s, fmt.Errorf("no MCP server %q is configured; kerf mcp list shows them", name)
	}
	return s, nil
}

// MCPLogin signs in to a server. show is given the address to open.
func (h *Host) MCPLogin(ctx context.Context, name string, scopes []string, show func(url string)) error {
	s, err := h.MCPServer(name)
	if err != nil {
		return err
	}
	if len(scopes) == 0 {
		scopes = s.Scopes
	}
	server := h.server(name, s, h.Config.Cwd)
	server.Store = h.grants(s)
	return mcpclient.Login(ctx, server, "Kerf", Version, scopes, show)
}

// MCPLogout forgets a sign-in; it reports whether there was one.
func (h *Host) MCPLogout(name string) (bool, error) {
	s, err := h.MCPServer(name)
	if err != nil {
		return false, err
	}
	err = h.grants(s).Delete(name)
	if errors.Is(err, auth.ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// MCPSignedIn reports whether a sign-in is kept for a server.
func (h *Host) MCPSignedIn(name string) bool {
	grant, err := h.grants(h.Config.MCPServers[name]).Load(name)
	return err == nil && grant != nil
}

// MCPCheck starts a server, waits until it is ready or has failed, and tells how
// it is.
func (h *Host) MCPCheck(ctx context.Context, name string) (mcpclient.Status, error) {
	s, err := h.MCPServer(name)
	if err != nil {
		return mcpclient.Status{}, err
	}
	m := mcpclient.Start(mcpclient.Options{Servers: []mcpclient.Server{h.server(name, s, h.Config.Cwd)}, Name: "kerf", Version: Version, Roots: []string{h.Config.Cwd}})
	defer m.Close()
	m.Settle(ctx)
	return m.Status()[0], nil
}
