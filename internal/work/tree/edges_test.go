package tree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenNeedsRootsAndAnAbsoluteDirectory(t *testing.T) {
	root := t.TempDir()
	for want, o := range map[string]Options{
		"no roots":        {Cwd: root},
		"is not absolute": {Roots: []string{root}, Cwd: "sub"},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// TestUnlinkTellsWhatItCouldNotRemove: a name that is not there is as it should be, and nothing else.
func TestUnlinkTellsWhatItCouldNotRemove(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broken := error(nil)
	tr, err := Open(Options{Roots: []string{root}, Before: func(string, string) error { return broken }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := tr.OpenDir(filepath.ToSlash(root))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Unlink("none"); err != nil {
		t.Errorf("a name that is not there: %v", err)
	}
	broken = syscall.EIO
	if err := d.Unlink("a"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails: %v", err)
	}
	broken = nil
	if err := d.Unlink("a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(root, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestALinkThatGoesUpFromNowhere: what lies above a name that is not there cannot be told.
func TestALinkThatGoesUpFromNowhere(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none/../a", filepath.Join(root, "up")); err != nil {
		t.Skip(err)
	}
	tr, err := Open(Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	img, err := tr.Read(filepath.ToSlash(filepath.Join(root, "up")), 0)
	if err == nil {
		t.Errorf("%q was read through it", img.Data)
	}
	if _, err = tr.Target(filepath.ToSlash(filepath.Join(root, "up"))); err == nil {
		t.Error("it has a target")
	}
}
