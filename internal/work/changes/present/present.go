// Package present tells what is there now, directories among it.
package present

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/moved"
	"kerf/internal/work/ledger"
	"kerf/internal/work/tree"
	"kerf/internal/work/txn/contents"
)

// Look tells the present.
type Look struct {
	// At returns the state of an absolute path, nil for nothing there. What is below a
	// link or a file is not there. A directory is an image of the kind Directory. ErrShut
	// is for what its owner could see.
	At func(path string) (*delta.Image, error)
	// Load is At with the content of what At does not load because it is large.
	Load func(path string) (*delta.Image, error)
	// Names lists a directory, with ErrShut as At.
	Names func(dir string) ([]string, error)
	// Moved returns where a file may be that is gone, or "". Nil never knows. What is there is
	// listed once.
	Moved func(moved.Search) string
}

// Content is img with its content, if path holds it, which was found to hold was.
func (l Look) Content(path string, was, img *delta.Image) *delta.Image {
	if img.Loaded || was.At() != img.Version {
		return img
	}
	full, err := l.Load(path)
	if err != nil || full.At() != img.Version {
		return img
	}
	return full
}

// Directory is the kind of the image of a directory, which has a mode and nothing
// else. Such images are in no set.
const Directory delta.Kind = "directory"

// Dir is the image of a directory.
func Dir(mode uint32) *delta.Image {
	return &delta.Image{Version: delta.Version{Kind: Directory, Mode: mode}, Loaded: true}
}

// IsDir reports whether i is one.
func IsDir(i *delta.Image) bool { return i != nil && i.Kind == Directory }

// OnlyDir reports whether nothing but a directory comes, goes or changes.
func OnlyDir(was, is *delta.Image) bool {
	return (IsDir(was) || IsDir(is)) && (was == nil || IsDir(was)) && (is == nil || IsDir(is))
}

// Same is delta.Image.Same, but all directories are the same.
func Same(a, b *delta.Image) bool { return IsDir(a) && IsDir(b) || a.Same(b) }

// In looks into a tree. Where everything is in it, files that were moved are looked for below base,
// the directory of the workspace: those elsewhere are nobody's business.
func In(t *tree.Tree, base string) Look {
	return Look{
		At: func(p string) (*delta.Image, error) {
			if t.Hidden(p) {
				return nil, nil
			}
			img, err := t.ReadEntry(p, 0)
			if !errors.Is(err, tree.ErrDirectory) {
				return img, shut(p, err)
			}
			st, err := os.Lstat(filepath.FromSlash(p))
			if err != nil || !st.IsDir() {
				return nil, err
			}
			return Dir(uint32(st.Mode().Perm())), nil
		},
		Load: func(p string) (*delta.Image, error) { return t.ReadEntry(p, contents.Limit) },
		Names: func(dir string) (names []string, err error) {
			list, err := os.ReadDir(filepath.FromSlash(dir))
			err = shut(dir+"/", err)
			for _, e := range list {
				names = append(names, e.Name())
			}
			return names, err
		},
		Moved: finder(t, base).Find,
	}
}

// finder finds files that were moved, see In.
func finder(t *tree.Tree, base string) *moved.Finder {
	roots := t.Roots()
	if slices.Contains(roots, "/") {
		roots = []string{base}
	}
	return &moved.Finder{Roots: roots, Read: func(p string, limit int64) (*delta.Image, error) {
		if t.Hidden(p) {
			return nil, nil
		}
		return t.ReadEntry(p, limit)
	}}
}

// Nothing is the look at a directory that is gone.
func Nothing() Look {
	return Look{At: func(string) (*delta.Image, error) { return nil, nil },
		Names: func(string) ([]string, error) { return nil, nil }}
}

// ErrShut says that a path is in a directory that is closed to its owner, who can open it.
var ErrShut = errors.New("it is in a directory that its mode closes")

// shut is err, or ErrShut if that is the reason.
func shut(p string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for dir := path.Dir(p); dir != path.Dir(dir); dir = path.Dir(dir) {
		if st, err := os.Lstat(filepath.FromSlash(dir)); err == nil && st.Mode().Perm()&0o500 != 0o500 {
			return fmt.Errorf("%w: %s", ErrShut, dir)
		}
	}
	return err
}

// Dirs are the images of the directories that came and that went with e, by path. The
// modes of those that came are not known.
func Dirs(e *ledger.Entry) (made, gone map[string]*delta.Image) {
	made, gone = map[string]*delta.Image{}, map[string]*delta.Image{}
	for _, d := range e.Dirs {
		made[string(d)] = Dir(ledger.AnyMode)
	}
	for _, d := range e.Gone {
		gone[string(d.Path)] = Dir(d.Mode)
	}
	return made, gone
}
