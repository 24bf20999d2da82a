package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kerf/internal/text/delta"
)

// TestSEC_P5_FoldedNamesAreProtected: names that a case-blind file system, HFS+ or
// Windows takes for protected ones are refused before anything is there that could be
// compared by identity. Names that no system takes for them are not.
func TestSEC_P5_FoldedNamesAreProtected(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.ToSlash(dir)
	no := errors.New("protected")
	asked := func(_, rel string) error { // to the letter
		if strings.HasPrefix(rel, ".git/hooks") || strings.HasPrefix(rel, ".kerf") {
			return no
		}
		return nil
	}
	tr := openTree(t, Options{Roots: []string{dir}, Protected: asked})
	for _, name := range []string{
		".git/hooks/x", ".GIT/hooks/x", ".Git/Hooks/x", ".g\u200cit/hooks/x", ".git\ufeff/hooks/x", "git~1/hooks/x",
		"GIT~2/hooks/x",
		".git /hooks/x", ".git./hooks/x", ".git. ./hooks./x", ".git::$INDEX_ALLOCATION/hooks/x", ".git/hoo\u212as/x",
		".git/hook\u017f/x",
		".KERF/config.toml", ".\u212aerf", "kerf~1/config.toml", ".kerf ",
	} {
		if err := tr.CheckWrite(dir+"/"+name, nil); !errors.Is(err, no) {
			t.Errorf("%q may be written: %v", name, err)
		}
	}
	for _, name := range []string{"git/hooks/x", ".gitx/hooks/x", "git~/hooks/x", "git~10/hooks/x", ".git/objects/x",
		"kerf", "x~1", "..git/hooks"} {
		if err := tr.CheckWrite(dir+"/"+name, nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	// The control: nothing but the check stands in the way.
	d, err := openTree(t, Options{Roots: []string{dir}}).OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Stage(".GIT", delta.NewFile([]byte("gitdir: elsewhere\n"), 0o644), StageOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".GIT")); err != nil {
		t.Fatal(err)
	}
}
