package tree

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"kerf/internal/pathname"
)

// Hidden reports whether something above the real path p, in its root, is no directory.
func (t *Tree) Hidden(p string) bool {
	roots := t.Roots()
	for dir := path.Dir(p); dir != path.Dir(dir) && !slices.Contains(roots, dir); dir = path.Dir(dir) {
		if !slices.ContainsFunc(roots, func(r string) bool { return pathname.Under(r, dir) }) {
			return false // in no root; reading it tells
		}
		if st, err := os.Lstat(filepath.FromSlash(dir)); err == nil && !st.IsDir() {
			return true
		}
	}
	return false
}
