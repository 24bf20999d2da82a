package held

import (
	"cmp"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
)

// level is how much is kept of what a file held.
type level int

const (
	looked level = iota // its kind, mode and size; the content is still somewhere
	begun               // the beginning of the file is the content: it only grows
	kept                // all
)

// file is a regular file that was there before the command touched it. What it held is
// kept once, whatever names it has and gets, and whether or not the calls that were to
// move it succeeded.
type file struct {
	touch   int64 // number of the record that tells what it held
	path    string
	level   level
	size    int64
	mtime   int64
	names   uint64
	linked  uint64 // number of what is kept apart, when that is a link to the file itself
	written bool
}

// touch notes that a name is about to be changed: need is how much of what it holds has
// to be kept, f what becomes of it.
func (c *call) touch(s *spot, need level, f content.Fate) (*name, error) {
	if f == content.Written && several(&s.Thing) && c.several.Number(s.ID) == 0 {
		if err := c.heard(s); err != nil {
			return nil, err
		}
	}
	n, err := c.touched(s, need, f)
	if err == nil && f == content.Written && several(&s.Thing) {
		err = c.linkedFile(s, n)
	}
	return n, err
}

func (c *call) touched(s *spot, need level, f content.Fate) (*name, error) {
	if err := c.start(); err != nil {
		return nil, err
	}
	p, t := s.name, &s.Thing
	fresh, blind := c.hub.dirs.Observe(c.watch, locate.Parent(p))
	if fresh && blind == nil && c.fresh < maxFresh {
		c.fresh++
		return nil, errSwapped
	}
	n := c.names[p]
	if err := c.reclaim(s, n, need, f); err != nil {
		return nil, err
	}
	if n == nil || n.foreign {
		if s.toBeRead(need, f) {
			if err := c.pin(s); err != nil {
				return nil, err
			}
		}
		if blind == unix.ENOENT || blind == unix.ENOTDIR { // until the call goes on it may be there
			err := c.meets(&spot{name: locate.Parent(p) + "/."}, unix.ENOENT)
			if err != nil || c.fresh < maxFresh {
				c.fresh++
				return nil, cmp.Or(err, error(errSwapped))
			}
			blind = nil // the caller sees a directory that is not here
		}
		return c.first(n, p, t, need, f, blind)
	}
	c.concerns(n)
	if t.State.Kind != journal.File {
		return n, nil
	}
	c.forget(t, f)
	known := c.files[t.ID]
	carried := known == nil && c.carried[t.ID] && (need > looked || f == content.Written)
	if known == nil && !carried { // the command made it: it held nothing before
		return n, nil
	}
	if carried || known.level < need || f == content.Written && known.linked != 0 {
		if err := c.pin(s); err != nil {
			return nil, err
		}
	}
	if carried {
		return n, c.keepCarried(n, t, need, f)
	}
	return n, c.use(known, t, need, f)
}

// keepCarried keeps what a file holds that a name touched before the last cut held: Kerf may not enter that cut.
func (c *call) keepCarried(n *name, t *content.Thing, need level, f content.Fate) error {
	c.touches++
	known, lost := c.meet(n.path, t, need, n.fate(f))
	if err := c.write(&journal.Record{Kind: journal.Touch, Path: n.path, Before: t.State, Number: c.touches}); err != nil {
		return err
	}
	if lost == nil {
		return c.use(known, t, need, f)
	}
	return c.lose(n.path, c.touches, t.State.Sig.Size, lost)
}

// maxFresh bounds how often a call is looked at anew for directories whose notices begin: one that
// has two names takes them from itself.
const maxFresh = 5

// fate is what becomes of the file that a name holds: one that the command has open for
// writing may be written to when its name is gone.
func (n *name) fate(f content.Fate) content.Fate {
	if f == content.Removed && n.writers > 0 {
		return content.Written
	}
	return f
}

// toBeRead reports whether the content of what a name holds may be needed.
func (s *spot) toBeRead(need level, f content.Fate) bool {
	switch s.State.Kind {
	case journal.Link:
		return true
	case journal.File:
		return f == content.Written || need > looked && s.State.Sig.Size > 0
	}
	return false
}

// forget forgets what a file was when it was closed: it is about to be written.
func (w *watch) forget(t *content.Thing, f content.Fate) {
	if f == content.Written {
		delete(w.wrote, t.ID)
	}
}

// first is the first touch of a name, or, of one that is known, the first after somebody else
// changed it.
func (c *call) first(n *name, p string, t *content.Thing, need level, f content.Fate, blind error) (*name, error) {
	c.touches++
	r := &journal.Record{Kind: journal.Touch, Path: p, Before: t.State, Number: c.touches}
	again := n != nil
	if !again {
		n = &name{path: p}
	}
	n.foreign, n.gone, n.closed = false, false, content.Inode{}
	n.counts(n.writers)
	var known *file
	var lost error
	switch t.State.Kind {
	case journal.Link:
		lost = c.keeper.Keep(t, f)
		r.Before = t.State
	case journal.File:
		c.forget(t, f)
		known = c.files[t.ID]
		if known != nil && (again || !known.fits(t)) {
			known = nil // what others wrote is another content
		}
		if known != nil {
			r.Before.How, r.Before.Data = journal.Same, nil
			r.Before.Number = uint64(known.touch)
			break
		}
		known, lost = c.meet(p, t, need, n.fate(f))
		r.Before = t.State
	}
	if err := c.write(r); err != nil {
		return nil, err
	}
	c.names[p] = n
	c.concerns(n)
	if blind != nil || again && n.unsure { // nobody will tell what others do here
		c.write(&journal.Record{Kind: journal.Foreign, Path: p})
	}
	if lost != nil {
		return n, c.lose(p, c.touches, t.State.Sig.Size, lost)
	}
	if known != nil {
		return n, c.use(known, t, need, f)
	}
	return n, nil
}

// fits reports whether a file holds what it held at its touch, or what the command made
// of that.
func (f *file) fits(t *content.Thing) bool {
	return f.written || f.size == t.State.Sig.Size && f.mtime == t.State.Sig.Mtime
}

// meet takes in a file that is touched for the first time, and keeps as much of it as is
// needed now.
func (c *call) meet(p string, t *content.Thing, need level, f content.Fate) (*file, error) {
	known := &file{touch: c.touches, path: p, size: t.State.Sig.Size, mtime: t.State.Sig.Mtime, names: t.State.Links}
	c.files[t.ID] = known
	if need == looked {
		return known, nil
	}
	if f == content.Removed && c.midway(t) && c.keeper.KeepLive(t) == nil {
		known.level, known.linked = kept, t.State.Number
		return known, nil
	}
	return known, c.keepFile(known, t, need, f)
}

// recent is how long ago somebody who writes a file anew has begun with it, at most.
const recent = 2 * time.Second

// midway reports whether somebody is writing a file that is about to lose its name: after that
// the kernel tells no more of it, and what it holds now may be the half of what they write.
func (c *call) midway(t *content.Thing) bool {
	return time.Now().UnixNano()-t.State.Sig.Mtime < int64(recent) && t.BeingWritten()
}

// keepFile keeps what a file holds, so that the thing's state tells where.
func (c *call) keepFile(known *file, t *content.Thing, need level, f content.Fate) error {
	if need == begun {
		f = content.Grown
	}
	known.level = kept // also when it is lost: that is told once
	known.linked = 0
	if err := c.keeper.Keep(t, f); err != nil {
		return err
	}
	if t.State.How == journal.Prefix {
		known.level = begun
		c.grows.Store(true)
	}
	if t.Linked {
		known.linked = t.State.Number
	}
	return nil
}

// use keeps what a known file held, as far as that is needed and was not done yet.
func (c *call) use(known *file, t *content.Thing, need level, f content.Fate) error {
	if known.level < need {
		if err := c.later(known, t, need, f); err != nil {
			return err
		}
	}
	if f != content.Written {
		return nil
	}
	if known.linked != 0 {
		number := known.linked
		known.linked = 0
		if err := c.keeper.Part(number, t); err != nil {
			return c.lose(known.path, known.touch, known.size, err)
		}
	}
	if known.written {
		return nil
	}
	known.written = true
	if known.names > 1 {
		return c.write(&journal.Record{Kind: journal.InPlace, Number: known.touch})
	}
	return nil
}

// later keeps what a file held, now that it is about to be destroyed where it is.
func (c *call) later(known *file, t *content.Thing, need level, f content.Fate) error {
	had := known.level
	if had == begun && known.size > content.InlineLimit { // who has it open may write on: a copy stays as it is
		f, t.State.Sig.Size = content.Written, known.size
	}
	if err := c.keepFile(known, t, need, f); err != nil {
		return c.lose(known.path, known.touch, known.size, err)
	}
	s := t.State
	switch {
	case had == looked && (known.size != s.Sig.Size || known.mtime != s.Sig.Mtime) && !known.written:
		return c.lose(known.path, known.touch, known.size, errors.New("somebody else changed it before it was kept"))
	case known.size < s.Sig.Size && s.How == journal.Inline: // it grew since
		s.Data = s.Data[:known.size]
	}
	s.Sig.Size = known.size
	return c.write(&journal.Record{Kind: journal.Kept, Number: known.touch, Path: known.path, Before: s})
}

// lose asks whether a call may go on although what a name held is lost with it.
func (c *call) lose(p string, touch, size int64, why error) error {
	if !c.notice.Valid(c.listener) {
		return &refusedError{p} // there is nobody to lose it
	}
	allowed := c.answer(p, why.Error(), size)
	if err := c.write(&journal.Record{Kind: journal.Lost, Path: p, Number: touch, Why: why.Error(),
		Refused: !allowed}); err != nil {
		return err
	}
	if !allowed {
		return &refusedError{p}
	}
	return nil
}

// answer is that of who began the command. The hub is not held meanwhile.
func (c *call) answer(p, why string, size int64) bool {
	c.hub.mu.Unlock()
	defer c.hub.mu.Lock()
	return c.ask(p, why, size)
}

// touchUnseen is touch for a name in a directory that is not there yet.
func (c *call) touchUnseen(p string) (*name, error) {
	if n := c.names[p]; n != nil && !n.foreign {
		c.concerns(n)
		return n, nil
	}
	c.touches++
	n := &name{path: p}
	c.names[p] = n
	c.concerns(n)
	return n, c.write(&journal.Record{Kind: journal.Touch, Path: p, Number: c.touches})
}
