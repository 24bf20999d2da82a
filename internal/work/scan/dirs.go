package scan

import (
	"path"

	"kerf/internal/work/ledger"
)

// Dirs tells which directories came, which went and which got another mode from one
// Snap to another, parents first. A Set has files only; this is what undoing needs
// beside it. Directories that are not watched are not told.
func (s *Scanner) Dirs(before, after *Snap) (made []ledger.Path, gone []ledger.Dir,
	modes []ledger.DirMode) {
	for i, root := range s.roots {
		if before == nil || after == nil || before.roots[i] == nil || after.roots[i] == nil {
			continue
		}
		eachDir(root, after.roots[i], before.roots[i], func(d ledger.Dir, was *entry) {
			if was.dir == nil {
				made = append(made, d.Path)
			} else if m := uint32(was.sig.mode.Perm()); m != d.Mode {
				modes = append(modes, ledger.DirMode{Path: d.Path, Pre: m, Post: d.Mode})
			}
		})
		eachDir(root, before.roots[i], after.roots[i], func(d ledger.Dir, is *entry) {
			if is.dir == nil {
				gone = append(gone, d)
			}
		})
	}
	return made, gone, modes
}

// eachDir calls f for the directories below n, with what other has there, empty if that
// is no directory. What both share is left out.
func eachDir(at string, n, other *node, f func(d ledger.Dir, there *entry)) {
	if n == other || n == nil || n.shut != "" || other != nil && other.shut != "" {
		return
	}
	for i := range n.entries {
		e := &n.entries[i]
		if e.dir == nil {
			continue
		}
		name := path.Join(at, e.name)
		d := ledger.Dir{Path: ledger.Path(name), Mode: uint32(e.sig.mode.Perm())}
		o := other.entry(e.name)
		if o == nil || o.dir == nil {
			o = &entry{}
		}
		f(d, o)
		eachDir(name, e.dir, o.dir, f)
	}
}
