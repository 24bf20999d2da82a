package search

import (
	"context"
	"errors"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"

	"kerf/internal/work/tree/handle"
)

// The bounds of one search: what is beyond counts as left out.
const (
	maxTime  = 30 * time.Second
	maxBytes = 8 << 30
	// maxNamed is how many files are named that were too large.
	maxNamed = 3
)

// Missed says what a search left out.
type Missed struct {
	// More says that there are further matches, or files that could not be read.
	More bool
	// Large are files that are too large to be searched, the first of them as absolute paths
	// with slashes, and Larges says how many there are.
	Large  []string
	Larges int
	// Stopped says that the search took too long, or read too much, and did not look at all
	// files.
	Stopped bool
}

// errTime is the cause of a search's end when it has used up its time.
var errTime = errors.New("the search took too long")

// bounded ends a search that takes too long.
func (s *Searcher) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.time, errTime)
}

// late reports whether ctx ended because a search took too long.
func late(ctx context.Context) bool { return ctx.Err() != nil && context.Cause(ctx) == errTime }

// large notes a file that is not searched.
func (g *grepping) large(rel string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.larges = append(g.larges, rel)
}

// takes counts what is read, and reports whether so much may still be.
func (g *grepping) takes(n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left -= n; g.left < 0 {
		g.stopped = true
	}
	return !g.stopped
}

// missed is what was left out, with paths below base.
func (g *grepping) missed(base string) Missed {
	m := Missed{More: g.more, Larges: len(g.larges), Stopped: g.stopped}
	slices.Sort(g.larges)
	for _, rel := range g.larges[:min(len(g.larges), maxNamed)] {
		m.Large = append(m.Large, path.Join(base, rel))
	}
	return m
}

// withoutLarge leaves out of dirs, and notes, the files that are too large: rg reads files
// that it is given by name whole, whatever --max-filesize says.
func (g *grepping) withoutLarge(ctx context.Context, dirs map[string][]string) map[string][]string {
	top, err := g.s.open(g.q.Dir)
	if err != nil {
		return dirs // the search itself fails then
	}
	defer top.Close()
	small := make(map[string][]string, len(dirs))
	var mu sync.Mutex // guards small
	work := make(chan string)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		workers.Go(func() {
			for dir := range work {
				names := g.smallOf(top, dir, dirs[dir])
				mu.Lock()
				small[dir] = names
				mu.Unlock()
			}
		})
	}
	for dir := range dirs {
		if ctx.Err() != nil {
			break
		}
		work <- dir
	}
	close(work)
	workers.Wait()
	return small
}

// smallOf are the files of one directory that can be searched.
func (g *grepping) smallOf(top handle.Dir, dir string, names []string) []string {
	at, err := openFrom(top, dir)
	if err != nil {
		return nil
	}
	defer at.Close()
	return slices.DeleteFunc(names, func(name string) bool {
		st, err := at.Lstat(name)
		if err == nil && tooLarge(st) {
			g.large(path.Join(dir, name))
		}
		return err != nil || !st.Mode.IsRegular() || tooLarge(st)
	})
}

func tooLarge(st handle.Stat) bool { return st.Mode.IsRegular() && st.Size > maxGrep }
