package layers

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The bounds of packages, types and lines. Tests are not counted.
const (
	maxPackageLines = 2500
	maxTypeMethods  = 70
	maxColumns      = 120
	maxHostLines    = 2000
	maxHostMethods  = 30
	hostPackage     = "internal/host"
)

// exceptions are the packages, and the types as PACKAGE.TYPE, that may be beyond the
// bounds, and why.
var exceptions = map[string]string{
	"internal/agent/turn": "one state machine, see its package comment",
}

// goFile is one Go file that is no test.
type goFile struct {
	path, pkg string
	text      []byte
	syntax    *ast.File
	set       *token.FileSet
}

func sources(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && apart(path, name):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f := goFile{set: token.NewFileSet()}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f.path = filepath.ToSlash(rel)
		f.pkg = strings.TrimSuffix(f.path, "/"+name)
		if f.text, err = os.ReadFile(path); err != nil {
			return err
		}
		if f.syntax, err = parser.ParseFile(f.set, path, f.text, parser.ParseComments); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestBounds keeps packages, types and lines small.
func TestBounds(t *testing.T) {
	over, long := beyond(sources(t))
	for _, name := range slices.Sorted(maps.Keys(over)) {
		if exceptions[name] == "" {
			t.Errorf("%s: %s", name, over[name])
		}
	}
	if len(long) > 0 {
		t.Errorf("%d lines are longer than %d columns:\n%s", len(long), maxColumns, strings.Join(long, "\n"))
	}
	for name := range exceptions {
		if over[name] == "" {
			t.Logf("%s keeps the bounds by now; take it out of the exceptions", name)
		}
	}
}

// beyond returns the packages and types that are too large, and the lines that are too
// long. The test kit is not counted.
func beyond(files []goFile) (over map[string]string, long []string) {
	over = map[string]string{}
	lines := map[string]int{}
	methods := map[string]map[string]bool{} // by type; platforms may have one each of a method
	for _, f := range files {
		if strings.HasPrefix(f.path, "internal/testkit/") {
			continue
		}
		lines[f.pkg] += bytes.Count(f.text, []byte("\n"))
		for _, m := range methodsOf(f) {
			if methods[f.pkg+"."+m.receiver] == nil {
				methods[f.pkg+"."+m.receiver] = map[string]bool{}
			}
			methods[f.pkg+"."+m.receiver][m.name] = true
		}
		for _, n := range longLines(f) {
			long = append(long, fmt.Sprintf("%s:%d", f.path, n))
		}
	}
	for pkg, n := range lines {
		if bound := boundOf(pkg == hostPackage, maxHostLines, maxPackageLines); n > bound {
			over[pkg] = fmt.Sprintf("%d lines, more than %d", n, bound)
		}
	}
	for name, m := range methods {
		if bound := boundOf(name == hostPackage+".Host", maxHostMethods, maxTypeMethods); len(m) > bound {
			over[name] = fmt.Sprintf("%d methods, more than %d", len(m), bound)
		}
	}
	return over, long
}

// TestBoundsCanFail seeds a fault for every bound.
func TestBoundsCanFail(t *testing.T) {
	var host, other strings.Builder
	for i := range maxHostMethods + 1 {
		fmt.Fprintf(&host, "func (h *Host) M%d() {}\n", i)
	}
	for i := range maxTypeMethods + 1 {
		fmt.Fprintf(&other, "func (t T[X]) M%d() {}\n", i)
	}
	files := []goFile{
		parsed(t, hostPackage, "type Host struct{}\n"+host.String()),
		parsed(t, "internal/a", "type T[X any] struct{}\n"+other.String()),
		parsed(t, "internal/b", strings.Repeat("\n", maxPackageLines)),
		parsed(t, "internal/c", "// "+strings.Repeat("é", maxColumns)+"\nvar x = []string{\n\""+
			strings.Repeat("a", maxColumns)+"\"}\n"),
		parsed(t, "internal/testkit/d", strings.Repeat("\n", maxPackageLines)),
	}
	over, long := beyond(files)
	want := map[string]string{hostPackage + ".Host": "31 methods, more than 30",
		"internal/a.T": "71 methods, more than 70",
		"internal/b":   "2501 lines, more than 2500"}
	if d := cmp.Diff(want, over); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"internal/c/a.go:2"}, long); d != "" {
		t.Error(d)
	}
	want2 := []string{
		"internal/host/a.go: Host.Show takes an io.Writer; return data and let cmd/kerf print it",
		"internal/host/a.go: another Host is made; cmd/kerf/internal/program makes the only one",
		"cmd/kerf/a.go: another Host is made; cmd/kerf/internal/program makes the only one",
	}
	got := append(composes(parsed(t, hostPackage,
		"type Host struct{}\nfunc (h Host) Show(w io.Writer) {}\nvar other = &Host{}\n")),
		composes(parsed(t, "cmd/kerf", "var h = host.Host{}\n"))...)
	if d := cmp.Diff(want2, got); d != "" {
		t.Error(d)
	}
}

// parsed is a file a.go of a package.
func parsed(t *testing.T, pkg, text string) goFile {
	t.Helper()
	f := goFile{path: pkg + "/a.go", pkg: pkg, text: []byte("package p\n" + text), set: token.NewFileSet()}
	var err error
	if f.syntax, err = parser.ParseFile(f.set, f.path, f.text, parser.ParseComments); err != nil {
		t.Fatal(err)
	}
	return f
}

func boundOf(isHost bool, host, other int) int {
	if isHost {
		return host
	}
	return other
}

// method is one declared method.
type method struct {
	receiver, name string
	decl           *ast.FuncDecl
}

func methodsOf(f goFile) []method {
	var list []method
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || len(fn.Recv.List) == 0 {
			continue
		}
		of := fn.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if index, ok := of.(*ast.IndexExpr); ok {
			of = index.X
		}
		if id, ok := of.(*ast.Ident); ok {
			list = append(list, method{id.Name, fn.Name.Name, fn})
		}
	}
	return list
}

// longLines numbers the lines that are too long. Rows of tables may be long: lines
// that lie in a composite literal or in the fields of a struct, and raw strings.
func longLines(f goFile) []int {
	table := map[int]bool{}
	mark := func(n ast.Node) {
		for i := f.set.Position(n.Pos()).Line; i <= f.set.Position(n.End()).Line; i++ {
			table[i] = true
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit, *ast.StructType:
			mark(n)
		case *ast.BasicLit:
			if n.Kind == token.STRING && n.Value[0] == '`' {
				mark(n)
			}
		}
		return true
	})
	var long []int
	n := 0
	for line := range bytes.Lines(f.text) {
		n++
		line = bytes.TrimRight(line, "\n")
		// A tab counts as one column.
		if utf8.RuneCount(line) > maxColumns && !table[n] && !bytes.HasPrefix(line, []byte("//go:")) {
			long = append(long, n)
		}
	}
	return long
}

// TestHostOnlyComposes holds what the composition root must not do: print, or be made a
// second time.
func TestHostOnlyComposes(t *testing.T) {
	for _, f := range sources(t) {
		for _, fault := range composes(f) {
			t.Error(fault)
		}
	}
}

// composes returns what a file does that only cmd/kerf does.
func composes(f goFile) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, f.path+": "+fmt.Sprintf(format, args...))
	}
	for _, m := range methodsOf(f) {
		for _, p := range m.decl.Type.Params.List {
			if f.pkg == hostPackage && types.ExprString(p.Type) == "io.Writer" {
				fault("%s.%s takes an io.Writer; return data and let cmd/kerf print it", m.receiver, m.name)
			}
		}
	}
	if f.pkg == "cmd/kerf/internal/program" {
		return faults // where the one host is made
	}
	name := "host.Host"
	if f.pkg == hostPackage {
		name = "Host"
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && lit.Type != nil && types.ExprString(lit.Type) == name {
			fault("another Host is made; cmd/kerf/internal/program makes the only one")
		}
		return true
	})
	return faults
}
