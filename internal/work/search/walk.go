package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/search/ignore"
)

// A walk looks at no more than this, however large or deep a tree may be; what
// is beyond counts as left out.
const (
	maxDepth   = 200
	maxEntries = 2_000_000
)

// walker visits what is below one directory. Each directory is opened beneath
// its parent's handle, so a link that takes a directory's place on the way does
// not lead out.
type walker struct {
	ctx     context.Context
	depth   int
	seen    int
	visit   func(rel string, e fs.DirEntry)
	prefix  string // path of the start below the top of the rules, with slash
	partial bool   // something was not looked at
	dirPath string // of the start
	bound   Boundary
}

// run visits everything below dir that the rules leave, in no order.
func (w *walker) run(s *Searcher, dir string, visit func(string, fs.DirEntry)) error {
	root, err := s.open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w.visit = visit
	w.dirPath = filepath.Clean(dir)
	if s.bound != nil && s.bound.HidesBelow(w.dirPath) {
		w.bound = s.bound
	}
	level, prefix := above(s.roots, w.dirPath)
	w.prefix = prefix
	return w.dir(root, "", level, w.depth)
}

func (w *walker) dir(root *os.Root, rel string, level *ignore.Level, depth int) error {
	if late(w.ctx) {
		w.partial = true
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := readDir(root)
	if err != nil {
		if rel == "" {
			return err
		}
		w.partial = true
		return nil
	}
	if w.seen += len(entries); w.seen > maxEntries {
		w.partial = true
		return nil
	}
	level = level.Enter(strings.TrimSuffix(w.prefix+rel, "/"), filesOf(root, entries))
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if e.Name() == ".git" || level.Excluded(w.prefix+name, e.IsDir()) {
			continue
		}
		if w.hides(name) {
			w.partial = true
			continue
		}
		w.visit(name, e)
		if !e.IsDir() {
			continue
		}
		if depth == 1 {
			w.partial = w.partial || w.depth == maxDepth
			continue
		}
		if err := w.enter(root, e.Name(), name, level, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) enter(root *os.Root, name, rel string, level *ignore.Level, depth int) error {
	sub, err := openIn(root, name)
	if err != nil {
		w.partial = w.partial || !errors.Is(err, fs.ErrNotExist)
		return nil
	}
	defer sub.Close()
	if w.bound != nil && !isStill(root, name, sub) {
		w.partial = true // a link took its place
		return nil
	}
	return w.dir(sub, rel, level, depth)
}

// hides reports whether the boundary hides what is at rel.
func (w *walker) hides(rel string) bool {
	return w.bound != nil && w.bound.At(filepath.Join(w.dirPath, filepath.FromSlash(rel))).Access == boundary.Hidden
}

func readDir(root *os.Root) ([]fs.DirEntry, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// filesOf reads the ignore files among entries.
func filesOf(root *os.Root, entries []fs.DirEntry) ignore.Files {
	var f ignore.Files
	for _, e := range entries {
		switch e.Name() {
		case ".gitignore":
			f.Git = readSet(root, e)
		case ".ignore":
			f.Own = readSet(root, e)
		case ".git":
			if _, common, ok := ignore.GitDir(root.Name()); ok {
				f.Repo, f.Info = true, ignore.Info(common)
			}
		}
	}
	return f
}

func readSet(root *os.Root, e fs.DirEntry) *ignore.Set {
	if !e.Type().IsRegular() {
		return nil
	}
	data, err := readFile(root, e.Name(), nil, ignore.MaxFile, nil)
	if err != nil && !errors.Is(err, errLarge) {
		return nil
	}
	return ignore.Parse(data)
}

// above gathers the rules that hold over dir from the directories above it: to
// the top of its repository, or to the root it lies in. Prefix is dir's path
// from there, with a slash at its end unless it is empty.
func above(roots []string, dir string) (level *ignore.Level, prefix string) {
	top, ok := ignore.Top(dir)
	for _, r := range roots {
		if !ok && pathname.Inside(r, dir) {
			top, ok = r, true
		}
	}
	if !ok || top == dir {
		return nil, ""
	}
	rel, ok := pathname.Rel(top, dir)
	if !ok {
		return nil, ""
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	at, below := top, ""
	for _, part := range parts {
		f := ignore.Files{
			Git: ignore.Parse(ignore.ReadFile(filepath.Join(at, ".gitignore"))),
			Own: ignore.Parse(ignore.ReadFile(filepath.Join(at, ".ignore"))),
		}
		if _, common, ok := ignore.GitDir(at); ok {
			f.Repo, f.Info = true, ignore.Info(common)
		}
		level = level.Enter(below, f)
		at = filepath.Join(at, part)
		below = path.Join(below, part)
	}
	return level, below + "/"
}
