package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// TestNamesBeneath: a directory of hooks is listed in order, no link stands for it, and one with
// many names is not read at all.
func TestNamesBeneath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.json", "a.json"} {
		write(t, filepath.Join(dir, "real", "hooks", name))
	}
	if got := NamesBeneath(dir, "real/hooks"); !slices.Equal(got, []string{"a.json", "b.json"}) {
		t.Errorf("names: %q", got)
	}
	if got := NamesBeneath(dir, "absent/hooks"); got != nil {
		t.Errorf("of nothing: %q", got)
	}
	for i := range maxNames + 1 {
		write(t, filepath.Join(dir, "many", fmt.Sprintf("%d.json", i)))
	}
	if got := NamesBeneath(dir, "many"); got != nil {
		t.Errorf("of too many: %d names", len(got))
	}
	if runtime.GOOS == "windows" {
		return // links need a right there
	}
	for link, to := range map[string]string{"linked": "real", "out": "/", "real/more": "hooks"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"linked/hooks", "linked", "out", "real/more"} {
		if got := NamesBeneath(dir, name); got != nil {
			t.Errorf("through the link %s: %q", name, got)
		}
		if _, err := ReadBeneath(dir, name+"/a.json"); err == nil {
			t.Errorf("a file was read through the link %s", name)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}
