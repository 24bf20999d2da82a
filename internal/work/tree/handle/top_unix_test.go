//go:build unix

package handle

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestNoLinkLeadsToTheTop: a directory on the way to a root that became a link leads nowhere,
// on each way to open the root.
func TestNoLinkLeadsToTheTop(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "elsewhere/b/c"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(base, "a/b")
	opened := func() (failed []error) {
		d, err := Open(root, "c")
		if err == nil {
			d.Close()
		}
		failed = append(failed, err)
		d, err = Open(root, "")
		if err == nil {
			d.Close()
		}
		failed = append(failed, err)
		top, err := Top(root)
		if err == nil {
			top.Close()
		}
		return append(failed, err)
	}
	for _, err := range opened() {
		if err != nil {
			t.Error("control:", err)
		}
	}
	if err := os.Rename(filepath.Join(base, "a"), filepath.Join(base, "was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(base, "a")); err != nil {
		t.Fatal(err)
	}
	for i, err := range opened() {
		if !errors.Is(err, ErrLink) {
			t.Errorf("way %d: %v", i, err)
		}
	}
}
