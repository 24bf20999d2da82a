package changes

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/tree"
)

// Look tells the present.
type Look struct {
	// At returns the state of an absolute path, nil for nothing there. What is below a
	// link or a file is not there. A directory is an image of the kind Directory.
	At func(path string) (*delta.Image, error)
	// Names lists a directory.
	Names func(dir string) ([]string, error)
}

// Directory is the kind of the image of a directory, which has a mode and nothing
// else. Such images are in no set.
const Directory delta.Kind = "directory"

func directory(mode uint32) *delta.Image {
	return &delta.Image{Version: delta.Version{Kind: Directory, Mode: mode}, Loaded: true}
}

func isDir(i *delta.Image) bool { return i != nil && i.Kind == Directory }

// sameState is delta.Image.Same, but all directories are the same.
func sameState(a, b *delta.Image) bool { return isDir(a) && isDir(b) || a.Same(b) }

// LookIn looks into a tree.
func LookIn(t *tree.Tree) Look {
	return Look{
		At: func(p string) (*delta.Image, error) {
			if t.Hidden(p) {
				return nil, nil
			}
			img, err := t.ReadEntry(p, lookLimit)
			if !errors.Is(err, tree.ErrDirectory) {
				return img, err
			}
			st, err := os.Lstat(filepath.FromSlash(p))
			if err != nil || !st.IsDir() {
				return nil, err
			}
			return directory(uint32(st.Mode().Perm())), nil
		},
		Names: func(dir string) (names []string, err error) {
			list, err := os.ReadDir(filepath.FromSlash(dir))
			for _, e := range list {
				names = append(names, e.Name())
			}
			return names, err
		},
	}
}

// within reports whether p lies below dir.
func within(p, dir string) bool {
	return strings.HasPrefix(path.Clean(p), strings.TrimSuffix(dir, "/")+"/")
}
