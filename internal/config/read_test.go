package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withoutEffect are the keys that Load accepts, since files of other agents have them,
// and that nothing obeys.
var withoutEffect = []string{
	"history.max_bytes",
	"history.persistence",
	"mcp_servers.NAME.oauth_resource",
	"mcp_servers.NAME.supports_parallel_tool_calls",
	"model_providers.NAME.requires_openai_auth",
	"model_providers.NAME.supports_websockets",
	"tools.view_image",
}

// byLoad are the keys that Load itself obeys, before there is a Config.
var byLoad = []string{"profile", "project_root_markers"}

// TestEveryKeyIsRead wants a reader in the program for every key of the schema.
func TestEveryKeyIsRead(t *testing.T) {
	read := fieldReads(t)
	found := slices.DeleteFunc(unread(reflect.TypeFor[Config](), "", read),
		func(key string) bool { return slices.Contains(byLoad, key) })
	if d := cmp.Diff(withoutEffect, found); d != "" {
		t.Errorf("keys without a reader (-listed +found):\n%s", d)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "doc", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		key := strings.Trim(cells[1], " `")
		if told := strings.TrimSpace(cells[len(cells)-2]) == "accepted, without effect"; told != slices.Contains(
			withoutEffect, key) {
			t.Errorf("doc/config.md says of %s whether it has an effect: %t", key, !told)
		}
	}
}

// TestUnreadKeysAreFound seeds keys that nothing reads.
func TestUnreadKeysAreFound(t *testing.T) {
	type Backups struct {
		MaxDays int `key:"max_retention_days"`
		Seeded  int `key:"seeded"`
	}
	type Config struct {
		Model   string             `key:"model"`
		Nobody  string             `key:"nobody"`
		Backups map[string]Backups `key:"backups"`
	}
	want := []string{"backups.NAME.seeded", "nobody"}
	if d := cmp.Diff(want, unread(reflect.TypeFor[Config](), "", fieldReads(t))); d != "" {
		t.Error(d)
	}
}

// unread returns the keys of t, a struct, and of what it holds, whose fields are not
// among the ones that are read. A table is read when its keys are.
func unread(t reflect.Type, path string, read map[string]bool) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		inner, below := f.Type, path+key+"."
		if inner.Kind() == reflect.Map {
			inner, below = inner.Elem(), below+"NAME."
		}
		if inner.Kind() == reflect.Struct {
			keys = append(keys, unread(inner, below, read)...)
		} else if !read[t.Name()+"."+f.Name] {
			keys = append(keys, path+key)
		}
	}
	slices.Sort(keys)
	return keys
}

// fieldReads returns the fields of this package's structs, as "Config.Model", that
// the program reads.
func fieldReads(t *testing.T) map[string]bool {
	t.Helper()
	c := &checker{fset: token.NewFileSet(), packages: map[string]*types.Package{}, read: map[string]bool{}}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if err == nil && d.IsDir() {
				rel, _ := filepath.Rel(root, path)
				_, err = c.Import("kerf/" + filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(c.read) < 20 {
		t.Fatalf("only %d reads were found", len(c.read))
	}
	return c.read
}

// checker finds the types of expressions in Kerf's packages. Other packages are empty
// for it, so it passes over errors.
type checker struct {
	fset     *token.FileSet
	packages map[string]*types.Package
	read     map[string]bool
}

// Import checks a package and what it imports.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.packages[path]; p != nil {
		return p, nil
	}
	inner, own := strings.CutPrefix(path, "kerf/")
	if !own {
		c.packages[path] = types.NewPackage(path, filepath.Base(path))
		c.packages[path].MarkComplete()
		return c.packages[path], nil
	}
	names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(inner), "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(c.fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: c, Error: func(error) {}}
	p, _ := conf.Check(path, c.fset, files, info)
	c.packages[path] = p
	for _, file := range files {
		c.note(file, info)
	}
	return p, nil
}

// note collects what a file reads.
func (c *checker) note(file *ast.File, info *types.Info) {
	written := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				written[e] = true
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && !written[n] {
				c.field(holder(s), s.Obj().Name())
			}
		case *ast.CallExpr: // a conversion reads all
			if len(n.Args) != 1 || !info.Types[n.Fun].IsType() || info.TypeOf(n.Args[0]) == nil {
				break
			}
			arg := info.TypeOf(n.Args[0])
			if s, ok := arg.Underlying().(*types.Struct); ok {
				for i := range s.NumFields() {
					c.field(arg, s.Field(i).Name())
				}
			}
		}
		return true
	})
}

// holder is the struct that has the selected field, which the receiver may embed.
func holder(s *types.Selection) types.Type {
	of := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := types.Unalias(of).(*types.Pointer); ok {
			of = p.Elem()
		}
		of = of.Underlying().(*types.Struct).Field(i).Type()
	}
	return of
}

func (c *checker) field(of types.Type, name string) {
	if p, ok := types.Unalias(of).(*types.Pointer); ok {
		of = p.Elem()
	}
	if n, ok := types.Unalias(of).(*types.Named); ok && n.Obj().Pkg() != nil &&
		n.Obj().Pkg().Path() == "kerf/internal/config" {
		c.read[n.Obj().Name()+"."+name] = true
	}
}
