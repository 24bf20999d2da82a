package held

import (
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/endings"
)

// linkedFile begins to count for a file that has, or is about to have, several names. n is one
// of them.
func (c *call) linkedFile(s *spot, n *name) error {
	if n.linked != 0 && c.several.Of(n.linked) != nil {
		return nil
	}
	if err := c.pin(s); err != nil {
		return err
	}
	if n.linked = c.hear(s.FD); n.linked != 0 {
		e := c.several.Count(s.ID, n.linked)
		for range n.writers { // it opened it before
			e.Opened()
		}
	}
	return nil
}

// hear takes notices of an open file itself, by whatever name it is changed. Its result names the file,
// and is 0 where that is not possible.
func (w *watch) hear(fd int) int32 {
	number := w.hub.tellApart(w, fd)
	if number != 0 {
		w.several.Hear(fd, number)
	}
	return number
}

// heard begins to take notices of a file itself and looks at it again: who closed it before by a
// name that the command does not know is not told of.
func (c *call) heard(s *spot) error {
	if err := c.pin(s); err != nil {
		return err
	}
	c.hear(s.FD)
	err := s.Stat(s.FD, "")
	c.keeper.Discount(&s.Thing)
	return err
}

// several reports whether a name holds a file that can be written by another name, too.
func several(t *content.Thing) bool { return t.State.Kind == journal.File && t.State.Links > 1 }

// parted is told that a name no longer holds the file that it did; the command has that open
// as often as writers says.
func (w *watch) parted(linked int32, writers int) { w.several.Of(linked).Parted(writers) }

// openUnnamed begins to count anew, and tells of the files that the command has open by names that went.
func (w *watch) openUnnamed() (list []*journal.Record) {
	w.several.Each(func(id content.Inode, e *endings.Several) {
		if e.Anew() > 0 {
			list = append(list, unnamed(journal.StillOpen, id))
		}
	})
	for _, n := range w.names {
		for range n.writers {
			w.several.Of(n.linked).Opened()
		}
	}
	return list
}

// unnamed is a record of a file that is not told by a name.
func unnamed(kind journal.Kind, id content.Inode) *journal.Record {
	return &journal.Record{Kind: kind, Number: journal.Looked,
		Before: journal.State{Kind: journal.File, Sig: journal.Sig{Dev: id.Dev, Ino: id.Ino, Born: id.Born}}}
}

// foreignFile notes that somebody else wrote a file: then all its names are in doubt.
func (w *watch) foreignFile(linked int32) {
	if linked == 0 {
		return
	}
	for _, names := range []map[string]*name{w.names, w.before} {
		for _, n := range names {
			if n.linked == linked {
				w.foreign(n)
			}
		}
	}
	w.several.Of(linked).Recount(w.writers(&name{linked: linked}))
}
