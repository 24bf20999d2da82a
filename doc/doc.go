// Package doc holds the pages of this directory, so that the program can show them.
package doc

import (
	"embed"
	"path"
	"slices"
	"strings"

	"kerf/internal/text/pattern"
)

//go:embed *.md
var files embed.FS

// Names are the names of the pages, sorted, without their ending.
func Names() []string {
	list, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded directory can be read
	}
	var names []string
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".md"))
	}
	slices.Sort(names)
	return names
}

// Text is a page as it is in this directory. It reports false if there is none.
func Text(name string) (string, bool) {
	if !slices.Contains(Names(), name) {
		return "", false
	}
	b, err := files.ReadFile(name + ".md")
	return string(b), err == nil
}

// Page is a page for a reader who has only the program: where it refers to other pages it
// names the command that shows them. The marks of examples are for the tests alone.
func Page(name string) (string, bool) {
	text, ok := Text(name)
	text = mark().ReplaceAllString(picture().ReplaceAllString(text, ""), "")
	return link().ReplaceAllStringFunc(text, func(s string) string {
		m := link().FindStringSubmatch(s)
		if page := strings.TrimSuffix(path.Base(m[2]), ".md"); strings.HasSuffix(m[2], ".md") &&
			slices.Contains(Names(), page) {
			return "`kerf help " + page + "`"
		}
		return m[1]
	}), ok
}

// picture is a line with a picture alone.
var picture = pattern.Lazy(`(?m)^!\[[^\]\n]*\]\([^)\n]*\)\n`)

// mark is a line that says how an example is tested, or which screen it is.
var mark = pattern.Lazy(`(?m)^<!-- .* -->\n`)

// link is a link to another file: its words, and the file.
var link = pattern.Lazy(`\[([^\]\n]+)\]\(([^):#\s]+)(?:#[^)\s]*)?\)`)

// Title is the first heading of a page.
func Title(name string) string {
	text, _ := Text(name)
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return ""
}
