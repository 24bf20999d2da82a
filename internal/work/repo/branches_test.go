package repo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBranchesAreReadFromFiles: loose and packed branches, and nothing that is none.
func TestBranchesAreReadFromFiles(t *testing.T) {
	dir := t.TempDir()
	id := "0123456789012345678901234567890123456789"
	for name, text := range map[string]string{
		".git/HEAD":                     "ref: refs/heads/main\n",
		".git/refs/heads/main":          id + "\n",
		".git/refs/heads/topic/one":     id + "\n",
		".git/refs/heads/topic/x.lock":  "",
		".git/refs/tags/v1":             id + "\n",
		".git/refs/remotes/origin/main": id + "\n",
		".git/packed-refs": "# pack-refs with: peeled fully-peeled sorted \n" + id + " refs/heads/main\n" + id +
			" refs/heads/old\n" + id + " refs/heads/-x\x1b[31m\n" + id + " refs/tags/v0\n^" + id + "\n",
		".git/objects/x": "", ".git/config": "", "sub/f": "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"main", "old", "topic/one"}
	if d := cmp.Diff(want, Branches(filepath.Join(dir, "sub"))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := Branches(t.TempDir()); got != nil {
		t.Errorf("branches without a repository: %v", got)
	}
}
