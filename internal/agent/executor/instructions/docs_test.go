package instructions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs are the instruction files of a project: each by its name, and its text.
func docs(t *testing.T, files map[string]string, cwd string, bytes int) []string {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "project")
	if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(cwd)), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(to, path); err != nil {
				t.Skip(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := Sources{Root: root, Cwd: filepath.Join(root, filepath.FromSlash(cwd)), DocBytes: bytes}
	var list []string
	for _, d := range s.ProjectDocs() {
		rel, err := filepath.Rel(root, d.Path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.ToSlash(rel)+": "+strings.TrimSpace(d.Text))
	}
	return list
}

func TestProjectDocs(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		cwd   string
		bytes int
		want  []string
	}{
		{"own before others", map[string]string{"AGENTS.md": "own", "CLAUDE.md": "peer", "sub/GEMINI.md": "below"}, "sub", 0,
			[]string{"AGENTS.md: own", "sub/GEMINI.md: below"}},
		{"others in their order", map[string]string{"GEMINI.md": "g", "CLAUDE.md": "c", ".github/copilot-instructions.md": "p"},
			".", 0, []string{"CLAUDE.md: c"}},
		{"the last of them", map[string]string{".github/copilot-instructions.md": "p"}, ".", 0,
			[]string{".github/copilot-instructions.md: p"}},
		{"imports follow, each once", map[string]string{"CLAUDE.md": "see @docs/a.md and (@./b.txt), mail me@x.md, @nobody.md",
			"docs/a.md": "a, @../b.txt and @c.md", "docs/c.md": "c @a.md", "b.txt": "b"}, ".", 0,
			[]string{"CLAUDE.md: see @docs/a.md and (@./b.txt), mail me@x.md, @nobody.md", "docs/a.md: a, @../b.txt and @c.md",
				"b.txt: b", "docs/c.md: c @a.md"}},
		{"nothing from code, and no other kinds of files", map[string]string{
			"AGENTS.md": "`@a.md`\n```\n@a.md\n```\n@.env @key.pem @types/node", "a.md": "a", ".env": "s", "key.pem": "s",
			"types/node": "n"}, ".", 0, []string{"AGENTS.md: `@a.md`\n```\n@a.md\n```\n@.env @key.pem @types/node"}},
		{"no way out", map[string]string{"AGENTS.md": "@../out.md @/etc/x.md @~/x.md @link.md @in.md", "link.md": "-> ../out.md",
			"../out.md": "SECRET", "in.md": "-> real.md", "real.md": "real"}, ".", 0,
			[]string{"AGENTS.md: @../out.md @/etc/x.md @~/x.md @link.md @in.md", "in.md: real"}},
		{"the budget is for all", map[string]string{"AGENTS.md": "@a.md", "a.md": "1234567890", "sub/AGENTS.md": "x"}, "sub", 10,
			[]string{"AGENTS.md: @a.md", "a.md: 12345"}},
		{"rules", map[string]string{
			".cursor/rules/b.mdc":     "---\ndescription: \"how to test\"\nglobs: *_test.go, x/**\nalwaysApply: false\n---\nbody b",
			".cursor/rules/a.mdc":     "---\r\nalwaysApply: true\r\n---\r\nbody a",
			".cursor/rules/plain.mdc": "no head", ".cursor/rules/x.md": "no rule"}, ".", 0,
			[]string{".cursor/rules/a.mdc: body a", ".cursor/rules: Read the rule with read_file before you work on what it is " +
				"about:\n- b.mdc, for files matching *_test.go, x/**: how to test"}},
	}
	for _, test := range tests {
		if test.bytes == 0 {
			test.bytes = 10_000
		}
		if d := cmp.Diff(test.want, docs(t, test.files, test.cwd, test.bytes)); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
	}
}

// TestImportsEnd: files that import each other without end, and many of them.
func TestImportsEnd(t *testing.T) {
	files := map[string]string{"AGENTS.md": "@1.md @AGENTS.md"}
	for n := range 30 {
		files[string(rune('a'+n))+".md"] = "x"
		files["AGENTS.md"] += " @" + string(rune('a'+n)) + ".md"
	}
	for _, pair := range [][2]string{{"1", "2"}, {"2", "3"}, {"3", "4"}, {"4", "5"}, {"5", "6"}, {"6", "1"}} {
		files[pair[0]+".md"] = "@" + pair[1] + ".md"
	}
	list := docs(t, files, ".", 10_000)
	if len(list) > maxImports+1 || strings.Contains(strings.Join(list, "\n"), "\n6.md") {
		t.Errorf("%d files: %q", len(list), list)
	}
}
