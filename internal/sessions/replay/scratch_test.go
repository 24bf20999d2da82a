package replay

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMovedEndsWhereNamesEnd(t *testing.T) {
	for in, want := range map[string]string{
		"/w/a and /w":  "/s/a and /s",
		"/work /w-x":   "/work /w-x",
		"cd /w; ls":    "cd /s; ls",
		`"/w"`:         `"/s"`,
		"nothing here": "nothing here",
	} {
		if got := moved(in, "/w", "/s"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestSettledLeavesOutTimes(t *testing.T) {
	a, b := settled("ok in 0.012s, version 3"), settled("ok in 1.5s, version 4")
	if a != b {
		t.Errorf("%q is not %q", a, b)
	}
	if settled("3 files") == settled("4 files") {
		t.Error("numbers that mean something are left out")
	}
}

func TestCopyTreeKeepsModesAndLinks(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := os.MkdirAll(filepath.Join(from, "home", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "a"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(from, "link")); err != nil {
		t.Skip(err)
	}
	if err := copyTree(t.Context(), from, to, filepath.Join(from, "home")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(to, "link"))
	if err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	if st, err := os.Stat(filepath.Join(to, "a")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(to, "home")); !os.IsNotExist(err) {
		t.Errorf("what is left out is there: %v", err)
	}
}
