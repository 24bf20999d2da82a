package scan

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/tree"
)

// Note tells the Scanner of a change that Kerf made itself: path, absolute, is
// img now, or gone if img is nil. The latest Snap is changed in place as if it
// had been taken just after, so that the Diff from it to the next tells only
// what others did. The file is read the next time, so a write that came on top
// does not hide behind the one that is noted.
//
// Bytes that img brings along are put in the store; those of an image that is
// not Loaded must be there already.
func (s *Scanner) Note(name string, img *delta.Image) {
	if s.last == nil {
		return
	}
	name = path.Clean(filepath.ToSlash(name))
	s.gen++
	for i, root := range s.roots {
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
		if !ok || tree.IsTemporary(path.Base(name)) || slices.Contains(strings.Split(below, "/"), ".git") {
			continue
		}
		n := noter{s: s, img: img}
		if top := n.put(s.last.roots[i], root, strings.Split(below, "/")); top != nil {
			s.last.roots[i] = top
		}
		s.last.sum(s.gen)
		s.last.tell(s)
	}
}

// noter writes one path into a tree of nodes; it copies those on the way.
type noter struct {
	s   *Scanner
	img *delta.Image
}

// put returns n with the path below it changed, or nil if n is nothing and stays
// it.
func (w *noter) put(n *node, at string, names []string) *node {
	if n == nil {
		if w.img == nil {
			return nil
		}
		n = &node{racy: true} // a directory made on the way; its names are not known
	}
	if n.shut != "" {
		return n
	}
	c := *n
	c.gen = w.s.gen
	c.entries = slices.Clone(n.entries)
	i, ok := c.find(names[0])
	file := path.Join(at, names[0])
	e := entry{name: names[0]}
	if ok && len(names) > 1 {
		e = c.entries[i]
	}
	keep := w.img != nil
	if len(names) == 1 {
		if keep {
			e = w.entry(file, e)
		}
	} else {
		e.body = nil
		e.dir = w.put(e.dir, file, names[1:])
		if keep && !e.sig.isDir() {
			e.sig, _ = pathSig(filepath.FromSlash(file))
		}
		keep = e.dir != nil && (keep || len(e.dir.entries) > 0 || exists(file))
	}
	switch {
	case keep && ok:
		c.entries[i] = e
	case keep:
		c.entries = order.Insert(c.entries, i, e)
	case ok:
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	return &c
}

func exists(name string) bool {
	_, err := pathSig(filepath.FromSlash(name))
	return err == nil
}

// entry makes the entry of the noted file.
func (w *noter) entry(file string, e entry) entry {
	img := w.img
	e.racy = true
	e.body = &body{from: inStore, hashed: true, sum: img.Sum, size: img.Size}
	if s, err := pathSig(filepath.FromSlash(file)); err == nil && !s.isDir() && !s.isSpecial() {
		e.sig = s
	}
	// The version is the noted one whatever the disk has by now.
	e.sig.mode = modeOf(img.Version)
	e.sig.size = img.Size
	if !img.Loaded {
		return e
	}
	if img.Kind == delta.Symlink || img.Size == 0 {
		e.body = inlined(string(img.Data))
		return e
	}
	if sum, err := w.s.store.Put(img.Data); err != nil || sum != img.Sum {
		e.body.from, e.body.kind, e.body.why = onlyKnown, Lost, "not kept: it could not be stored"
	}
	return e
}
