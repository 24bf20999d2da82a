// Package plugins reads what plugins hold: skills, commands, agents, MCP servers and hooks
// that somebody else wrote and packed together. It starts nothing. The user is asked about
// what Read returns, and the same is used later.
package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
	"kerf/internal/text/pattern"
)

// Part is a directory of a plugin with skills, commands or agents, or one of these.
type Part struct {
	Dir  string // below the plugin, with slashes; "." is the plugin
	Only string // the one entry of it that counts; empty for all
}

// Plugin is what the directory of a plugin holds.
type Plugin struct {
	Name, Version, Description string
	Dir                        string // absolute
	Form                       string // whose plugin it is
	Skills, Commands, Agents   []Part
	Servers                    []peers.Server // Why says why one cannot be used
	Hooks                      []peers.HookFile
	// Left is what is not used, and why.
	Left []string
}

// EntryFile is what a marketplace says of a plugin, kept with the content of the plugin.
const EntryFile = ".kerf-marketplace-entry.json"

// manifests are the files that say what a plugin is, the best first.
var manifests = []struct{ file, form string }{
	{".claude-plugin/plugin.json", "Claude Code"}, {".codex-plugin/plugin.json", "Codex"},
	{".cursor-plugin/plugin.json", "Cursor"}, {".github/plugin/plugin.json", copilot}, {"plugin.json", copilot},
	{EntryFile, "marketplace"},
}

// Manifests are the names of the files by which a directory is a plugin.
func Manifests() (names []string) {
	for _, m := range manifests {
		if m.file != EntryFile {
			names = append(names, m.file)
		}
	}
	return names
}

// Marketplaces are the files that list plugins, the best first.
func Marketplaces() []string {
	return []string{".agents/plugins/marketplace.json", ".claude-plugin/marketplace.json",
		".cursor-plugin/marketplace.json", ".github/plugin/marketplace.json"}
}

// validName is a name of a plugin: it stands before commands and is a name of a directory.
var validName = pattern.Lazy(`^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$`)

// ValidName reports whether a plugin may have a name.
func ValidName(name string) bool {
	return validName().MatchString(name) && !strings.Contains(name, "..")
}

// Read reads the plugin in a directory, in which there are no links. data is the directory
// in which it keeps what is its own.
func Read(dir, data string) (Plugin, error) {
	r := &reading{Plugin: Plugin{Dir: dir}, data: data}
	doc, err := r.manifest()
	if err != nil {
		return Plugin{}, err
	}
	if !ValidName(r.Name) {
		return Plugin{}, fmt.Errorf("its name %s is none: use letters, digits, hyphens and periods",
			document.Quote(document.Clip(r.Name)))
	}
	r.standard()
	if r.Form == portable {
		r.portableServers()
		return r.Plugin, nil
	}
	r.declared(doc)
	if entry, err := r.table(EntryFile); err == nil {
		r.declared(entry)
	}
	return r.Plugin, nil
}

// reading is a plugin that is being read.
type reading struct {
	Plugin
	data string
	seen []string // files of hooks and servers that were read
}

func (r *reading) left(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Left, text) {
		r.Left = append(r.Left, text)
	}
}

// manifest reads what the plugin says of itself.
func (r *reading) manifest() (map[string]any, error) {
	doc, err := r.table("plugin.json")
	if schema, _ := doc["$schema"].(string); err == nil && strings.HasPrefix(schema, schemas) {
		r.Form = portable
		return doc, r.portableManifest(doc, schema)
	}
	for _, m := range manifests {
		doc, err := r.table(m.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.file, err)
		}
		r.Form = m.form
		r.Name, _ = doc["name"].(string)
		r.Version, _ = doc["version"].(string)
		r.Description, _ = doc["description"].(string)
		return doc, nil
	}
	return nil, errors.New("there is no plugin.json, .claude-plugin/plugin.json or the like in it")
}

// table reads a JSON object of the plugin.
func (r *reading) table(name string) (map[string]any, error) {
	data, err := r.file(name)
	if err != nil {
		return nil, err
	}
	return peers.Table(name, data)
}

func (r *reading) file(name string) ([]byte, error) {
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > document.MaxFile {
		return nil, errors.New("is no file, or too large")
	}
	return os.ReadFile(path)
}

func (r *reading) kind(name string) fs.FileMode {
	info, err := os.Lstat(filepath.Join(r.Dir, filepath.FromSlash(name)))
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode().Type()
}

// standard takes what stands in the usual places.
func (r *reading) standard() {
	for name, list := range map[string]*[]Part{"skills": &r.Skills, "commands": &r.Commands, "agents": &r.Agents} {
		switch r.kind(name) {
		case fs.ModeDir:
			*list = append(*list, Part{Dir: name})
		case fs.ModeIrregular:
		default:
			r.left("%s: is no directory", name)
		}
	}
	if r.kind("SKILL.md") == 0 && len(r.Skills) == 0 {
		r.Skills = append(r.Skills, Part{Dir: "..", Only: filepath.Base(r.Dir)})
	}
	r.tableFile("hooks/hooks.json", true, r.events)
	if r.Form == copilot {
		r.tableFile("hooks.json", true, r.events)
	}
	for _, name := range []string{".lsp.json", ".app.json", "monitors", "output-styles", "settings.json", "bin", "rules",
		"themes"} {
		if r.kind(name) != fs.ModeIrregular {
			r.left("%s: Kerf has no use for it", name)
		}
	}
}

// declared takes what a manifest, or an entry of a marketplace, says beside that.
func (r *reading) declared(doc map[string]any) {
	r.parts("skills", doc["skills"], &r.Skills)
	r.parts("commands", doc["commands"], &r.Commands)
	r.parts("agents", doc["agents"], &r.Agents)
	r.tables("hooks", doc["hooks"], r.events)
	r.tableFile(".mcp.json", true, r.servers)
	r.tables("mcpServers", doc["mcpServers"], r.servers)
	for _, key := range []string{"lspServers", "outputStyles", "monitors", "apps", "channels", "userConfig", "dependencies",
		"themes", "rules", "experimental"} {
		if doc[key] != nil {
			r.left("%s: Kerf has no use for it", key)
		}
	}
}

// below is a path that a manifest names, or empty. It leads to nothing outside.
func (r *reading) below(key, name string) string {
	clean := path.Clean(strings.TrimSuffix(name, "/"))
	if name == "" || strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(clean)) {
		r.left("%s: %s leads out of the plugin", key, document.Quote(document.Clip(name)))
		return ""
	}
	return clean
}

// each calls take with the paths that a value names.
func (r *reading) each(key string, v any, take func(name string)) {
	switch x := v.(type) {
	case nil:
	case string:
		take(x)
	case []any:
		for _, item := range x {
			if text, ok := item.(string); ok {
				take(text)
			} else {
				r.left("%s: expected paths", key)
			}
		}
	default:
		r.left("%s: expected paths", key)
	}
}

// parts adds directories, or single files, of skills, commands or agents.
func (r *reading) parts(key string, v any, list *[]Part) {
	r.each(key, v, func(name string) {
		clean := r.below(key, name)
		if clean == "" {
			return
		}
		part := Part{Dir: clean}
		switch kind := r.kind(clean); {
		case kind == fs.ModeDir && key == "skills" && r.kind(path.Join(clean, "SKILL.md")) == 0:
			part = Part{Dir: path.Dir(clean), Only: path.Base(clean)}
			if clean == "." {
				part = Part{Dir: "..", Only: filepath.Base(r.Dir)}
			}
		case kind == 0:
			part = Part{Dir: path.Dir(clean), Only: path.Base(clean)}
		case kind != fs.ModeDir:
			r.left("%s: there is no %s", key, document.Clip(name))
			return
		}
		if !slices.Contains(*list, part) && (part.Only == "" || !slices.Contains(*list, Part{Dir: part.Dir})) {
			*list = append(*list, part)
		}
	})
}

// tables takes what stands under a key of the manifest as tables, or in files that it names there.
func (r *reading) tables(key string, v any, take func(name string, table map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			r.tables(key, item, take)
		}
	case map[string]any:
		take("plugin.json", v)
	default:
		r.each(key, v, func(name string) {
			if clean := r.below(key, name); clean != "" {
				r.tableFile(clean, false, take)
			}
		})
	}
}

// tableFile takes the table in a file, once.
func (r *reading) tableFile(name string, optional bool, take func(name string, table map[string]any)) {
	if slices.Contains(r.seen, name) {
		return
	}
	r.seen = append(r.seen, name)
	doc, err := r.table(name)
	if err != nil {
		if !optional || !errors.Is(err, fs.ErrNotExist) {
			r.left("%s: %s", name, document.Cause(err))
		}
		return
	}
	take(name, doc)
}

// events takes hooks by event; they may stand below "hooks".
func (r *reading) events(name string, doc map[string]any) {
	if inner, ok := doc["hooks"].(map[string]any); ok {
		doc = inner
	}
	if len(doc) > 0 {
		r.Hooks = append(r.Hooks, peers.HookFile{File: "plugin " + r.Name + " " + name, Events: doc, Plugin: r.Name,
			Vars: r.vars(), Form: hookForms[r.Form]})
	}
}

// hookForms are the forms of hooks by whose plugin it is.
var hookForms = map[string]peers.Form{"Cursor": peers.Cursor, copilot: peers.Copilot}

// copilot is the form of a plugin of Copilot.
const copilot = "Copilot"

// servers takes MCP servers by name; they may stand below "mcpServers".
func (r *reading) servers(name string, table map[string]any) {
	if inner, ok := table["mcpServers"].(map[string]any); ok {
		table = inner
	}
	list, why := peers.ServersIn(table)
	if why != "" {
		r.left("%s: %s", name, why)
	}
	for _, s := range list {
		if !slices.ContainsFunc(r.Servers, func(o peers.Server) bool { return o.Name == s.Name }) {
			r.Servers = append(r.Servers, r.own(s, name))
		}
	}
}

// own makes a server one of the plugin's.
func (r *reading) own(s peers.Server, file string) peers.Server {
	s.File, s.Dir, s.Plugin, s.Vars = "plugin "+r.Name+" "+file, r.Dir, r.Name, r.vars()
	return s
}

// vars are the variables by which the parts of a plugin find each other.
func (r *reading) vars() map[string]string {
	if r.Form == portable {
		return map[string]string{"PLUGIN_ROOT": r.Dir, "PLUGIN_DATA": r.data}
	}
	return map[string]string{"PLUGIN_ROOT": r.Dir, "PLUGIN_DATA": r.data, "CLAUDE_PLUGIN_ROOT": r.Dir,
		"CLAUDE_PLUGIN_DATA": r.data, "CURSOR_PLUGIN_ROOT": r.Dir, "CODEX_PLUGIN_ROOT": r.Dir}
}

// decoded is a value as JSON has it, for those that are compared.
func decoded(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
