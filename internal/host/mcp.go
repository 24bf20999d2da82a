package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"kerf/internal/auth"
	"kerf/internal/config"
	"kerf/internal/protocol"
	"kerf/internal/work/mcpclient"
	"kerf/internal/work/proc"
)

// MCP knows the configured MCP servers and the sign-ins to them.
type MCP struct {
	config *config.Config
	env    []string
	getenv func(string) string
}

// MCP returns the servers of the configuration.
func (h *Host) MCP() MCP { return h.configured().mcp() }

func (c configured) mcp() MCP { return MCP{c.Config, c.env, c.getenv} }

// servers are the MCP servers of a session: the configured ones that are on, and
// those that the front end passes on. Where both have a name, the front end's counts.
func (m MCP) servers(cwd string, passed []protocol.MCPServer) []mcpclient.Server {
	all := map[string]mcpclient.Server{}
	for name, s := range m.config.MCPServers {
		if s.Enabled {
			all[name] = m.server(name, s, cwd)
		}
	}
	for _, p := range passed {
		s := config.MCPServer{Command: p.Command, Args: p.Args, Env: p.Env, URL: p.URL, HTTPHeaders: p.Headers}
		all[p.Name] = m.server(p.Name, s, cwd)
	}
	list := make([]mcpclient.Server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// server is one configured server as the client takes it. Its program gets the
// core variables, those that are named, and nothing else of Kerf's environment.
func (m MCP) server(name string, s config.MCPServer, cwd string) mcpclient.Server {
	set := map[string]string{}
	for _, v := range s.EnvVars {
		if value := m.getenv(v); value != "" {
			set[v] = value
		}
	}
	maps.Copy(set, s.Env)
	dir, unfit := m.config.ProgramDir(s.Cwd, cwd)
	env := proc.OwnEnv(m.env, m.config.Workspaces(cwd))
	out := mcpclient.Server{Name: name, Command: s.Command, Args: s.Args, Dir: dir, Unfit: unfit, URL: s.URL,
		Headers:        maps.Clone(s.HTTPHeaders),
		Env:            proc.Environment(env, proc.EnvPolicy{Inherit: "core", Set: set}),
		StartupTimeout: s.StartupTimeout, ToolTimeout: s.ToolTimeout, Enabled: s.EnabledTools, Disabled: s.DisabledTools}
	for header, variable := range s.EnvHTTPHeaders {
		if value := m.getenv(variable); value != "" {
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[header] = value
		}
	}
	if s.BearerTokenEnvVar != "" {
		out.Bearer = m.getenv(s.BearerTokenEnvVar)
	}
	out.Client = mcpclient.OAuthClient{ID: s.OAuthClientID, Secret: m.getenv(s.OAuthClientSecret),
		MetadataURL: s.OAuthClientMetadata, Port: s.OAuthCallbackPort}
	if s.URL != "" && out.Bearer == "" {
		out.Store = m.grants(s)
	}
	return out
}

// Lacks says what a configured server needs that is not there; empty is nothing.
func (m MCP) Lacks(name string) string {
	s := m.config.MCPServers[name]
	return cmp.Or(s.Unset(m.getenv), m.server(name, s, m.config.Cwd).Lacks())
}

// required names the servers without which no session starts.
func (m MCP) required() []string {
	var names []string
	for name, s := range m.config.MCPServers {
		if s.Enabled && s.Required {
			names = append(names, name)
		}
	}
	return names
}

// approval is the user's setting for a tool of a server.
func (m MCP) approval(server, tool string) string {
	s := m.config.MCPServers[server]
	if t := s.Tools[tool]; t.Approval != "" {
		return t.Approval
	}
	return s.DefaultApproval
}

// grants keeps the sign-ins of MCP servers beside those of providers.
func (m MCP) grants(s config.MCPServer) grantStore {
	mode := auth.Mode(cmp.Or(s.OAuthStore, string(auth.Auto)))
	return grantStore{&auth.Store{Home: m.config.Home, Mode: mode, Env: m.getenv}, s.SignIn}
}

// grantStore is an auth.Store as the MCP client takes it.
type grantStore struct {
	store *auth.Store
	as    string // instead of the server's name, where not empty
}

func (g grantStore) key(server string) string { return "mcp:" + cmp.Or(g.as, server) }

func (g grantStore) Load(server string) (*mcpclient.Grant, error) {
	c, _, err := g.store.Get(g.key(server))
	if errors.Is(err, auth.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var grant mcpclient.Grant
	if err := json.Unmarshal([]byte(c.Key), &grant); err != nil {
		return nil, fmt.Errorf("the stored sign-in of %s was not written by kerf; sign in again with: kerf mcp login %s",
			server, server)
	}
	return &grant, nil
}

func (g grantStore) Save(server string, grant *mcpclient.Grant) error {
	text, err := json.Marshal(grant)
	if err != nil {
		return err
	}
	_, err = g.store.Put(g.key(server), auth.Credential{Key: string(text)})
	return err
}

func (g grantStore) Delete(server string) error { return g.store.Delete(g.key(server)) }

// Server finds a configured server.
func (m MCP) Server(name string) (config.MCPServer, error) {
	s, ok := m.config.MCPServers[name]
	if !ok {
		return s, fmt.Errorf("no MCP server %q is configured; kerf mcp list shows them", name)
	}
	return s, nil
}

// Login signs in to a server. show is given the address to open.
func (m MCP) Login(ctx context.Context, name string, scopes []string, show func(url string)) error {
	s, err := m.Server(name)
	if err != nil {
		return err
	}
	if len(scopes) == 0 {
		scopes = s.Scopes
	}
	server := m.server(name, s, m.config.Cwd)
	server.Store = m.grants(s)
	return mcpclient.Login(ctx, server, "Kerf", Version, scopes, show)
}

// Logout forgets a sign-in; it reports whether there was one.
func (m MCP) Logout(name string) (bool, error) {
	s, err := m.Server(name)
	if err != nil {
		return false, err
	}
	err = m.grants(s).Delete(name)
	if errors.Is(err, auth.ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// SignedIn reports whether a sign-in is kept for a server.
func (m MCP) SignedIn(name string) bool {
	grant, err := m.grants(m.config.MCPServers[name]).Load(name)
	return err == nil && grant != nil
}

// Check starts a server, waits until it is ready or has failed, and tells how
// it is.
func (m MCP) Check(ctx context.Context, name string) (mcpclient.Status, error) {
	s, err := m.Server(name)
	if err != nil {
		return mcpclient.Status{}, err
	}
	c := mcpclient.Start(mcpclient.Options{Servers: []mcpclient.Server{m.server(name, s, m.config.Cwd)}, Name: "kerf",
		Version: Version, Roots: []string{m.config.Cwd}})
	defer c.Close()
	c.Settle(ctx)
	return c.Status()[0], nil
}
