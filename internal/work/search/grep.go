package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"kerf/internal/text/order"
	"kerf/internal/work/boundary"
	"kerf/internal/work/tree/handle"
)

// Query asks for lines that match a pattern (RE2 syntax, one line at a time).
type Query struct {
	Pattern string
	// Dir is the absolute directory to search; a file is searched alone, even if
	// ignored.
	Dir string
	// Glob keeps only files whose path relative to Dir matches, or whose name
	// does if it holds no slash; empty for all.
	Glob       string
	IgnoreCase bool
	Context    int // lines shown around a match, at most 50
	Limit      int // matching lines, 0 for DefaultLimit
}

// Line is one matching line, or one beside it (Match false).
type Line struct {
	Path   string // absolute, with slashes
	Number int    // 1-based
	Text   string // valid UTF-8 without its line ending, cut to about 500 characters
	Match  bool
}

const (
	maxContext = 50
	// maxGrep is the size from which files are not searched.
	maxGrep = 32 << 20
)

// Grep returns the first matching lines by path and number, and what it left out. Binary
// files (those with a NUL) are passed over. A bad pattern or glob gives a *[PatternError].
func (s *Searcher) Grep(ctx context.Context, q Query) (lines []Line, missed Missed, err error) {
	p, err := compile(q)
	if err != nil {
		return nil, Missed{}, err
	}
	q.Glob = strings.TrimPrefix(filepath.ToSlash(q.Glob), "./")
	if q.Glob != "" {
		if err := checkGlob(q.Glob, strings.TrimPrefix(q.Glob, "/")); err != nil {
			return nil, Missed{}, err
		}
	}
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	g := &grepping{q: q, p: p, limit: q.Limit, s: s, left: s.bytes}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	base, err := g.run(ctx, s)
	if err != nil && !late(ctx) {
		return nil, Missed{}, fmt.Errorf("grep %s: %w", q.Dir, err)
	}
	g.stopped = g.stopped || late(ctx)
	lines = g.result(base)
	return lines, g.missed(base), nil
}

// grepping is one grep under way. Its workers are started and waited for by
// search; they share only what mu guards.
type grepping struct {
	q     Query
	p     *pattern
	limit int
	s     *Searcher

	mu      sync.Mutex
	hits    []hits // unsorted
	matches int    // in hits
	last    string // files behind this one cannot be shown any more, "" for none
	more    bool
	larges  []string // files that are not searched
	left    int64    // how much may still be read
	stopped bool     // the search used up its time or what it may read
}

// hits are the lines found in one file.
type hits struct {
	rel     string
	lines   []Line
	matches int
}

// run searches, and returns the directory that paths count from.
func (g *grepping) run(ctx context.Context, s *Searcher) (base string, err error) {
	base = filepath.ToSlash(filepath.Clean(g.q.Dir))
	info, err := os.Lstat(g.q.Dir)
	if s.bound == nil {
		info, err = os.Stat(g.q.Dir)
	}
	if err != nil {
		return base, err
	}
	if !info.IsDir() {
		return filepath.ToSlash(filepath.Dir(filepath.Clean(g.q.Dir))), g.one(ctx)
	}
	dirs := make(map[string][]string)
	files := 0
	w := walker{ctx: ctx, depth: maxDepth}
	err = w.run(s, g.q.Dir, func(dir, rel string, e handle.Named) {
		if e.Type.IsRegular() && globbed(g.q.Glob, rel) {
			dirs[dir] = append(dirs[dir], e.Name)
			files++
		}
	})
	if err != nil {
		return base, err
	}
	g.more = w.partial
	if files >= s.from && g.p.literal != "" {
		if rg := s.rg(); rg != "" {
			dirs = candidates(ctx, rg, g.q, g.p.literal, g.withoutLarge(ctx, dirs))
		}
	}
	return base, g.search(ctx, dirs)
}

// one searches a single file.
func (g *grepping) one(ctx context.Context) error {
	dir, name := filepath.Split(filepath.Clean(g.q.Dir))
	if g.s.bound != nil {
		if err := g.s.check(filepath.Clean(g.q.Dir)); err != nil {
			return err
		}
	}
	at, err := g.s.open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer at.Close()
	if st, err := at.Lstat(name); err == nil && !st.Mode.IsRegular() {
		return named(g.q.Dir, errNotAFile) // to open a device may do something
	}
	data, err := g.read(at, dir, name, nil)
	switch {
	case errors.Is(err, errLarge):
		g.large(name)
		return nil
	case err != nil:
		return named(g.q.Dir, err)
	}
	g.add(name, g.p.search(ctx, data, g.q.Context, g.limit+1))
	return ctx.Err()
}

// search looks into the files of dirs, whose keys are paths below Dir.
func (g *grepping) search(ctx context.Context, dirs map[string][]string) error {
	top, err := g.s.open(g.q.Dir)
	if err != nil {
		return err
	}
	defer top.Close()
	work := make(chan string)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8, len(dirs)) {
		workers.Go(func() {
			var buf []byte
			for dir := range work {
				buf = g.dir(ctx, top, dir, dirs[dir], buf)
			}
		})
	}
	names := make([]string, 0, len(dirs))
	for dir := range dirs {
		names = append(names, dir)
	}
	slices.Sort(names)
	for _, dir := range names {
		if ctx.Err() != nil {
			break
		}
		work <- dir
	}
	close(work)
	workers.Wait()
	return ctx.Err()
}

func (g *grepping) dir(ctx context.Context, top handle.Dir, dir string, names []string, buf []byte) []byte {
	at, err := openFrom(top, dir)
	if err != nil {
		g.skipped(err)
		return buf
	}
	defer at.Close()
	for _, name := range names {
		rel := path.Join(dir, name)
		if ctx.Err() != nil || !g.wants(rel) {
			continue
		}
		data, err := g.read(at, filepath.Join(g.q.Dir, filepath.FromSlash(dir)), name, buf)
		if errors.Is(err, errLarge) {
			g.large(rel)
			continue
		}
		if err != nil {
			g.skipped(err)
			continue
		}
		if !g.takes(int64(len(data))) {
			return data
		}
		g.add(rel, g.p.search(ctx, data, g.q.Context, g.limit+1))
		buf = data
	}
	return buf
}

// openFrom opens the directory at the relative path dir, which is empty for top itself.
func openFrom(top handle.Dir, dir string) (handle.Dir, error) {
	if dir == "" {
		dir = "."
	}
	return top.OpenDir(dir)
}

// read reads a file that may be searched.
func (g *grepping) read(at handle.Dir, dir, name string, buf []byte) ([]byte, error) {
	return readFile(at, name, buf, maxGrep, func(st handle.Stat) bool {
		if g.s.bound == nil || st.Nlink < 2 {
			return true
		}
		id := boundary.FileID{Device: st.Dev, Inode: st.Ino}
		return g.s.bound.Of(filepath.Join(dir, name), id, true).Access != boundary.Hidden
	})
}

func (g *grepping) wants(rel string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.stopped && (g.last == "" || rel <= g.last)
}

func (g *grepping) skipped(err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = true
}

// add keeps what was found in a file. Once there is plenty, what lies behind the
// limit goes and is not looked for any longer, so memory stays bounded.
func (g *grepping) add(rel string, found []Line) {
	if len(found) == 0 {
		return
	}
	h := hits{rel: rel, lines: found}
	for _, l := range found {
		if l.Match {
			h.matches++
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hits = append(g.hits, h)
	if g.matches += h.matches; g.matches > 4*g.limit {
		g.prune()
	}
}

// prune keeps the first files that hold more matches than the limit.
func (g *grepping) prune() {
	order.By(g.hits, func(a, b hits) int { return strings.Compare(a.rel, b.rel) })
	total := 0
	for i, h := range g.hits {
		if total += h.matches; total > g.limit {
			clear(g.hits[i+1:])
			g.hits = g.hits[:i+1]
			g.matches = total
			g.last = h.rel
			return
		}
	}
}

// result joins the hits; base is the directory their paths count from.
func (g *grepping) result(base string) []Line {
	g.prune()
	var lines []Line
	matches := 0
	for _, h := range g.hits {
		for _, l := range h.lines {
			if l.Match {
				if matches == g.limit {
					g.more = true
					return trimContext(lines, g.q.Context)
				}
				matches++
			}
			l.Path = strings.TrimSuffix(base, "/") + "/" + h.rel
			lines = append(lines, l)
		}
	}
	return lines
}

// trimContext drops lines at the end that stand beside a match that was cut off.
func trimContext(lines []Line, context int) []Line {
	context = min(max(context, 0), maxContext)
	last := len(lines) - 1
	for last >= 0 && !lines[last].Match {
		last--
	}
	for i := last + 1; i < len(lines); i++ {
		if last < 0 || lines[i].Path != lines[last].Path || lines[i].Number > lines[last].Number+context {
			return lines[:i]
		}
	}
	return lines
}

var (
	errLarge    = errors.New("file is too large")
	errNotAFile = errors.New("not a regular file")
)

// readFile reads a regular file into buf, which may be nil; larger ones give
// errLarge and their first max bytes. may, when not nil, is asked about the opened file.
func readFile(dir handle.Dir, name string, buf []byte, max int64, may func(handle.Stat) bool) ([]byte, error) {
	f, err := dir.OpenRead(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The file may have been replaced since it was listed; a FIFO would make the read wait.
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode.IsRegular() {
		return nil, errNotAFile
	}
	if may != nil && !may(st) {
		return nil, errHidden
	}
	if st.Size > max && max == maxGrep {
		return nil, errLarge
	}
	return readAll(f, buf, st.Size, max)
}

// readAll reads a file that is said to have so many bytes.
func readAll(f handle.File, buf []byte, size, max int64) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(min(size, max))+1)
	for int64(len(buf)) <= max {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		room := buf[len(buf):min(int64(cap(buf)), max+1)]
		n, err := f.Read(room)
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF, err == nil && n < len(room) && size > 0 && int64(len(buf)) == size:
			return buf, nil // a regular file gives less than it is asked for at its end only
		case err != nil:
			return nil, err
		}
	}
	return buf[:max], errLarge
}
