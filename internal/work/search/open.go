package search

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// open opens dir, a real path, one directory beneath the other from the root it lies in.
// A link on the way, whenever it was put there, is an error. Without a boundary any
// directory is opened.
func (s *Searcher) open(dir string) (*os.Root, error) {
	if s.bound == nil {
		return openTop(dir)
	}
	dir = filepath.Clean(dir)
	if err := s.check(dir); err != nil {
		return nil, err
	}
	top := ""
	for _, r := range s.roots {
		if pathname.Under(r, dir) && len(r) > len(top) {
			top = r
		}
	}
	if top == "" {
		if s.bound.At(dir).Access != boundary.Writable {
			return nil, &OutsideError{dir, s.roots}
		}
		top = filepath.VolumeName(dir) + string(filepath.Separator) // everything is granted
	}
	at, err := handle.Top(top)
	if errors.Is(err, handle.ErrLink) {
		err = &OutsideError{dir, s.roots}
	}
	if err != nil {
		return nil, err
	}
	rel, _ := filepath.Rel(top, dir)
	if rel == "." {
		return at, nil
	}
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		next, err := openIn(at, name)
		if err == nil && !isStill(at, name, next) {
			next.Close()
			err = &OutsideError{dir, s.roots}
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// check refuses what is hidden.
func (s *Searcher) check(path string) error {
	if v := s.bound.At(path); v.Access == boundary.Hidden {
		return &boundary.RefusedError{Path: path, Verdict: v}
	}
	return nil
}

// isStill reports whether opened is the directory that has the name in root, and no link
// led to it.
func isStill(root *os.Root, name string, opened *os.Root) bool {
	named, err := root.Lstat(name)
	if err != nil || named.Mode()&fs.ModeSymlink != 0 {
		return false
	}
	is, err := opened.Stat(".")
	return err == nil && os.SameFile(named, is)
}

var errHidden = errors.New("it is hidden")

// openTop opens a directory; a link may lead to it.
func openTop(dir string) (*os.Root, error) {
	return os.OpenRoot(dir + string(filepath.Separator) + ".")
}

// openIn opens a directory in another one. The dot behind its name has the system refuse
// what is no directory: to open a FIFO would wait for a writer.
func openIn(root *os.Root, name string) (*os.Root, error) { return root.OpenRoot(name + "/.") }
