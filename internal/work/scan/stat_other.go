//go:build !linux && !darwin

package scan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// grain is how long a change may leave no trace in a file's times. There is no
// change time here, so more is left to the clock of the writer.
const grain = 200 * time.Millisecond

const nonblock = 0

// listable says that a directory's signature tells whether its names changed;
// here its time may lag behind.
const listable = false

// handle is a directory by its path: these systems have no portable way to look
// at names beneath an open one.
type handle struct{ path string }

func openTop(dir string) (handle, sig, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return handle{}, sig{}, err
	}
	if !info.IsDir() {
		return handle{}, sig{}, fs.ErrNotExist
	}
	return handle{dir}, sigOf(info), nil
}

func (h handle) open(name string) (handle, error) {
	dir := filepath.Join(h.path, name)
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	return handle{dir}, err
}

func (h handle) close() {}

func (h handle) names() ([]string, error) {
	d, err := os.Open(h.path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (h handle) stat(name string) (sig, error) { return pathSig(filepath.Join(h.path, name)) }

func fileSig(f *os.File) (sig, error) {
	info, err := f.Stat()
	if err != nil {
		return sig{}, err
	}
	return sigOf(info), nil
}

func pathSig(name string) (sig, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return sig{}, err
	}
	return sigOf(info), nil
}

func sigOf(info fs.FileInfo) sig {
	s := sig{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: info.Mode() & (fs.ModeType | fs.ModePerm)}
	switch {
	case s.isDir():
		s.size = 0
	case s.isLink():
		s.mode = fs.ModeSymlink
	}
	return s
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
