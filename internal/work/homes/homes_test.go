package homes_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"kerf/internal/work/homes"
)

func TestForIsStable(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, home := filepath.Join(base, "w"), filepath.Join(base, "home")
	link := root + "-link"
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	a, b := homes.For(home, []string{root}), homes.For(home, []string{link, "/other"})
	if a != b || len(filepath.Base(a)) != 16 || filepath.Dir(a) != filepath.Join(home, "workspaces") {
		t.Errorf("%s, %s", a, b)
	}
	gone := map[string]bool{homes.Of(home, root+"-gone"): true, homes.Of(home, root+"-gone-too"): true, homes.Of(home, ""): true, a: true}
	if len(gone) != 4 || homes.Of(home, root+"-gone/") != homes.Of(home, root+"-gone") {
		t.Errorf("roots that are not there have %v", gone)
	}
	if text, err := os.ReadFile(filepath.Join(a, "root")); err != nil || string(text) != filepath.ToSlash(root)+"\n" {
		t.Errorf("%q %v", text, err)
	}
	for name, want := range map[string]os.FileMode{filepath.Join(a, "root"): 0o600, a: 0o700, filepath.Dir(a): 0o700} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %v, %v", name, st.Mode(), err)
		}
	}
}
