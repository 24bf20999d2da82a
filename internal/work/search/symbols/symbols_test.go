package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/work/search"
)

// TestFind: one line of each language that has a word for it, and lines that define nothing.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.go":        "package a\n\n// Parse is used by Parse.\nfunc Parse() {}\nfunc (p *Parser[T]) ParseAll() { x := Parse() }\ntype Parser struct{}\nvar parsed = 1\n",
		"a.py":        "class Parse:\n    async def parse_it(self): pass\n",
		"a.ts":        "export const parseUrl = () => 1\nexport default class ParseTree {}\n  const parseLocal = 2\nfunction* parseGen() {}\n",
		"a.rs":        "pub(crate) fn parse_rs() {}\nimpl Parser {}\npub trait Parses {}\n",
		"a.java":      "public static final class ParseJava {}\n",
		"a.rb":        "  def self.parse_ruby\n",
		"ignored.go":  "func ParseIgnored() {}\n",
		".gitignore":  "ignored.go\n",
		"deep/b/c.go": "func Parse() {}\n",
		"guide.md":    "func Parse() {}\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		word  string
		limit int
		want  string
	}{
		{"parse", 3, "func Parse a.go:4, class Parse a.py:1, func Parse deep/b/c.go:1"},
		{"Parse", 100, "func Parse a.go:4, class Parse a.py:1, func Parse deep/b/c.go:1, type Parser a.go:6, trait Parses a.rs:3, " +
			"func ParseAll a.go:5, class ParseJava a.java:1, class ParseTree a.ts:2"},
		{"url", 5, "const parseUrl a.ts:1"},
		{"gen", 5, "function* parseGen a.ts:4"},
		{"_ru", 5, "def parse_ruby a.rb:1"},
		{"parse_", 5, "def parse_it a.py:2, fn parse_rs a.rs:1, def parse_ruby a.rb:1"},
		{"local", 5, ""},
		{"parsed", 5, "var parsed a.go:7"},
		{"a.*b", 5, ""},
	} {
		found, err := Find(t.Context(), search.New(search.Options{Roots: []string{dir}}), dir, c.word, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range found {
			got = append(got, fmt.Sprintf("%s %s %s:%d", s.Kind, s.Name, s.Path, s.Line))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %s\nwant %s", c.word, s, c.want)
		}
	}
}
