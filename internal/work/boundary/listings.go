package boundary

import (
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// listing is what is of interest in a directory.
type listing struct {
	bare    bool     // it is a git directory
	own     []string // `.git` and `.kerf`, whatever their case
	dirs    []string // other directories, at most as many as a look goes into
	modules bool     // node_modules
}

// listings remembers directories, so that a look at a tree costs as much as it has
// directories near its root, whatever they hold. A directory that was not changed is
// not read again. That is told by its times: a command can set the one of its content, not
// the one of its last change. Both must be older than the reading by settled, since what
// is changed within one tick of the clock can have the same times. Where file systems are
// not known to keep them, each look reads.
//
// A nil *listings remembers nothing. It may be used by several goroutines.
type listings struct {
	mu    sync.Mutex
	dirs  map[string]listed
	kinds map[uint64]bool // devices, and whether their file system keeps times
	now   func() time.Time
	read  func(dir string) ([]fs.DirEntry, error)
}

// listed is a listing with what the directory was then.
type listed struct {
	stamp stamp
	listing
}

// stamp tells whether a directory was changed.
type stamp struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds
}

const (
	settled     = time.Second
	maxListings = 4096
	modules     = "node_modules"
)

func newListings() *listings {
	return &listings{dirs: map[string]listed{}, kinds: map[uint64]bool{}, now: time.Now, read: os.ReadDir}
}

// list reads a directory, or remembers it.
func (l *listings) list(dir string) (listing, error) {
	if l == nil {
		entries, err := os.ReadDir(dir)
		return listingOf(entries), err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	began := l.now()
	now, ok := l.stamp(dir)
	if known, there := l.dirs[dir]; there {
		if ok && known.stamp == now {
			return known.listing, nil
		}
		delete(l.dirs, dir)
	}
	entries, err := l.read(dir)
	if err != nil {
		return listing{}, err
	}
	here := listingOf(entries)
	after, still := l.stamp(dir)
	if ok && still && after == now && max(now.mtime, now.ctime) < began.Add(-settled).UnixNano() {
		if len(l.dirs) >= maxListings {
			clear(l.dirs)
		}
		l.dirs[dir] = listed{now, here}
	}
	return here, nil
}

func listingOf(entries []fs.DirEntry) (l listing) {
	parts := 0
	for _, e := range entries {
		name := e.Name()
		if name == "HEAD" || name == "objects" || name == "refs" {
			parts++
		}
		switch {
		case strings.EqualFold(name, Git) || strings.EqualFold(name, Kerf):
			l.own = append(l.own, name)
		case !e.IsDir():
		case name == modules:
			l.modules = true
		case len(l.dirs) < thoroughDirs:
			l.dirs = append(l.dirs, name)
		}
	}
	l.bare = parts == 3
	return l
}
