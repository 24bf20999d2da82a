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

// Dirs tells which directories came and which went from one Snap to another,
// parents first. A Set has files only; this is what undoing needs beside it.
// Directories that are not watched are not told.
func (s *Scanner) Dirs(before, after *Snap) (made, gone []Dir) {
	if before == nil || after == nil {
		return nil, nil
	}
	for i, root := range s.roots {
		if before.roots[i] == nil || after.roots[i] == nil {
			continue
		}
		made = appendDirs(made, root, after.roots[i], before.roots[i])
		gone = appendDirs(gone, root, before.roots[i], after.roots[i])
	}
	return made, gone
}

// appendDirs adds the directories below n that other does not have.
func appendDirs(list []Dir, at string, n, other *node) []Dir {
	if n == other || n == nil || n.shut != "" || other != nil && other.shut != "" {
		return list
	}
	for i := range n.entries {
		e := &n.entries[i]
		if e.dir == nil {
			continue
		}
		file := path.Join(at, e.name)
		var there *node
		if o := other.entry(e.name); o != nil {
			there = o.dir
		}
		if there == nil {
			list = append(list, Dir{file, e.sig.mode.Perm()})
		}
		list = appendDirs(list, file, e.dir, there)
	}
	return list
}
