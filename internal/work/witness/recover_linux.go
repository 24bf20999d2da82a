package witness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/ledger/known"
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/journal/claim"
	"kerf/internal/work/witness/rescue"
	"kerf/internal/work/witness/supervise"
)

// window is how long after the last sign of a witness that was ended a change is still
// the command's: what it had open for writing it may have written then. The helper gives
// a sign every 50 ms while something is open.
const window = 60 * time.Millisecond

// late is the same for names that the command was about to remove, and that are gone, and for those
// to which it was about to move what is there: what
// had been let go may take its time on a busy machine, and all that is known of it is the
// time of the directory.
const late = 2 * time.Second

// patience is how long Recover waits for the helper of a Kerf that is gone: the kernel
// ends the processes of its commands, and then the helper ends the journal.
const patience = 5 * time.Second

// Recover finishes the journals of commands whose Kerf is gone. enter makes entries of a
// report; began is the entry that the command began with. A journal that could not be
// entered stays. Commands that still run are left alone.
func Recover(ctx context.Context, o Options, enter func(began ledger.Entry, r Report) error) (done int, err error) {
	ended := func(at string) bool {
		wait := patience
		if strings.HasPrefix(filepath.Base(filepath.Dir(at)), outlive) {
			wait = 0
		}
		return supervise.Ended(ctx, at, wait)
	}
	finish := func(at string) (bool, error) { return recoverOne(o, at, enter) }
	return claim.Left(filepath.Join(o.Dir, folder), ended, finish)
}

// lost is the note about a command whose journal is not there to be read.
const lost = "what this command changed is not known: the record of it was lost, as with a loss of power"

// Lost ends the commands that the ledger has as running and whose journal is gone: nobody
// knows what they did, and that is entered.
func Lost(o Options, enter func(began ledger.Entry, r Report) error) (done int, err error) {
	entries, err := o.Ledger.Read(0)
	if err != nil {
		return 0, err
	}
	over := map[int64]bool{}
	for i := range entries {
		if entries[i].Ended {
			over[entries[i].Of] = true
		}
	}
	var errs []error
	for _, e := range entries {
		if e.Cause != ledger.CauseBegan || e.Of != 0 || e.Journal == "" || over[e.Seq] {
			continue
		}
		if _, err := os.Lstat(filepath.Join(o.Dir, folder, filepath.FromSlash(e.Journal))); !errors.Is(err, fs.ErrNotExist) {
			continue // it runs, or is to be recovered
		}
		done++
		errs = append(errs, enter(e, Report{Began: e.Seq, Ended: true, ID: e.Journal + "/lost", Notes: []string{lost}}))
	}
	return done, errors.Join(errs...)
}

// unread tells of a command whose journal has nothing to read, if it began.
func unread(o Options, dir string, enter func(ledger.Entry, Report) error) (bool, error) {
	for e, err := range o.Ledger.Backward() {
		switch {
		case err != nil:
			return false, err
		case !e.Began(dir):
			continue
		}
		later, err := o.Ledger.Read(e.Seq)
		if err != nil || entered(later, e.Seq).ended {
			return false, err
		}
		return true, enter(e, Report{Began: e.Seq, Ended: true, ID: e.Journal + "/recovered", Notes: []string{lost}})
	}
	return false, nil // it changed nothing: that is known before it does
}

func recoverOne(o Options, dir string, enter func(ledger.Entry, Report) error) (bool, error) {
	r, err := journal.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return unread(o, dir, enter)
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	records, whole, err := r.Next()
	if err != nil {
		return false, err
	}
	if len(records) == 0 || records[0].Kind != journal.Began {
		return unread(o, dir, enter)
	}
	entries, err := o.Ledger.Read(records[0].Number - 1)
	if err != nil {
		return false, err
	}
	if len(entries) == 0 || entries[0].Seq != records[0].Number || !entries[0].Began(dir) {
		return false, fmt.Errorf("%s is about a command that this ledger does not know; take it away", dir)
	}
	began := entries[0]
	c := newCollector(dir, strings.Split(records[0].To, "\x00"), o.Store)
	defer c.close()
	known := entered(entries, began.Seq)
	left := rescue.Command{Began: began.Seq, Entries: entries, Dir: dir, Records: records,
		Now: func(p string) *delta.Image { return c.after(p).image }}
	if n, err := left.Contents(o.Store); err != nil || known.ended {
		return n > 0, err
	}
	c.replay(records, known)
	c.doubt(r)
	if !c.ended && (!whole || r.Restarted()) {
		c.notes = append(c.notes, "the record of this command is cut off: what it changed last may be missing here")
	}
	report := c.report(c.later) // nobody tells what others do
	report.Began, report.Ended, report.ID = began.Seq, true, began.Journal+"/recovered"
	return true, enter(began, report)
}

// told is what the ledger has of a command already.
type told struct {
	cut   int // up to which it was entered
	ended bool
	// names are what names hold by that: of those that it changed.
	names map[string]*touched
}

// entered reads what the ledger has of a command.
func entered(entries []ledger.Entry, began int64) told {
	has := told{names: map[string]*touched{}}
	whole := known.Whole(entries, began)
	for i := range entries {
		e := &entries[i]
		if e.Of != began || !whole(e) {
			continue
		}
		has.ended = has.ended || e.Ended
		if n, err := strconv.Atoi(e.ID[strings.LastIndexByte(e.ID, '/')+1:]); err == nil {
			has.cut = max(has.cut, n)
		}
		for _, d := range e.Gone { // first: something else may have come in its place
			has.holds(string(d.Path), nil, journal.State{})
		}
		for _, ch := range e.Changes {
			has.holds(ch.Path, ch.Post.Image(), stateOf(ch.Post))
		}
		for _, d := range e.Dirs {
			has.holds(string(d), nil, journal.State{Kind: journal.Dir, Mode: noMode})
		}
		for _, d := range e.Modes {
			has.holds(string(d.Path), nil, journal.State{Kind: journal.Dir, Mode: d.Post})
		}
	}
	return has
}

// noMode is the mode of a directory that is not known.
const noMode = 1 << 31

func (k *told) holds(p string, img *delta.Image, st journal.State) {
	k.names[p] = &touched{path: p, was: &held{State: st, path: p, image: img, done: true}, kind: st.Kind, mode: st.Mode}
}

func stateOf(v *ledger.Version) journal.State {
	switch img := v.Image(); {
	case img == nil:
		return journal.State{}
	case img.Kind == delta.Symlink:
		return journal.State{Kind: journal.Link}
	default:
		return journal.State{Kind: journal.File, Mode: img.Mode}
	}
}

// replay takes in the records behind the last cut that was entered. Cuts after it end
// nothing.
func (c *collector) replay(records []journal.Record, known told) {
	var before map[string]*touched // the cut that was entered
	last := false                  // it is the last that was
	var shared map[fileID]bool
	var less map[fileID]uint64
	c.entered = known.names
	for i := range records {
		r := &records[i]
		switch {
		case r.Kind == journal.Cut && r.Number <= int64(known.cut):
			before, shared, last = c.names, c.sharedFiles(), r.Number == int64(known.cut)
			c.all = false
			clear(c.since)
			c.reset()
			c.unentered(before, known)
			less = known.less(before)
		case r.Kind == journal.Cut:
			before = nil
			c.part++
		case r.Kind == journal.StillOpen && before != nil && r.Path == "":
			h := &held{State: r.Before}
			for _, t := range before {
				if t.kind == journal.File && t.file == idOf(&h.Sig) {
					h = t.was
				}
			}
			c.inItsPlace(h)
		case r.Kind == journal.StillOpen && before != nil && c.stillHolds(r, before[r.Path], known.names[r.Path], last):
		case r.Kind == journal.StillOpen && before != nil: // of an older journal, or under way
			c.goesOn(before[r.Path], known.names[r.Path], shared)
			c.linksOf(before[r.Path], less)
		case r.Kind != journal.StillOpen:
			c.take(r)
		}
	}
}

// stillHolds takes over a name that the command could change after a cut, with what is told of it there.
// It is false where that is not what was entered.
func (c *collector) stillHolds(r *journal.Record, before, entered *touched, last bool) bool {
	is := &r.Before
	t := touched{path: r.Path, kind: is.Kind, mode: is.Mode, links: is.Links, file: idOf(&is.Sig)}
	t.was = &held{State: *is, path: r.Path}
	switch {
	case r.Number != journal.Looked, entered == nil && (before == nil || before.kind != is.Kind):
		return false
	case entered != nil && !last: // what it held then is not asked for
	case entered != nil:
		if t.was.image, t.was.done = entered.was.image, true; entered.kind != is.Kind {
			return false
		}
	default:
		// It may hold the like in another file.
		if h := before.was; h.How != journal.Nowhere || idOf(&h.Sig) == t.file && h.Sig.Mtime == is.Sig.Mtime {
			t.was = h
		}
		t.number, t.was.looked = before.number, false
		c.keptNow(t.was)
		c.held[t.number] = t.was // a question about it may have been open
	}
	c.goOn(&t, is.Links > 1)
	return true
}

// less is how many names files lost before a cut, of those that they had when they were touched.
func (k *told) less(before map[string]*touched) map[fileID]uint64 {
	lost := map[fileID]uint64{}
	for p, t := range before {
		if e := k.names[p]; t.kind == journal.File && e != nil && e.kind != journal.File {
			lost[t.file]++
		}
	}
	return lost
}

// linksOf tells how many names a file has that goes on, if it is the one that was touched before.
func (c *collector) linksOf(before *touched, less map[fileID]uint64) {
	if before == nil {
		return
	}
	if t := c.names[before.path]; t.assumed && before.kind == journal.File && t.file == before.file {
		t.links = before.links - min(less[t.file], before.links)
	}
}

// unentered takes over what was left to git, whose directory may have gone since.
func (c *collector) unentered(before map[string]*touched, known told) {
	for p, t := range before {
		if (strings.Contains(p, "/.git/") || strings.HasSuffix(p, "/.git")) && known.names[p] == nil {
			c.goesOn(t, nil, nil)
		}
	}
}

// goesOn takes over a name that was touched before a cut and that the command could
// change after it: as it was entered, or as it was before, if nothing was.
func (c *collector) goesOn(before, entered *touched, shared map[fileID]bool) {
	var t touched
	switch {
	case entered != nil:
		t = *entered
		now, err := c.look(t.path) // what cannot be looked at is told at the end
		if err == nil {
			t.file, t.was.Sig, t.assumed = idOf(&now.Sig), now.Sig, true
			if now.Kind != journal.File && t.kind == journal.File && before != nil && before.kind == journal.File {
				t.file = before.file // it left since
			}
		}
		if t.mode == noMode {
			t.mode = now.Mode
		}
	case before != nil:
		t = touched{path: before.path, number: before.number, was: before.was, kind: before.kind, mode: before.mode,
			links: before.links, file: before.file}
		t.was.looked = false
		c.keptNow(t.was)
		c.held[t.number] = t.was // a question about it may have been open
	default:
		return
	}
	c.goOn(&t, shared[t.file])
}

// doubt says of each touched name whether somebody else changed it after the command
// ended: if nobody saw that, or the end, it is not proven.
func (c *collector) doubt(r *journal.Reader) {
	if c.until = r.Written(); c.until > time.Now().Add(coarse).UnixNano() {
		c.until = 0 // the clock was set back since, and tells nothing
	}
	if !c.ended {
		c.until += int64(window)
		c.notes = append(c.notes, "the witness was ended while the command ran")
	}
	c.later()
}

// later is doubt, once more: what a name holds may have been read after it was looked at.
func (c *collector) later() {
	for p, t := range c.names {
		if t.foreign {
			continue
		}
		now, err := c.look(p)
		sig, until := now.Sig, c.until
		if err == nil && now.Kind == journal.Absent {
			if dir, derr := c.look(path.Dir(p)); derr == nil && dir.Kind == journal.Dir {
				now = dir
			}
			if !c.ended {
				until += int64(late - window)
			}
		} else if err == nil && !c.ended && c.onlyMoved(t, now) {
			until += int64(late - window)
		}
		final, told := c.finals[p]
		switch {
		case err != nil:
			t.foreign = true
		case told && (final != sig || now.Sig == sig):
			t.foreign = final != sig
		default:
			t.foreign = now.Sig.Ctime > until
		}
	}
}

// onlyMoved reports whether what came to a name is the very file that another touched name held, as
// it was then.
func (c *collector) onlyMoved(t *touched, now journal.State) bool {
	for _, from := range c.names {
		files := now.Kind == journal.File && from.kind == journal.File
		if id := idOf(&now.Sig); from != t && files && from.file == id && t.file != id {
			return from.was.Sig.Size == now.Sig.Size && from.was.Sig.Mtime == now.Sig.Mtime
		}
	}
	return false
}
