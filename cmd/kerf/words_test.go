package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kerf/cmd/kerf/internal/program"
	"kerf/internal/text/spelling"
)

// tree is every command of the program with subcommands, by its path.
func tree(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	root := command(&program.Program{Name: "kerf", Env: os.Environ()}, nil)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if names := program.Subcommands(c); len(names) > 0 {
			found[c.CommandPath()] = names
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	if len(found) < 8 {
		t.Fatalf("only %d commands have subcommands", len(found))
	}
	return found
}

// slips are words that are one slip away from a name.
func slips(name string) []string {
	mid := len(name) / 2
	return []string{name[:mid] + name[mid+1:], name[:mid-1] + name[mid:mid+1] + name[mid-1:mid] + name[mid+1:],
		name + "x", name[:mid] + "q" + name[mid:]}
}

// TestUnknownWords: at every level of the commands an unknown word ends with exit code 2 and
// one line that names it, and the nearest name where there is one.
func TestUnknownWords(t *testing.T) {
	t.Setenv("KERF_HOME", t.TempDir())
	for path, names := range tree(t) {
		words := strings.Fields(path)[1:]
		for _, help := range [][]string{nil, {"help"}} {
			if help == nil && path == "kerf exec" {
				continue // a word that is near to nothing is a request
			}
			said := runWords(t, 2, append(append(help, words...), "zzzzzzzz"))
			if !strings.Contains(said, `"zzzzzzzz"`) {
				t.Errorf("%v %s zzzzzzzz: the word is not named: %s", help, path, said)
			}
		}
		for _, name := range names {
			for _, slip := range slips(name) {
				near := spelling.Nearest(slip, names)
				if near == "" || near == slip {
					continue // it is nothing's, or a name itself
				}
				for _, help := range [][]string{nil, {"help"}} {
					if help == nil && path == "kerf exec" && len(slip) < 5 {
						continue // a short word is a request, such as "work", which is near to fork
					}
					said := runWords(t, 2, append(append(help, words...), slip))
					line, _, _ := strings.Cut(said, "\n")
					if !strings.Contains(line, `"`+slip+`"`) || !strings.Contains(line, "did you mean ") ||
						help == nil && !strings.HasSuffix(line, " "+near+"?") {
						t.Errorf("%v %s %s: want the word and %q: %s", help, path, slip, near, said)
					}
				}
			}
		}
	}
}

// runWords runs the program without a terminal and returns what it says about an error.
func runWords(t *testing.T, code int, args []string) string {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out, said bytes.Buffer
	if got := run(append([]string{"kerf"}, args...), null, &out, &said); got != code || out.Len() > 0 {
		t.Errorf("kerf %s: exit code %d, want %d; it printed %q and said %q", strings.Join(args, " "), got, code,
			out.String(), said.String())
	}
	if n := strings.Count(said.String(), "kerf: "); n != 1 {
		t.Errorf("kerf %s: %d lines about one error: %s", strings.Join(args, " "), n, said.String())
	}
	return said.String()
}

// TestNoFileIsCited: what the program says names no page by its file, which people who have
// the program alone lack.
func TestNoFileIsCited(t *testing.T) {
	cited := regexp.MustCompile(`\bdoc/[a-z-]+\.md|ARCHITECTURE\.md|README\.md|CHANGELOG\.md`)
	if !cited.MatchString("see doc/undo.md") {
		t.Fatal("the pattern finds nothing")
	}
	files := 0
	for _, dir := range []string{".", "../../internal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "testkit") {
				return err
			}
			files++
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && cited.MatchString(s.Value) {
					t.Errorf("%s: %s; say kerf help TOPIC", set.Position(s.Pos()), cited.FindString(s.Value))
				}
				return true
			})
			return nil
		})
		if err != nil || files < 50 {
			t.Fatalf("%s: %d files: %v", dir, files, err)
		}
	}
}
