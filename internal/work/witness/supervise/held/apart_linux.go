package held

import (
	"strconv"

	"golang.org/x/sys/unix"

	"kerf/internal/work/witness/journal"
	"kerf/internal/work/witness/supervise/closings"
	"kerf/internal/work/witness/supervise/content"
	"kerf/internal/work/witness/supervise/held/endings"
)

// tellApart keeps the kernel from making one notice of two opens or two closes of a file
// that follow each other. It does so with like notices in a row; with a notice of the
// file itself after each of its directory none are alike.
// Its result names the file, and is 0 where that is not possible.
func (h *hub) tellApart(w *watch, fd int) int32 {
	wd, err := unix.InotifyAddWatch(h.fd, "/proc/self/fd/"+strconv.Itoa(fd), unix.IN_OPEN|unix.IN_CLOSE_WRITE)
	if err != nil {
		return 0
	}
	w.apartFrom[int32(wd)] = true
	return int32(wd)
}

// shared is told that a file which the command writes was opened once more, perhaps to
// read it. If it is a new one the notices of closing it are not told apart yet.
func (w *watch) shared(n *name) {
	if n.writers == 0 || w.paused { // Kerf itself looks at it
		return
	}
	r, below := w.roots.Find(n.path)
	if r == nil {
		return
	}
	t, err := content.Open(r.FD, below)
	if err == nil && t.State.Kind == journal.File {
		w.hub.tellApart(w, t.FD)
	}
	t.Close()
}

// suspect is a file that others may have closed: more than once at a name, or by one of several.
type suspect struct {
	w      *watch
	n      *name
	file   string
	linked int32 // of a file with several names; else 0
}

const manyClosed = "more was closed at once than the kernel tells"

// compare finds the files that were closed more often than the command opened them. By the
// time it looks, what was closed is known to have been opened.
func (h *hub) compare() {
	h.due = false
	if h.endings.Next(h.ended) {
		for _, w := range h.watches {
			w.gap(manyClosed)
		}
	}
	for _, w := range h.watches {
		if w.several.Next(func(number int32) { h.suspects = append(h.suspects, suspect{w: w, linked: number}) }) {
			w.gap(manyClosed)
		}
	}
	if len(h.suspects) == 0 {
		return
	}
	h.read()
	for _, s := range h.suspects {
		if s.linked != 0 {
			if s.w.several.Of(s.linked).Others() {
				s.w.foreignFile(s.linked)
			}
		} else if !s.n.foreign && s.n.ended.Times(s.file) > s.n.opens {
			if at := s.w.holder(s.n, s.file); at != nil {
				s.w.foreign(at)
			}
		}
	}
	h.suspects = h.suspects[:0]
}

// ended is told that a file was closed that has, or had, a path.
func (h *hub) ended(p string, file []byte) {
	for _, w := range h.watches {
		n := w.names[p]
		if n == nil || n.foreign {
			continue
		}
		if name, again := n.ended.Add(file); again {
			h.suspects = append(h.suspects, suspect{w: w, n: n, file: name})
		}
	}
}

// counts begins to count anew how often what a name holds is opened and closed: the command
// has it open as often as is known, and closes it no more often than that.
func (n *name) counts(writers int) {
	n.opens, n.ended, n.opened = writers, endings.Counts{}, n.opened || writers > 0
}

// reclaim looks again at a file that is about to go, after the command closed it as often as
// it had opened it: of a file without a name nothing more is told. If somebody has it open for
// writing even so, then one of those who closed it was somebody else.
func (c *call) reclaim(s *spot, n *name, need level, f content.Fate) error {
	if f != content.Removed || need != kept || s.State.Kind != journal.File || n == nil || n.foreign || n.opens == 0 ||
		c.writers(n) > 0 {
		return nil
	}
	if err := c.pin(s); err != nil {
		return err
	}
	if s.BeingWritten() {
		n.writers++
		c.foreign(n)
	}
	return nil
}

// holder is the name at which a file is that was closed at n: it may have been moved since.
func (w *watch) holder(n *name, file string) *name {
	switch now := closings.File(n.path); {
	case now == file:
		return n
	case now == "" && !n.gone:
		return n // nobody knows
	}
	for _, other := range w.names {
		if !other.gone && !other.foreign && closings.File(other.path) == file {
			return other
		}
	}
	return nil
}
