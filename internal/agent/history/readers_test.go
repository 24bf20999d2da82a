package history

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ignored lists, for each reader of records, the types that it passes over on
// purpose. A reader is a type switch with a record in one of its cases. A new
// type of record must be named in each of them, or here.
var ignored = map[string][]string{
	"agent/history line":         {"Approval", "QuestionAsked", "Unknown"},
	"sessions/replay record":     {"EventRecord", "QuestionAsked", "Reasoning", "SessionMeta", "Unknown"},
	"sessions/scenario record":   {"Approval", "EventRecord", "FileChange", "QuestionAsked", "SessionMeta", "TurnContext", "Unknown"},
	"sessions brief":             {"Approval", "Compacted", "SessionMeta", "TokenUsage", "TurnContext", "Unknown"},
	"sessions/timeline record":   {"SessionMeta", "Unknown"},
	"sessions/transcript record": {"QuestionAsked", "SessionMeta", "ToolStarted", "Unknown"},
}

// selecting are the readers that look for a few types only, whatever others there
// are, with what they look for.
var selecting = map[string]string{
	"agent/history Observe":            "what notes are made of",
	"agent/history Schema":             "those that share a type",
	"agent/session slim":               "records with images",
	"agent/session observe":            "what metadata tells",
	"sessions upTo":                    "beginnings and ends of turns",
	"sessions/timeline roundsThatCall": "calls",
	"sessions count":                   "tokens and the model that used them",
	"sessions Ended":                   "how the last turn ended",
	"sessions/said appendSaid":         "what was said",
	"sessions read":                    "what turns were asked, and of which model",
	"sessions/running look":            "what is open: a question, a call, a turn",
	"sessions/transcript briefly":      "texts that may be long",
	"sessions/transcript Asked":        "what opened a turn: its first line, and the model",
	"sessions/transcript full":         "items, and the response that they are of",
	"sessions/verify Session":          "what agrees with the ledger",
}

// TestReadersNameEveryRecord finds all readers of records and compares what they
// leave out with the tables above.
func TestReadersNameEveryRecord(t *testing.T) {
	all := recordTypes(t)
	got := map[string][]string{}
	found := map[string]bool{}
	for path, file := range sources(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sw, ok := n.(*ast.TypeSwitchStmt)
				if !ok {
					return true
				}
				named := recordsIn(sw, file.Name.Name == "history", all)
				reader := filepath.ToSlash(filepath.Dir(path)) + " " + f.Name.Name
				found[reader] = true
				if _, selects := selecting[reader]; len(named) > 0 && !selects {
					got[reader] = slices.DeleteFunc(slices.Clone(all), func(r string) bool { return slices.Contains(named, r) })
				}
				return true
			})
		}
	}
	if d := cmp.Diff(ignored, got); d != "" {
		t.Errorf("what readers of records leave out, by the table and in the code:\n%s", d)
	}
	for reader := range selecting {
		if !found[reader] {
			t.Errorf("%s is no reader any more", reader)
		}
	}
}

// otherwise are the literals that are no types of records though they are written
// like one.
var otherwise = map[string][]string{
	"sessions/codex/codex.go":   {"compacted", "reasoning", "session_meta", "turn_context"}, // lines that Codex writes
	"sessions/export/export.go": {"file_change", "reasoning"},                               // items of an export
	"sessions/peers/peers.go":   {"compacted", "reasoning", "session_meta", "turn_context"}, // lines as Codex writes them
}

// TestTypesOfRecordsAreNamedHereOnly: other packages name records by their Go types.
func TestTypesOfRecordsAreNamedHereOnly(t *testing.T) {
	got := map[string][]string{}
	for path, file := range sources(t) {
		room, _, _ := strings.Cut(path, "/")
		if !slices.Contains([]string{"agent", "sessions", "host", ".."}, room) || file.Name.Name == "history" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			text = strings.TrimSuffix(strings.TrimPrefix(text, `"type":"`), `"`)
			if _, is := decoders[text]; is && !slices.Contains(got[path], text) {
				got[path] = append(got[path], text)
			}
			return true
		})
		slices.Sort(got[path])
	}
	if d := cmp.Diff(otherwise, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("types of records, as the table allows and in the code:\n%s", d)
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

// sources parses the code that may know records and is no test, by its path below
// internal.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"agent", "sessions", "host", "../cmd/kerf"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(rel)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
