package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"kerf/internal/config/document"
	"kerf/internal/config/peers"
)

// The words of the Agent Plugins Specification 1.0.0.
const (
	portable     = "Agent Plugins 1.0.0"
	schemas      = "https://agent-plugins.org/schemas/"
	pluginSchema = schemas + "1.0.0/plugin.schema.json"
	mcpSchema    = schemas + "1.0.0/mcp.schema.json"
)

// portableManifest checks a manifest of the specification. What it does not know is left
// out; anything else that is wrong is fatal.
func (r *reading) portableManifest(doc map[string]any, schema string) error {
	if schema != pluginSchema {
		return fmt.Errorf("plugin.json: Kerf knows Agent Plugins 1.0.0 only, this is for %s", document.Clip(schema))
	}
	text := map[string]*string{"name": &r.Name, "version": &r.Version, "description": &r.Description}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		ok := true
		switch v := doc[key]; key {
		case "$schema":
		case "name", "version", "description":
			*text[key], ok = v.(string)
		case "homepage", "repository", "license":
			_, ok = v.(string)
		case "keywords":
			ok = allText(v)
		case "author":
			ok = isAuthor(v)
		case "extensions":
			if _, table := v.(map[string]any); !table {
				r.left("plugin.json: extensions: expected a table")
			}
		default:
			r.left("plugin.json: %s is not of the specification", document.Clip(key))
		}
		if !ok {
			return fmt.Errorf("plugin.json: %s has another type than the specification says", key)
		}
	}
	if strings.ToLower(r.Name) != r.Name || strings.Contains(r.Name, "_") || strings.Contains(r.Name, "--") {
		return fmt.Errorf("plugin.json: name %s: use small letters, digits, single hyphens and periods",
			document.Quote(document.Clip(r.Name)))
	}
	return nil
}

func allText(v any) bool {
	list, ok := v.([]any)
	for _, item := range list {
		if _, text := item.(string); !text {
			return false
		}
	}
	return ok
}

func isAuthor(v any) bool {
	table, ok := v.(map[string]any)
	for key, item := range table {
		if _, text := item.(string); !text || key != "name" && key != "email" && key != "url" {
			return false
		}
	}
	return ok
}

// portableServers reads mcp.json. A fault of the file is one of all servers, a fault of a
// server is its own.
func (r *reading) portableServers() {
	doc, err := r.table("mcp.json")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.left("mcp.json: %s", document.Cause(err))
		return
	}
	table, ok := doc["mcpServers"].(map[string]any)
	switch {
	case doc["$schema"] != mcpSchema:
		r.left("mcp.json: its $schema is not that of Agent Plugins 1.0.0")
		return
	case !ok || len(doc) != 2:
		r.left("mcp.json: expected $schema and mcpServers, and nothing else")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s := r.own(peers.Server{Name: name, Literal: true}, "mcp.json")
		if said, ok := table[name].(map[string]any); !ok {
			s.Why = "expected a table"
		} else if err := r.portableServer(&s, said); err != nil {
			s.Why = err.Error()
		}
		r.Servers = append(r.Servers, s)
	}
}

// variants are the keys of each kind of server.
var variants = map[string][]string{"stdio": {"type", "command", "args", "env", "cwd"},
	"streamable-http": {"type", "url", "headers"}, "sse": {"type", "url", "headers"}}

func (r *reading) portableServer(s *peers.Server, said map[string]any) error {
	kind, _ := said["type"].(string)
	keys, known := variants[kind]
	if !known {
		return fmt.Errorf("type: expected stdio, streamable-http or sse, found %s", document.Clip(decoded(said["type"])))
	}
	for key := range said {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("%s does not belong to a server of type %s", document.Clip(key), kind)
		}
	}
	if kind != "stdio" {
		return remote(&s.Given, said)
	}
	g := &s.Given
	var ok bool
	if g.Command, ok = said["command"].(string); !ok || g.Command == "" || strings.ContainsRune(g.Command, 0) {
		return errors.New("command: expected one program")
	}
	switch {
	case strings.HasPrefix(g.Command, "./"):
		local, err := r.inside(r.Dir, g.Command[2:])
		if err != nil {
			return fmt.Errorf("command: %w", err)
		}
		g.Command = local
	case strings.ContainsAny(g.Command, `/\`):
		return errors.New(`command: expected the name of a program, or a path that begins with ./`)
	}
	if v, has := said["args"]; has && !allText(v) {
		return errors.New("args: expected a list of texts")
	}
	args, _ := said["args"].([]any)
	for _, a := range args {
		g.Args = append(g.Args, a.(string))
	}
	var err error
	if g.Env, err = stringTable("env", said); err != nil {
		return err
	}
	for name := range g.Env {
		if strings.EqualFold(name, "PLUGIN_ROOT") || strings.EqualFold(name, "PLUGIN_DATA") || name == "" ||
			strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %s is not to be set", document.Clip(name))
		}
	}
	if v, has := said["cwd"]; has {
		if g.Cwd, err = r.cwd(v); err != nil {
			return fmt.Errorf("cwd: %w", err)
		}
	}
	return nil
}

// cwd is the directory in which a server starts.
func (r *reading) cwd(v any) (string, error) {
	text, _ := v.(string)
	if rest, ok := strings.CutPrefix(text, "./"); ok {
		return r.inside(r.Dir, rest)
	}
	for name, dir := range map[string]string{"${PLUGIN_ROOT}": r.Dir, "${PLUGIN_DATA}": r.data} {
		if rest, ok := strings.CutPrefix(text, name); ok && (rest == "" || rest[0] == '/') {
			return r.inside(dir, strings.TrimPrefix(rest, "/"))
		}
	}
	return "", errors.New("expected ./PATH, ${PLUGIN_ROOT} or ${PLUGIN_DATA}")
}

// inside is a path below dir.
func (r *reading) inside(dir, rest string) (string, error) {
	if rest == "" {
		return dir, nil
	}
	local := filepath.FromSlash(rest)
	if !filepath.IsLocal(local) || strings.ContainsAny(rest, "\\\x00") || strings.Contains(rest, "${") {
		return "", errors.New("it leads out of the plugin")
	}
	return filepath.Join(dir, local), nil
}

func stringTable(key string, said map[string]any) (map[string]string, error) {
	v, has := said[key]
	if !has {
		return nil, nil
	}
	table, ok := v.(map[string]any)
	out := map[string]string{}
	for name, item := range table {
		text, isText := item.(string)
		if ok = ok && isText; ok {
			out[name] = text
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s: expected a table of texts", key)
	}
	return out, nil
}

// remote reads a server with an address.
func remote(g *peers.Given, said map[string]any) error {
	g.URL, _ = said["url"].(string)
	u, err := url.Parse(g.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(g.URL, "#") {
		return errors.New("url: expected an address without a user and a fragment")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return errors.New("url: expected https, or http to this machine")
	}
	if g.Headers, err = stringTable("headers", said); err != nil {
		return err
	}
	seen := map[string]bool{}
	for name, value := range g.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("headers: %s is none", document.Clip(name))
		}
		if key := http.CanonicalHeaderKey(name); seen[key] {
			return fmt.Errorf("headers: %s stands there twice", key)
		} else {
			seen[key] = true
		}
	}
	return nil
}
