package held

import (
	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/content"
)

// endingsOf counts how often a file with several names was closed by who had written it, for
// one command. The kernel tells of each twice: in the directory of the name by which the file
// was opened, if the command works there, and of the file itself. What only the latter tells
// was done by a name that the command does not know.
type endingsOf struct {
	all   int // of the file itself
	named int // at names that the command touched
	late  int // that the command may yet close, although the name by which it opened it is gone
}

// linkedFile begins to count for a file that has, or is about to have, several names. n is one
// of them.
func (c *call) linkedFile(s *spot, n *name) error {
	if n.linked != 0 && c.counted[n.linked] != nil {
		return nil
	}
	if err := c.pin(s); err != nil {
		return err
	}
	n.linked = c.hub.tellApart(c.watch, s.FD)
	if n.linked != 0 && c.counted[n.linked] == nil {
		c.counted[n.linked] = &endingsOf{}
		c.linked[s.ID] = n.linked
	}
	return nil
}

// heard begins to take notices of a file itself and looks at it again: who closed it before by a
// name that the command does not know is not told of.
func (c *call) heard(s *spot) error {
	if err := c.pin(s); err != nil {
		return err
	}
	c.hub.tellApart(c.watch, s.FD)
	return s.Stat(s.FD, "")
}

// several reports whether a name holds a file that can be written by another name, too.
func several(t *content.Thing) bool { return t.State.Kind == journal.File && t.State.Links > 1 }

// closedAt is told that a file was closed at a name that the command touched.
func (w *watch) closedAt(n *name) {
	if e := w.counted[n.linked]; e != nil {
		e.named++
	}
}

// parted is told that a name no longer holds the file that it did; the command has that open
// as often as writers says.
func (w *watch) parted(linked int32, writers int) {
	if e := w.counted[linked]; e != nil {
		e.late += writers
	}
}

// closedItself is told that a file itself was closed.
func (w *watch) closedItself(linked int32) {
	e := w.counted[linked]
	if e == nil {
		return
	}
	if e.all++; e.all > e.named+e.late {
		*e = endingsOf{}
		w.foreignFile(linked)
	}
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
}
