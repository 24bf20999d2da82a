package scan

import (
	"io/fs"
	"path"
)

// Dir is a directory with its permission bits.
type Dir struct {
	Path string // absolute, with slashes
	Mode fs.FileMode
}

// DirMode is a directory whose permission bits changed.
type DirMode struct {
	Path      string
	Pre, Post fs.FileMode
}

// Dirs tells which directories came, which went and which got another mode from one
// Snap to another, parents first. A Set has files only; this is what undoing needs
// beside it. Directories that are not watched are not told.
func (s *Scanner) Dirs(before, after *Snap) (made, gone []Dir, modes []DirMode) {
	for i, root := range s.roots {
		if before == nil || after == nil || before.roots[i] == nil || after.roots[i] == nil {
			continue
		}
		eachDir(root, after.roots[i], before.roots[i], func(d Dir, was *entry) {
			if was.dir == nil {
				made = append(made, d)
			} else if m := was.sig.mode.Perm(); m != d.Mode {
				modes = append(modes, DirMode{d.Path, m, d.Mode})
			}
		})
		eachDir(root, before.roots[i], after.roots[i], func(d Dir, is *entry) {
			if is.dir == nil {
				gone = append(gone, d)
			}
		})
	}
	return made, gone, modes
}

// eachDir calls f for the directories below n, with what other has there, empty if that
// is no directory. What both share is left out.
func eachDir(at string, n, other *node, f func(d Dir, there *entry)) {
	if n == other || n == nil || n.shut != "" || other != nil && other.shut != "" {
		return
	}
	for i := range n.entries {
		e := &n.entries[i]
		if e.dir == nil {
			continue
		}
		d := Dir{path.Join(at, e.name), e.sig.mode.Perm()}
		o := other.entry(e.name)
		if o == nil || o.dir == nil {
			o = &entry{}
		}
		f(d, o)
		eachDir(d.Path, e.dir, o.dir, f)
	}
}
