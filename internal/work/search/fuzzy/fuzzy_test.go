package fuzzy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/search"
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
		got, err := f.Find(t.Context(), cwd, query, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", query, d)
		}
	}
}

// hidden is a boundary that hides all below one directory.
type hidden string

func (h hidden) At(path string) boundary.Verdict {
	if pathname.Under(string(h), path) {
		return boundary.Verdict{Access: boundary.Hidden}
	}
	return boundary.Verdict{Access: boundary.Writable}
}
func (h hidden) Of(path string, _ boundary.FileID, _ bool) boundary.Verdict { return h.At(path) }
func (h hidden) HidesBelow(string) bool                                     { return true }

func TestFindLeavesOutWhatIsHidden(t *testing.T) {
	cwd := t.TempDir()
	for _, name := range []string{"open/key.txt", "shut/key.txt"} {
		path := filepath.Join(cwd, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		bound func() search.Boundary
		want  []string
	}{
		{nil, []string{"open/key.txt", "shut/key.txt"}},
		{func() search.Boundary { return hidden(filepath.Join(cwd, "shut")) }, []string{"open/key.txt"}},
	} {
		got, err := new(Finder).Find(t.Context(), cwd, "key", 10, c.bound)
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	}
}
