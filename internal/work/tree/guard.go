package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// CheckWrite returns a *boundary.RefusedError when the real path p may not be written.
// seen is what was found there, or nil.
func (t *Tree) CheckWrite(p string, seen *Entry) error {
	if t.boundary == nil {
		return nil
	}
	v := t.verdict(p, seen)
	if v.Access != boundary.Writable {
		return &boundary.RefusedError{Path: p, Verdict: v}
	}
	return nil
}

// MayWrite is CheckWrite for a path as it is on disk now: what it leads to, or the name
// itself if link is set. It opens nothing.
func (t *Tree) MayWrite(p string, link bool) error {
	real, err := t.real(p, !link)
	if err != nil || t.boundary == nil {
		return err
	}
	v := t.boundary.At(filepath.FromSlash(real))
	if info, err := os.Lstat(filepath.FromSlash(real)); err == nil && info.Mode().IsRegular() {
		id, several := boundary.IdentityOf(info)
		v = t.boundary.Of(filepath.FromSlash(real), id, several)
	}
	if v.Access != boundary.Writable {
		return &boundary.RefusedError{Path: real, Verdict: v}
	}
	return nil
}

// NamesAreFree returns ErrNoAccess when the permissions of a real directory keep names in it
// from being made and removed. Where none is, they do not.
func (t *Tree) NamesAreFree(dir string) error {
	d, err := t.OpenDir(dir)
	switch {
	case IsAbsent(err):
		return nil
	case err != nil:
		return err
	}
	defer d.Close()
	return d.Writable(".")
}

// checkRead returns a *boundary.RefusedError when what was found at the real path p, or
// nil for nothing yet, may not be read.
func (t *Tree) checkRead(p string, seen *Entry) error {
	if t.boundary == nil {
		return nil
	}
	if v := t.verdict(p, seen); v.Access == boundary.Hidden {
		return &boundary.RefusedError{Path: p, Verdict: v}
	}
	return nil
}

func (t *Tree) verdict(p string, seen *Entry) boundary.Verdict {
	p = filepath.FromSlash(p)
	if seen == nil || !seen.Links {
		return t.boundary.At(p)
	}
	return t.boundary.Of(p, boundary.FileID{Device: seen.Sig.Dev, Inode: seen.Sig.Ino}, true)
}

// OtherNames returns the other real paths, in the roots, of the file that has the real
// path p, as far as a look at so many names finds them.
func (t *Tree) OtherNames(p string, limit int) ([]string, error) {
	file, err := os.Lstat(filepath.FromSlash(p))
	if err != nil {
		return nil, err
	}
	var names []string
	left := handle.Links(file) - 1
	for _, r := range t.roots {
		if path.Dir(r.path) == r.path {
			continue // nobody looks through a whole file system
		}
		_ = filepath.WalkDir(filepath.FromSlash(r.path), func(at string, e fs.DirEntry, err error) error {
			if limit--; limit < 0 || left <= 0 {
				return filepath.SkipAll
			}
			if err != nil || !e.Type().IsRegular() {
				return nil // what cannot be seen is not told
			}
			name := filepath.ToSlash(at)
			st, err := e.Info()
			if err != nil || name == p || !os.SameFile(st, file) || slices.Contains(names, name) {
				return nil
			}
			names = append(names, name)
			left--
			return nil
		}) // the function never returns another error
	}
	return names, nil
}
