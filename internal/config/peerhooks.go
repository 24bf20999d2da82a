package config

import (
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/config/hookfile"
	"kerf/internal/config/plugins"
)

// peerHooks are the hooks in files of other agents, and what is left out of them. No fault
// of such a file stops anything.
func (c *Config) peerHooks() (list []Hook, warnings []string) {
	files, agreed := c.hookFiles()
	for _, f := range files {
		if !agreed(f) {
			warnings = append(warnings, f.File+": its hooks are ignored: the project is not trusted with this content")
			continue
		}
		found, told := hookfile.OfPeer(f)
		list, warnings = append(list, found...), append(warnings, told...)
	}
	hookfile.Sort(list)
	return list, warnings
}

// ProjectHooks are the hooks that other agents' files in the project name, whether or not the
// user agreed to them: those that run if they are trusted.
func (c *Config) ProjectHooks() (list []Hook) {
	files, _ := c.hookFiles()
	for _, f := range files {
		if f.Plugin == "" {
			found, _ := hookfile.OfPeer(f)
			list = append(list, found...)
		}
	}
	hookfile.Sort(list)
	return list
}

// PluginHooks are the hooks of a plugin, and what is left out of them.
func PluginHooks(p plugins.Plugin) (list []Hook, warnings []string) {
	for _, f := range p.Hooks {
		found, told := hookfile.OfPeer(f)
		list, warnings = append(list, found...), append(warnings, told...)
	}
	hookfile.Sort(list)
	return list, warnings
}

// ListedHooks are the hooks by event and origin: those that are used, and what is not.
func (c *Config) ListedHooks() (used, unused []string) {
	list, warnings, err := c.HookList()
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, h := range list {
		from := "config.toml"
		if h.From != "" {
			from = c.shownFile(h.From)
		}
		text := h.Event + " (" + from + ")"
		if !slices.Contains(used, text) {
			used = append(used, text)
		}
	}
	for _, w := range warnings {
		unused = append(unused, strings.ReplaceAll(w, c.Root+string(filepath.Separator), ""))
	}
	return used, unused
}
