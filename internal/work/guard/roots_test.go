package guard

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAHomeIsNotRecordedForADirectoryInIt: the rest of a repository is recorded, too, but not where the
// home directory lies in it, by whatever name that is known.
func TestAHomeIsNotRecordedForADirectoryInIt(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top, link := filepath.Join(base, "top"), filepath.Join(base, "link")
	dir := filepath.Join(top, "user", "part")
	for _, d := range []string{dir, filepath.Join(top, ".git", "objects"), filepath.Join(top, ".git", "refs")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	homes := map[string]bool{"": true, base: true, filepath.Join(base, "elsewhere"): true, top: false,
		top + string(filepath.Separator): false, filepath.Dir(dir): false, filepath.Join(top, "gone"): false}
	if os.Symlink(top, link) == nil {
		homes[link], homes[filepath.Join(link, "user")] = false, false
	}
	for home, recorded := range homes {
		want := []string{"given"}
		if recorded {
			want = append(want, top)
		}
		if got := Roots([]string{"given"}, dir, home, false); !slices.Equal(got, want) {
			t.Errorf("home %q: %q instead of %q", home, got, want)
		}
		if got := Roots([]string{"given"}, dir, home, true); !slices.Equal(got, []string{"given"}) {
			t.Errorf("home %q, in a sandbox: %q", home, got)
		}
	}
}
