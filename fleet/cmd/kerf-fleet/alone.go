package main

import (
	"path/filepath"

	"github.com/gofrs/flock"
)

// alone keeps a second kerf-fleet dev out of a directory.
func alone(dir string) (unlock func(), err error) {
	l := flock.New(filepath.Join(dir, "dev.lock"))
	ok, err := l.TryLock()
	if err == nil && !ok {
		err = errBusy
	}
	return func() { _ = l.Unlock() }, err
}
