//go:build unix

package links

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWay(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"a/up": "../c", "far": filepath.Join(base, "a/up"), "c/on": "../a/b/../b", "round": "round",
		"gone": "none/x"} {
		if err := os.Symlink(target, filepath.Join(base, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"a/b":          {"a/b"},
		"far":          {"c", "far", "a/up"},
		"far/on/new/x": {"a/b/new/x", "far", "a/up", "c/on"},
		"gone":         {"none/x", "gone"},
	} {
		for i := range want {
			want[i] = filepath.Join(base, want[i])
		}
		real, passed := Way(filepath.Join(base, path))
		if got := append([]string{real}, passed...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if found, err := filepath.EvalSymlinks(filepath.Join(base, path)); err == nil && found != real {
			t.Errorf("%s: %q, EvalSymlinks has %q", path, real, found)
		}
	}
	round := filepath.Join(base, "round", "x")
	if real, passed := Way(round); real != round || len(passed) != most+1 {
		t.Errorf("a circle leads to %q by %d links", real, len(passed))
	}
}
