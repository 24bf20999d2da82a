package claim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"kerf/internal/atomicfile"
)

// Left calls finish for each journal, a directory, of the sessions in dir whose Kerf is gone, once ended says
// that nobody works on it; it is removed then. Where finish fails it stays. done is for how many finish
// returned true.
func Left(dir string, ended func(at string) bool, finish func(at string) (bool, error)) (done int, err error) {
	sessions, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, err
	}
	var errs []error
	for _, s := range sessions {
		n, err := leftOf(filepath.Join(dir, s.Name()), ended, finish)
		done += n
		errs = append(errs, err)
	}
	_ = os.Remove(dir) // unless something is left
	return done, errors.Join(errs...)
}

// leftOf is Left for one session.
func leftOf(dir string, ended func(at string) bool, finish func(at string) (bool, error)) (done int, err error) {
	lock, err := atomicfile.OpenFile(filepath.Join(dir, Name), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it ended just now
	}
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if err == unix.EWOULDBLOCK {
			return 0, nil // it lives
		}
		return 0, err
	}
	if SameFile(lock, lock.Name()) != nil {
		return 0, nil // it ended just now, and maybe another one has begun
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var errs []error
	left := false
	for _, e := range list {
		at := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			continue
		case !ended(at):
			left = true
			continue
		}
		is, err := finish(at)
		if err != nil {
			errs, left = append(errs, err), true
			continue
		}
		if is {
			done++
		}
		errs = append(errs, os.RemoveAll(at))
	}
	if !left {
		_ = os.Remove(lock.Name())
		_ = os.Remove(dir)
	}
	return done, errors.Join(errs...)
}
