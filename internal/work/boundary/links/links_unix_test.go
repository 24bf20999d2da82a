//go:build unix

package links

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestIn: what is neither file nor directory in a git directory is found, however deep it
// lies, and links are not followed.
func TestIn(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := filepath.Join(base, ".git")
	deep := "refs/heads/" + strings.Repeat("a/", 300) + "b"
	for _, dir := range []string{"objects/ab", "objects/info", "objects/pack", "objects/info/ab", "refs/heads", "hooks", deep, "../out"} {
		if err := os.MkdirAll(filepath.Join(git, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"hooks/pre-commit", "objects/cd", "objects/pack/x", "refs/heads/l", deep + "/l", "out"}
	for _, name := range append([]string{"objects/ab/x", "objects/info/ab/x", "../out/x"}, want...) {
		if err := os.Symlink("../../out", filepath.Join(git, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(git, "HEAD"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(git, "refs/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	want = append(want, "refs/pipe")
	for i := range want {
		want[i] = filepath.Join(git, want[i])
	}
	slices.Sort(want)
	if got := In(git); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := In(filepath.Join(base, "none")); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}
