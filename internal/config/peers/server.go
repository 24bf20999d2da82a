package peers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// spelled are the keys of a server as the agents spell them, and what reads them. What a
// project may not decide, such as which calls need no approval, is none of them.
var spelled = map[string]func(*reading, string, any){
	"command":              (*reading).command,
	"args":                 func(r *reading, k string, v any) { r.Given.Args = append(r.Given.Args, r.list(k, v)...) },
	"env":                  func(r *reading, k string, v any) { r.Given.Env = r.table(k, v) },
	"environment":          func(r *reading, k string, v any) { r.Given.Env = r.table(k, v) },
	"env_vars":             func(r *reading, k string, v any) { r.Given.EnvVars = r.list(k, v) },
	"cwd":                  func(r *reading, k string, v any) { r.Given.Cwd = r.text(k, v) },
	"url":                  func(r *reading, k string, v any) { r.Given.URL = r.text(k, v) },
	"httpUrl":              func(r *reading, k string, v any) { r.Given.URL = r.text(k, v) },
	"serverUrl":            func(r *reading, k string, v any) { r.Given.URL = r.text(k, v) },
	"headers":              func(r *reading, k string, v any) { r.Given.Headers = r.table(k, v) },
	"http_headers":         func(r *reading, k string, v any) { r.Given.Headers = r.table(k, v) },
	"env_http_headers":     func(r *reading, k string, v any) { r.Given.EnvHeaders = r.table(k, v) },
	"bearer_token_env_var": func(r *reading, k string, v any) { r.Given.BearerVar = r.text(k, v) },
	"startup_timeout_sec":  func(r *reading, k string, v any) { r.Given.Startup = r.seconds(k, v, 1) },
	"startup_timeout_ms":   func(r *reading, k string, v any) { r.Given.Startup = r.seconds(k, v, 1000) },
	"tool_timeout_sec":     func(r *reading, k string, v any) { r.Given.Timeout = r.seconds(k, v, 1) },
	"timeout":              func(r *reading, k string, v any) { r.Given.Timeout = r.seconds(k, v, 1000) },
	"enabled_tools":        func(r *reading, k string, v any) { r.Given.EnabledTools = r.list(k, v) },
	"includeTools":         func(r *reading, k string, v any) { r.Given.EnabledTools = r.list(k, v) },
	"disabled_tools":       func(r *reading, k string, v any) { r.Given.NotEnabled = r.list(k, v) },
	"excludeTools":         func(r *reading, k string, v any) { r.Given.NotEnabled = r.list(k, v) },
	"tools":                (*reading).tools,
	"enabled":              (*reading).enabled,
	"disabled":             (*reading).disabled,
	"type":                 (*reading).transport,
	"transport":            (*reading).transport,
}

// silent are keys that say nothing about how a server is reached.
var silent = []string{"name", "description", "note", "comment", "_comment", "$comment", "gallery", "version", "title", "icon"}

// maxText bounds a text of a server, in bytes.
const maxText = 32 << 10

// reading is a server that is being read.
type reading struct{ Server }

// Parse reads what a file says of one server.
func Parse(said any) Server {
	r := &reading{}
	table, ok := said.(map[string]any)
	if !ok {
		r.Why = "expected a table"
		return r.Server
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		switch read := spelled[key]; {
		case table[key] == nil || slices.Contains(silent, key):
		case read == nil:
			r.Left = append(r.Left, key)
		default:
			read(r, key, table[key])
		}
	}
	g := r.Given
	switch {
	case r.Why != "":
	case g.Command == "" && g.URL == "":
		r.Why = "it has neither a command nor a URL"
	case g.Command != "" && g.URL != "":
		r.Why = "it has both a command and a URL"
	}
	return r.Server
}

func (r *reading) fail(key, format string, args ...any) {
	if r.Why == "" {
		r.Why = key + ": " + fmt.Sprintf(format, args...)
	}
}

// command is a program, or a list that begins with one.
func (r *reading) command(key string, v any) {
	if _, ok := v.([]any); !ok {
		r.Given.Command = r.text(key, v)
		return
	}
	if words := r.list(key, v); len(words) > 0 {
		r.Given.Command, r.Given.Args = words[0], append(words[1:], r.Given.Args...)
	}
}

// tools is a list of tools in which a star is all of them. A table decides about approval,
// which is not up to a project.
func (r *reading) tools(key string, v any) {
	if _, ok := v.([]any); !ok {
		r.Left = append(r.Left, key)
	} else if list := r.list(key, v); !slices.Contains(list, "*") {
		r.Given.EnabledTools = list
	}
}

func (r *reading) enabled(key string, v any) {
	if on, ok := v.(bool); !ok {
		r.fail(key, "expected true or false")
	} else if !on {
		r.Why = "turned off there"
	}
}

func (r *reading) disabled(key string, v any) {
	if off, ok := v.(bool); !ok {
		r.fail(key, "expected true or false")
	} else if off {
		r.Why = "turned off there"
	}
}

func (r *reading) transport(key string, v any) {
	switch kind := strings.ToLower(r.text(key, v)); kind {
	case "", "stdio", "local", "http", "sse", "remote", "streamable-http", "streamablehttp", "streamable_http":
	default:
		r.fail(key, "Kerf does not speak %s", kind)
	}
}

func (r *reading) text(key string, v any) string {
	s, ok := scalar(v)
	switch {
	case !ok:
		r.fail(key, "expected a text")
	case len(s) > maxText:
		r.fail(key, "is longer than %d bytes", maxText)
	case strings.ContainsRune(s, 0):
		r.fail(key, "has a zero byte")
	default:
		return s
	}
	return ""
}

func (r *reading) list(key string, v any) []string {
	items, ok := v.([]any)
	if !ok {
		r.fail(key, "expected a list of texts")
	}
	var list []string
	for _, item := range items {
		list = append(list, r.text(key, item))
	}
	return list
}

func (r *reading) table(key string, v any) map[string]string {
	items, ok := v.(map[string]any)
	if !ok {
		r.fail(key, "expected a table of texts")
	}
	table := map[string]string{}
	for name, item := range items {
		if name == "" || strings.ContainsAny(name, "=\x00\r\n") {
			r.fail(key, "a name in it is not one")
		}
		table[name] = r.text(key, item)
	}
	return table
}

// seconds is a time in parts of a second, at most an hour.
func (r *reading) seconds(key string, v any, parts float64) float64 {
	var n float64
	switch x := v.(type) {
	case int64:
		n = float64(x)
	case float64:
		n = x
	}
	if n /= parts; !(n > 0 && n <= 3600) {
		r.fail(key, "expected a time of more than nothing and at most an hour")
		return 0
	}
	return n
}

// scalar is a text, number or truth value as text.
func scalar(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), true
	}
	return "", false
}

// texts are the texts in a list.
func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
