package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRememberedOnce: a repository is remembered once, however often it is looked for, and forgotten when
// it is gone.
func TestRememberedOnce(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/.git", "b/.git"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSession(Disk{}, WorkspaceWrite, nil)
	want := []string{filepath.Join(root, "a/.git"), filepath.Join(root, "b/.git")}
	for range 3 {
		if got := s.remember(root, s.view); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if got := s.remember(root, s.view); !slices.Equal(got, want[1:]) {
		t.Errorf("%q, want %q", got, want[1:])
	}
}
