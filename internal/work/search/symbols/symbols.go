// Package symbols finds where something of a name is defined, by the words that begin a
// definition in most languages. It reads no language: it finds what stands on the line of such a
// word, so functions of C and methods of Java without one are not found.
package symbols

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"kerf/internal/text/order"
	"kerf/internal/text/pattern"
	"kerf/internal/work/search"
)

// Symbol is a definition.
type Symbol struct {
	Name string
	Kind string // the word that begins it: func, class, type …
	Path string // relative to the directory that was searched, with slashes
	Line int    // 1-based
}

// What begins a definition. Values count only at the margin: there are too many within functions.
const (
	before = `(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|` +
		`unsafe|virtual|override|inline|extern|sealed|open|data|partial|declare)\s+)*`
	kinds = `func(?:\s*\([^)]*\))?|function\*?|fun|fn|def|class|type|struct|interface|enum|trait|module|namespace|` +
		`protocol|record|object|sub|macro_rules!|defp|defmodule`
	values = `const|let|var|val|static`
)

var definition = pattern.Lazy(`^(?:\s*` + before + `(` + kinds + `)|` + before + `(` + values +
	`))\s+(?:self\.)?([\pL_$][\pL\pN_$]*)`)

// prose are the endings of files whose definitions are examples.
var prose = []string{".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".html"}

// most is how many lines are looked at.
const most = 400

// Find returns definitions below an absolute directory whose name holds a word, best first: the
// very name, then names that begin with it. A word with an upper-case letter minds case.
func Find(ctx context.Context, s *search.Searcher, dir, word string, limit int) ([]Symbol, error) {
	name := `[\pL\pN_$]*` + regexp.QuoteMeta(word) + `[\pL\pN_$]*`
	minds := word != strings.ToLower(word)
	lines, _, err := s.Grep(ctx, search.Query{Dir: dir, IgnoreCase: !minds, Limit: most,
		Pattern: `^(?:\s*` + before + `(?:` + kinds + `)|` + before + `(?:` + values + `))\s+(?:self\.)?` + name})
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/") + "/"
	var found []Symbol
	for _, l := range lines {
		m := definition().FindStringSubmatch(l.Text)
		if m == nil || !l.Match || slices.Contains(prose, strings.ToLower(path.Ext(l.Path))) {
			continue
		}
		kind, _, _ := strings.Cut(cmp.Or(m[1], m[2]), "(")
		x := Symbol{Name: m[3], Kind: strings.TrimSpace(kind), Path: strings.TrimPrefix(l.Path, base), Line: l.Number}
		if rank(x.Name, word, minds) < none {
			found = append(found, x)
		}
	}
	order.Stably(found, func(a, b Symbol) int {
		return cmp.Or(rank(a.Name, word, minds)-rank(b.Name, word, minds), len(a.Name)-len(b.Name),
			cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), cmp.Compare(a.Path, b.Path), a.Line-b.Line)
	})
	return found[:min(limit, len(found))], nil
}

// none is the rank of a name that does not hold the word.
const none = 3

func rank(name, word string, minds bool) int {
	if !minds {
		name = strings.ToLower(name)
	}
	switch {
	case name == word:
		return 0
	case strings.HasPrefix(name, word):
		return 1
	case strings.Contains(name, word):
		return 2
	}
	return none
}
