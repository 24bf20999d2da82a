package config

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

//go:embed defaults.toml
var defaults []byte

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// Options says what Load reads.
type Options struct {
	// Home is KERF_HOME; empty means HomeDir(Env).
	Home string
	// Cwd is the working directory, absolute; empty means that of the process.
	Cwd string
	// System is the system file; empty means the usual one of the platform.
	System string
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

// Load reads and merges all layers. A fault is an *Error; nothing half-read is
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
	c := &Config{Home: o.Home, Cwd: o.Cwd, Root: l.root, tree: l.tree}
	if err := c.pour(l.tree); err != nil {
		return nil, l.warnings, err
	}
	if err := c.finish(o); err != nil {
		return nil, l.warnings, err
	}
	return c, l.warnings, nil
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
	tree     *value
	root     string
	warnings []Warning
}

func (l *loader) layers() error {
	base, err := parse(fromDefault, defaults)
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
	return l.flags()
}

// add checks a layer and lays it over the others.
func (l *loader) add(v *value) error {
	if err := l.check(v, nil); err != nil {
		return err
	}
	l.tree = merge(l.tree, v)
	return nil
}

// check reports what is wrong with one layer alone, so that a fault is told
// even where a higher layer hides it.
func (l *loader) check(v *value, at []string) error {
	canonical(v)
	var unused []string
	var first *value
	p := pourer{at: at, ignored: func(key string, v *value, loud bool) {
		if loud {
			unused = append(unused, key)
			if first == nil {
				first = v
			}
		}
	}}
	rest := v
	if profiles := v.table["profiles"]; profiles != nil {
		if len(at) > 0 {
			return p.fault(profiles, []string{"profiles"}, "a profile cannot hold profiles")
		}
		rest = &value{table: without(v.table, "profiles"), from: v.from}
		if err := l.checkProfiles(profiles); err != nil {
			return err
		}
	}
	var scratch Config
	if err := p.pour(reflect.ValueOf(&scratch).Elem(), rest, "", nil); err != nil {
		return err
	}
	if len(unused) > 0 {
		l.warn(first.from, unused[0], "not used by Kerf: "+strings.Join(unused, ", "))
	}
	return nil
}

func (l *loader) checkProfiles(profiles *value) error {
	p := pourer{}
	if profiles.table == nil {
		return p.fault(profiles, []string{"profiles"}, "expected a table, found %s", profiles.kind())
	}
	for _, name := range profiles.inOrder() {
		v := profiles.table[name]
		at := []string{"profiles", name}
		if v.table == nil {
			return p.fault(v, at, "expected a table, found %s", v.kind())
		}
		for _, k := range []string{"profile", "projects"} {
			if sub := v.table[k]; sub != nil {
				return p.fault(sub, append(at, k), "does not belong in a profile")
			}
		}
		if err := l.check(v, at); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) file(path string) error {
	v, err := readFile(path)
	if err != nil || v == nil {
		return err
	}
	return l.add(v)
}

// readFile parses a file; nil means there is none.
func readFile(path string) (*value, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: path, Message: cause(err)}
	}
	if err := readable(path, info); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Message: cause(err)}
	}
	return parse(path, data)
}

func readable(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &Error{File: path, Message: "expected a regular file"}
	}
	if info.Size() > maxFile {
		return &Error{File: path, Message: fmt.Sprintf("is larger than %d bytes", maxFile)}
	}
	return nil
}

// cause is the reason in a file error, without operation and path.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// profile adds the chosen profile: a table of the files so far, then a file of
// its own.
func (l *loader) profile(over *value) error {
	name, from := l.o.Profile, origin{file: "-p"}
	for _, t := range []*value{over, l.tree} {
		if v := t.table["profile"]; name == "" && v != nil {
			name, _ = v.leaf.(string)
			from = v.from
		}
	}
	profiles := l.tree.table["profiles"]
	l.tree = &value{table: without(l.tree.table, "profiles"), from: l.tree.from}
	if name == "" {
		return nil
	}
	fault := func(format string, args ...any) error {
		return &Error{from.file, from.line, "profile", "profile: " + fmt.Sprintf(format, args...)}
	}
	if !bare(name) {
		return fault("expected letters, digits, - and _, found %q", clip(name))
	}
	table := profiles.get(name)
	file := filepath.Join(l.o.Home, name+".config.toml")
	fromFile, err := readFile(file)
	if err != nil {
		return err
	}
	if table == nil && fromFile == nil {
		return fault("no [profiles.%s] in %s and no %s%s", name, filepath.Join(l.o.Home, "config.toml"), file, hint(name, profiles.inOrderOrNone()))
	}
	if table != nil {
		l.tree = merge(l.tree, table)
	}
	if fromFile != nil {
		for _, k := range []string{"profile", "profiles"} {
			if v := fromFile.table[k]; v != nil {
				return &Error{file, v.from.line, k, k + ": does not belong in a profile"}
			}
		}
		if err := l.add(fromFile); err != nil {
			return err
		}
	}
	l.tree = merge(l.tree, &value{table: map[string]*value{"profile": {leaf: name, from: from}}, from: from})
	return nil
}

// environment adds the few variables that count.
func (l *loader) environment() {
	set := func(name, text string, path ...string) {
		layer := newTable(origin{})
		layer.put(&value{leaf: text, from: origin{file: "environment " + name}}, path...)
		l.tree = merge(l.tree, layer)
	}
	if s := l.o.Env("OPENAI_BASE_URL"); s != "" {
		set("OPENAI_BASE_URL", s, "openai_base_url")
	}
	if l.o.Env("CODEX_API_KEY") != "" {
		set("CODEX_API_KEY", "CODEX_API_KEY", "model_providers", "openai", "env_key")
	}
}

func (l *loader) overrides() (*value, error) {
	t := newTable(origin{file: fromOverride})
	for _, arg := range l.o.Overrides {
		if err := override(t, arg); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (l *loader) flags() error {
	t := newTable(origin{file: fromFlag})
	for key, x := range l.o.Flags {
		path, err := SplitKey(key)
		if err != nil {
			return &Error{File: fromFlag, Message: err.Error()}
		}
		t.put(&value{leaf: leafOf(x), from: t.from}, path...)
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

func (l *loader) warn(from origin, key, message string) {
	l.warnings = append(l.warnings, Warning{from.file, from.line, key, message})
}

// canonical moves keys that have two homes to the one that the schema knows.
func canonical(v *value) {
	search := v.table["web_search"]
	if search == nil {
		return
	}
	v.table = without(v.table, "web_search")
	if tools := v.table["tools"]; tools == nil || tools.table != nil && tools.table["web_search"] == nil {
		v.put(search, "tools", "web_search")
	}
}

func without(t map[string]*value, key string) map[string]*value {
	rest := make(map[string]*value, len(t))
	for k, v := range t {
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

// plain marks a tree as coming from what has no lines.
func plain(v *value, file string) {
	v.from = origin{file: file}
	for _, sub := range v.table {
		plain(sub, file)
	}
}

func (v *value) inOrderOrNone() []string {
	if v == nil {
		return nil
	}
	return v.inOrder()
}
