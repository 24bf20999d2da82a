package files

import (
	"kerf/internal/agent/tool"
	"kerf/internal/text/delta"
)

// Pin binds a proposed change to the places it really is about: links are followed
// now, so that what is shown and approved names the files that are written, and a
// link that somebody puts in the way later is refused at the commit. Removing a name
// that is a link removes the link.
func (f *Files) Pin(a tool.Change) (tool.Change, error) {
	real := make(map[string]string, len(a.Set))
	pinned := make(delta.Set, len(a.Set))
	for i, c := range a.Set {
		find := f.o.Tree.Target
		if c.Post == nil || isLink(c.Pre) || isLink(c.Post) {
			find = f.o.Tree.Entry
		}
		to, err := find(c.Path)
		if err != nil {
			return a, Refusal(f.Relative(c.Path), err)
		}
		if c.Post == nil && c.Pre != nil && !isLink(c.Pre) {
			if img, err := f.o.Tree.ReadEntry(to, 0); err == nil && isLink(img) {
				c.Pre = img
			}
		}
		real[c.Path] = to
		c.Path = to
		pinned[i] = c
	}
	for i := range pinned {
		for _, other := range []*string{&pinned[i].From, &pinned[i].To} {
			if to, ok := real[*other]; ok {
				*other = to
			}
		}
	}
	a.Set, a.Real = pinned, true
	return a, nil
}

func isLink(i *delta.Image) bool { return i != nil && i.Kind == delta.Symlink }
