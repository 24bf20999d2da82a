// Package moved finds where a file may be that is not at its path any more.
package moved

import (
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/text/diff"
	"kerf/internal/work/inode"
	"kerf/internal/work/ledger"
)

// Like is how much of the content is to be the same, in percent, as for moves in a diff.
const Like = 60

// The bounds of a search.
const (
	maxEntries = 200_000     // names that are looked at, in all roots together
	maxSize    = 16 << 20    // bytes; larger files are not compared
	maxRead    = 64 << 20    // bytes that are read, in all
	clock      = time.Second // by so much file systems may be behind
)

// Search is for one file.
type Search struct {
	Path  string       // absolute, with slashes: where it was
	Image *delta.Image // what it was, loaded
	Since time.Time    // it was still there
	Least int          // how much of its content is to be there still, in percent
	Roots []string     // where it may be
	// Known reports paths that cannot be it: those of which it is known how they came to be.
	Known func(path string) bool
	// Read returns what is at a path.
	Read func(path string) (*delta.Image, error)
}

// Find returns the one path whose content is most like that of the file, and "" where there is
// none, or several are alike. It looks at files whose inode changed since then, as it does with a
// rename, and at those of the same name, whose directory may have been renamed.
func (s *Search) Find() string {
	if s.Image == nil || s.Image.Kind != delta.File || !s.Image.Loaded || s.Image.Size == 0 || s.Image.Size > maxSize {
		return ""
	}
	best, found, seen, read := s.Least-1, "", 0, int64(0)
	for _, root := range s.Roots {
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
			p := filepath.ToSlash(name)
			if !s.fits(p, d) || read > maxRead || s.Known(p) {
				return nil
			}
			now, err := s.Read(p)
			if err != nil || now == nil || now.Kind != delta.File || !now.Loaded {
				return nil
			}
			read += now.Size
			switch like := diff.Similarity(s.Image.Data, now.Data); {
			case like > best:
				best, found = like, p
			case like == best:
				found = ""
			}
			return nil
		})
	}
	return found
}

// fits reports whether the file of d may be it, as far as that can be told without its content.
func (s *Search) fits(p string, d fs.DirEntry) bool {
	if !d.Type().IsRegular() {
		return false
	}
	info, err := d.Info()
	if err != nil {
		return false
	}
	small, large := min(info.Size(), s.Image.Size), max(info.Size(), s.Image.Size)
	since := s.Since.Add(-clock).UnixNano()
	return small*100 >= large*int64(s.Least) && (path.Base(p) == path.Base(s.Path) || inode.Changed(info) >= since)
}

// Written are the paths at which entries that are not others' put something.
func Written(entries []ledger.Entry) map[string]bool {
	paths := map[string]bool{}
	for _, e := range entries {
		for _, c := range e.Changes {
			if c.Post != nil && e.Cause != ledger.CauseOutside {
				paths[c.Path] = true
			}
		}
	}
	return paths
}
