package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is a bucket in a directory, which machines may share over a file system.
type Dir struct{ Path string }

// file is the path of an object. Names are made by this module; one that leaves the
// directory is refused all the same.
func (d Dir) file(name string) (string, error) {
	if !filepath.IsLocal(name) || strings.HasSuffix(name, tempEnd) {
		return "", fmt.Errorf("the store has no name %q", name)
	}
	return filepath.Join(d.Path, name), nil
}

const tempEnd = ".part"

// Write is [Bucket]. The bytes are on the disk before the name is.
func (d Dir) Write(_ context.Context, name string, data []byte) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "*"+tempEnd)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Read is [Bucket].
func (d Dir) Read(_ context.Context, name string, limit int64) ([]byte, error) {
	path, err := d.file(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, name, limit)
}

func readAtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s of the store has more than %d bytes", name, limit)
	}
	return data, err
}

// Stat is [Bucket].
func (d Dir) Stat(_ context.Context, name string) (Object, error) {
	path, err := d.file(name)
	if err != nil {
		return Object{}, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return Object{}, err
	}
	return object(name, info), nil
}

func object(name string, info fs.FileInfo) Object {
	return Object{Name: name, Size: info.Size(), Age: int64(time.Since(info.ModTime()).Seconds())}
}

// List is [Bucket].
func (d Dir) List(_ context.Context, prefix, after string, yield func(Object) error) error {
	start, err := d.file(filepath.Dir(prefix + "x"))
	if err != nil {
		return err
	}
	return filepath.WalkDir(start, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile, or never there
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.Path, path)
		name := filepath.ToSlash(rel)
		if err != nil || e.IsDir() || strings.HasSuffix(name, tempEnd) || !strings.HasPrefix(name, prefix) || name <= after {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		return yield(object(name, info))
	})
}

// Delete is [Bucket].
func (d Dir) Delete(_ context.Context, name string) error {
	path, err := d.file(name)
	if err == nil {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}
