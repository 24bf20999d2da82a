package peers

import (
	"path/filepath"
	"strings"
)

// The keys under which settings name plugins: Claude Code's, and Codex's tables.
const (
	pluginsOn    = "enabledPlugins"
	pluginTables = "plugins"
)

// pluginFiles are the files in which a project says which plugins are used in it.
var pluginFiles = []file{
	{name: ".claude/settings.json"}, {name: ".claude/settings.local.json"}, {name: ".codex/config.toml"},
	{name: ".kerf/plugins.json"},
}

// Wish is what a project says about a plugin.
type Wish struct {
	On   bool
	File string // absolute
}

// Plugins reads which plugins files below dirs turn on or off, by name; a later directory
// and a later file decide. Nothing is installed by that.
func Plugins(dirs []string, files Files) map[string]Wish {
	all := map[string]Wish{}
	for _, dir := range dirs {
		for _, f := range pluginFiles {
			doc, _, err := f.read(dir, files)
			if err != nil {
				continue
			}
			path := filepath.Join(dir, filepath.FromSlash(f.name))
			said := map[string]any{}
			if table, ok := doc[pluginsOn].(map[string]any); ok {
				said = table
			} else if tables, ok := doc[pluginTables].(map[string]any); ok {
				for name, v := range tables {
					if table, ok := v.(map[string]any); ok {
						said[name] = table["enabled"]
					}
				}
			}
			for name, v := range said {
				name, _, _ = strings.Cut(name, "@")
				if on, ok := v.(bool); ok && len(all) < maxServers {
					all[name] = Wish{on, path}
				}
			}
		}
	}
	return all
}
