package held

import (
	"slices"

	"golang.org/x/sys/unix"
)

// pending is a call that was let go on, until its thread is heard of again. Only then is
// it known to be over.
type pending struct {
	names   []*name // that it is about to change
	expects []expectation
	// then is done when its notices came, of an exchange those of the first half: the call
	// succeeded.
	then func()
	// done says that then was done.
	done bool
	// held says that the call was not let go on yet: what is told until then is the work
	// of somebody else.
	held bool
	// awaited says that enough time was given to it already.
	awaited bool
	// left are the moves by which something left its name, and has not come to the other yet.
	left []departure
	// comes says that what it moves comes from where nobody tells of it.
	comes bool
	// number and args are of the call itself, as long as something is expected of it.
	number int32
	args   [6]uint64
	// ran is how long the thread had run when it was first asked about, or 0.
	ran int64
}

// departure is the half of a move that is told first.
type departure struct {
	name *name
	move uint32
}

// moves reports whether a notice of a move can be of this call: what comes to a name has left
// the other one by the same move.
func (p *pending) moves(w *watch, of notice) bool {
	by := func(d departure) bool { return d.move == of.move }
	if of.event != movedTo || p.comes || slices.ContainsFunc(p.left, by) {
		return true
	}
	// Of two calls that move one name the other one may have been taken for it.
	for _, q := range w.calls {
		i := slices.IndexFunc(q.left, by)
		if i < 0 {
			continue
		}
		from := q.left[i].name
		for j, x := range p.expects {
			if x.name == from && x.kind == movedFrom {
				p.left, q.left = append(p.left, q.left[i]), slices.Delete(q.left, i, i+1)
				p.expects, q.expects = slices.Delete(p.expects, j, j+1), append(q.expects, x)
				from.unexpect(p)
				from.waiting = append(from.waiting, q)
				return true
			}
		}
	}
	return false
}

// makes reports whether the call is about to put something at a name. Then it matters
// whether somebody else did so in the last moment.
func (p *pending) makes() bool {
	return slices.ContainsFunc(p.expects, func(e expectation) bool { return e.kind != deleted })
}

// expectation is a notice that follows from a call, if it succeeds.
type expectation struct {
	name *name
	kind event
}

// settle ends the last call of a thread: if it had succeeded, its notices would have
// come.
func (w *watch) settle(tid uint32) *pending {
	p := w.calls[tid]
	if p == nil {
		p = &pending{}
		w.calls[tid] = p
		return p
	}
	for _, e := range p.expects {
		e.name.unexpect(p)
	}
	for _, d := range p.left { // it went somewhere else: somebody else moved it
		d.name.gone = false
		w.foreign(d.name)
	}
	p.left, p.comes, p.done, p.ran = p.left[:0], false, false, 0
	p.names, p.expects, p.then, p.awaited = p.names[:0], p.expects[:0], nil, false
	return p
}

func (n *name) unexpect(p *pending) {
	if i := slices.Index(n.waiting, p); i >= 0 {
		n.waiting = slices.Delete(n.waiting, i, i+1)
	}
}

// pass lets the notices that are expected of a name be expected of another one.
func (n *name) pass(to *name) {
	for _, p := range n.waiting {
		for i := range p.expects {
			if p.expects[i].name == n {
				p.expects[i].name = to
			}
		}
		p.names = append(p.names, to)
		to.waiting = append(to.waiting, p)
	}
	n.waiting = nil
}

// await gives calls that are under way and concern a name the time to come to their end,
// so that what is there is looked at afterwards. A call that failed is waited for in
// vain, once.
func (w *watch) await(n *name) {
	polled := []unix.PollFd{{Fd: int32(w.hub.fd), Events: unix.POLLIN}}
	for range 4 {
		if !slices.ContainsFunc(n.waiting, func(p *pending) bool { return !p.awaited }) {
			return
		}
		_, _ = unix.Poll(polled, 1)
		w.hub.drain()
	}
	for _, p := range n.waiting {
		p.awaited = true
	}
}

// concerns notes that the call is about to change a name.
func (c *call) concerns(n *name) { c.pending.names = append(c.pending.names, n) }

// expect notes that a notice follows from the call.
func (c *call) expect(n *name, e event) {
	c.pending.expects = append(c.pending.expects, expectation{n, e})
	n.waiting = append(n.waiting, c.pending)
}

// moved notes the halves of a move within the workspace. Until the second one no directory is taken
// for what its path led to.
func (p *pending) moved(w *watch, n *name, of notice) {
	switch of.event {
	case movedFrom:
		if w.hub.dirs.At(n.path) != nil {
			for _, d := range w.hub.dirs.Below(n.path) {
				w.hub.dirs.Forget(d)
			}
		}
		if slices.ContainsFunc(p.expects, func(x expectation) bool { return x.kind == movedTo }) {
			p.left = append(p.left, departure{n, of.move})
		}
	case movedTo:
		p.left = slices.DeleteFunc(p.left, func(d departure) bool { return d.move == of.move })
	}
}

// expected takes a notice as one that a call of the command has led to, if one may have.
func (n *name) expected(w *watch, of notice) bool {
	e := of.event
	if e == closed {
		if n.writers == 0 {
			return false
		}
		n.writers--
		return true
	}
	for _, p := range n.waiting {
		if p.held {
			continue
		}
		for _, x := range p.expects {
			if x.name == n && x.kind == e && p.moves(w, of) {
				i := slices.Index(p.expects, x) // others may be gone
				p.expects = slices.Delete(p.expects, i, i+1)
				n.unexpect(p)
				if !p.done {
					n.became(e)
				}
				p.moved(w, n, of)
				if (e == movedTo || len(p.expects) == 0) && p.then != nil {
					p.then()
					p.then, p.done = nil, true
				}
				return true
			}
		}
	}
	return false
}

// became is what a name is after the command did something to it.
func (n *name) became(e event) {
	switch e {
	case opened:
		n.writers++
		n.opens++
		n.opened = true
	case deleted:
		n.gone, n.writers = true, 0 // nothing is told of what has no name
	case movedFrom:
		n.gone = true
	case created, madeDir:
		n.gone, n.opens, n.opened = false, 0, false
	case movedTo:
		n.gone = false
	}
}

// along lets what others did to a name until it was moved be in doubt where it came to, too: it need
// not be what was looked at.
func (w *watch) along(pairs ...pair) {
	for _, p := range slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !p.from.foreign }) {
		w.foreign(p.to)
	}
}
