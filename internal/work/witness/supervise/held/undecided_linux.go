package held

import (
	"maps"
	"slices"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/endings"
	"kerf/internal/work/witness/supervise/held/others"
)

func (w *watch) threads() []uint32 { return slices.Collect(maps.Keys(w.calls)) }

// writables are the files that somebody has open for writing, but for those that are in doubt.
func (w *watch) writables() (list []*others.File) {
	for p, n := range w.names {
		r, below := w.roots.Find(p)
		if r == nil || n.foreign {
			continue
		}
		var t content.Thing
		var err error
		is := n.writers > 0
		if is {
			err = t.Lstat(r.FD, below)
		} else if t, err = content.Open(r.FD, below); err == nil {
			is = t.State.Kind == journal.File && t.BeingWritten()
			t.Close()
		}
		if is && err == nil && t.State.Kind == journal.File {
			list = append(list, w.writable(n, &t))
		}
	}
	w.several.Each(func(id content.Inode, e *endings.Several) {
		if e.Left() > 0 {
			list = append(list, &others.File{ID: id, Counted: true, Opened: true, Writers: e.Left, Opening: func() bool { return false },
				Doubt: func() { w.write(unnamed(journal.Foreign, id)); e.Parted(-e.Late()) }})
		}
	})
	return list
}

func (w *watch) writable(n *name, t *content.Thing) *others.File {
	f := &others.File{ID: t.ID, Counted: t.State.Links == 1 || w.several.Of(n.linked) != nil, Opened: n.opened, Unsure: n.unsure,
		Writers: func() int { return w.writers(n) }, Opening: func() bool { return slices.ContainsFunc(n.waiting, n.opening) }}
	f.Doubt = func() {
		n.writers += f.More
		w.foreign(n)
	}
	return f
}

// opening reports whether a call may open what is at a name.
func (n *name) opening(p *pending) bool {
	return slices.ContainsFunc(p.expects, func(e expectation) bool { return e.name == n && e.kind == opened })
}

// writers is how often the command is thought to have the file at a name open, by all of its names.
func (w *watch) writers(n *name) int {
	e := w.several.Of(n.linked)
	if e == nil {
		return n.writers
	}
	sum := e.Late()
	for _, other := range w.names {
		if other.linked == n.linked {
			sum += other.writers
		}
	}
	return sum
}
