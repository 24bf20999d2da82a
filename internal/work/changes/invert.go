package changes

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"kerf/internal/text/delta"
	"kerf/internal/text/order"
	"kerf/internal/work/changes/carried"
	"kerf/internal/work/changes/moved"
	"kerf/internal/work/changes/present"
	"kerf/internal/work/changes/settle"
	"kerf/internal/work/ledger"
	"kerf/internal/work/txn/contents"
)

// inverter takes steps back, the newest first, on a picture of the present.
type inverter struct {
	reader    Reader
	book      *book
	look      present.Look
	selected  map[atom]bool
	state     map[string]*place // by path
	files     map[string]*FilePlan
	conflicts settle.Way
	follows   bool // changes of a file that is gone are taken back where it may be
	where     map[string]string
	written   func() map[string]bool // see moved.Written
	carried   carried.Contents
	stay      func(path string) bool // what is there is left alone
}

// place is one path: what is there, and what it becomes.
type place struct {
	was, is *delta.Image
	move    string
}

func newInverter(r Reader, b *book, look present.Look) *inverter {
	return &inverter{reader: r, book: b, look: look, selected: map[atom]bool{}, state: map[string]*place{},
		files: map[string]*FilePlan{}, where: map[string]string{}, written: moved.Written(b.entries),
		stay: func(string) bool { return false }}
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
			if s.comes() {
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
	case s.to != "" && s.leaves():
		for _, j := range at[s.to] {
			if o := steps[j]; !done[j] && o.from == s.path && o.comes() {
				return j
			}
		}
	case s.from != "" && s.comes():
		for _, j := range at[s.from] {
			if o := steps[j]; !done[j] && o.to == s.path && o.leaves() {
				return j
			}
		}
	}
	return -1
}

// leaves and comes report whether s is one half of a move. A directory may have taken
// the place, or given it.
func (s step) leaves() bool {
	return s.pre != nil && !present.IsDir(s.pre) && (s.post == nil || present.IsDir(s.post))
}
func (s step) comes() bool {
	return s.post != nil && !present.IsDir(s.post) && (s.pre == nil || present.IsDir(s.pre))
}

// back takes one step of one path back.
func (w *inverter) back(s step) {
	if present.IsDir(s.pre) && present.IsDir(s.post) {
		w.modeBack(s)
		return
	}
	if s.pre.Same(s.post) {
		return
	}
	at := s.path
	if s.post != nil && !present.IsDir(s.post) {
		at = w.follow(s.path, s.last)
	}
	pl, ok := w.place(at, s.post)
	if ok {
		at, pl, ok = w.moved(at, pl, s)
	}
	w.carried.Taken(s.path, at)
	if !ok {
		return
	}
	if at != s.path && present.IsDir(s.pre) { // which was not where the file is now
		w.back(step{path: s.path, pre: s.pre})
		s.pre = nil
	}
	next, outcome, note := w.rebase(at, s.post, s.pre, pl.is)
	if to := w.where[at]; to != "" && outcome == Unchanged && w.conflicts != settle.Ours {
		outcome, note = Conflict, "it is gone" // from here, and not for good
	}
	w.note(at, outcome, note)
	if outcome == Restored || outcome == Merged {
		pl.is = next
		if s.carried && s.from != s.path {
			w.carried.Goes(at, s.from)
		}
	}
}

// modeBack gives a directory the permission bits back that it had.
func (w *inverter) modeBack(s step) {
	pl, ok := w.place(s.path, s.post)
	if !ok {
		return
	}
	switch now := pl.is; {
	case !present.IsDir(now):
		w.stands(s.path, settle.Gone(now))
	case now.Mode == s.pre.Mode:
		w.note(s.path, Unchanged, "")
	case now.Mode == s.post.Mode, s.post.Mode == ledger.AnyMode, w.conflicts == settle.Theirs:
		pl.is = present.Dir(s.pre.Mode)
		w.note(s.path, Restored, "")
	default:
		w.stands(s.path, "its mode was changed since")
	}
}

// stands notes a directory whose mode is not given back, and why: a conflict, unless what is
// there now is to stay.
func (w *inverter) stands(path, why string) {
	if w.reader.Fault == LeaveSilently {
		return
	}
	if w.conflicts == settle.Ours {
		w.note(path, Unchanged, "it was changed since and stays")
		return
	}
	w.note(path, Conflict, why)
}

// moveBack takes a move back: what came to be at made.path returns to gone.path,
// with what was changed in it since.
func (w *inverter) moveBack(gone, made step) {
	at := w.follow(made.path, made.last)
	src, ok := w.place(at, made.post)
	dst, ok2 := w.place(gone.path, gone.post)
	if !ok || !ok2 {
		return
	}
	if at, src, ok = w.moved(at, src, made); !ok {
		return
	}
	if present.Same(src.is, made.pre) && dst.is.Same(gone.pre) {
		w.note(gone.path, Unchanged, "")
		return
	}
	if dst.is != nil && !present.Same(dst.is, gone.post) {
		w.note(gone.path, Conflict, "something else is there now")
		return
	}
	if src.is == nil {
		w.note(at, Conflict, "it is gone")
		return
	}
	next, outcome, note := w.rebase(gone.path, made.post, gone.pre, src.is)
	if outcome == Unchanged {
		outcome = Restored
		if !next.Same(gone.pre) {
			outcome, note = Merged, laterKept
		}
	}
	w.note(at, outcome, note)
	w.note(gone.path, outcome, note)
	if outcome == Restored || outcome == Merged {
		dst.is, src.is, src.move = next, nil, gone.path
		if at == made.path {
			src.is = made.pre
		} else {
			w.back(step{path: made.path, pre: made.pre})
		}
	}
}

// follow returns where the file that was at path after entry seq is now.
func (w *inverter) follow(path string, seq int64) string {
	if w.reader.Fault == ForgetMoves {
		return path
	}
	return w.book.follow(path, seq, func(a atom) bool { return w.selected[a] })
}

// laterKept is told of a file that keeps what was changed in it since.
const laterKept = "later changes of it are kept"

// rebase makes the change from pre to post on what is there now.
func (w *inverter) rebase(path string, pre, post, now *delta.Image) (next *delta.Image, outcome, note string) {
	if present.IsDir(pre) || present.IsDir(post) || present.IsDir(now) {
		return w.rebaseKind(path, pre, post, now)
	}
	switch {
	case now.Same(post):
		if post != nil && !now.Loaded && !contents.Large(now, w.reader.Whole) {
			full, err := w.load(path, now)
			if err == nil {
				now = full
			}
		}
		return now, Unchanged, ""
	case now.Same(pre):
		full, err := w.load(path, post)
		if err != nil {
			return nil, Missing, settle.Lost(err)
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
		if now, lost = w.whole(&c, now); lost != nil {
			return nil, Missing, settle.Lost(lost)
		}
		if out, err = delta.Rebase(c, now); errors.Is(err, delta.ErrNotLoaded) {
			err = &delta.ConflictError{Path: path, Base: c.Pre, Ours: now, Theirs: c.Post} // too large to merge
		}
	}
	if err != nil {
		var conflict *delta.ConflictError
		if !errors.As(err, &conflict) {
			return nil, Conflict, err.Error()
		}
		if w.conflicts == settle.Theirs && c.Post != nil && !c.Post.Loaded {
			full, err := w.load(path, post)
			if err != nil {
				return nil, Missing, settle.Lost(err)
			}
			c.Post = full
		}
		if next, note, ok := settle.Conflict(w.conflicts, c, now, conflict, "before the change"); ok {
			return next, Merged, note
		}
		return nil, Conflict, settle.Note(conflict, now, post)
	}
	full, err := w.load(path, out.Post)
	if err != nil {
		return nil, Missing, settle.Lost(err)
	}
	if full.Same(now) {
		return now, Unchanged, ""
	}
	return full, Merged, laterKept
}

// rebaseKind is rebase where one of the three is a directory.
func (w *inverter) rebaseKind(path string, pre, post, now *delta.Image) (next *delta.Image, outcome, note string) {
	switch {
	case present.Same(now, post):
		return now, Unchanged, ""
	case present.Same(now, pre):
		full, err := w.load(path, post)
		if err != nil {
			return nil, Missing, settle.Lost(err)
		}
		return full, Restored, ""
	case present.IsDir(post) && now == nil:
		return post, Restored, ""
	case present.IsDir(pre) && post == nil:
		return now, Unchanged, "something else is there now"
	case present.IsDir(now):
		return nil, Conflict, "a directory is there now"
	}
	return nil, Conflict, settle.Gone(now)
}

// whole has what takes part in a merge loaded, unless something of it is too large.
func (w *inverter) whole(c *delta.Change, now *delta.Image) (_ *delta.Image, err error) {
	if max(c.Pre.Size, c.Post.Size, now.Size) > contents.Limit {
		return now, nil
	}
	for path, pl := range w.state { // not each picture is of what was there
		now = w.look.Content(path, pl.was, now)
	}
	for _, img := range []**delta.Image{&now, &c.Pre, &c.Post} {
		if *img, err = w.loaded(c.Path, *img, contents.Limit); err != nil {
			return nil, err
		}
	}
	return now, nil
}

func (w *inverter) load(path string, img *delta.Image) (*delta.Image, error) {
	return w.loaded(path, img, w.reader.Whole)
}

// loaded is contents.Ready, but may also find the content that path had elsewhere.
func (w *inverter) loaded(path string, img *delta.Image, whole int64) (*delta.Image, error) {
	full, err := contents.Ready(w.reader.Images, img, whole)
	if err == nil || w.reader.Elsewhere == nil || img == nil {
		return full, err
	}
	data, ok := w.reader.Elsewhere(path, img.Version)
	if !ok {
		return nil, err
	}
	found := *img
	found.Data, found.Loaded = data, true
	found.Size, found.Sum = int64(len(data)), delta.SumOf(data) // the sum may have been a stand-in
	return &found, nil
}

// given reports whether a path was given up: it stays as it is.
func given(f *FilePlan) bool { return f.Outcome == Conflict || f.Outcome == Missing }

// place looks at a path, once. It is not ok when the path cannot be dealt with,
// which is noted, or when it was given up before. What cannot be seen because of a mode
// that its owner may change is taken to be known: the commit opens the directory and looks.
func (w *inverter) place(path string, known *delta.Image) (*place, bool) {
	if f := w.files[path]; f != nil && given(f) {
		return nil, false
	}
	pl, ok := w.state[path]
	if !ok {
		img, err := w.look.At(path)
		pl = &place{was: img, is: img}
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			pl.was, pl.is = nil, nil
		case errors.Is(err, present.ErrShut):
			pl.was, pl.is = known, known
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
	switch {
	case outcome == Merged && f.Outcome == Merged && f.Note != laterKept: // how a conflict was settled is told
		if note != laterKept {
			f.Note += "; " + note
		}
	case rank(outcome) >= rank(f.Outcome):
		f.Outcome, f.Note = outcome, note
	}
}

// result gives p what makes the picture true, and the outcomes, by path.
func (w *inverter) result(p *Plan) {
	w.hold()
	w.fit()
	w.hold()
	for path, pl := range w.state {
		f := w.files[path]
		if f == nil || given(f) {
			continue
		}
		w.change(p, path, pl, f)
	}
	order.By(p.Set, func(a, b delta.Change) int { return strings.Compare(a.Path, b.Path) })
	order.By(p.make, func(a, b ledger.Dir) int { return strings.Compare(string(a.Path), string(b.Path)) })
	order.By(p.chmod, func(a, b ledger.DirMode) int { return strings.Compare(string(a.Path), string(b.Path)) })
	slices.Sort(p.prune)
	slices.Reverse(p.prune)
	delta.Pair(p.Set)
	p.Files = w.told()
	w.tellMoved(p)
}

// change enters what becomes of one path into p.
func (w *inverter) change(p *Plan, path string, pl *place, f *FilePlan) {
	was, is := pl.was, pl.is
	f.Removed = was != nil && is == nil
	if was.Same(is) || present.IsDir(is) && present.IsDir(was) && is.Mode == ledger.AnyMode {
		f.Outcome = Unchanged
		if !present.IsDir(is) {
			f.Note = ""
		}
		return
	}
	switch {
	case present.IsDir(was) && present.IsDir(is):
		p.chmod = append(p.chmod, ledger.DirMode{Path: ledger.Path(path), Pre: was.Mode, Post: is.Mode})
		return
	case present.IsDir(was):
		p.prune = append(p.prune, path)
		was = nil
	case present.IsDir(is):
		mode := is.Mode
		if w.reader.Fault == LoseDirMode {
			mode ^= 0o055
		}
		p.make = append(p.make, ledger.Dir{Path: ledger.Path(path), Mode: mode})
		is = nil
	}
	if was.Same(is) {
		return
	}
	c := delta.Change{Path: path, Pre: was, Post: is}
	c.To, _ = w.carried.Arrives(path, func(p string) bool { return w.gets(was, p) })
	if pl.move != "" && is == nil {
		c.To = pl.move
	}
	p.Set = append(p.Set, c)
}

// told are the outcomes to tell. A directory is told of when nothing in it is.
func (w *inverter) told() []FilePlan {
	above := map[string]bool{}
	for p := range w.files {
		for dir := path.Dir(p); dir != path.Dir(dir) && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	files := make([]FilePlan, 0, len(w.files))
	for p, f := range w.files {
		if pl := w.state[p]; pl != nil && !given(f) && present.OnlyDir(pl.was, pl.is) {
			if above[p] && (pl.was == nil || pl.is == nil || f.Outcome == Unchanged) {
				continue
			}
			f.Note = cmp.Or(f.Note, "directory")
		}
		files = append(files, *f)
	}
	order.By(files, func(a, b FilePlan) int { return strings.Compare(a.Path, b.Path) })
	return files
}
