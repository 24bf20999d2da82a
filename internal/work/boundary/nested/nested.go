// Package nested finds repositories, and the directories of Kerf, below a directory, and
// remembers what it saw.
package nested

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kerf/internal/work/boundary/names"
)

// listing is what is of interest in a directory.
type listing struct {
	git     bool     // it is a git directory
	own     []string // `.git` and `.kerf`, whatever their case
	gits    []string // those of own that are a git directory, or may be
	dirs    []string // other directories, at most as many as a look goes into
	modules bool     // node_modules
}

// Memory remembers directories, so that a look at a tree costs as much as it has
// directories near its root, whatever they hold. A directory that was not changed is
// not read again. That is told by its times: a command can set the one of its content, not
// the one of its last change. Both must be older than the reading by settled, since what
// is changed within one tick of the clock can have the same times. Where file systems are
// not known to keep them, each look reads. An overlay keeps none of its own: there the times
// are those of the layers, see [Layer].
//
// A nil *Memory remembers nothing. It may be used by several goroutines.
type Memory struct {
	layers []Layer

	mu    sync.Mutex // guards what follows
	dirs  map[string]listed
	kinds map[uint64]bool // devices, and whether their file system keeps times
	now   func() time.Time
	read  func(dir string) ([]fs.DirEntry, error)
}

// Layer is an overlay file system of two layers, both of which others than this process can
// change. The numbers of its directories are those of the lower layer, where that has them,
// if both layers are of one device.
//
// Linux only: elsewhere nothing is known of an overlay.
type Layer struct {
	Root         string // where it is mounted, links followed
	Lower, Upper int    // descriptors of the two directories
}

// listed is a listing with what the directory was then.
type listed struct {
	stamp stamp
	listing
}

// stamp tells whether a directory was changed.
type stamp struct {
	top version // of an overlay: what it shows, that is the upper layer's, or else the lower's
	// below is that of the lower layer, where both have the directory; else it is zero.
	below version
}

// version is what one file system says of a directory.
type version struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds
}

// newest is when the directory was changed last, in nanoseconds.
func (s stamp) newest() int64 { return max(s.top.mtime, s.top.ctime, s.below.mtime, s.below.ctime) }

const (
	settled       = time.Second
	maxRemembered = 4096
	modules       = "node_modules"
)

// New returns an empty Memory. What is below the layers is remembered by them.
func New(layers ...Layer) *Memory {
	return &Memory{layers: layers, dirs: map[string]listed{}, kinds: map[uint64]bool{}, now: time.Now, read: os.ReadDir}
}

// list reads a directory, or remembers it. still says that it was just seen to be as it is
// remembered.
func (m *Memory) list(dir string, still bool) (listing, error) {
	if m == nil {
		entries, err := os.ReadDir(dir)
		return listingOf(entries), err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, there := m.dirs[dir]; there {
		if still || m.still(dir, known.stamp) {
			return known.listing, nil
		}
		delete(m.dirs, dir)
	}
	began := m.now()
	now, ok := m.stamp(dir)
	entries, err := m.read(dir)
	if err != nil {
		return listing{}, err
	}
	here := listingOf(entries)
	after, still := m.stamp(dir)
	if ok && still && after == now && now.newest() < began.Add(-settled).UnixNano() {
		if len(m.dirs) >= maxRemembered {
			clear(m.dirs)
		}
		m.dirs[dir] = listed{now, here}
	}
	return here, nil
}

// enough is from how many directories on a second processor is worth its waking.
const enough = 32

// unchanged tells of many directories which are as they are remembered, two at a time. It tells
// nothing of few.
func (m *Memory) unchanged(dirs []string) []bool {
	if m == nil || len(dirs) < enough {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	still := make([]bool, len(dirs))
	look := func(from, to int) {
		for i := from; i < to; i++ {
			known, there := m.dirs[dirs[i]]
			still[i] = there && m.still(dirs[i], known.stamp)
		}
	}
	var other sync.WaitGroup
	other.Go(func() { look(len(dirs)/2, len(dirs)) })
	look(0, len(dirs)/2)
	other.Wait()
	return still
}

func listingOf(entries []fs.DirEntry) (l listing) {
	parts := 0
	for _, e := range entries {
		name := e.Name()
		if name == "HEAD" || name == "objects" || name == "refs" {
			parts++
		}
		switch {
		case own(name):
			l.own = append(l.own, name)
			if e.IsDir() && names.Fold(name) == names.Git {
				l.gits = append(l.gits, name)
			}
		case !e.IsDir():
		case name == modules:
			l.modules = true
		case len(l.dirs) < thoroughDirs:
			l.dirs = append(l.dirs, name)
		}
	}
	if l.git = parts == 3; l.git {
		l.dirs = slices.DeleteFunc(l.dirs, func(name string) bool { return slices.Contains(ofGit, name) })
	}
	return l
}

// ofGit are the directories in which git keeps what is its own. What else lies in a git directory
// may be a working tree: some keep all those of a repository there.
var ofGit = []string{"branches", "hooks", "info", "lfs", "logs", "modules", "objects", "refs", "remotes", "rr-cache", "worktrees"}

// The part of a tree in which Find looks: each time, and once in a session.
const (
	nestedDepth   = 4
	nestedDirs    = 512
	thoroughDepth = 64
	thoroughDirs  = 50_000
	thoroughTime  = 150 * time.Millisecond
)

// Find returns the repositories below root, each as its `.git` or, when it is bare, as
// itself, and the directories of Kerf. It looks breadth first, so that what is near is found, and
// into git directories, too. What was installed into node_modules is looked at only once in a
// session, and last.
func (m *Memory) Find(root string, thorough bool) []string {
	depths, dirs, until := nestedDepth, nestedDirs, time.Time{}
	if thorough {
		depths, dirs, until = thoroughDepth, thoroughDirs, time.Now().Add(thoroughTime)
	}
	var found []string
	level := []string{root}
	for depth, seen := 0, 0; depth < depths && len(level) > 0; depth++ {
		var next, last []string
		var still []bool
		if !thorough {
			still = m.unchanged(level[:min(len(level), dirs-seen)])
		}
		for i, dir := range level {
			if seen++; seen > dirs || thorough && seen%64 == 0 && time.Now().After(until) {
				return found
			}
			here, err := m.list(dir, i < len(still) && still[i])
			if err != nil {
				continue
			}
			switch named := own(filepath.Base(dir)); { // it was found by its name then
			case dir == root:
				here.own = slices.DeleteFunc(slices.Clone(here.own), usual)
			case here.git && !named:
				found = append(found, dir)
			case named && !here.git:
				continue
			}
			found = appendPaths(found, dir, here.own)
			most := max(0, dirs-seen-len(next)) // those behind are not looked into
			next = appendPaths(next, dir, here.gits)
			next = appendPaths(next, dir, here.dirs[:min(len(here.dirs), most)])
			if here.modules {
				last = append(last, filepath.Join(dir, modules))
			}
		}
		if thorough {
			next = append(next, last...)
		}
		level = next
	}
	return found
}

// usual reports whether a name is one that is looked for in every root anyway.
func usual(name string) bool { return name == names.Git || name == names.Kerf }

// own reports whether a name is one of ours, or one that some file system takes for it.
func own(name string) bool {
	if !strings.ContainsAny(name, ".~") {
		return false
	}
	fold := names.Fold(name)
	return fold == names.Git || fold == names.Kerf
}

func appendPaths(list []string, dir string, in []string) []string {
	for _, name := range in {
		list = append(list, filepath.Join(dir, name))
	}
	return list
}
