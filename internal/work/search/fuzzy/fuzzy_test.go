package fuzzy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindRanksByLetters(t *testing.T) {
	cwd := t.TempDir()
	var f Finder
	for _, name := range []string{"internal/host/library.go", "internal/host/library_test.go", "README.md",
		"vendor/lib.go", ".gitignore"} {
		path := filepath.Join(cwd, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "x"
		if name == ".gitignore" {
			text = "vendor/\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string][]string{
		"hlib":      {"internal/host/library.go", "internal/host/library_test.go"},
		"lib _test": {"internal/host/library_test.go"},
		"readme":    {"README.md"},
		"Readme":    {},
		"vendorlib": {},
	} {
		got, err := f.Find(t.Context(), cwd, query, 10)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", query, d)
		}
	}
}
