package handle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestList: a directory is listed whole, twice, with the type of each entry, however many
// there are.
func TestList(t *testing.T) {
	dir := t.TempDir()
	want := map[string]fs.FileMode{"d": fs.ModeDir, "l": fs.ModeSymlink, "\xff": 0, strings.Repeat("n", 255): 0}
	for i := range 3000 {
		want[fmt.Sprintf("file %d", i)] = 0
	}
	if runtime.GOOS == "windows" {
		delete(want, "\xff") // names are UTF-16 there
	}
	for name, kind := range want {
		path, err := filepath.Join(dir, name), error(nil)
		switch kind {
		case fs.ModeDir:
			err = os.Mkdir(path, 0o755)
		case fs.ModeSymlink:
			if err = os.Symlink("nowhere", path); err != nil {
				delete(want, name) // not everybody may make links on Windows
				err = nil
			}
		default:
			if err = os.WriteFile(path, nil, 0o644); err != nil && name == "\xff" {
				delete(want, name) // not every file system takes it
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(filepath.ToSlash(dir), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 {
		all, err := d.List()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(want) {
			t.Errorf("%d names, want %d", len(all), len(want))
		}
		for _, n := range all {
			if kind, ok := want[n.Name]; !ok || n.Type != kind {
				t.Errorf("%q is %v, want %v (%t)", n.Name, n.Type, kind, ok)
			}
		}
		if slices.ContainsFunc(all, func(n Named) bool { return n.Name == "." || n.Name == ".." }) {
			t.Error("the directory itself is listed")
		}
	}
}

// TestOpenDirMeetsNoLink: OpenDir opens directories and nothing else, wherever on the way
// something else is, and waits for nobody.
func TestOpenDirMeetsNoLink(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "a/f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"l": "a", "a/up": "..", "a/b/l": "c"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Skip("no links here")
		}
	}
	fifo(t, filepath.Join(base, "pipe"))
	fifo(t, filepath.Join(base, "a/pipe"))
	d, err := Open(filepath.ToSlash(base), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, rel := range []string{".", "a", "a/b", "a/b/c"} {
		sub, err := d.OpenDir(rel)
		if err != nil {
			t.Errorf("%s: %v", rel, err)
			continue
		}
		if _, err := sub.List(); err != nil {
			t.Errorf("list %s: %v", rel, err)
		}
		sub.Close()
	}
	for _, rel := range []string{"l", "l/b", "a/up", "a/up/a", "a/b/l", "a/f", "a/f/x", "pipe", "pipe/x", "a/pipe", "none", "none/x"} {
		sub, err := d.OpenDir(rel)
		if err == nil {
			sub.Close()
			t.Errorf("%s was opened", rel)
		}
		if link := strings.Contains(rel, "l") || strings.Contains(rel, "up"); link != errors.Is(err, ErrLink) {
			t.Errorf("%s: %v", rel, err)
		}
	}
}
