package changes

import (
	"errors"
	"path"
	"slices"
	"strings"

	"kerf/internal/text/delta"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
)

// fit sees to it that files are in directories and that only directories go in which
// nothing is left.
func (w *inverter) fit() {
	paths := make([]string, 0, len(w.state))
	for p := range w.state {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int {
		if n := strings.Count(b, "/") - strings.Count(a, "/"); n != 0 {
			return n // children first
		}
		return strings.Compare(a, b)
	})
	for _, p := range paths {
		if pl := w.state[p]; w.becomes(p) != nil && !present.Same(pl.was, w.becomes(p)) {
			w.standOn(p)
		}
	}
	for _, p := range paths {
		pl := w.state[p]
		if is := w.becomes(p); !present.IsDir(pl.was) || present.IsDir(is) {
			continue
		} else if what := w.left(p); what == "" {
			continue
		} else if is != nil {
			w.note(p, Conflict, "a directory is there now, with "+what+" in it")
		} else {
			pl.is = pl.was
			w.files[p].Outcome, w.files[p].Note = Unchanged, what+" is in it"
		}
	}
}

// hold leaves what is at a path there if it was to go to another one, and does not get there.
func (w *inverter) hold() {
	paths := w.carried.Paths()
	for again := true; again; {
		again = false
		for _, from := range paths {
			again = w.holdAt(from) || again
		}
	}
}

// holdAt is hold at one path.
func (w *inverter) holdAt(from string) bool {
	src := w.state[from]
	if src == nil || w.becomes(from).Same(src.was) {
		return false
	}
	_, to := w.carried.Arrives(from, func(p string) bool { return w.gets(src.was, p) })
	if to == "" {
		return false
	}
	outcome, why := Conflict, "what it holds does not get to "+Relative(w.reader.Base, to)
	if to == from {
		why = "another file came to this place since; undo that first"
	}
	if f := w.files[to]; w.conflicts == settle.Ours {
		src.is, outcome = src.was, Unchanged
		w.files[from].Outcome = "" // in any case
	} else if f != nil && f.Outcome == Missing {
		outcome = Missing
	}
	w.note(from, outcome, why)
	return true
}

// gets reports whether a path gets a content, or has it.
func (w *inverter) gets(img *delta.Image, to string) bool {
	f, dst := w.files[to], w.state[to]
	switch {
	case f == nil && w.stay(to):
		now, err := w.look.At(to)
		return err == nil && now.At().Sum == img.At().Sum
	case f == nil, f.Outcome == Restored, f.Outcome == Unchanged && w.conflicts != settle.Ours:
		return true
	case dst == nil:
		return false
	}
	is := w.becomes(to)
	merged := f.Outcome == Merged && is != nil && !is.Same(dst.was) && (w.conflicts != settle.Ours || f.Note == laterKept)
	return merged || is.At().Sum == img.At().Sum
}

// becomes is what a path of the picture will hold.
func (w *inverter) becomes(p string) *delta.Image {
	pl := w.state[p]
	if f := w.files[p]; f == nil || given(f) {
		return pl.was
	}
	return pl.is
}

// standOn makes sure that what is above p will be directories.
func (w *inverter) standOn(p string) {
	for dir := path.Dir(p); dir != path.Dir(dir); dir = path.Dir(dir) {
		pl := w.state[dir]
		if pl == nil {
			img, err := w.look.At(dir)
			if err != nil || present.IsDir(img) {
				return // what is above a root cannot be looked at
			}
			if img != nil {
				w.note(p, Conflict, dir+" is "+settle.KindOf(img)+" now")
				return
			}
			continue
		}
		switch is := w.becomes(dir); {
		case present.IsDir(is):
		case is == nil && present.IsDir(pl.was):
			pl.is = pl.was // it is needed
		case is != nil:
			w.note(p, Conflict, dir+" is "+settle.KindOf(is)+" now")
			return
		}
	}
}

// left names something that stays in a directory which is to go, or returns "".
func (w *inverter) left(dir string) string {
	if w.reader.Fault == LookNotInside {
		return ""
	}
	names, err := w.look.Names(dir)
	if errors.Is(err, present.ErrShut) {
		return "" // a directory goes only if it is empty then
	}
	if err != nil {
		return "something that cannot be seen"
	}
	for _, name := range names {
		p := strings.TrimSuffix(dir, "/") + "/" + name
		pl := w.state[p]
		if pl == nil || w.becomes(p) != nil {
			return name
		}
		if present.IsDir(pl.was) {
			if what := w.left(p); what != "" {
				return name + "/" + what
			}
		}
	}
	return ""
}
