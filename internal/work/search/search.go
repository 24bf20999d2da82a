// Package search looks for files and for lines in them.
//
// What ignore files exclude is left out, .git always; other hidden files are
// shown. Links are listed and never followed, and only regular files are
// opened. Results are sorted, so equal trees give equal results.
package search

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// DefaultLimit bounds results when the caller names no limit.
const DefaultLimit = 1000

// Options say where a Searcher works.
type Options struct {
	// Roots are the absolute directories of the workspace. Ignore files count
	// from the top of the repository, or else from the root, that a searched
	// directory lies in. No program inside a root is ever run.
	Roots []string
	// Boundary says what is hidden; nil hides nothing.
	Boundary Boundary
	// Ripgrep is the rg to run, "" to find one on PATH, "-" for none.
	Ripgrep string
	// Time and Bytes bound one search: how long it may take, and how much it reads. 0 for
	// defaults.
	Time  time.Duration
	Bytes int64
	// RipgrepFrom is how many files make running rg worth it, 0 for a default.
	RipgrepFrom int
}

// Boundary decides about real paths and the files that were found there. Its methods may
// be called concurrently.
type Boundary interface {
	At(path string) boundary.Verdict
	// Of is At for a file that is known: several says that it has more names than one.
	Of(path string, id boundary.FileID, several bool) boundary.Verdict
	// HidesBelow reports whether anything in dir, or dir itself, may be hidden.
	HidesBelow(dir string) bool
}

// Searcher searches. Its methods may be called by several goroutines.
type Searcher struct {
	roots []string
	bound Boundary
	rg    func() string
	from  int
	time  time.Duration
	bytes int64
}

// New makes a Searcher. It touches nothing yet.
func New(o Options) *Searcher {
	s := &Searcher{bound: o.Boundary, rg: ripgrep(o.Ripgrep, o.Roots), from: cmp.Or(o.RipgrepFrom, ripgrepFrom),
		time: cmp.Or(o.Time, maxTime), bytes: cmp.Or(o.Bytes, maxBytes)}
	for _, r := range o.Roots {
		s.roots = append(s.roots, filepath.Clean(r))
	}
	return s
}

// List lists dir to the given depth; 1, and anything less, means its own
// entries. Paths are relative to dir with slashes; directories end in "/",
// links in "@". More tells that some were left out.
func (s *Searcher) List(ctx context.Context, dir string, depth, limit int) (paths []string, more bool, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	w := walker{ctx: ctx, depth: max(depth, 1)}
	err = w.run(s, dir, func(_, rel string, e handle.Named) {
		switch {
		case e.Type.IsDir():
			rel += "/"
		case e.Type&fs.ModeSymlink != 0:
			rel += "@"
		}
		paths = append(paths, rel)
	})
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", dir, err)
	}
	paths, cut := firsts(paths, limit)
	return paths, cut || w.partial, nil
}

// Glob finds the files and links below dir whose path relative to dir matches
// pattern, in which "**" stands for any directories and {a,b} for either. An
// absolute pattern must lie in dir. Paths are absolute with slashes. A bad
// pattern gives a *[PatternError].
func (s *Searcher) Glob(ctx context.Context, dir, pattern string, limit int) (paths []string, more bool, err error) {
	base := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/") + "/"
	rel := strings.TrimPrefix(filepath.ToSlash(pattern), base)
	rel = strings.TrimPrefix(rel, "./")
	if err := checkGlob(pattern, rel); err != nil {
		return nil, false, err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	w := walker{ctx: ctx, depth: maxDepth}
	err = w.run(s, dir, func(_, name string, e handle.Named) {
		if !e.Type.IsDir() && doublestar.MatchUnvalidated(rel, name) {
			paths = append(paths, base+name)
		}
	})
	if err != nil {
		return nil, false, fmt.Errorf("glob %s in %s: %w", pattern, dir, err)
	}
	paths, cut := firsts(paths, limit)
	return paths, cut || w.partial, nil
}

// PatternError tells what is wrong with a pattern.
type PatternError struct {
	Pattern string
	Reason  string
}

// Error gives the pattern and what is wrong with it.
func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %q: %s", e.Pattern, e.Reason)
}

// checkGlob refuses globs that cannot match or may take for ever: each brace
// multiplies the work.
func checkGlob(shown, glob string) error {
	reason := ""
	switch {
	case glob == "":
		reason = "is empty"
	case len(glob) > 1000:
		reason = "is longer than 1000 bytes"
	case !doublestar.ValidatePattern(glob):
		reason = "is not a valid glob: check brackets and braces"
	case strings.HasPrefix(glob, "/") || filepath.IsAbs(glob):
		reason = "is absolute and outside of the searched directory"
	case slices.Contains(strings.Split(glob, "/"), ".."):
		reason = `may not contain ".."`
	case strings.Count(glob, "{") > 8 || strings.Count(glob, "**") > 8:
		reason = `has more than 8 braces or more than 8 "**"`
	default:
		return nil
	}
	return &PatternError{shown, reason}
}

// globbed reports whether the file at rel is wanted by a grep's glob: one
// without a slash looks at names, as rg does it.
func globbed(glob, rel string) bool {
	if glob == "" {
		return true
	}
	if !strings.Contains(glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "/"), rel)
}

// firsts sorts paths and keeps the first limit of them.
func firsts(paths []string, limit int) ([]string, bool) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	slices.Sort(paths)
	if len(paths) <= limit {
		return paths, false
	}
	return slices.Clip(paths[:limit]), true
}
