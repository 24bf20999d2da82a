// Package tree reaches the files below the roots of a workspace, and nothing else.
//
// Paths are checked twice. Resolve decides by components whether a path lies inside
// a root, before anything is opened. The operation itself then starts at a handle of
// the root directory and meets no symbolic link on the way (openat2 on Linux, one
// openat per component elsewhere), so that a directory that is exchanged for a link
// in between makes it fail rather than leave. Links inside the roots are followed by
// working out the path they stand for first; such a path is called real here.
//
// Reading is for everyone in package work. Writing goes through [Dir], and only
// package txn uses it.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/order"
	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// Whole is what Options.Whole is if nothing is said.
const Whole = 256 << 20

// Options say what a tree may reach.
type Options struct {
	// Roots are absolute, existing directories. The first one is where paths are cut
	// for display. "/" means everything.
	Roots []string
	// Cwd is where relative paths start; the first root if empty.
	Cwd string
	// Boundary says what may be read and written below the roots; nil for everything.
	Boundary Boundary
	// Whole is the size in bytes of the largest file whose content is loaded, unless somebody
	// asks for a larger one; the constant if 0.
	Whole int64
	// Before, when not nil, is asked before each call that changes the disk, and its
	// error becomes the call's. It exists for fault tests.
	Before func(op, path string) error
}

// Boundary decides about real paths and the files that were found there. Its methods may
// be called concurrently.
type Boundary interface {
	At(path string) boundary.Verdict
	// Of is At for a file that is known: several says that it has more names than one.
	Of(path string, id boundary.FileID, several bool) boundary.Verdict
}

// Tree is a set of roots. Its methods may be called concurrently.
type Tree struct {
	roots    []root // the longest path first
	first    string
	cwd      string
	whole    int64
	boundary Boundary
	before   func(op, path string) error
	known    *cache
	held     *hold // of a view for one step, else nil
}

// root is one writable directory. path has no links and no trailing slash, except
// for "/" itself.
type root struct {
	path  string
	given string // as the caller spelled it
}

// Open checks the roots and makes their paths canonical.
func Open(o Options) (*Tree, error) {
	if len(o.Roots) == 0 {
		return nil, errors.New("open tree: no roots")
	}
	t := &Tree{boundary: o.Boundary, before: o.Before, cwd: o.Cwd, whole: cmp.Or(o.Whole, Whole)}
	for _, given := range o.Roots {
		r, err := openRoot(given)
		if err != nil {
			return nil, fmt.Errorf("open root %s: %w", given, err)
		}
		if !slices.ContainsFunc(t.roots, func(have root) bool { return have == r }) {
			t.roots = append(t.roots, r)
		}
	}
	t.first = t.roots[0].path
	order.Stably(t.roots, func(a, b root) int { return len(b.path) - len(a.path) })
	if t.cwd == "" {
		t.cwd = t.first
	}
	if !filepath.IsAbs(t.cwd) {
		return nil, fmt.Errorf("working directory %s is not absolute", t.cwd)
	}
	t.known = newCache()
	return t, nil
}

func openRoot(given string) (root, error) {
	if !filepath.IsAbs(given) || strings.ContainsRune(given, 0) {
		return root{}, errors.New("path is not absolute")
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return root{}, err
	}
	st, err := os.Stat(real)
	if err != nil {
		return root{}, err
	}
	if !st.IsDir() {
		return root{}, errors.New("not a directory")
	}
	return root{clean(real), clean(given)}, nil
}

// Whole is the option of this name.
func (t *Tree) Whole() int64 { return t.whole }

// Roots returns the canonical roots, the first one first.
func (t *Tree) Roots() []string {
	roots := []string{t.first}
	for _, r := range t.roots {
		if !slices.Contains(roots, r.path) {
			roots = append(roots, r.path)
		}
	}
	return roots
}

// Root returns the canonical path of the root that was given as this, empty if none was.
func (t *Tree) Root(given string) string {
	for _, r := range t.roots {
		if r.given == clean(given) {
			return r.path
		}
	}
	return ""
}

// Rel returns path as shown to people: relative to the first root where it lies in
// it, else unchanged.
func (t *Tree) Rel(path string) string {
	if rel, ok := within(t.first, path); ok && rel != "" {
		return rel
	}
	return path
}

// Resolve makes path absolute and clean, with slashes and the canonical spelling of
// its root. It fails with *OutsideError when the path lies in no root, and with
// ErrBadPath when it is none. Nothing in it is expanded. Links inside the roots stay.
func (t *Tree) Resolve(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%q: %w", path, ErrBadPath)
	}
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(t.cwd, abs)
	}
	abs = clean(abs)
	if in, ok := t.contain(abs); ok {
		return in, nil
	}
	if in, ok := t.contain(canonical(abs)); ok {
		return in, nil
	}
	return "", t.outside(path, "")
}

// contain returns p with the canonical spelling of the root it lies in.
func (t *Tree) contain(p string) (string, bool) {
	for _, r := range t.roots {
		if rel, ok := within(r.path, p); ok {
			return join(r.path, rel), true
		}
		if rel, ok := within(r.given, p); ok {
			return join(r.path, rel), true
		}
	}
	return "", false
}

// rootOf returns the longest root that p, in canonical spelling, lies in, and the
// rest of the path, which is empty for the root itself.
func (t *Tree) rootOf(p string) (rootPath, rel string, ok bool) {
	for _, r := range t.roots {
		if rel, ok := within(r.path, p); ok {
			return r.path, rel, true
		}
	}
	return "", "", false
}

func (t *Tree) outside(path, via string) error {
	return &OutsideError{Path: path, Via: via, Roots: t.Roots()}
}

// within reports whether p is dir or lies below it, component by component, and
// returns the rest.
func within(dir, p string) (rel string, ok bool) {
	if handle.SamePath(dir, p) {
		return "", true
	}
	if !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	if len(p) > len(dir) && handle.SamePath(dir, p[:len(dir)]) {
		return p[len(dir):], true
	}
	return "", false
}

func join(dir, rel string) string {
	switch {
	case rel == "":
		return dir
	case strings.HasSuffix(dir, "/"):
		return dir + rel
	}
	return dir + "/" + rel
}

func clean(p string) string { return filepath.ToSlash(filepath.Clean(p)) }

// canonical resolves the links in the part of p that exists. It only serves to
// recognise another spelling of a root, such as /tmp for /private/tmp.
func canonical(p string) string {
	rest := ""
	for dir := p; ; dir = path.Dir(dir) {
		real, err := filepath.EvalSymlinks(filepath.FromSlash(dir))
		if err == nil {
			return join(clean(real), rest)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == path.Dir(dir) {
			return p
		}
		// A link that leads nowhere must not count as a missing name.
		if _, err := os.Lstat(filepath.FromSlash(dir)); err == nil {
			return p
		}
		rest = join(path.Base(dir), rest)
	}
}
