// Package moved finds where a file may be that is not at its path any more.
package moved

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/text/order"
	"kerf/internal/work/inode"
	"kerf/internal/work/ledger"
)

// least is how much of the content is to be the same, in percent, as for moves in a diff.
const least = 60

// The bounds of all searches for one plan together.
const (
	maxEntries = 200_000     // names that are looked at
	maxSize    = 16 << 20    // bytes; larger files are not compared
	maxFiles   = 1000        // files that are read
	maxRead    = 64 << 20    // bytes that are read
	clock      = time.Second // by so much file systems may be behind
)

// Search is for one file.
type Search struct {
	Path  string        // absolute, with slashes: where it was
	Image delta.Version // what it was
	Since time.Time     // it was still there
	Goes  bool          // it is to be removed, so it has to be the same
	// Load returns the content, if it is to be had; it is called when something may be the file.
	Load func() (*delta.Image, error)
	// Known reports paths that cannot be it: those of which it is known how they came to be.
	Known func(path string) bool
}

// Finder finds files in some roots. It lists them once.
type Finder struct {
	Roots []string
	// Read returns what is at a path.
	Read func(path string, limit int64) (*delta.Image, error)

	listed bool
	files  []file // by size
	left   int    // files that may still be read
	bytes  int64  // the same in bytes
}

// file is one that may be it.
type file struct {
	path    string
	size    int64
	changed int64 // its inode, in nanoseconds since 1970
}

// Find returns the one path whose content is most like that of the file, and "" where there is
// none, or several are alike. It looks at files whose inode changed since then, as it does with a
// rename, and at those of the same name, whose directory may have been renamed.
func (f *Finder) Find(s Search) string {
	if s.Image.Kind != delta.File || s.Image.Size == 0 || s.Image.Size > maxSize {
		return ""
	}
	if !f.listed {
		f.list()
	}
	least := int64(least)
	if s.Goes {
		least = 100
	}
	since, size := s.Since.Add(-clock).UnixNano(), s.Image.Size
	at, _ := slices.BinarySearchFunc(f.files, (size*least+99)/100,
		func(f file, n int64) int { return cmp.Compare(f.size, n) })
	best, found := int(least)-1, ""
	var was *delta.Image
	for _, c := range f.files[at:] {
		if c.size*least > size*100 {
			break
		}
		if c.changed < since && path.Base(c.path) != path.Base(s.Path) || s.Known(c.path) {
			continue
		}
		if was == nil {
			var err error
			if was, err = s.Load(); err != nil {
				return ""
			}
		}
		if f.left--; f.left < 0 || f.bytes < c.size {
			return "" // what was not compared may be more like it
		}
		f.bytes -= c.size
		now, err := f.Read(c.path, 2*c.size)
		if err != nil || now == nil || now.Kind != delta.File || !now.Loaded {
			continue
		}
		switch like := diff.Similarity(was.Data, now.Data); {
		case like > best:
			best, found = like, c.path
		case like == best:
			found = ""
		}
	}
	return found
}

// list notes all files with their sizes.
func (f *Finder) list() {
	f.listed, f.left, f.bytes = true, maxFiles, maxRead
	seen := 0
	for _, root := range f.Roots {
		_ = filepath.WalkDir(filepath.FromSlash(root), func(name string, d fs.DirEntry, err error) error {
			if seen++; seen > maxEntries {
				return fs.SkipAll
			}
			if err != nil || d.IsDir() {
				if err == nil && d.Name() == ".git" {
					return fs.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Size() > 0 && info.Size() <= maxSize {
				f.files = append(f.files, file{filepath.ToSlash(name), info.Size(), inode.Changed(info)})
			}
			return nil
		})
	}
	order.By(f.files, func(a, b file) int { return cmp.Compare(a.size, b.size) })
}

// Written returns, and works out once when it is asked for, the paths at which entries that are not
// others' put something. What an undo puts where a file went on to be is no such thing.
func Written(entries []ledger.Entry) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		paths := map[string]bool{}
		for _, e := range entries {
			for _, c := range e.Changes {
				if c.Post != nil && e.Cause != ledger.CauseOutside && len(e.Undoes) == 0 {
					paths[c.Path] = true
				}
			}
		}
		return paths
	})
}
