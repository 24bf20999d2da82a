package history

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ignored lists, for each reader of records, the types that it passes over on
// purpose. A reader is a type switch with a record in one of its cases. A new
// type of record must be named in each of them, or here.
var ignored = map[string][]string{
	"agent/history/rebuild.go line":    {"Approval", "QuestionAsked", "Unknown"},
	"agent/history/notes.go Observe":   {"Approval", "Compacted", "EventRecord", "QuestionAsked", "Reasoning", "SessionMeta", "TokenUsage", "ToolStarted", "TurnContext", "Unknown", "UserInput"},
	"agent/session/journal.go slim":    {"Approval", "AssistantMessage", "Compacted", "EventRecord", "FileChange", "QuestionAsked", "Reasoning", "SessionMeta", "TokenUsage", "ToolStarted", "TurnContext", "Unknown"},
	"agent/session/journal.go observe": {"Approval", "Compacted", "FileChange", "QuestionAsked", "Reasoning", "SessionMeta", "ToolCall", "ToolStarted", "Unknown"},
}

// TestReadersNameEveryRecord finds all readers of records and compares what they
// leave out with the table above.
func TestReadersNameEveryRecord(t *testing.T) {
	all := recordTypes(t)
	got := map[string][]string{}
	for path, file := range sources(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if sw, ok := n.(*ast.TypeSwitchStmt); ok {
					if named := recordsIn(sw, file.Name.Name == "history", all); len(named) > 0 {
						left := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return slices.Contains(named, r) })
						got[path+" "+f.Name.Name] = left
					}
				}
				return true
			})
		}
	}
	if d := cmp.Diff(ignored, got); d != "" {
		t.Errorf("what readers of records leave out, by the table and in the code:\n%s", d)
	}
}

// recordsIn are the records that the cases of a type switch name.
func recordsIn(sw *ast.TypeSwitchStmt, inside bool, all []string) []string {
	var names []string
	for _, c := range sw.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			name := ""
			switch e := e.(type) {
			case *ast.Ident:
				if inside {
					name = e.Name
				}
			case *ast.SelectorExpr:
				if pkg, ok := e.X.(*ast.Ident); ok && pkg.Name == "history" {
					name = e.Sel.Name
				}
			}
			if slices.Contains(all, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// recordTypes are the names of the types of this package that are records.
func recordTypes(t *testing.T) []string {
	t.Helper()
	var names []string
	for path, file := range sources(t) {
		if filepath.ToSlash(filepath.Dir(path)) != "agent/history" {
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Type" && f.Recv != nil {
				if name, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
					names = append(names, name.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// sources parses the code below internal and cmd that knows records and is no test,
// by its path below internal.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	root := filepath.Join("..", "..")
	for _, dir := range []string{root, filepath.Join(root, "..", "cmd")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(`agent/history"`)) && !bytes.Contains(text, []byte("package history")) {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(rel)], err = parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
