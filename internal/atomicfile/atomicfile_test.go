package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteReplacesWholeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	other := filepath.Join(dir, "other")
	for _, text := range []string{"old", "new and longer", ""} {
		if err := Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		check(t, path, text)
	}
	if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o640 {
		t.Error(st.Mode(), err)
	}
	if err := WriteCache(other, []byte("cache")); err != nil {
		t.Fatal(err)
	}
	check(t, other, "cache")
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
}

func TestWriteReplacesLinks(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	if err := Write(path, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, path, "ours")
	check(t, target, "theirs")
}

func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{Write(path, []byte("x"), 0o600), WriteCache(path, []byte("x"))} {
		if err == nil {
			t.Error("a directory was replaced")
		}
	}
	if err := Write(filepath.Join(dir, "missing", "f"), nil, 0o600); err == nil {
		t.Error("a missing directory was made")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

func check(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
	}
}
