package modes

import (
	"path"
	"slices"

	"kerf/internal/work/tree"
)

// Shut finds the directories whose modes keep their owner from paths in them.
type Shut struct {
	tree *tree.Tree
	ways map[string]bool // directories to reach; true if something is made or removed there
	seen map[string]verdict
}

// verdict is what was seen of a directory: whether it is there, whether something can be made in
// it, and whether what is in it can be reached.
type verdict struct{ there, absent, shut, locked bool }

// In returns what looks below the roots of t.
func In(t *tree.Tree) *Shut { return &Shut{tree: t, ways: map[string]bool{}} }

// Change says that the name at the real path p is made, replaced or removed.
func (s *Shut) Change(p string) { s.ways[path.Dir(p)] = true }

// Reach says that what has the name at the real path p is to be reached, and stays.
func (s *Shut) Reach(p string) { s.ways[path.Dir(p)] = s.ways[path.Dir(p)] }

// Find returns the directories that are to be opened now. Behind them there may be others:
// it is asked again until there are none.
func (s *Shut) Find() []Dir {
	s.seen = map[string]verdict{}
	var dirs []Dir
	found := map[string]bool{}
	for dir, change := range s.ways {
		at := s.closed(s.chain(dir), change)
		if at == "" || found[at] {
			continue
		}
		found[at] = true
		if perm, id, err := Of(s.tree, at); err == nil && perm&owner != owner {
			dirs = append(dirs, Dir{Path: at, ID: id, Was: perm, Want: perm})
		}
	}
	return outermost(dirs)
}

// closed is the first directory of the chain that is to be opened, or empty.
func (s *Shut) closed(chain []string, change bool) string {
	for i, at := range chain {
		v := s.look(at)
		switch {
		case !v.there:
			return ""
		case v.locked:
			return at
		case i+1 < len(chain) && !s.look(chain[i+1]).absent:
			continue
		case change && v.shut: // what is to be made, or the directory for it, is made here
			return at
		}
		return ""
	}
	return ""
}

// chain are the directories from the outermost root that dir lies in down to dir.
func (s *Shut) chain(dir string) []string {
	roots := s.tree.Roots()
	var up []string
	top := 0
	for at := dir; ; at = path.Dir(at) {
		up = append(up, at)
		if slices.Contains(roots, at) {
			top = len(up)
		}
		if at == path.Dir(at) {
			break
		}
	}
	up = up[:top]
	slices.Reverse(up)
	return up
}

func (s *Shut) look(at string) verdict {
	v, ok := s.seen[at]
	if !ok {
		d, err := s.tree.OpenDir(at)
		if err == nil {
			v = verdict{there: true, shut: refused(d.Writable(".")), locked: refused(d.Enterable())}
			d.Close()
		}
		v.absent = isAbsent(err)
		s.seen[at] = v
	}
	return v
}
