package tree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"kerf/internal/text/delta"
)

func TestOpenNeedsRootsAndAnAbsoluteDirectory(t *testing.T) {
	root := t.TempDir()
	for want, o := range map[string]Options{
		"no roots":        {Cwd: root},
		"is not absolute": {Roots: []string{root}, Cwd: "sub"},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// TestUnlinkTellsWhatItCouldNotRemove: a name that is not there is as it should be, and nothing else.
func TestUnlinkTellsWhatItCouldNotRemove(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broken := error(nil)
	tr, err := Open(Options{Roots: []string{root}, Before: func(string, string) error { return broken }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := tr.OpenDir(filepath.ToSlash(root))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Unlink("none"); err != nil {
		t.Errorf("a name that is not there: %v", err)
	}
	broken = syscall.EIO
	if err := d.Unlink("a"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that fails: %v", err)
	}
	broken = nil
	if err := d.Unlink("a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(root, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestALinkThatGoesUpFromNowhere: what lies above a name that is not there cannot be told.
func TestALinkThatGoesUpFromNowhere(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none/../a", filepath.Join(root, "up")); err != nil {
		t.Skip(err)
	}
	tr, err := Open(Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	img, err := tr.Read(filepath.ToSlash(filepath.Join(root, "up")), 0)
	if err == nil {
		t.Errorf("%q was read through it", img.Data)
	}
	if _, err = tr.Target(filepath.ToSlash(filepath.Join(root, "up"))); err == nil {
		t.Error("it has a target")
	}
}

// TestLinksAreFollowedSoFar: a chain that is longer is taken for a circle.
func TestLinksAreFollowedSoFar(t *testing.T) {
	base, tr := place(t)
	at := func(i int) string { return filepath.Join(base, "w", fmt.Sprintf("l%d", i)) }
	write(t, at(0), "x")
	for i := 1; i <= maxLinks+1; i++ {
		link(t, fmt.Sprintf("l%d", i-1), at(i))
	}
	for i, follows := range map[int]bool{30: true, maxLinks + 1: false} { // the kernel of macOS follows 32
		got, err := tr.Target(filepath.ToSlash(at(i)))
		var circle *LinkError
		if follows && (err != nil || got != filepath.ToSlash(at(0))) || !follows && !errors.As(err, &circle) {
			t.Errorf("%d links: %q, %v", i, got, err)
		}
	}
}

// TestLinksAreFollowedWhileNamesMove: Linux looks once more then, and goes on to count the links.
func TestLinksAreFollowedWhileNamesMove(t *testing.T) {
	base, tr := place(t)
	at := func(i int) string { return filepath.Join(base, "w", fmt.Sprintf("l%d", i)) }
	write(t, at(0), "x")
	for i := 1; i <= 30; i++ {
		link(t, fmt.Sprintf("l%d", i-1), at(i))
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			from, to := at(0), at(0)+"x"
			if n%2 == 1 {
				from, to = to, from
			}
			_ = os.Rename(from, to) // what the chain leads to comes and goes
		}
	}()
	for range 300 {
		_, err := tr.Target(filepath.ToSlash(at(30)))
		var wrong *LinkError
		if errors.As(err, &wrong) && wrong.What == "leads to itself" {
			t.Error(err)
			break
		}
	}
	close(done)
	<-stopped
}

// TestAMixtureThatCannotBeReadIsNone: the reason is told, whichever of the three fails, at whichever byte.
func TestAMixtureThatCannotBeReadIsNone(t *testing.T) {
	fault := errors.New("seeded")
	img := delta.NewFile([]byte("abc"), 0o644)
	for fails := range 3 {
		for after := range 3 {
			var readers [3]*bufio.Reader
			for i := range readers {
				r := io.Reader(strings.NewReader("abc"))
				if i == fails {
					r = io.MultiReader(strings.NewReader("abc"[:after]), iotest.ErrReader(fault))
				}
				readers[i] = bufio.NewReader(r)
			}
			m := mixture{of: [2]*delta.Image{img, img}, from: [2]*bufio.Reader(readers[1:])}
			if is, err := m.is(readers[0]); is || !errors.Is(err, fault) {
				t.Errorf("reader %d fails after %d bytes: %v, %v", fails, after, is, err)
			}
		}
	}
}
