//go:build !linux

package handle

import (
	"os"
	"path/filepath"
)

// Top opens the directory of an absolute path, on which no link may lie.
func Top(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != filepath.Clean(dir) {
		root.Close()
		return nil, ErrLink
	}
	return root, nil
}
