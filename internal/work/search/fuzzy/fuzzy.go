// Package fuzzy finds files by a few letters of their paths.
package fuzzy

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"

	"kerf/internal/text/order"
	"kerf/internal/work/search"
)

// fresh is how long a list of files is used again: while a name is typed, not
// longer.
const fresh = 3 * time.Second

// Finder finds files below one directory at a time. It keeps their list for as long
// as somebody types a name. It may be used by several goroutines: only one walk runs
// at a time, and who waits for it shares it. The zero value is ready.
type Finder struct {
	mu    sync.Mutex // held during a walk
	cwd   string
	paths []string // never changed
	at    time.Time
}

// Find returns files below cwd that fit query, best first, as paths relative to cwd.
// What ignore files exclude is left out. The words of the query must all fit; one
// with an upper-case letter minds case. An empty query finds the first files by name.
// A limit of 0 is none. What bound hides is not found; it is called when files are listed
// anew, and nil hides nothing.
func (f *Finder) Find(ctx context.Context, cwd, query string, limit int,
	bound func() search.Boundary) ([]string, error) {
	paths, err := f.list(ctx, cwd, bound)
	if err != nil {
		return nil, fmt.Errorf("find files: %w", err)
	}
	return Rank(paths, query, limit), ctx.Err()
}

func (f *Finder) list(ctx context.Context, cwd string, bound func() search.Boundary) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.cwd == cwd && time.Since(f.at) < fresh {
		return f.paths, nil
	}
	o := search.Options{Roots: []string{cwd}}
	if bound != nil {
		o.Boundary = bound()
	}
	paths, _, err := search.New(o).Glob(ctx, cwd, "**", maxFiles)
	if err != nil {
		return nil, err
	}
	f.cwd, f.paths, f.at = cwd, below(cwd, paths), time.Now()
	return f.paths, nil
}

// maxFiles bounds the files that a fuzzy query looks at.
const maxFiles = 200_000

// below names paths relative to cwd.
func below(cwd string, paths []string) []string {
	base := strings.TrimSuffix(filepath.ToSlash(filepath.Clean(cwd)), "/") + "/"
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, base)
	}
	return paths
}

// pathScores makes fzf's scores fit paths. It keeps them for the whole program.
var pathScores = sync.OnceFunc(func() { algo.Init("path") })

// Rank returns the names that query fits, best first.
func Rank(names []string, query string, limit int) []string {
	if limit <= 0 {
		limit = len(names)
	}
	words := strings.Fields(query)
	if len(words) == 0 {
		return slices.Clone(names[:min(limit, len(names))])
	}
	type hit struct {
		name  string
		score int
	}
	var hits []hit
	pathScores()
	slab := util.MakeSlab(100<<10, 2<<10)
	for _, name := range names {
		chars := util.ToChars([]byte(name))
		sum := 0
		for _, w := range words {
			minds := w != strings.ToLower(w)
			r, _ := algo.FuzzyMatchV2(minds, true, true, &chars, []rune(w), false, slab)
			if r.Score <= 0 {
				sum = 0
				break
			}
			sum += r.Score
		}
		if sum > 0 {
			hits = append(hits, hit{name, sum})
		}
	}
	order.Stably(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	found := make([]string, 0, min(limit, len(hits)))
	for _, x := range hits[:min(limit, len(hits))] {
		found = append(found, x.name)
	}
	return found
}
