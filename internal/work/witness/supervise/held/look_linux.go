package held

import (
	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/locate"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/roots"
)

// Root finds the root that a name is in, for package dirs.
func (w *watch) Root(name string) (fd int, below string) {
	r, below := w.roots.Find(name)
	if r == nil {
		return -1, ""
	}
	return r.FD, below
}

// look returns what a name holds now. The content is not read.
func (w *watch) look(r *roots.Root, name, below string) (content.Thing, error) {
	t, err := content.Thing{FD: -1}, error(nil)
	if d := w.hub.dirs.Hold(w, locate.Parent(name)); d == nil {
		t, err = content.Open(r.FD, below)
	} else if err = t.Lstat(d.FD, locate.Base(name)); err == unix.ENOENT || err == unix.ENOTDIR {
		return content.Thing{FD: -1}, nil
	}
	w.keeper.Discount(&t)
	return t, err
}

// errSwapped says that something else has a name by now than a moment ago.
const errSwapped = content.ErrSwapped

// pin opens what was looked at, so that it stays the same whatever its name holds.
func (c *call) pin(s *spot) error {
	if s.FD >= 0 {
		return nil
	}
	if err := s.Pin(func(flags int) (int, error) { return c.openNow(s, flags) }); err != nil {
		return err
	}
	c.keeper.Discount(&s.Thing)
	return nil
}

// openNow opens what a name leads to now.
func (c *call) openNow(s *spot, flags int) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if d := c.hub.dirs.Hold(c.watch, locate.Parent(s.name)); d != nil {
		return locate.Openat2(d.FD, locate.Base(s.name), uint64(flags), 0)
	}
	return locate.Openat2(s.root.FD, s.below, uint64(flags), content.Beneath)
}
