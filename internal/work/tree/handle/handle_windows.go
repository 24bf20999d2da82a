package handle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"kerf/internal/pathname"
)

// Dir is a directory opened with os.Root, which refuses to leave it.
type Dir struct {
	root *os.Root
	path string
}

type Stat struct {
	Signature
	Nlink uint64
}

// InPlace is never needed: Windows does not tell the number of links here.
func (s Stat) InPlace() bool { return false }

// Own is not known.
func (s Stat) Own() bool { return false }

// MayWrite is not known.
func (s Stat) MayWrite() bool { return false }

// Open opens the directory rel, which may be empty, below root, meeting no link.
func Open(root, rel string) (Dir, error) {
	top, err := os.OpenRoot(filepath.FromSlash(root))
	if err != nil {
		return Dir{}, err
	}
	h := Dir{top, filepath.FromSlash(root)}
	if rel == "" {
		return h, nil
	}
	defer h.Close()
	return h.OpenDir(rel)
}

// Top opens the directory of an absolute path, on which no link may lie.
func Top(dir string) (Dir, error) {
	h, err := Open(dir, "")
	if err != nil {
		return Dir{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		h.Close()
		return Dir{}, ErrLink
	}
	return h, nil
}

// OpenDir opens the directory rel, a path of one or more components below h, meeting no link.
func (h Dir) OpenDir(rel string) (Dir, error) {
	at := h
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		sub, err := at.child(name)
		if at != h {
			at.Close()
		}
		if err != nil {
			return Dir{}, err
		}
		at = sub
	}
	return at, nil
}

func (h Dir) child(name string) (Dir, error) {
	named, err := h.root.Lstat(name)
	if err != nil {
		return Dir{}, err
	}
	if isLink(named) {
		return Dir{}, ErrLink
	}
	sub, err := h.root.OpenRoot(name)
	if err != nil {
		return Dir{}, err
	}
	// A link may have taken its place meanwhile.
	if is, err := sub.Stat("."); err != nil || !os.SameFile(named, is) {
		sub.Close()
		return Dir{}, ErrLink
	}
	return Dir{sub, filepath.Join(h.path, name)}, nil
}

func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// List returns the names in the directory, in no order.
func (h Dir) List() ([]Named, error) {
	d, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	all := make([]Named, len(entries))
	for i, e := range entries {
		all[i] = Named{e.Name(), e.Type()}
	}
	return all, nil
}

// Close releases the handle.
func (h Dir) Close() { _ = h.root.Close() }

// Lstat tells about name.
func (h Dir) Lstat(name string) (Stat, error) {
	fi, err := h.root.Lstat(name)
	if err != nil {
		return Stat{}, err
	}
	return Stat{Signature: SignatureOf(fi)}, nil
}

// SignatureOf is the signature that package os found.
func SignatureOf(fi fs.FileInfo) Signature {
	t := fi.ModTime().UnixNano()
	return Signature{Size: fi.Size(), Mtime: t, Ctime: t, Mode: fi.Mode()}
}

// Readlink returns the target of the link name.
func (h Dir) Readlink(name string) (string, error) { return h.root.Readlink(name) }

// OpenWrite opens a file that is there.
func (h Dir) OpenWrite(name string) (*os.File, error) { return h.root.OpenFile(name, os.O_RDWR, 0) }

// Symlink makes name a link to target.
func (h Dir) Symlink(target, name string) error { return h.root.Symlink(target, name) }

// Link gives the file name one more name.
func (h Dir) Link(name, to string) error { return h.root.Link(name, to) }

// Rename replaces what to names.
func (h Dir) Rename(name, to string) error { return h.root.Rename(name, to) }

// Unlink removes a file or a link.
func (h Dir) Unlink(name string) error { return h.root.Remove(name) }

// Mkdir makes a directory.
func (h Dir) Mkdir(name string, perm fs.FileMode) error { return h.root.Mkdir(name, perm.Perm()) }

// Rmdir removes an empty directory.
func (h Dir) Rmdir(name string) error { return h.root.Remove(name) }

// OpenRead opens a file for reading.
func (h Dir) OpenRead(name string) (File, error) {
	if info, err := h.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return File{}, ErrLink
	}
	f, err := h.root.Open(name)
	return File{f}, err
}

// Create makes a file, which must not be there.
func (h Dir) Create(name string, perm fs.FileMode) (File, error) {
	f, err := h.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
	return File{f}, err
}

// Access asks whether name may be written.
func (h Dir) Access(name string) error {
	fi, err := h.root.Lstat(name)
	if err == nil && fi.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return err
}

// RenameNew looks before it renames; Windows has no other way through os.Root. One of
// the two directories lies in the other.
func (h Dir) RenameNew(name string, into Dir, to string) error {
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

// Exchange is not there.
func (h Dir) Exchange(string, string) error { return errors.ErrUnsupported }

// Sync does nothing: Windows has no way to flush a directory.
func (h Dir) Sync() error { return nil }

// SyncAll is not there.
func (h Dir) SyncAll() error { return errors.ErrUnsupported }

// CopyMeta does nothing: a new file inherits the access list of its directory.
func (h Dir) CopyMeta(File, string) error { return nil }

// MadeUp is never so here.
func (f File) MadeUp(int64) (bool, error) { return false, nil }

// SamePath reports whether two spellings mean one path.
func SamePath(a, b string) bool { return strings.EqualFold(a, b) }

// OpenSync opens for writing: Windows flushes no other handle.
func (h Dir) OpenSync(name string) (File, error) {
	f, err := h.OpenWrite(name)
	return File{f}, err
}

// Plain is of no use: nothing is copied here.
func (h Dir) Plain() bool { return false }

// Bare is of no use either.
func (h Dir) Bare(string) bool { return false }

// Links tells how many names a file has: here it is not looked for.
func Links(fs.FileInfo) uint64 { return 1 }

// Chmod does nothing: directories have access lists here.
func (h Dir) Chmod(fs.FileMode) error { return nil }

// Enterable is always so.
func (h Dir) Enterable() error { return nil }

// IsNotEmpty reports whether a directory was not removed because something is in it.
func IsNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }
