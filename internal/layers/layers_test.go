package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var root = filepath.Join("..", "..")

// TestArrows holds the rules for the files as they are.
func TestArrows(t *testing.T) {
	files := load(t)
	if len(files) < 20 {
		t.Fatalf("only %d files were found", len(files))
	}
	for _, fault := range check(files) {
		t.Error(fault)
	}
}

// TestRulesCanFail seeds a fault for every rule.
func TestRulesCanFail(t *testing.T) {
	tests := []struct{ path, imp, want string }{
		{"internal/text/diff/a.go", "kerf/internal/protocol", "text does not point there"},
		{"internal/text/diff/a.go", "os", "text/diff is pure"},
		{"internal/text/diff/a.go", "net/http", "text/diff is pure"},
		{"internal/protocol/a.go", "kerf/internal/text/delta", "protocol does not point there"},
		{"internal/protocol/a.go", "github.com/google/uuid", "protocol uses the standard library only"},
		{"internal/model/chat/a.go", "kerf/internal/protocol", "model does not point there"},
		{"internal/config/a.go", "kerf/internal/model", "config does not point there"},
		{"internal/atomicfile/a.go", "kerf/internal/pathname", "atomicfile does not point there"},
		{"internal/protocol/a.go", "kerf/internal/text/visible", "protocol does not point there"},
		{"internal/agent/tools/a.go", "kerf/internal/atomicfile", "agent/tools is pure, atomicfile is not"},
		{"internal/work/tree/a.go", "kerf/internal/agent/tool", "work does not point there"},
		{"internal/work/tree/a_test.go", "kerf/internal/host", "work does not point there"},
		{"internal/agent/tools/a.go", "kerf/internal/work/tree", "inside agent only executor imports work"},
		{"internal/agent/session/a.go", "kerf/internal/work/repo", "inside agent only executor imports work"},
		{"internal/agent/rollout/a.go", "kerf/internal/work/store", "inside agent only executor imports work"},
		{"internal/agent/turn/a.go", "kerf/internal/agent/session", "agent/turn is pure, agent/session is not"},
		{"internal/agent/turn/a.go", "syscall", "agent/turn is pure"},
		{"internal/agent/session/a.go", "kerf/internal/config", "agent does not point there"},
		{"internal/agent/session/a.go", "kerf/internal/front/exec", "agent does not point there"},
		{"internal/front/tui/a.go", "kerf/internal/agent/session", "front does not point there"},
		{"internal/front/tui/a.go", "kerf/internal/text/delta", "front does not point there"},
		{"internal/front/tui/status/a.go", "os", "front/tui/status is pure"},
		{"internal/front/tui/panels/a.go", "kerf/internal/front/tui/commands", "front/tui/panels is pure, front/tui/commands is not"},
		{"internal/sessions/replay/a.go", "kerf/internal/agent/session", "sessions does not point there"},
		{"internal/sessions/a.go", "kerf/internal/config", "sessions does not point there"},
		{"internal/host/a.go", "kerf/internal/front/exec", "host does not point there"},
		{"cmd/kerf/a.go", "kerf/internal/agent/session", "cmd/kerf does not point there"},
		{"cmd/kerf/a.go", "kerf/internal/testkit/modelserver", "the test kit is for tests"},
		{"sdk/a.go", "kerf/internal/protocol", "sdk does not point there"},
		{"sdk/a.go", "github.com/google/uuid", "sdk uses the standard library only"},
		{"internal/host/a.go", "kerf/internal/layers", "nothing imports the rules"},
		{"internal/host/a.go", "kerf/internal/util", "the room is not in the plan"},
	}
	for _, tt := range tests {
		want := []string{tt.path + ": imports " + tt.imp + ": " + tt.want}
		if d := cmp.Diff(want, check([]source{{tt.path, []string{tt.imp}}})); d != "" {
			t.Error(d)
		}
	}
	for _, path := range []string{"internal/util/a.go", "cmd/other/a.go", "main.go", "text/a.go"} {
		if len(check([]source{{path: path}})) != 1 {
			t.Errorf("%s: a room outside the plan is accepted", path)
		}
	}
}

// TestRulesCanPass shows that good arrows are not reported.
func TestRulesCanPass(t *testing.T) {
	good := []source{
		{"internal/protocol/a.go", []string{"encoding/json"}},
		{"internal/text/patch/a.go", []string{"kerf/internal/text/delta", "strings", "net/url"}},
		{"internal/auth/a.go", []string{"kerf/internal/atomicfile"}},
		{"internal/front/tui/a.go", []string{"kerf/internal/text/visible", "kerf/internal/pathname"}},
		{"internal/text/patch/a_test.go", []string{"os/exec", "kerf/internal/testkit/x"}},
		{"internal/model/openai/a.go", []string{"kerf/internal/model", "net/http"}},
		{"internal/work/txn/a.go", []string{"kerf/internal/work/tree", "kerf/internal/text/delta", "os"}},
		{"internal/agent/executor/a.go", []string{"kerf/internal/work/txn", "kerf/internal/agent/turn", "kerf/internal/model"}},
		{"internal/agent/tools/a.go", []string{"kerf/internal/agent/tool", "kerf/internal/text/edit"}},
		{"internal/front/exec/a.go", []string{"kerf/internal/protocol", "kerf/internal/text/diff", "os"}},
		{"internal/sessions/a.go", []string{"kerf/internal/agent/rollout", "kerf/internal/sessions/replay", "kerf/internal/work/changes"}},
		{"internal/host/a.go", []string{"kerf/internal/config", "kerf/internal/agent/session"}},
		{"cmd/kerf/main.go", []string{"kerf/internal/front/exec", "kerf/internal/host"}},
		{"internal/testkit/x/a.go", []string{"kerf/internal/model"}},
	}
	if faults := check(good); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
}

// TestModulesAreUsed wants an import for every direct module of go.mod.
func TestModulesAreUsed(t *testing.T) {
	files := load(t)
	if got := unused(required(t), files); len(got) > 0 {
		t.Errorf("no file imports %s; run go mod tidy", strings.Join(got, ", "))
	}
	if got := unused([]string{"example.org/nobody"}, files); len(got) != 1 {
		t.Error("a module that nobody imports is not found")
	}
}

// unused returns the modules that no file imports.
func unused(modules []string, files []source) []string {
	return slices.DeleteFunc(slices.Clone(modules), func(m string) bool {
		return slices.ContainsFunc(files, func(f source) bool {
			return slices.ContainsFunc(f.imports, func(imp string) bool { return inside(imp, m) })
		})
	})
}

// TestDependenciesAreExplained wants a sentence for every module that is imported.
func TestDependenciesAreExplained(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "doc", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	modules := required(t)
	for _, f := range load(t) {
		for _, imp := range f.imports {
			i := slices.IndexFunc(modules, func(m string) bool { return inside(imp, m) })
			if i < 0 || seen[modules[i]] {
				continue
			}
			seen[modules[i]] = true
			if !strings.Contains(string(doc), "`"+modules[i]+"`") {
				t.Errorf("%s imports %s; say why in doc/dependencies.md", f.path, modules[i])
			}
		}
	}
}

// required returns the direct modules of go.mod.
func required(t *testing.T) []string {
	t.Helper()
	var modules []string
	for _, r := range requirements(t, "go.mod") {
		if r.direct {
			modules = append(modules, r.module)
		}
	}
	return modules
}

// requirement is one line of a go.mod.
type requirement struct {
	module, version string
	direct          bool
}

// requirements reads a go.mod below the root.
func requirements(t *testing.T, path string) (all []requirement) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(mod)) {
		if fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(l), "require ")); len(fields) >= 2 &&
			strings.HasPrefix(fields[1], "v") {
			all = append(all, requirement{fields[0], fields[1], !strings.Contains(l, "// indirect")})
		}
	}
	return all
}

// TestModulesFollowTheProgram holds the modules of those that build the program's code at or above its own: go wants it,
// and their tests cannot run without it. Where their modules are there make fleet and make oracle fail; elsewhere nothing
// else says so.
func TestModulesFollowTheProgram(t *testing.T) {
	for _, dir := range []string{"fleet", "internal/testkit/oracle"} {
		if got := behind(requirements(t, "go.mod"), requirements(t, dir+"/go.mod")); len(got) > 0 {
			t.Errorf("%s/go.mod is behind go.mod, run go mod tidy in %s: %s", dir, dir, strings.Join(got, ", "))
		}
	}
	was, now := []requirement{{"a", "v1.10.0", true}, {"b", "v1.0.0", false}}, []requirement{{"a", "v1.9.2", true}, {"b", "v1.0.0", true}}
	if got := behind(was, now); len(got) != 1 || behind(now, was) != nil {
		t.Errorf("an older module is not found: %v", got)
	}
}

// behind returns the modules of after that are older than in before.
func behind(before, after []requirement) (names []string) {
	for _, b := range before {
		for _, a := range after {
			if a.module == b.module && slices.Compare(numbers(a.version), numbers(b.version)) < 0 {
				names = append(names, a.module)
			}
		}
	}
	return names
}

// numbers are those of a version, in order, which is enough to compare two versions of one module.
func numbers(version string) (list []int) {
	for _, f := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(f)
		list = append(list, n)
	}
	return list
}

// apart reports whether a directory is not of this module's code.
func apart(path, name string) bool {
	if name == "testdata" || name[0] == '.' || name[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// load parses the imports of every Go file, whatever its build constraints.
func load(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && apart(path, name) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := source{path: filepath.ToSlash(rel)}
		for _, i := range parsed.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imp)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
