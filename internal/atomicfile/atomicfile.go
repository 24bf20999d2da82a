// Package atomicfile replaces whole files, so that a reader sees the old content or
// the new one and never a part. It opens files, and nothing else that stands in their places.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces path, or makes it, and returns when content and name are on disk.
// A link in the place of path is replaced, not followed.
func Write(path string, data []byte, mode fs.FileMode) error {
	aside, err := Aside(path, data, mode)
	if err != nil {
		return err
	}
	return Rename(aside, path)
}

// WriteCache is Write for a file of the user's own that may be lost when the
// machine stops: nothing waits for the disk.
func WriteCache(path string, data []byte) error {
	aside, err := write(path, data, 0o600, false)
	if err != nil {
		return err
	}
	return rename(aside, path)
}

// WriteSoon is Write without the name: a loss of power before SyncDir of the directory leaves
// the old content or the new one.
func WriteSoon(path string, data []byte, mode fs.FileMode) error {
	aside, err := Aside(path, data, mode)
	if err != nil {
		return err
	}
	return rename(aside, path)
}

// Aside writes data to a new file beside path, which only its owner can read until
// it has mode, and returns its name when the content is on disk.
func Aside(path string, data []byte, mode fs.FileMode) (string, error) {
	return write(path, data, mode, true)
}

// Rename moves what Aside wrote to path and returns when the name is on disk. If the
// move fails, the file is removed.
func Rename(aside, path string) error {
	if err := rename(aside, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func rename(aside, path string) error {
	err := os.Rename(aside, path)
	if err != nil {
		_ = os.Remove(aside)
	}
	return err
}

func write(path string, data []byte, mode fs.FileMode, durable bool) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp") // 0600, must be new
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		if err = f.Chmod(mode); errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
