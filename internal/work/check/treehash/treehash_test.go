package treehash

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func list(_ context.Context, root string) (paths []string, more bool, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, filepath.ToSlash(p))
		}
		return err
	})
	return paths, false, err
}

// TestTree changes one thing after the other: each has a hash of its own, and what is taken
// back has the earlier one, for a hasher that remembers and for a new one alike.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.WriteFile(file("a"), []byte("one"), 0o644))
	do(os.WriteFile(file("b"), []byte("two"), 0o644))
	h := &Hasher{Roots: []string{dir}, List: list}
	hash := func() string {
		t.Helper()
		got, err := h.Tree(t.Context())
		do(err)
		fresh, err := (&Hasher{Roots: []string{dir}, List: list}).Tree(t.Context())
		do(err)
		if got != fresh {
			t.Fatalf("a hasher that remembers has %s, a new one %s", got, fresh)
		}
		return got
	}
	first := hash()
	seen := map[string]string{first: "the beginning"}
	for _, c := range []struct {
		name       string
		make, back func() error
	}{
		{"a content of the same size", func() error { return os.WriteFile(file("a"), []byte("ONE"), 0o644) },
			func() error { return os.WriteFile(file("a"), []byte("one"), 0o644) }},
		{"a mode", func() error { return os.Chmod(file("a"), 0o755) }, func() error { return os.Chmod(file("a"), 0o644) }},
		{"a new file", func() error { return os.WriteFile(file("c"), nil, 0o644) }, func() error { return os.Remove(file("c")) }},
		{"a link", func() error { return os.Symlink("a", file("c")) }, func() error { return os.Remove(file("c")) }},
		{"a name", func() error { return os.Rename(file("b"), file("d")) }, func() error { return os.Rename(file("d"), file("b")) }},
		{"a content with its old time", func() error {
			st, err := os.Stat(file("a"))
			do(err)
			do(os.WriteFile(file("a"), []byte("ENO"), 0o644))
			return os.Chtimes(file("a"), time.Now(), st.ModTime())
		}, func() error { return os.WriteFile(file("a"), []byte("one"), 0o644) }},
	} {
		time.Sleep(2 * settle) // so that what is remembered is believed
		hash()
		do(c.make())
		now := hash()
		if other := seen[now]; other != "" {
			t.Errorf("%s has the hash of %s", c.name, other)
		}
		seen[now] = c.name
		do(c.back())
		if again := hash(); again != first {
			t.Errorf("%s, taken back, has another hash than at the beginning", c.name)
		}
	}
}
