package peers

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/text/pattern"
)

// placeholder is ${NAME}, ${NAME:-other} or ${KIND:NAME}.
var placeholder = pattern.Lazy(`\$\{([^}]*)\}`)

// variable is the name of a variable of the environment.
var variable = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Expanded is what the file says with its placeholders replaced. Reads are the variables
// of the environment that it takes, and why what stands in the way.
func (s Server) Expanded(env func(string) string) (g Given, reads []string, why string) {
	e := &expansion{server: s, env: env}
	g = s.Given
	if s.Literal {
		return e.literal(g)
	}
	g.Command, g.Cwd, g.URL = e.text(g.Command), e.text(g.Cwd), e.text(g.URL)
	g.Args, g.Env, g.Headers = slices.Clone(g.Args), maps.Clone(g.Env), maps.Clone(g.Headers)
	for i := range g.Args {
		g.Args[i] = e.text(g.Args[i])
	}
	for _, table := range []map[string]string{g.Env, g.Headers} {
		for name := range table {
			table[name] = e.text(table[name])
		}
	}
	if g.URL != "" && !strings.HasPrefix(g.URL, "http://") && !strings.HasPrefix(g.URL, "https://") {
		e.fail("its URL does not begin with http:// or https://")
	}
	e.reads = append(e.reads, g.EnvVars...)
	for _, name := range g.EnvHeaders {
		e.reads = append(e.reads, name)
	}
	if g.BearerVar != "" {
		e.reads = append(e.reads, g.BearerVar)
	}
	slices.Sort(e.reads)
	e.plugin(&g)
	e.place(&g)
	return g, slices.Compact(e.reads), e.why
}

type expansion struct {
	server Server
	env    func(string) string
	reads  []string
	why    string
}

func (e *expansion) fail(why string) {
	if e.why == "" {
		e.why = why
	}
}

// literal replaces the server's own placeholders, and nothing else.
func (e *expansion) literal(g Given) (Given, []string, string) {
	var pairs []string
	for name, value := range e.server.Vars {
		pairs = append(pairs, "${"+name+"}", value)
	}
	r := strings.NewReplacer(pairs...)
	g.Args, g.Env = slices.Clone(g.Args), maps.Clone(g.Env)
	for i := range g.Args {
		g.Args[i] = r.Replace(g.Args[i])
	}
	for name := range g.Env {
		g.Env[name] = r.Replace(g.Env[name])
	}
	e.plugin(&g)
	return g, nil, ""
}

// plugin gives a program of a plugin its variables, and has it start there.
func (e *expansion) plugin(g *Given) {
	if e.server.Plugin == "" || g.Command == "" {
		return
	}
	if g.Env == nil {
		g.Env = map[string]string{}
	}
	for name, value := range e.server.Vars {
		g.Env[name] = value
	}
	if g.Cwd == "" {
		g.Cwd = e.server.Dir
	}
}

func (e *expansion) text(s string) string {
	return placeholder().ReplaceAllStringFunc(s, func(found string) string {
		name := found[2 : len(found)-1]
		if value, ok := e.server.Vars[name]; ok {
			return value
		}
		switch kind, rest, _ := strings.Cut(name, ":"); {
		case kind == "env":
			return e.value(rest, "", false)
		case name == "workspaceFolder", name == "workspaceRoot", name == "CLAUDE_PROJECT_DIR":
			return e.server.Dir
		case name == "workspaceFolderBasename":
			return filepath.Base(e.server.Dir)
		case name == "userHome":
			return e.value("HOME", "", false)
		case name == "pathSeparator", name == "/":
			return string(filepath.Separator)
		case strings.HasPrefix(rest, "-"):
			return e.value(kind, rest[1:], true)
		case kind == name && name == "CLAUDE_PLUGIN_ROOT":
			e.fail("it belongs to a plugin")
		case kind == name:
			return e.value(name, "", false)
		case kind == "input":
			e.fail("it asks for the input " + rest + ", which Kerf does not do; add it with: kerf mcp add")
		default:
			e.fail("Kerf does not know " + found)
		}
		return ""
	})
}

// value is a variable of the environment, or other where it is not set.
func (e *expansion) value(name, other string, optional bool) string {
	if !variable().MatchString(name) {
		e.fail("Kerf does not know ${" + name + "}")
		return ""
	}
	e.reads = append(e.reads, name)
	value := e.env(name)
	if value == "" && !optional {
		e.fail("the variable " + name + " is not set")
	}
	if value == "" {
		return other
	}
	return value
}

// place decides where a program starts: in the project if it names something of it. Other
// programs, such as npx with a package, start where no project can put one in their way.
func (e *expansion) place(g *Given) {
	if g.Command == "" {
		return
	}
	dir := e.server.Dir
	switch {
	case filepath.IsAbs(g.Cwd):
	case g.Cwd != "" || slices.ContainsFunc(append([]string{g.Command}, g.Args...), func(word string) bool {
		return ofProject(dir, word)
	}):
		g.Cwd = filepath.Join(dir, g.Cwd)
	}
	if strings.ContainsRune(g.Command, '/') && !filepath.IsAbs(g.Command) {
		g.Command = filepath.Join(g.Cwd, g.Command)
	}
}

// ofProject reports whether a word of a command names something below dir, as far as one
// can see.
func ofProject(dir, word string) bool {
	if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || word == "." {
		return true
	}
	if filepath.IsAbs(word) {
		return pathname.Inside(dir, word)
	}
	if strings.HasPrefix(word, "-") || !strings.ContainsAny(word, "/.") {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, word))
	return err == nil
}
