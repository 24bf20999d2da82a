package handle

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWalkMeetsNoLink is the way without openat2.
func TestWalkMeetsNoLink(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(base+"/w/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+"/w/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", base+"/w/l"); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(base+"/w", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for rel, want := range map[string]error{
		"a": nil, "a/b": nil, ".": nil, "l": ErrLink, "l/b": ErrLink, "f": unix.ENOTDIR, "f/x": unix.ENOTDIR,
		"none/x": unix.ENOENT} {
		for name, open := range map[string]func(int, string, int) (int, error){"walk": walkBeneath, "openat2": openBeneath} {
			got, err := open(fd, rel, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
			if !errors.Is(err, want) && (err != nil || want != nil) {
				t.Errorf("%s %s: %v, want %v", name, rel, err, want)
			}
			if err == nil {
				unix.Close(got)
			}
		}
	}
}
