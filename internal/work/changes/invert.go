package changes

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"kerf/internal/text/delta"
	"kerf/internal/work/store"
	"kerf/internal/work/tree"
)

// inverter takes steps back, the newest first, on a picture of the present.
type inverter struct {
	reader   Reader
	book     *book
	look     Look
	selected map[atom]bool
	state    map[string]*place // by path
	files    map[string]*FilePlan
}

// place is one path: what is there, and what it becomes.
type place struct {
	was, is *delta.Image
	blocked error // it holds something that is neither file nor link
	move    string
}

func (w *inverter) run(steps []step) {
	done := make([]bool, len(steps))
	at := make(map[string][]int, len(steps))
	for i, s := range steps {
		at[s.path] = append(at[s.path], i)
	}
	for i, s := range slices.Backward(steps) {
		if done[i] {
			continue
		}
		done[i] = true
		if j := partner(steps, at, done, s); j >= 0 {
			done[j] = true
			gone, made := s, steps[j]
			if s.post != nil {
				gone, made = made, gone
			}
			w.moveBack(gone, made)
			continue
		}
		w.back(s)
	}
}

// partner finds the other half of a move, or returns -1.
func partner(steps []step, at map[string][]int, done []bool, s step) int {
	switch {
	case s.to != "" && s.post == nil && s.pre != nil:
		for _, j := range at[s.to] {
			if o := steps[j]; !done[j] && o.from == s.path && o.pre == nil && o.post != nil {
				return j
			}
		}
	case s.from != "" && s.pre == nil && s.post != nil:
		for _, j := range at[s.from] {
			if o := steps[j]; !done[j] && o.to == s.path && o.post == nil && o.pre != nil {
				return j
			}
		}
	}
	return -1
}

// back takes one step of one path back.
func (w *inverter) back(s step) {
	if s.pre.Same(s.post) {
		return
	}
	at := s.path
	if s.post != nil {
		at = w.follow(s.path, s.last)
	}
	pl, ok := w.place(at)
	if !ok {
		return
	}
	next, outcome, note := w.rebase(at, s.post, s.pre, pl.is)
	w.note(at, outcome, note)
	if outcome == Restored || outcome == Merged {
		pl.is = next
	}
}

// moveBack takes a move back: what came to be at made.path returns to gone.path,
// with what was changed in it since.
func (w *inverter) moveBack(gone, made step) {
	at := w.follow(made.path, made.last)
	src, ok := w.place(at)
	dst, ok2 := w.place(gone.path)
	if !ok || !ok2 {
		return
	}
	if src.is == nil && dst.is.Same(gone.pre) {
		w.note(gone.path, Unchanged, "")
		return
	}
	if dst.is != nil {
		w.note(gone.path, Conflict, "something else is there now")
		return
	}
	if src.is == nil {
		w.note(at, Conflict, "it is gone")
		return
	}
	next, outcome, note := w.rebase(at, made.post, gone.pre, src.is)
	if outcome == Unchanged {
		outcome = Restored
	}
	w.note(at, outcome, note)
	w.note(gone.path, outcome, note)
	if outcome == Restored || outcome == Merged {
		dst.is, src.is = next, nil
		src.move = gone.path
	}
}

// follow returns where the file that was at path after entry seq is now.
func (w *inverter) follow(path string, seq int64) string {
	if w.reader.Fault == ForgetMoves {
		return path
	}
	return w.book.follow(path, seq, func(a atom) bool { return w.selected[a] })
}

// rebase makes the change from pre to post on what is there now.
func (w *inverter) rebase(path string, pre, post, now *delta.Image) (next *delta.Image, outcome, note string) {
	switch {
	case now.Same(post):
		if post != nil && !now.Loaded {
			full, err := w.reader.load(now)
			if err == nil {
				now = full
			}
		}
		return now, Unchanged, ""
	case now.Same(pre):
		full, err := w.reader.load(post)
		if err != nil {
			return nil, Missing, lostNote(err)
		}
		if w.reader.Fault == LoseMode && full != nil && full.Kind == delta.File {
			worse := *full
			worse.Mode ^= 0o111
			full = &worse
		}
		return full, Restored, ""
	}
	c := delta.Change{Path: path, Pre: pre, Post: post}
	out, err := delta.Rebase(c, now)
	if errors.Is(err, delta.ErrNotLoaded) {
		var lost error
		if c.Pre, lost = w.reader.load(pre); lost == nil {
			c.Post, lost = w.reader.load(post)
		}
		if lost != nil {
			return nil, Missing, lostNote(lost)
		}
		out, err = delta.Rebase(c, now)
	}
	if err != nil {
		return nil, Conflict, conflictNote(err, now, post)
	}
	full, err := w.reader.load(out.Post)
	if err != nil {
		return nil, Missing, lostNote(err)
	}
	if full.Same(now) {
		return now, Unchanged, ""
	}
	return full, Merged, "later changes of it are kept"
}

func lostNote(err error) string {
	if errors.Is(err, store.ErrDamaged) {
		return "its earlier content is damaged in the store"
	}
	return "its earlier content was not kept"
}

func conflictNote(err error, now, post *delta.Image) string {
	var c *delta.ConflictError
	switch {
	case !errors.As(err, &c):
		return err.Error()
	case len(c.Conflicts) > 0:
		return fmt.Sprintf("line %d was changed since", c.Conflicts[0].OursLines.Start)
	case now == nil:
		return "it is gone"
	case post == nil:
		return "it was changed since, and undo would delete these changes"
	case c.Base == nil:
		return "something else is there now"
	}
	return "it was changed since in a way that cannot be merged"
}

// place looks at a path, once. It is not ok when the path cannot be dealt with,
// which is noted, or when it was given up before.
func (w *inverter) place(path string) (*place, bool) {
	if f := w.files[path]; f != nil && (f.Outcome == Conflict || f.Outcome == Missing) {
		return nil, false
	}
	pl, ok := w.state[path]
	if !ok {
		img, err := w.look(path)
		pl = &place{was: img, is: img}
		switch {
		case errors.Is(err, tree.ErrDirectory):
			pl.was, pl.is, pl.blocked = nil, nil, err
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			pl.was, pl.is = nil, nil
		case err != nil:
			w.note(path, Conflict, err.Error())
			return nil, false
		}
		w.state[path] = pl
	}
	return pl, true
}

// rank orders outcomes: a file that was merged once is merged in the end.
func rank(outcome string) int {
	return slices.Index([]string{"", Unchanged, Restored, Merged, Missing, Conflict}, outcome)
}

func (w *inverter) note(path, outcome, note string) {
	f := w.files[path]
	if f == nil {
		f = &FilePlan{Path: path}
		w.files[path] = f
	}
	if rank(outcome) >= rank(f.Outcome) {
		f.Outcome, f.Note = outcome, note
	}
}

// result is the set that makes the picture true, and the outcomes, by path.
func (w *inverter) result() (delta.Set, []FilePlan) {
	w.checkBlocked()
	var set delta.Set
	for path, pl := range w.state {
		f := w.files[path]
		if f == nil || f.Outcome == Missing || f.Outcome == Conflict {
			continue
		}
		if pl.was.Same(pl.is) {
			f.Outcome, f.Note = Unchanged, ""
			continue
		}
		c := delta.Change{Path: path, Pre: pl.was, Post: pl.is}
		if pl.move != "" && pl.is == nil {
			c.To = pl.move
		}
		set = append(set, c)
	}
	slices.SortFunc(set, func(a, b delta.Change) int { return strings.Compare(a.Path, b.Path) })
	pairMoves(set)
	files := make([]FilePlan, 0, len(w.files))
	for _, f := range w.files {
		files = append(files, *f)
	}
	slices.SortFunc(files, func(a, b FilePlan) int { return strings.Compare(a.Path, b.Path) })
	return set, files
}

// pairMoves lets the two halves of a move name each other, or neither.
func pairMoves(set delta.Set) {
	at := make(map[string]int, len(set))
	for i, c := range set {
		at[c.Path] = i
	}
	for i, c := range set {
		if c.To == "" {
			continue
		}
		j, ok := at[c.To]
		if o := &set[j]; !ok || o.Pre != nil || o.Post == nil || o.From != "" {
			set[i].To = ""
			continue
		}
		set[j].From = c.Path
	}
}

// checkBlocked gives up files whose name a directory has, unless all below it
// goes in the same plan.
func (w *inverter) checkBlocked() {
	for path, pl := range w.state {
		if pl.blocked == nil || pl.is == nil {
			continue
		}
		emptied := false
		for other, o := range w.state {
			emptied = emptied || within(other, path) && o.was != nil && o.is == nil
		}
		if !emptied {
			w.note(path, Conflict, "a directory is there now")
		}
	}
}
