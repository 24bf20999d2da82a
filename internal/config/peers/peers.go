// Package peers reads what files of other agents in a project would have Kerf start: the
// MCP servers and hooks that they name. It starts nothing and writes nothing, and no fault of such a
// file is an error: it is the reason why something is not used.
package peers

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"kerf/internal/config/document"
)

// file is a kind of file that names MCP servers or hooks.
type file struct {
	name string // below a directory of the project, with slashes
	key  string // of the table of servers; empty if it names none
	// whole says that the file is about nothing but servers or hooks.
	whole bool
	hooks bool // it names hooks
	form  Form
	// each says that the name is that of a directory, whose files NAME.json count.
	each bool
}

// Form says as whose hooks are told events and answer; empty for the usual form.
type Form string

// The forms of hooks.
const (
	Cursor  Form = "cursor"
	Copilot Form = "copilot"
)

// in are the files of a kind below a directory of the project.
func (f file) in(dir string, all Files) []file {
	if !f.each {
		return []file{f}
	}
	var list []file
	for _, name := range all.Names(dir, f.name) {
		if path.Ext(name) == ".json" {
			one := f
			one.name, one.each = path.Join(f.name, name), false
			list = append(list, one)
		}
	}
	return list
}

// files are all kinds, the best first: of two servers with one name the first counts.
var files = []file{
	{name: ".mcp.json", key: "mcpServers", whole: true},
	{name: ".vscode/mcp.json", key: "servers", whole: true},
	{name: ".cursor/mcp.json", key: "mcpServers", whole: true},
	{name: ".codex/config.toml", key: "mcp_servers", hooks: true},
	{name: ".codex/hooks.json", whole: true, hooks: true},
	{name: ".claude/settings.json", key: "mcpServers", hooks: true},
	{name: ".claude/settings.local.json", key: "mcpServers", hooks: true},
	{name: ".cursor/hooks.json", whole: true, hooks: true, form: Cursor},
	{name: ".gemini/settings.json", key: "mcpServers", hooks: true},
	{name: ".github/mcp.json", key: "mcpServers", whole: true},
	{name: ".github/hooks", whole: true, hooks: true, form: Copilot, each: true},
	{name: ".github/copilot/settings.json", hooks: true, form: Copilot},
	{name: ".github/copilot/settings.local.json", hooks: true, form: Copilot},
}

// switches are the keys of Claude Code's settings that turn servers of .mcp.json off.
const switches = "disabledMcpjsonServers"

// maxServers bounds the servers of one file.
const maxServers = 100

// Server is a server that a file names.
type Server struct {
	Name string
	File string // absolute
	Dir  string // of the project, in which the file stands
	// Given is what the file says, with its placeholders.
	Given Given
	// Why says why the server cannot be used; empty if it can.
	Why string
	// Left are the keys of the server that have no effect.
	Left []string
	// Plugin is the plugin that brings the server, and Vars are placeholders of its own.
	// Literal says that nothing but these is replaced, and only in arguments and environment.
	Plugin  string
	Vars    map[string]string
	Literal bool
}

// Given is what a file says of a server.
type Given struct {
	Command                  string
	Args                     []string
	Env                      map[string]string
	EnvVars                  []string
	Cwd                      string
	URL                      string
	Headers                  map[string]string
	EnvHeaders               map[string]string
	BearerVar                string
	Startup, Timeout         float64 // seconds; 0 when the file does not say
	EnabledTools, NotEnabled []string
}

// Fault is a file of which nothing could be read.
type Fault struct{ File, Why string }

// Files are the files of a project.
type Files interface {
	// Read reads a file below a directory of the project. A link on the way is an error.
	Read(dir, name string) ([]byte, error)
	// Names are the names in a directory below one of the project, sorted; none if it cannot
	// be read.
	Names(dir, name string) []string
}

// Servers reads the servers in the files below dirs. Those of a later directory come first.
func Servers(dirs []string, all Files) (list []Server, faults []Fault) {
	off := map[string]string{}
	for _, dir := range slices.Backward(dirs) {
		for _, f := range files {
			if f.each {
				continue // it names no servers
			}
			path := filepath.Join(dir, filepath.FromSlash(f.name))
			doc, _, err := f.read(dir, all)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				faults = append(faults, Fault{path, document.Cause(err)})
				continue
			}
			for _, name := range texts(doc[switches]) {
				off[name] = path
			}
			found, why := f.servers(dir, path, doc)
			if why != "" {
				faults = append(faults, Fault{path, why})
			}
			list = append(list, found...)
		}
	}
	for i, s := range list {
		first := slices.IndexFunc(list, func(o Server) bool { return o.Name == s.Name })
		switch {
		case s.Why != "":
		case first < i:
			list[i].Why = relative(s.Dir, list[first].File) + " has a server of this name"
		case off[s.Name] != "" && filepath.Base(s.File) == ".mcp.json":
			list[i].Why = "turned off in " + relative(s.Dir, off[s.Name])
		}
	}
	return list, faults
}

// Told is what files below dir could have Kerf start, as bytes that change only when that
// does, by the name of the file. Files that cannot be read are told as they are.
func Told(dir string, all Files) map[string]string {
	told := map[string]string{}
	for _, kind := range files {
		for _, f := range kind.in(dir, all) {
			if text := f.told(dir, all); text != "" {
				told[f.name] = text
			}
		}
	}
	return told
}

// told is what a file could have Kerf start, as bytes; empty for nothing.
func (f file) told(dir string, all Files) string {
	doc, data, err := f.read(dir, all)
	switch {
	case data == nil && errors.Is(err, fs.ErrNotExist):
		return ""
	case data == nil:
		return "unreadable"
	case err != nil || f.whole:
		return string(data)
	}
	part := map[string]any{}
	for _, key := range []string{f.key, switches, hooksKey, disabledKey, pluginsOn, pluginTables} {
		if doc[key] != nil {
			part[key] = doc[key]
		}
	}
	text, err := json.Marshal(part)
	if len(part) == 0 || err != nil {
		return ""
	}
	return string(text)
}

// Names are the names of the files, with slashes, and of directories of such files.
func Names() []string {
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	return names
}

// read reads a file as a table, and its bytes.
func (f file) read(dir string, all Files) (doc map[string]any, data []byte, err error) {
	if data, err = all.Read(dir, f.name); err != nil {
		return nil, nil, err
	}
	doc, err = Table(f.name, data)
	return doc, data, err
}

// Table is the table that a TOML file, or a JSON file with comments, holds.
func Table(name string, data []byte) (map[string]any, error) {
	doc := map[string]any{}
	if filepath.Ext(name) == ".toml" {
		var bad *toml.DecodeError
		if err := toml.Unmarshal(data, &doc); errors.As(err, &bad) {
			row, _ := bad.Position()
			return nil, errors.New("line " + strconv.Itoa(row) + " is not TOML")
		} else if err != nil {
			return nil, errors.New("is not TOML")
		}
		return doc, nil
	}
	plain := uncommented(data)
	if len(plain) == 0 {
		return doc, nil
	}
	if err := json.Unmarshal(plain, &doc); err != nil {
		return nil, errors.New("is not a JSON object: " + err.Error())
	}
	return doc, nil
}

// servers takes the servers out of a document.
func (f file) servers(dir, path string, doc map[string]any) (list []Server, why string) {
	table, ok := doc[f.key].(map[string]any)
	if !ok && doc[f.key] != nil {
		why = f.key + ": expected a table of servers"
	}
	list, more := ServersIn(table)
	for i := range list {
		list[i].File, list[i].Dir = path, dir
	}
	return list, cmp.Or(more, why)
}

// ServersIn takes the servers out of a table, sorted by name.
func ServersIn(table map[string]any) (list []Server, why string) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if len(list) == maxServers {
			return list, "has more than " + strconv.Itoa(maxServers) + " servers; the others are not used"
		}
		s := Parse(table[name])
		s.Name = name
		if name == "" || len(name) > 200 {
			s.Why = cmp.Or(s.Why, "its name is empty, or longer than 200 bytes")
		}
		list = append(list, s)
	}
	return list, ""
}

func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
