package held

import (
	"slices"
	"strings"

	"kerf/internal/work/witness/supervise/held/threads"
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
	// met says that one of its notices came.
	met bool
	// turns says that it gives directories other names.
	turns bool
	// left are the moves by which something left its name, and has not come to the other yet.
	left []departure
	// comes says that what it moves comes from where nobody tells of it.
	comes bool
	threads.Call
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
		p = &pending{Call: threads.Call{TID: tid}}
		w.calls[tid] = p
		return p
	}
	w.turned(p)
	for _, e := range p.expects {
		e.name.unexpect(p)
	}
	for _, d := range p.left { // it went somewhere else: somebody else moved it
		d.name.gone = false
		w.foreign(d.name)
	}
	p.left, p.comes, p.done, p.met = p.left[:0], false, false, false
	p.Anew()
	p.names, p.expects, p.then = p.names[:0], p.expects[:0], nil
	return p
}

func (n *name) unexpect(p *pending) {
	if i := slices.Index(n.waiting, p); i >= 0 {
		n.waiting = slices.Delete(n.waiting, i, i+1)
	}
}

// passes lets the notices that other calls expect of names be expected of those that what they hold has now.
func (c *call) passes(pairs []pair) {
	var calls []*pending
	for _, p := range pairs {
		own := p.from.waiting[:0]
		for _, q := range p.from.waiting {
			if q == c.pending {
				own = append(own, q)
			} else if p.from.there = p.to; !slices.Contains(calls, q) {
				calls = append(calls, q)
			}
		}
		p.from.waiting = own
	}
	for _, q := range calls {
		for i := range q.expects {
			if there := q.expects[i].name.there; there != nil {
				q.expects[i].name = there
				q.names, there.waiting = append(q.names, there), append(there.waiting, q)
			}
		}
	}
	for _, p := range pairs {
		p.from.there = nil
	}
}

// outlast gives calls that are under way the time to come to their end, so that what is there is
// looked at afterwards: those of which is says so.
func (w *watch) outlast(is func(p *pending) bool) {
	threads.Outlast(w.find1.Proc, w.hub.fd, func(yield func(*threads.Call) bool) {
		for _, p := range w.calls {
			if (len(p.expects) > 0 || !p.met && len(p.names) > 0) && is(p) && !yield(&p.Call) {
				return
			}
		}
	}, w.hub.drain, func(c *threads.Call) { w.settle(c.TID) })
}

// turn notes that the call is about to give directories other names. Calls that are about to change
// something in there come to their end before, and others are looked at when this one did: else what
// one makes could come to a name that nobody knows.
func (c *call) turn(names ...string) {
	c.outlast(func(p *pending) bool {
		return p != c.pending && slices.ContainsFunc(p.names, func(n *name) bool {
			return slices.ContainsFunc(names, func(dir string) bool { return strings.HasPrefix(n.path, dir+"/") })
		})
	})
	c.pending.turns, c.turning = true, c.turning+1
}

// turned notes that directories have their names, after all or not.
func (w *watch) turned(p *pending) {
	if p.turns {
		p.turns = false
		w.turning--
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
				if p.met = true; !p.done {
					n.became(e)
				}
				p.moved(w, n, of)
				if (e == movedTo || len(p.expects) == 0) && p.then != nil {
					p.then()
					p.then, p.done = nil, true
				}
				if len(p.expects) == 0 {
					w.turned(p)
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
