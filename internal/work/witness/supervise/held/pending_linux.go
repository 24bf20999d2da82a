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
	// then is done when the first of the notices comes: the call succeeded.
	then func()
	// held says that the call was not let go on yet: what is told until then is the work
	// of somebody else.
	held bool
	// awaited says that enough time was given to it already.
	awaited bool
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

// expected takes a notice as one that a call of the command has led to, if one may have.
func (n *name) expected(e event) bool {
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
		for i, x := range p.expects {
			if x.name == n && x.kind == e {
				p.expects = slices.Delete(p.expects, i, i+1)
				n.unexpect(p)
				n.became(e)
				if p.then != nil {
					p.then()
					p.then = nil
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
	case deleted:
		n.gone, n.writers = true, 0 // nothing is told of what has no name
	case movedFrom:
		n.gone = true
	case created:
		n.gone, n.opens = false, 0
	case movedTo:
		n.gone = false
	}
}
