package placeholders

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"kerf/internal/work/boundary"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Mode()
}

// TestWhatHasTheNameOfTheLockStays: what a repository has brought where the lock of a kept
// directory would stand is neither waited for nor given a mode.
func TestWhatHasTheNameOfTheLockStays(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	secret := filepath.Join(base, "secret")
	for what, make := range map[string]func(at string) error{
		"a pipe":                         func(at string) error { return unix.Mkfifo(at, 0o600) },
		"a socket":                       func(at string) error { return unix.Mknod(at, unix.S_IFSOCK|0o600, 0) },
		"a directory":                    func(at string) error { return os.Mkdir(at, 0o700) },
		"a link":                         func(at string) error { return os.Symlink(secret, at) },
		"another name of an empty file":  func(at string) error { return os.Link(secret, at) },
		"a file with something to be in": func(at string) error { return os.WriteFile(at, []byte("because"), 0o600) },
	} {
		_ = os.Remove(secret)
		must(t, os.WriteFile(secret, nil, 0o600))
		dir := filepath.Join(base, what)
		at := filepath.Join(dir, boundary.Keeper, boundary.KeeperLock)
		must(t, os.MkdirAll(filepath.Dir(at), 0o700))
		must(t, make(at))
		before, err := os.Lstat(at)
		must(t, err)
		if err := keep(dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		after, err := os.Lstat(at)
		must(t, err)
		if after.Mode() != before.Mode() || mode(t, secret) != 0o600 {
			t.Errorf("%s: mode %v, was %v; of what it leads to %v", what, after.Mode(), before.Mode(), mode(t, secret))
		}
	}
	must(t, os.Mkdir(filepath.Join(base, "none"), 0o700))
	for range 2 { // again, where it is there
		must(t, keep(filepath.Join(base, "none")))
	}
	if m := mode(t, filepath.Join(base, "none", boundary.Keeper, boundary.KeeperLock)); m != os.ModeSticky|0o444 {
		t.Errorf("control: mode %v", m)
	}
}

// TestNoLinkIsMarked: who exchanges a placeholder for a link, over and over, does not have the mode
// changed of what that leads to.
func TestNoLinkIsMarked(t *testing.T) {
	base := t.TempDir()
	in, target := filepath.Join(base, "in"), filepath.Join(base, "target")
	for dir, perm := range map[string]os.FileMode{in: 0o700, filepath.Join(in, "name"): 0o755, target: 0o700} {
		must(t, os.MkdirAll(dir, perm))
		must(t, os.Chmod(dir, perm))
	}
	must(t, os.Symlink(target, filepath.Join(in, "link")))
	at, err := OpenDir(in)
	must(t, err)
	defer unix.Close(at)
	var beside sync.WaitGroup
	stop := make(chan struct{})
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(at, "name", at, "link", unix.RENAME_EXCHANGE)
			}
		}
	})
	for i := range 20_000 {
		if err := mark(at, "name", i%2 == 0); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	beside.Wait()
	if m := mode(t, target); m != os.ModeDir|0o700 {
		t.Errorf("what the link leads to has mode %v", m)
	}
}
