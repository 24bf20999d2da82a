package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Definition is an alias or a function of a shell.
type Definition struct {
	Name     string
	Function bool
	// Source defines it, as it stood in the script.
	Source string
	// Stands is the text that runs in its place: an alias's value, a function's body.
	Stands string
}

// Definitions are the aliases and functions that a script defines, in its order, and
// nothing else of it: neither what it runs nor what it assigns. Aliases have plain
// words as names and literal values.
func Definitions(script string) ([]Definition, error) {
	file, err := Parse(script)
	if err != nil {
		return nil, err
	}
	cut := func(n syntax.Node) string { return script[n.Pos().Offset():n.End().Offset()] }
	var all []Definition
	for _, s := range file.Stmts {
		if s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 {
			continue
		}
		switch c := s.Cmd.(type) {
		case *syntax.FuncDecl:
			if c.Name != nil && c.Body != nil && named(c.Name.Value) && alone(cut(c), c.Name.Value) {
				all = append(all, Definition{Name: c.Name.Value, Function: true, Source: cut(c), Stands: cut(c.Body)})
			}
		case *syntax.CallExpr:
			all = append(all, aliases(c)...)
		}
	}
	return all, nil
}

// alone reports whether a text by itself is the function of that name, and no more.
func alone(text, name string) bool {
	file, err := Parse(text + "\n")
	if err != nil || len(file.Stmts) != 1 {
		return false
	}
	f, ok := file.Stmts[0].Cmd.(*syntax.FuncDecl)
	return ok && f.Name != nil && f.Name.Value == name && len(file.Stmts[0].Redirs) == 0 && !file.Stmts[0].Background
}

// aliases are those that a call of alias defines.
func aliases(c *syntax.CallExpr) []Definition {
	if len(c.Assigns) > 0 || len(c.Args) < 2 {
		return nil
	}
	if name, ok := Literal(c.Args[0]); !ok || name != "alias" {
		return nil
	}
	var all []Definition
	for _, w := range c.Args[1:] {
		word, ok := spelled(w)
		if name, value, is := strings.Cut(word, "="); ok && is && named(name) {
			all = append(all, Definition{Name: name, Source: "alias " + Quote(name+"="+value), Stands: value})
		}
	}
	return all
}

// spelled is Literal for words that escape single characters as well, as shells print
// values with quotes: 'it'\”s'.
func spelled(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[]{}~!\n") || strings.HasSuffix(p.Value, `\`) {
				return "", false
			}
			for i := 0; i < len(p.Value); i++ {
				if p.Value[i] == '\\' {
					i++
				}
				b.WriteByte(p.Value[i])
			}
		default:
			return Literal(w)
		}
	}
	return b.String(), true
}

// named reports whether a name is one that a command may have.
func named(name string) bool {
	return name != "" && !strings.HasPrefix(name, "-") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+:@,") == ""
}
