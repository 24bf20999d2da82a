package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"kerf/internal/config/peers"
	"kerf/internal/config/plugins"
	"kerf/internal/config/trust"
)

// addPlugins adds what the installed plugins bring. What the user and a trusted project have
// of a name comes before that.
func (c *Config) addPlugins(o Options) (list []Warning) {
	found, err := plugins.Load(c.Home)
	if err != nil {
		list = append(list, Warning{File: plugins.ListFile(c.Home), Message: err.Error()})
	}
	files := trust.Once()
	wishes := peers.Plugins(trust.Directories(c.Root, c.Cwd, c.Home), files)
	bound := len(wishes) > 0 && o.Trusted && c.bound(files)
	for i := range found {
		f := &found[i]
		wish, said := wishes[f.Name]
		switch {
		case f.Why != "":
			list = append(list, Warning{File: "plugin " + f.Name, Message: "not used: " + f.Why})
		case said && !wish.On && bound:
			f.Why = "turned off in " + shortOf(c.Root, wish.File)
		case f.Projects && !said:
			f.Why = "no file of this project names it"
		case f.Projects && !bound:
			f.Why = "the project is not trusted with what it holds now; see kerf trust"
		}
		if f.Why == "" {
			c.pluginServers(f.Plugin, o)
		}
		delete(wishes, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		if w := wishes[name]; w.On {
			found = append(found, plugins.Found{Installed: plugins.Installed{Name: name},
				Why: shortOf(c.Root, w.File) + " names it, and it is not installed; see kerf plugin add"})
		}
	}
	c.Plugins = found
	return list
}

func (c *Config) pluginServers(p plugins.Plugin, o Options) {
	for _, s := range p.Servers {
		s.Vars = maps.Clone(s.Vars)
		if !s.Literal {
			s.Vars["CLAUDE_PROJECT_DIR"], s.Vars["workspaceFolder"], s.Vars["workspaceRoot"] = c.Root, c.Root, c.Root
		}
		given, reads, why := s.Expanded(o.Env)
		_, taken := c.MCPServers[s.Name]
		switch {
		case s.Why != "":
		case taken:
			s.Why = "there is a server of this name already"
		case why != "":
			s.Why = why
		default:
			if c.MCPServers == nil {
				c.MCPServers = map[string]MCPServer{}
			}
			c.MCPServers[s.Name] = serverOf(s, given)
		}
		c.Peers.Servers = append(c.Peers.Servers, PeerServer{s, reads})
	}
}

// UsedPlugins are the plugins that are used here.
func (c *Config) UsedPlugins() (list []plugins.Plugin) {
	for _, f := range c.Plugins {
		if f.Why == "" {
			list = append(list, f.Plugin)
		}
	}
	return list
}

// ListedPlugins are the plugins in words: those that are used, and those that are not.
func (c *Config) ListedPlugins() (used, unused []string) {
	for _, f := range c.Plugins {
		if f.Why != "" {
			unused = append(unused, f.Name+" ("+f.Why+")")
			continue
		}
		used = append(used, f.Name+" ("+f.Hash[:12]+")")
		for _, left := range f.Plugin.Left {
			unused = append(unused, f.Name+": "+left)
		}
	}
	return used, append(unused, c.offered()...)
}

// offered names what the project itself has as plugins. Nothing of it is used by being there.
func (c *Config) offered() (list []string) {
	for _, kind := range []struct {
		files []string
		what  string
	}{{plugins.Marketplaces(), "a list of plugins"}, {plugins.Manifests(), "a plugin"}} {
		for _, name := range kind.files {
			info, err := os.Lstat(filepath.Join(c.Root, filepath.FromSlash(name)))
			if err == nil && info.Mode().IsRegular() && name != "plugin.json" { // which may be of anything
				list = append(list, name+" ("+kind.what+"; kerf plugin add "+c.Root+" shows what it may run, and asks)")
			}
		}
	}
	return list
}

// hookFiles are the files with hooks of other agents that may count, first those of the
// project, and whether the user agreed to what they hold.
func (c *Config) hookFiles() (list []peers.HookFile, agreed func(peers.HookFile) bool) {
	files := trust.Once()
	list = peers.Hooks(trust.Directories(c.Root, c.Cwd, c.Home), files)
	for _, p := range c.UsedPlugins() {
		list = append(list, p.Hooks...)
	}
	bound := sync.OnceValue(func() bool { return c.bound(files) })
	return list, func(f peers.HookFile) bool { return f.Plugin != "" || bound() }
}

// shownFile is the file that something stands in, as people read it.
func (c *Config) shownFile(file string) string { return filepath.ToSlash(shortOf(c.Root, file)) }
