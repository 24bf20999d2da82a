package tree

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/work/tree/handle"
)

// maxGuardWalk bounds the search for other names of a hard-linked file.
const maxGuardWalk = 50_000

// CheckWrite asks Protected whether the real path p may be written, under every name
// that p may stand for. seen is what was found there, or nil.
func (t *Tree) CheckWrite(p string, seen *Entry) error {
	if t.protected == nil {
		return nil
	}
	for _, r := range t.roots {
		rel, ok := within(r.path, p)
		if !ok || rel == "" {
			continue
		}
		if err := t.protected(r.path, rel); err != nil {
			return err
		}
		if f := folded(rel); f != rel {
			if err := t.protected(r.path, f); err != nil {
				return err
			}
		}
		if err := t.checkAliases(r.path, rel, seen); err != nil {
			return err
		}
	}
	if seen == nil || !seen.Links {
		return nil
	}
	return t.checkHardLinks(p)
}

// checkAliases compares the directories above rel, and rel itself, with the guarded
// entries by identity, not by spelling.
func (t *Tree) checkAliases(root, rel string, seen *Entry) error {
	for _, name := range t.guarded {
		guarded, err := t.lstat(join(root, name))
		if err != nil {
			continue
		}
		for dir, rest := rel, ""; dir != "."; dir, rest = path.Dir(dir), join2(path.Base(dir), rest) {
			if dir == name {
				break // already asked under this name
			}
			if dir == rel && seen.differs(guarded) {
				continue
			}
			lstat := t.lstat
			if dir == rel {
				lstat = func(p string) (fs.FileInfo, error) { return os.Lstat(filepath.FromSlash(p)) }
			}
			st, err := lstat(join(root, dir))
			if err != nil || !os.SameFile(guarded, st) {
				continue
			}
			if err := t.protected(root, join2(name, rest)); err != nil {
				return err
			}
		}
	}
	return nil
}

// differs reports whether e is certain to be another file.
func (e *Entry) differs(other fs.FileInfo) bool {
	if e == nil {
		return false
	}
	sig := handle.SignatureOf(other)
	return e.Sig.Ino != 0 && sig.Ino != 0 && (e.Sig.Ino != sig.Ino || e.Sig.Dev != sig.Dev)
}

// checkHardLinks looks for the file p among the guarded entries of all roots.
func (t *Tree) checkHardLinks(p string) error {
	file, err := os.Lstat(filepath.FromSlash(p))
	if err != nil {
		return err
	}
	left := maxGuardWalk
	for _, r := range t.roots {
		for _, name := range t.guarded {
			if err := t.findLink(r.path, name, file, &left); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tree) findLink(root, name string, file fs.FileInfo, left *int) error {
	top := filepath.FromSlash(join(root, name))
	return filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be seen cannot be compared; the name was asked for
		}
		// Objects have other names in every local clone; they hold no settings.
		if e.IsDir() {
			if e.Name() == "objects" && path.Dir(filepath.ToSlash(p)) == filepath.ToSlash(top) {
				return filepath.SkipDir
			}
			return nil
		}
		if *left--; *left < 0 {
			return fmt.Errorf("%s: %w: too many names to compare a hard link with", top, ErrNoAccess)
		}
		st, err := e.Info()
		if err != nil || !os.SameFile(st, file) {
			return nil
		}
		rel, err := filepath.Rel(filepath.FromSlash(root), p)
		if err != nil {
			return err
		}
		return t.protected(root, filepath.ToSlash(rel))
	})
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
		err := filepath.WalkDir(filepath.FromSlash(r.path), func(at string, e fs.DirEntry, err error) error {
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
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func join2(a, b string) string { return strings.TrimSuffix(a+"/"+b, "/") }
