package charset

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of an .editorconfig file, which may come from anyone.
const (
	maxConfig  = 64 << 10
	maxSection = 1024
	maxRange   = 200 // numbers in {n..m}
)

// Configured returns what an .editorconfig file says of the charset of a file,
// whose path is relative to the directory of the .editorconfig, with slashes;
// empty when it says nothing. Root says that files further up do not count.
func Configured(config []byte, file string) (name string, root bool) {
	if len(config) > maxConfig {
		return "", false
	}
	inSection, fits := false, false
	for line := range strings.Lines(strings.TrimPrefix(string(config), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			end := strings.LastIndexByte(line, ']')
			inSection = true
			fits = end > 1 && sectionFits(line[1:end], file)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(value))
		if i := strings.IndexAny(value, "#;"); i > 0 && value[i-1] == ' ' {
			value = strings.TrimSpace(value[:i])
		}
		switch {
		case !inSection && key == "root":
			root = value == "true"
		case fits && key == "charset" && value == "unset":
			name = ""
		case fits && key == "charset":
			name = value
		}
	}
	return name, root
}

// sectionFits reports whether the glob of a section matches file. A glob without a
// slash is for the name alone, wherever the file is.
func sectionFits(glob, file string) bool {
	if len(glob) > maxSection {
		return false
	}
	subject := file
	if !strings.Contains(glob, "/") {
		subject = path.Base(file)
	}
	g := globber{rest: strings.TrimPrefix(glob, "/")}
	g.sequence(false)
	pattern, err := regexp.Compile(`(?s)\A(?:` + g.out.String() + `)\z`)
	return err == nil && pattern.MatchString(subject)
}

// globber turns a glob into an expression, which matches in linear time.
type globber struct {
	rest string
	out  strings.Builder
}

// sequence takes what stands up to the end, or within braces up to a comma or the
// closing brace, which it leaves.
func (g *globber) sequence(inBraces bool) {
	for g.rest != "" {
		c := g.rest[0]
		if inBraces && (c == ',' || c == '}') {
			return
		}
		g.rest = g.rest[1:]
		switch c {
		case '*':
			if strings.HasPrefix(g.rest, "*") {
				g.rest = strings.TrimLeft(g.rest, "*")
				g.out.WriteString(`.*`)
			} else {
				g.out.WriteString(`[^/]*`)
			}
		case '?':
			g.out.WriteString(`[^/]`)
		case '[':
			g.class()
		case '{':
			g.braces()
		case '\\':
			if g.rest != "" {
				g.literal(g.rest[:1])
				g.rest = g.rest[1:]
			}
		default:
			g.literal(string([]byte{c}))
		}
	}
}

func (g *globber) literal(s string) { g.out.WriteString(regexp.QuoteMeta(s)) }

func (g *globber) class() {
	end := strings.IndexByte(g.rest, ']')
	if end < 1 || strings.ContainsAny(g.rest[:end], "/") {
		g.literal("[")
		return
	}
	set := g.rest[:end]
	g.rest = g.rest[end+1:]
	g.out.WriteByte('[')
	if set[0] == '!' || set[0] == '^' {
		g.out.WriteString(`^/`)
		set = set[1:]
	}
	for _, r := range set {
		if r == '\\' || r == '^' || r == '[' || r == '&' || r == '~' {
			g.out.WriteByte('\\')
		}
		g.out.WriteRune(r)
	}
	g.out.WriteByte(']')
}

// braces takes {a,b} and {n..m}; braces without a comma are themselves.
func (g *globber) braces() {
	if end := strings.IndexByte(g.rest, '}'); end > 0 && g.numbers(g.rest[:end]) {
		g.rest = g.rest[end+1:]
		return
	}
	if !closes(g.rest) {
		g.literal("{")
		return
	}
	g.out.WriteString(`(?:`)
	for {
		g.sequence(true)
		if g.rest == "" {
			break
		}
		c := g.rest[0]
		g.rest = g.rest[1:]
		if c == '}' {
			break
		}
		g.out.WriteByte('|')
	}
	g.out.WriteByte(')')
}

// closes reports whether a list of alternatives goes on to its closing brace.
func closes(s string) bool {
	depth, comma := 1, false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return comma
			}
		case ',':
			comma = comma || depth == 1
		}
	}
	return false
}

func (g *globber) numbers(s string) bool {
	from, to, ok := strings.Cut(s, "..")
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil {
		return false
	}
	a, b = min(a, b), max(a, b)
	if b-a >= maxRange || b-a < 0 {
		g.out.WriteString(`[+-]?[0-9]+`)
		return true
	}
	g.out.WriteString(`(?:`)
	for n := a; n <= b; n++ {
		if n > a {
			g.out.WriteByte('|')
		}
		g.literal(strconv.Itoa(n))
	}
	g.out.WriteByte(')')
	return true
}
