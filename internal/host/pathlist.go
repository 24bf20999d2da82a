package host

import (
	"context"
	"sync"
	"time"

	"kerf/internal/work/search"
)

// pathsFresh is how long a list of files is used again: while a name is typed, not
// longer.
const pathsFresh = 3 * time.Second

// pathList is the list of files below one directory, kept for as long as somebody
// types a name. Only one walk runs at a time; who waits for it shares it.
type pathList struct {
	mu    sync.Mutex // held during a walk
	cwd   string
	paths []string // never changed
	at    time.Time
}

func (l *pathList) get(ctx context.Context, cwd string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.cwd == cwd && time.Since(l.at) < pathsFresh {
		return l.paths, nil
	}
	paths, _, err := search.New(search.Options{Roots: []string{cwd}}).Glob(ctx, cwd, "**", maxFiles)
	if err != nil {
		return nil, err
	}
	l.cwd, l.paths, l.at = cwd, below(cwd, paths), time.Now()
	return l.paths, nil
}
