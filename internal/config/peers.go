package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
	"kerf/internal/config/trust"
	"kerf/internal/pathname"
)

// PeerServer is an MCP server that a file of another agent in the project names. It is
// among MCPServers if Why is empty.
type PeerServer struct {
	peers.Server
	// Reads are the variables of the environment that the server gets by its file.
	Reads []string
}

// Peers are what files of other agents in the project name.
type Peers struct {
	Servers []PeerServer
	Faults  []peers.Fault // files of which nothing, or not all, is used
}

// Server finds a server that is used.
func (p Peers) Server(name string) (PeerServer, bool) {
	for _, s := range p.Servers {
		if s.Name == name && s.Why == "" {
			return s, true
		}
	}
	return PeerServer{}, false
}

// addPeers adds the servers of other agents' files to those that the user configured,
// where the user trusted exactly what these files hold. A project cannot replace a server
// of the user's, nor decide which calls need no approval.
func (c *Config) addPeers(o Options) {
	files := trust.Once()
	found, faults := peers.Servers(trust.Directories(c.Root, c.Cwd, c.Home), files)
	c.Peers.Faults = faults
	if len(found) == 0 {
		return
	}
	bound := o.Trusted && c.bound(files)
	own := map[string]bool{}
	for name := range c.MCPServers {
		own[name] = true
	}
	for _, s := range found {
		given, reads, why := s.Expanded(o.Env)
		switch {
		case s.Why != "":
		case own[s.Name]:
			s.Why = "your config.toml has a server of this name"
		case why != "":
			s.Why = why
		case !bound && o.Trusted:
			s.Why = "the project is not trusted with what it holds now; see kerf trust, then kerf trust --yes"
		case !bound:
			s.Why = "the project is not trusted; see kerf trust, then kerf trust --yes"
		default:
			if c.MCPServers == nil {
				c.MCPServers = map[string]MCPServer{}
			}
			c.MCPServers[s.Name] = serverOf(s, given)
		}
		c.Peers.Servers = append(c.Peers.Servers, PeerServer{s, reads})
	}
}

// ListedServers are the MCP servers by name and origin: those that are used, those that are not
// with the reason, and those that are used and lack something, as lacks tells by the name.
func (c *Config) ListedServers(lacks func(name string) string) (used, unused, lacking []string) {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		from := "config.toml"
		if s, ok := c.Peers.Server(name); ok {
			from = shortOf(c.Root, s.File)
		}
		if why := lacks(name); why != "" && c.MCPServers[name].Enabled {
			lacking = append(lacking, name+" ("+from+"): "+why)
		} else if c.MCPServers[name].Enabled {
			used = append(used, name+" ("+from+")")
		} else {
			unused = append(unused, name+" ("+from+": enabled is false)")
		}
	}
	for _, s := range c.Peers.Servers {
		if s.Why != "" {
			unused = append(unused, s.Name+" ("+shortOf(c.Root, s.File)+": "+s.Why+")")
		}
	}
	for _, f := range c.Peers.Faults {
		unused = append(unused, shortOf(c.Root, f.File)+" ("+f.Why+")")
	}
	return used, unused, lacking
}

// Unset says which variables of the environment a server needs that are not set; empty is none.
func (s MCPServer) Unset(getenv func(string) string) string {
	var unset []string
	named := append(slices.Clone(s.EnvVars), s.BearerTokenEnvVar)
	for _, variable := range append(named, slices.Sorted(maps.Values(s.EnvHTTPHeaders))...) {
		if variable != "" && getenv(variable) == "" {
			unset = append(unset, variable)
		}
	}
	if len(unset) == 0 {
		return ""
	}
	return "not set in the environment: " + strings.Join(unset, ", ")
}

// serverOf is a server of another agent's file as one that is configured.
func serverOf(s peers.Server, g peers.Given) MCPServer {
	out := MCPServer{Enabled: true, Command: g.Command, Args: g.Args, Env: g.Env, EnvVars: g.EnvVars, Cwd: g.Cwd,
		URL: g.URL, HTTPHeaders: g.Headers, EnvHTTPHeaders: g.EnvHeaders, BearerTokenEnvVar: g.BearerVar,
		EnabledTools: g.EnabledTools, DisabledTools: g.NotEnabled, OAuthStore: "auto", DefaultApproval: "auto",
		StartupTimeout: 30 * time.Second, ToolTimeout: 2 * time.Minute}
	if g.URL != "" {
		out.SignIn = s.Name + " at " + g.URL
	}
	if g.Startup > 0 {
		out.StartupTimeout = time.Duration(g.Startup * float64(time.Second))
	}
	if g.Timeout > 0 {
		out.ToolTimeout = time.Duration(g.Timeout * float64(time.Second))
	}
	return out
}

// peerWarnings tell at the start of a session what of other agents' files is not used.
func (c *Config) peerWarnings(trusted bool) (list []Warning) {
	for _, f := range c.Peers.Faults {
		list = append(list, Warning{File: f.File, Message: f.Why})
	}
	waiting := map[string]int{}
	for _, s := range c.Peers.Servers {
		if s.Why == "" {
			continue
		}
		if waiting[s.File]++; trusted && waiting[s.File] == 1 {
			list = append(list, Warning{File: s.File, Key: s.Name,
				Message: "MCP server " + document.Quote(document.Clip(s.Name)) + " is not used: " + s.Why})
		}
	}
	if n := len(c.Peers.Servers); n > 0 && !trusted {
		first := c.Peers.Servers[0]
		list = append(list, Warning{File: first.File, Message: fmt.Sprintf(
			"ignored: the project is not trusted; kerf mcp list shows the MCP servers that it names (%d)", n)})
	}
	return list
}

// shortOf is a path as seen from the project's root.
func shortOf(root, path string) string { return pathname.Short(root, path) }
