package config

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/schema"
)

//go:embed defaults.toml
var defaults string

// Options says what Load reads.
type Options struct {
	// Home is KERF_HOME; empty means HomeDir(Env).
	Home string
	// Cwd is the working directory, absolute; empty means that of the process.
	Cwd string
	// System is the system file; empty means the usual one of the platform.
	System string
	// Requirements is the file of what the administrator requires; empty means requirements.toml
	// beside System.
	Requirements string
	// Profile chooses a profile, as -p does.
	Profile string
	// Overrides are -c arguments: key.path=TOML.
	Overrides []string
	// Flags are command-line flags by dotted key.
	Flags map[string]any
	// Env reads the environment; nil means os.Getenv.
	Env func(string) string
	// Trusted lets the project's files count. Load once without, ask
	// Config.Trust, and load again.
	Trusted bool
}

// Load reads and merges all layers. A fault is an *document.Error; nothing half-read is
// returned. Warnings name what has no effect.
func Load(o Options) (*Config, []Warning, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	var err error
	if o.Home == "" {
		if o.Home, err = HomeDir(o.Env); err != nil {
			return nil, nil, err
		}
	}
	if o.Cwd == "" {
		if o.Cwd, err = os.Getwd(); err != nil {
			return nil, nil, fmt.Errorf("working directory: %w", err)
		}
	}
	l := &loader{o: o}
	if err := l.layers(); err != nil {
		return nil, l.warnings, err
	}
	c := &Config{Home: o.Home, Cwd: o.Cwd, Root: l.root, Required: l.required, tree: l.tree}
	if err := (&schema.Decoder{Foreign: foreign()}).Decode(c, l.tree); err != nil {
		return nil, l.warnings, err
	}
	if err := c.finish(o); err != nil {
		return nil, l.warnings, err
	}
	c.addPeers(o)
	warnings := append(l.warnings, c.peerWarnings(o.Trusted)...)
	return c, append(warnings, c.addPlugins(o)...), nil
}

// HomeDir returns KERF_HOME, or .kerf in the user's home directory. It is
// absolute and need not exist.
func HomeDir(env func(string) string) (string, error) {
	if dir := env("KERF_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	home := env("HOME")
	if home == "" || !filepath.IsAbs(home) {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", errors.New("no home directory; set KERF_HOME")
		}
	}
	return filepath.Join(home, ".kerf"), nil
}

// loader stacks the layers.
type loader struct {
	o        Options
	tree     *document.Value
	required Required
	root     string
	warnings []Warning
}

func (l *loader) layers() error {
	base, err := document.Parse(fromDefault, []byte(defaults))
	if err != nil {
		return err
	}
	plain(base, fromDefault)
	l.tree = base
	over, err := l.overrides()
	if err != nil {
		return err
	}
	system := l.o.System
	if system == "" {
		system = systemFile(l.o.Env)
	}
	if err := l.file(system); err != nil {
		return err
	}
	if err := l.file(filepath.Join(l.o.Home, "config.toml")); err != nil {
		return err
	}
	if err := l.profile(over); err != nil {
		return err
	}
	if err := l.project(); err != nil {
		return err
	}
	l.environment()
	if err := l.add(over); err != nil {
		return err
	}
	if err := l.flags(); err != nil {
		return err
	}
	l.required, err = l.require(system)
	return err
}

// add checks a layer and lays it over the others.
func (l *loader) add(v *document.Value) error {
	if err := l.check(v, nil); err != nil {
		return err
	}
	l.tree = document.Merge(l.tree, v)
	return nil
}

// check reports what is wrong with one layer alone, so that a fault is
// reported even where a higher layer hides it.
func (l *loader) check(v *document.Value, at []string) error {
	canonical(v)
	var unused []string
	var first *document.Value
	d := schema.Decoder{At: at, Foreign: foreign(), Ignored: func(key string, v *document.Value, loud bool) {
		if loud {
			unused = append(unused, key)
			if first == nil {
				first = v
			}
		}
	}}
	rest := v
	if profiles := v.Table["profiles"]; profiles != nil {
		if len(at) > 0 {
			return d.Fault(profiles, []string{"profiles"}, "a profile cannot hold profiles")
		}
		rest = &document.Value{Table: without(v.Table, "profiles"), From: v.From}
		if err := l.checkProfiles(profiles); err != nil {
			return err
		}
	}
	var scratch Config
	if err := d.Decode(&scratch, rest); err != nil {
		return err
	}
	if len(unused) > 0 {
		l.warn(first.From, unused[0], "not used by Kerf: "+strings.Join(unused, ", "))
	}
	return nil
}

func (l *loader) checkProfiles(profiles *document.Value) error {
	d := schema.Decoder{}
	if profiles.Table == nil {
		return d.Fault(profiles, []string{"profiles"}, "expected a table, found %s", profiles.Kind())
	}
	for _, name := range profiles.InOrder() {
		v := profiles.Table[name]
		at := []string{"profiles", name}
		if v.Table == nil {
			return d.Fault(v, at, "expected a table, found %s", v.Kind())
		}
		for _, k := range []string{"profile", "projects"} {
			if sub := v.Table[k]; sub != nil {
				return d.Fault(sub, append(at, k), "does not belong in a profile")
			}
		}
		if err := l.check(v, at); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) file(path string) error {
	v, err := document.ReadFile(path)
	if err != nil || v == nil {
		return err
	}
	return l.add(v)
}

// profile adds the chosen profile: a table of the files so far, then a file of
// its own.
func (l *loader) profile(over *document.Value) error {
	name, from := l.o.Profile, document.Origin{File: "-p"}
	for _, t := range []*document.Value{over, l.tree} {
		if v := t.Table["profile"]; name == "" && v != nil {
			name, _ = v.Leaf.(string)
			from = v.From
		}
	}
	profiles := l.tree.Table["profiles"]
	l.tree = &document.Value{Table: without(l.tree.Table, "profiles"), From: l.tree.From}
	if name == "" {
		return nil
	}
	fault := func(format string, args ...any) error {
		return from.Fault("profile", "profile: "+fmt.Sprintf(format, args...))
	}
	if !document.Bare(name) {
		return fault("expected letters, digits, - and _, found %q", document.Clip(name))
	}
	table := profiles.Get(name)
	file := filepath.Join(l.o.Home, name+".config.toml")
	fromFile, err := document.ReadFile(file)
	if err != nil {
		return err
	}
	if table == nil && fromFile == nil {
		return fault("no [profiles.%s] in %s and no %s%s", name, filepath.Join(l.o.Home, "config.toml"), file,
			document.Hint(name, profiles.InOrder()))
	}
	if table != nil {
		l.tree = document.Merge(l.tree, table)
	}
	if fromFile != nil {
		for _, k := range []string{"profile", "profiles"} {
			if v := fromFile.Table[k]; v != nil {
				return v.From.Fault(k, k+": does not belong in a profile")
			}
		}
		if err := l.add(fromFile); err != nil {
			return err
		}
	}
	l.tree = document.Merge(l.tree, &document.Value{Table: map[string]*document.Value{"profile": {Leaf: name,
		From: from}}, From: from})
	return nil
}

// environment adds the few variables that Kerf reads.
func (l *loader) environment() {
	set := func(name, text string, path ...string) {
		layer := document.NewTable(document.Origin{})
		layer.Put(&document.Value{Leaf: text, From: document.Origin{File: "environment " + name}}, path...)
		l.tree = document.Merge(l.tree, layer)
	}
	if s := l.o.Env("OPENAI_BASE_URL"); s != "" {
		set("OPENAI_BASE_URL", s, "openai_base_url")
	}
	if l.o.Env("CODEX_API_KEY") != "" {
		set("CODEX_API_KEY", "CODEX_API_KEY", "model_providers", "openai", "env_key")
	}
}

func (l *loader) overrides() (*document.Value, error) {
	t := document.NewTable(document.Origin{File: fromOverride})
	for _, arg := range l.o.Overrides {
		if err := override(t, arg); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (l *loader) flags() error {
	t := document.NewTable(document.Origin{File: fromFlag})
	for key, x := range l.o.Flags {
		path, err := document.SplitKey(key)
		if err != nil {
			return &document.Error{File: fromFlag, Message: err.Error()}
		}
		t.Put(&document.Value{Leaf: leafOf(x), From: t.From}, path...)
	}
	return l.add(t)
}

// leafOf turns a Go value into what the TOML decoder gives.
func leafOf(x any) any {
	rv := reflect.ValueOf(x)
	switch rv.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return rv.Int()
	case reflect.String:
		return rv.String()
	case reflect.Slice:
		list := make([]any, rv.Len())
		for i := range list {
			list[i] = leafOf(rv.Index(i).Interface())
		}
		return list
	}
	return x
}

func (l *loader) warn(from document.Origin, key, message string) {
	l.warnings = append(l.warnings, Warning{from.File, from.Line, key, message})
}

// canonical moves keys that can stand in two tables to the one that the schema has.
func canonical(v *document.Value) {
	search := v.Table["web_search"]
	if search == nil {
		return
	}
	v.Table = without(v.Table, "web_search")
	if tools := v.Table["tools"]; tools == nil || tools.Table != nil && tools.Table["web_search"] == nil {
		v.Put(search, "tools", "web_search")
	}
}

func without(t map[string]*document.Value, key string) map[string]*document.Value {
	rest := make(map[string]*document.Value, len(t))
	for k, v := range t {
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

// plain marks a tree as coming from what has no lines.
func plain(v *document.Value, file string) {
	v.From = document.Origin{File: file}
	for _, sub := range v.Table {
		plain(sub, file)
	}
}
