package search

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// OutsideError says that a directory lies in none of the roots, or is reached through a
// link.
type OutsideError struct {
	Path  string
	Roots []string
}

// Error names the path and the roots.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("%q is outside the workspace (%s), or a link leads to it", e.Path, strings.Join(e.Roots, ", "))
}

// open opens dir, a real path, beneath the root it lies in. A link on the way, whenever it
// was put there, is an error. Without a boundary any directory is opened.
func (s *Searcher) open(dir string) (handle.Dir, error) {
	if s.bound == nil {
		return openFree(dir)
	}
	dir = filepath.Clean(dir)
	if err := s.check(dir); err != nil {
		return handle.Dir{}, err
	}
	top := ""
	for _, r := range s.roots {
		if pathname.Under(r, dir) && len(r) > len(top) {
			top = r
		}
	}
	if top == "" {
		if s.bound.At(dir).Access != boundary.Writable {
			return handle.Dir{}, &OutsideError{dir, s.roots}
		}
		top = filepath.VolumeName(dir) + string(filepath.Separator) // everything is granted
	}
	opened, err := openBeneath(top, dir)
	if errors.Is(err, handle.ErrLink) {
		return handle.Dir{}, &OutsideError{dir, s.roots}
	}
	return opened, named(dir, err)
}

// openBeneath opens dir, which is top or lies below it.
func openBeneath(top, dir string) (handle.Dir, error) {
	at, err := handle.Top(top)
	if err != nil || top == dir {
		return at, err
	}
	defer at.Close()
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return handle.Dir{}, err
	}
	return at.OpenDir(filepath.ToSlash(rel))
}

// openFree opens a directory; links may lead to it.
func openFree(dir string) (handle.Dir, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return handle.Dir{}, err
	}
	opened, err := handle.Open(real, "")
	return opened, named(dir, err)
}

// named says what could not be opened.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// check refuses what is hidden.
func (s *Searcher) check(path string) error {
	if v := s.bound.At(path); v.Access == boundary.Hidden {
		return &boundary.RefusedError{Path: path, Verdict: v}
	}
	return nil
}

var errHidden = errors.New("it is hidden")
