package changes

import (
	"kerf/internal/text/delta"
	"kerf/internal/work/changes/moved"
)

// moved looks for the file that step s left at a path where nothing is any more: somebody else
// may have moved it, and nothing was recorded. If changes follow files, it returns the place
// where it is now.
func (w *inverter) moved(at string, pl *place, s step) (string, *place, bool) {
	if pl.was != nil || pl.is != nil || s.post == nil || s.post.Kind != delta.File || w.look.Moved == nil {
		return at, pl, true
	}
	to, ok := w.where[at]
	if !ok {
		to = w.find(at, s)
		w.where[at] = to
	}
	if to == "" || !w.follows {
		return at, pl, true
	}
	pl, ok = w.place(to, s.post)
	return to, pl, ok
}

// find looks for a file that Kerf did not write itself. One that is to go has to be the same.
func (w *inverter) find(at string, s step) string {
	i, ok := w.book.at[s.last]
	if !ok {
		return ""
	}
	return w.look.Moved(moved.Search{Path: at, Image: s.post.Version, Since: w.book.entries[i].Time, Goes: s.pre == nil,
		Known: func(p string) bool { return w.written()[p] || w.state[p] != nil },
		Load:  func() (*delta.Image, error) { return w.load(at, s.post) }})
}

// tellMoved adds to conflicts where the file may be that is gone.
func (w *inverter) tellMoved(p *Plan) {
	for i, f := range p.Files {
		if to := w.where[f.Path]; to != "" && f.Outcome == Conflict {
			p.Files[i].Moved = to
			p.Files[i].Note += ", and " + Relative(w.reader.Base, to) + " is much like it"
		}
	}
}
