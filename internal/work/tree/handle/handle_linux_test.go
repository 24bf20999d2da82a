package handle

import (
	"errors"
	"fmt"
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

// TestPlainAndBare: a new directory of our own gives new files nothing, and a new file has nothing
// to copy, until somebody sets an attribute.
func TestPlainAndBare(t *testing.T) {
	d, base := opened(t)
	d.plant(t, "f", "")
	if !d.Plain() {
		t.Skip("directories give files something here")
	}
	if (Dir{fd: d.fd, pathOnly: true}).Plain() {
		t.Error("nothing is known of a directory that cannot be listed")
	}
	bare := d.Bare("f") // only kernels that have the call know
	if err := unix.Setxattr(base+"/f", "user.x", []byte("y"), 0); err != nil {
		t.Skip("no attributes here:", err)
	}
	if d.Bare("f") || d.Bare("none") || d.Bare("a\x00b") {
		t.Errorf("bare at first %v; with an attribute %v, nothing %v", bare, d.Bare("f"), d.Bare("none"))
	}
	must(t, unix.Setxattr(base, "user.x", []byte("y"), 0))
	if d.Plain() {
		t.Error("a directory with an attribute is plain")
	}
}

// TestMadeUp: the kernel makes the files of /proc up, and only those that show no size.
func TestMadeUp(t *testing.T) {
	d, _ := opened(t)
	d.plant(t, "f", "")
	proc, err := Open(fmt.Sprintf("/proc/%d", os.Getpid()), "")
	must(t, err)
	defer proc.Close()
	for _, c := range []struct {
		in   Dir
		name string
		size int64
		want bool
	}{{proc, "status", 0, true}, {proc, "status", 4096, true}, {proc, "status", 10, false}, {d, "f", 0, false}, {d, "f", 4096, false}} {
		f, err := c.in.OpenRead(c.name)
		must(t, err)
		if got, err := f.MadeUp(c.size); got != c.want || err != nil {
			t.Errorf("%s of %d bytes: %v, %v", c.name, c.size, got, err)
		}
		must(t, f.Close())
	}
}
