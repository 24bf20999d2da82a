package held

import (
	"maps"
	"slices"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/others"
)

// undecided finds, once Kerf has read what names hold, the files of which the command may have some
// open, and that somebody else writes or wrote: whose what they hold is nobody knows. Who has them
// open is looked up. Who closed them before is told, but was taken for the command: then the command
// has the file open more often than is left to it.
//
// A file that is closed while it is looked up is looked up again.
func (w *watch) undecided() {
	if !w.paused || w.journal == nil {
		return
	}
	for n := 1; ; n++ {
		w.hub.drain()
		list := w.writables()
		if len(list) == 0 {
			return
		}
		files := make(map[content.Inode]*others.Writers, len(list))
		for _, f := range list {
			files[f.file] = &others.Writers{}
		}
		others.Find(w.find1.Proc, files, w.threads())
		w.hub.drain()
		list = slices.DeleteFunc(list, func(f writable) bool { return w.decided(f, files[f.file]) })
		if len(list) > 0 && n < lookups {
			continue
		}
		for _, f := range list {
			w.foreign(f.name)
		}
		return
	}
}

// lookups bounds how often files are looked up that are closed meanwhile.
const lookups = 8

func (w *watch) threads() []uint32 { return slices.Collect(maps.Keys(w.calls)) }

// writable is a file that somebody has open for writing.
type writable struct {
	name    *name
	file    content.Inode
	links   uint64
	writers int // how often the command is thought to have it open
}

// writables are the files that somebody has open for writing, but for those that are in doubt.
func (w *watch) writables() (list []writable) {
	for p, n := range w.names {
		r, below := w.find(p)
		if r == nil || n.foreign {
			continue
		}
		var t content.Thing
		var err error
		if is := n.writers > 0; is {
			err = t.Lstat(r.fd, below)
		} else if t, err = content.Open(r.fd, below); err == nil {
			is = t.State.Kind == journal.File && t.BeingWritten()
			t.Close()
			if !is {
				continue
			}
		}
		if err == nil && t.State.Kind == journal.File {
			list = append(list, writable{n, t.ID, t.State.Links, w.writers(n)})
		}
	}
	return list
}

// writers is how often the command is thought to have the file at a name open, by all of its names.
func (w *watch) writers(n *name) int {
	e := w.counted[n.linked]
	if e == nil {
		return n.writers
	}
	sum := e.late
	for _, other := range w.names {
		if other.linked == n.linked {
			sum += other.writers
		}
	}
	return sum
}

// decided lets a file be in doubt that somebody else has open, or had. It reports false if it was closed
// while that was looked up.
func (w *watch) decided(f writable, open *others.Writers) bool {
	n := f.name
	opens := func(p *pending) bool { // by now, it may be
		return slices.ContainsFunc(p.expects, func(e expectation) bool { return e.name == n && e.kind == opened })
	}
	counted := f.links == 1 || w.counted[n.linked] != nil
	switch writers := w.writers(n); {
	case n.foreign:
	case open.Others:
		w.foreign(n)
	case writers != f.writers:
		return false
	case slices.ContainsFunc(n.waiting, opens):
	case counted && n.opened && open.Own > writers:
		n.writers += open.Own - writers
		w.foreign(n)
	case counted && open.Own == 0 && writers == 0, n.shared && others.Map(f.file, w.threads()):
		w.foreign(n) // mapped, or by who may not be asked
	default:
		n.shared = false
	}
	return true
}
