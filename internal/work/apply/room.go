package apply

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"kerf/internal/text/delta"
	"kerf/internal/text/patch"
	"kerf/internal/work/tree"
)

// room lets a patch put a file in the place of a directory that it empties, and a
// directory in the place of a file or a link that it removes.
type room struct {
	removed map[string]bool // what the patch removes, by absolute path
}

func newRoom(t *tree.Tree, p *patch.Patch, reverse bool) *room {
	r := &room{removed: map[string]bool{}}
	for _, s := range p.Stats() {
		gone := ""
		switch {
		case s.Op == patch.Moved && reverse:
			gone = s.To
		case s.Op == patch.Moved, s.Op == patch.Deleted && !reverse, s.Op == patch.Added && reverse:
			gone = s.Path
		}
		if abs, err := t.Resolve(gone); gone != "" && err == nil {
			r.removed[abs] = true
		}
	}
	return r
}

// look is what the patch finds at an absolute path.
func (r *room) look(t *tree.Tree, abs string) (*delta.Image, error) {
	for dir := path.Dir(abs); dir != path.Dir(dir); dir = path.Dir(dir) {
		if st, err := os.Lstat(filepath.FromSlash(dir)); r.removed[dir] && (err != nil || !st.IsDir()) {
			return nil, nil // a file or a link, so far
		}
	}
	img, err := t.ReadEntry(abs, readLimit)
	if errors.Is(err, tree.ErrDirectory) && len(r.emptied(abs)) > 0 {
		return nil, nil
	}
	return img, err
}

// emptied lists a directory and those in it if the patch removes all files there.
func (r *room) emptied(dir string) (dirs []string) {
	err := filepath.WalkDir(filepath.FromSlash(dir), func(at string, e fs.DirEntry, err error) error {
		name := filepath.ToSlash(at)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, name)
		case !r.removed[name]:
			return errStays
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return dirs
}

var errStays = errors.New("a file stays")

// prune names the directories in whose places set puts files.
func (r *room) prune(set delta.Set) []string {
	var dirs []string
	for _, c := range set {
		if st, err := os.Lstat(filepath.FromSlash(c.Path)); c.Pre == nil && c.Post != nil && err == nil && st.IsDir() {
			dirs = append(dirs, r.emptied(c.Path)...)
		}
	}
	return dirs
}
