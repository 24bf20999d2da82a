package search

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"kerf/internal/pathname"
	"kerf/internal/work/boundary"
	"kerf/internal/work/search/ignore"
	"kerf/internal/work/tree/handle"
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
	ctx   context.Context
	depth int
	seen  int
	// visit is told of the entry e of the directory dir; both paths are relative to the start.
	visit   func(dir, rel string, e handle.Named)
	prefix  string // path of the start below the top of the rules, with slash
	partial bool   // something was not looked at
	dirPath string // of the start
	bound   Boundary
}

// place is one directory of a walk.
type place struct {
	opened handle.Dir
	rel    string // path from the start
	level  *ignore.Level
	depth  int  // how many levels are still entered
	open   bool // nothing in it is hidden
}

// run visits everything below dir that the rules leave, in no order.
func (w *walker) run(s *Searcher, dir string, visit func(dir, rel string, e handle.Named)) error {
	root, err := s.open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w.visit, w.bound = visit, s.bound
	w.dirPath = filepath.Clean(dir)
	level, prefix := above(s.roots, w.dirPath)
	w.prefix = prefix
	return w.dir(place{opened: root, level: level, depth: w.depth, open: w.bound == nil})
}

func (w *walker) dir(p place) error {
	if late(w.ctx) {
		w.partial = true
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := p.opened.List()
	if err != nil {
		if p.rel == "" {
			return named(w.dirPath, err)
		}
		w.partial = true
		return nil
	}
	if w.seen += len(entries); w.seen > maxEntries {
		w.partial = true
		return nil
	}
	at := filepath.Join(w.dirPath, filepath.FromSlash(p.rel))
	p.open = p.open || !w.bound.HidesBelow(at)
	p.level = p.level.Enter(strings.TrimSuffix(w.prefix+p.rel, "/"), filesOf(p.opened, at, entries))
	for _, e := range entries {
		rel := e.Name
		if p.rel != "" {
			rel = p.rel + "/" + e.Name
		}
		if e.Name == ".git" || p.level.Excluded(w.prefix+rel, e.Type.IsDir()) {
			continue
		}
		if !p.open && w.bound.At(filepath.Join(at, e.Name)).Access == boundary.Hidden {
			w.partial = true
			continue
		}
		w.visit(p.rel, rel, e)
		if !e.Type.IsDir() {
			continue
		}
		if p.depth == 1 {
			w.partial = w.partial || w.depth == maxDepth
			continue
		}
		if err := w.enter(p, e.Name, rel); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) enter(p place, name, rel string) error {
	sub, err := p.opened.OpenDir(name)
	if err != nil { // a link, perhaps, took its place
		w.partial = w.partial || !errors.Is(err, fs.ErrNotExist)
		return nil
	}
	defer sub.Close()
	return w.dir(place{sub, rel, p.level, p.depth - 1, p.open})
}

// filesOf reads the ignore files among the entries of a directory, whose path is at.
func filesOf(opened handle.Dir, at string, entries []handle.Named) ignore.Files {
	var f ignore.Files
	for _, e := range entries {
		switch e.Name {
		case ".gitignore":
			f.Git = readSet(opened, e)
		case ".ignore":
			f.Own = readSet(opened, e)
		case ".git":
			if _, common, ok := ignore.GitDir(at); ok {
				f.Repo, f.Info = true, ignore.Info(common)
			}
		}
	}
	return f
}

func readSet(opened handle.Dir, e handle.Named) *ignore.Set {
	if !e.Type.IsRegular() {
		return nil
	}
	data, err := readFile(opened, e.Name, nil, ignore.MaxFile, nil)
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
