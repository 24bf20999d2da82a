// Package scan tells what changed under the roots between two moments.
//
// Commands write behind Kerf's back. A [Scanner] takes a [Snap] before and one
// after and compares them: by stat signature first, by content where signatures
// differ. What a command may destroy is kept beforehand: files that git does not
// hold as they are go to the store, the others are had from git when they are
// needed. All of this has limits, and whatever lies beyond them is told as a
// [Gap], never passed over.
//
// The laws:
//   - A Diff applied to the state of its first Snap gives the state of its
//     second, byte for byte, for regular files and links, except where a Gap
//     names the path or a directory above it.
//   - Nothing that is not a regular file is opened, no link is followed, and
//     nothing a repository says is run.
//   - Files whose signature did not change are not read again. A signature that
//     is as young as the Snap itself proves nothing; such files are read again
//     the next time.
package scan

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kerf/internal/pathname"
	"kerf/internal/text/delta"
)

// Putter is where contents are kept; *store.Store is one. It must allow
// concurrent calls.
type Putter interface {
	Put(data []byte) (delta.Sum, error)
	Get(sum delta.Sum) ([]byte, error)
}

// Caps bound what scanning costs. Zero fields take the defaults.
type Caps struct {
	FileSize int64 // bytes of one file that are read and kept; default 4 MiB
	Total    int64 // bytes of all files of one Snap that are kept; default 256 MiB
	Files    int   // files and directories that are watched; default 100,000
}

// Options say what to scan.
type Options struct {
	// Roots are absolute directories. The file system's root and the home
	// directory, and what contains it, are refused: nobody wants them kept.
	Roots []string
	// Store keeps contents.
	Store Putter
	Caps  Caps
	// Git is the git program, "" to find one on PATH outside the roots, "-" for
	// none. It is run with nothing but cat-file and config, neither of which runs
	// anything a repository names.
	Git string
	// Home is the home directory, "" for the user's.
	Home string
	// Hides reports whether something below a directory, or a path itself, is hidden from
	// commands: they cannot change it, and nothing of it is kept. Nil for nothing.
	Hides func(path string, below bool) bool
}

// Scanner watches the roots. Its methods are called by one goroutine at a time;
// the goroutines it starts have ended when a method returns.
type Scanner struct {
	roots   []string // absolute, with slashes
	refused []Gap
	store   Putter
	caps    Caps
	git     string
	hides   func(path string, below bool) bool

	last  *Snap
	gen   uint64
	mu    sync.Mutex       // guards repos while walkers run
	repos map[string]*repo // by the top of their work trees
	// settled are the directories that the roots are, links followed once.
	settled map[string]string
}

// Open makes a Scanner and looks at nothing yet. Roots inside other roots are
// left out. An error means that a root is no absolute path or that there is no
// store; refused roots are no error, see Enabled.
func Open(o Options) (*Scanner, error) {
	if o.Store == nil {
		return nil, errors.New("scan: no store")
	}
	s := &Scanner{store: o.Store, hides: o.Hides, repos: make(map[string]*repo), settled: make(map[string]string)}
	s.caps.FileSize = cmp.Or(o.Caps.FileSize, 4<<20)
	s.caps.Total = cmp.Or(o.Caps.Total, 256<<20)
	s.caps.Files = cmp.Or(o.Caps.Files, 100_000)
	home := o.Home
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	for _, root := range o.Roots {
		if !filepath.IsAbs(root) {
			return nil, errors.New("scan " + root + ": the path is not absolute")
		}
		root = filepath.Clean(root)
		if why := tooWide(root, home); why != "" {
			s.refused = append(s.refused, Gap{filepath.ToSlash(root), Refused, why})
			continue
		}
		s.roots = append(s.roots, filepath.ToSlash(root))
		s.settled[filepath.ToSlash(root)] = resolved(root)
	}
	slices.Sort(s.roots)
	s.roots = slices.Compact(s.roots)
	s.roots = slices.DeleteFunc(s.roots, func(r string) bool {
		return slices.ContainsFunc(s.roots, func(other string) bool { return r != other && pathname.Under(other, r) })
	})
	s.git = findGit(o.Git, s.roots)
	return s, nil
}

// tooWide says why root is too much to watch, or nothing.
func tooWide(root, home string) string {
	real := resolved(root)
	if filepath.Dir(real) == real {
		return "the whole file system is not tracked; start in a project directory"
	}
	if home == "" {
		return ""
	}
	home = resolved(filepath.Clean(home))
	if pathname.Inside(real, home) {
		return "the home directory is not tracked; start in a project directory"
	}
	return ""
}

func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// Enabled reports whether any root is watched. If not, snapshots are empty and
// Reason tells the user why.
func (s *Scanner) Enabled() bool { return len(s.roots) > 0 }

// Reason says why roots are not watched, in words for the user, or is empty.
func (s *Scanner) Reason() string {
	var reasons []string
	for _, g := range s.refused {
		reasons = append(reasons, g.Path+": "+g.Reason)
	}
	if reasons == nil && !s.Enabled() {
		return "there is no root to track"
	}
	return strings.Join(reasons, "; ")
}
