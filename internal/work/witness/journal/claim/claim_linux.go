package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Name is the file in a session's directory of journals that is locked while its
// Kerf lives.
const Name = "lock"

// claims is how often a directory is made again that others took away meanwhile. Each of
// them does so once, while it begins or ends.
const claims = 1000

// Take makes the directory of a session and holds its lock. Another Kerf that begins or
// ends at the same time removes what it finds empty: the directory above, and this one as
// long as it is not locked.
func Take(dir string) (*os.File, error) {
	var err error
	for range claims {
		var f *os.File
		if f, err = tryClaim(dir); err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
	return nil, fmt.Errorf("%s is taken away again and again: %w", dir, err)
}

func tryClaim(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, Name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = SameFile(f, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SameFile reports with an error that f is no longer the file at path.
func SameFile(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err == nil && !os.SameFile(mine, there) {
		err = fs.ErrNotExist
	}
	return err
}

// Release removes the directory of a session, unless a journal is left in it, and lets go of
// its lock.
func Release(dir string, lock *os.File) error {
	_ = os.Remove(filepath.Join(dir, Name))
	_ = os.Remove(dir)
	_ = os.Remove(filepath.Dir(dir))
	return lock.Close()
}
