package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kerf/internal/pathname"
)

// handle is a directory opened with os.Root, which refuses to leave it.
type handle struct {
	root *os.Root
	path string
}

type stat struct {
	Signature
	nlink uint64
}

// inPlace is never needed: Windows does not tell the number of links here.
func (s stat) inPlace() bool { return false }

func openHandle(root, rel string) (handle, error) {
	dir := filepath.FromSlash(join(root, rel))
	top, err := os.OpenRoot(filepath.FromSlash(root))
	if err != nil || rel == "" {
		return handle{top, dir}, err
	}
	defer top.Close()
	for name, rest, more := strings.Cut(rel, "/"); ; name, rest, more = strings.Cut(rest, "/") {
		st, err := top.Lstat(name)
		if err != nil {
			return handle{}, err
		}
		if st.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return handle{}, errLink
		}
		sub, err := top.OpenRoot(name)
		if err != nil {
			return handle{}, err
		}
		if !more {
			return handle{sub, dir}, nil
		}
		top.Close()
		top = sub
	}
}

func (h handle) close() { _ = h.root.Close() }

func (h handle) lstat(name string) (stat, error) {
	fi, err := h.root.Lstat(name)
	if err != nil {
		return stat{}, err
	}
	return stat{Signature: signatureOf(fi)}, nil
}

func signatureOf(fi fs.FileInfo) Signature {
	t := fi.ModTime().UnixNano()
	return Signature{Size: fi.Size(), Mtime: t, Ctime: t, Mode: fi.Mode()}
}

func (h handle) readlink(name string) (string, error)      { return h.root.Readlink(name) }
func (h handle) openRead(name string) (*os.File, error)    { return h.root.Open(name) }
func (h handle) openWrite(name string) (*os.File, error)   { return h.root.OpenFile(name, os.O_RDWR, 0) }
func (h handle) symlink(target, name string) error         { return h.root.Symlink(target, name) }
func (h handle) link(name, to string) error                { return h.root.Link(name, to) }
func (h handle) rename(name, to string) error              { return h.root.Rename(name, to) }
func (h handle) unlink(name string) error                  { return h.root.Remove(name) }
func (h handle) mkdir(name string, perm fs.FileMode) error { return h.root.Mkdir(name, perm.Perm()) }
func (h handle) rmdir(name string) error                   { return h.root.Remove(name) }

func (h handle) create(name string, perm fs.FileMode) (*os.File, error) {
	return h.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
}

func (h handle) access(name string) error {
	fi, err := h.root.Lstat(name)
	if err == nil && fi.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return err
}

// renameNew looks before it renames; Windows has no other way through os.Root. One of
// the two directories lies in the other.
func (h handle) renameNew(name string, into handle, to string) error {
	if _, err := into.root.Lstat(to); err == nil {
		return fs.ErrExist
	}
	if rel, ok := pathname.Rel(h.path, into.path); ok {
		return h.root.Rename(name, filepath.Join(rel, to))
	}
	rel, err := filepath.Rel(into.path, h.path)
	if err != nil {
		return err
	}
	return into.root.Rename(filepath.Join(rel, name), to)
}

func (h handle) exchange(string, string) error { return errors.ErrUnsupported }

// sync does nothing: Windows has no way to flush a directory.
func (h handle) sync() error { return nil }

func (h handle) syncAll() error { return errors.ErrUnsupported }

// copyMeta does nothing: a new file inherits the access list of its directory.
func (h handle) copyMeta(*os.File, string) error { return nil }

func checkFileSystem(*os.File, int64, string) error { return nil }

func samePath(a, b string) bool { return strings.EqualFold(a, b) }

// openSync opens for writing: Windows flushes no other handle.
func (h handle) openSync(name string) (*os.File, error) { return h.openWrite(name) }

// linksOf tells how many names a file has: here it is not looked for.
func linksOf(fs.FileInfo) uint64 { return 1 }
