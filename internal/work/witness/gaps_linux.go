package witness

import (
	"cmp"
	"slices"
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
	"kerf/internal/work/witness/journal"
)

// between tells what became of names between two touches of the command. What was there
// before is one thing, what it found then another: who made the one into the other nobody
// knows. Where what was there before is not known, s is told. others are further names of such files.
func (c *collector) between(others []other, s *sorter) Part {
	part := Part{Certainty: ledger.Unproven}
	first := map[string]*held{}
	for _, m := range c.mixed {
		before, ok := c.before(m.before)
		found, known := c.before(m.found)
		t := c.names[m.path]
		if m.found == t.was && c.onlyLooked(t) { // what others left there counts
			found, known = t.post.image.WithMode(t.had()), true
		}
		switch {
		case !ok:
			c.gap(m.path, m.before.lost)
			s.lost = true
		case known && !before.Same(found):
			part.Set = append(part.Set, delta.Change{Path: m.path, Pre: before, Post: found})
			for _, o := range others {
				if id := idOf(&o.now.Sig); id == idOf(&m.before.Sig) && id == idOf(&m.found.Sig) {
					part.Set = append(part.Set, delta.Change{Path: o.path, Pre: before, Post: found})
				}
			}
		}
		was := cmp.Or(first[m.path], m.before)
		if first[m.path] = was; m.found == t.was {
			part.turned(m.path, was.Kind, t.kind, was.Mode)
		}
	}
	return part
}

// returned finds the files that a command took away from their name and brought back to it, and
// that somebody else may have written in between: nothing came and nothing went, and who wrote is
// not known. What counts is what the name held before the first of it. A file that the command may
// have made is not among them: where it is now has to be told.
func (c *collector) returned() {
	chains := map[string][]int{}
	for i, m := range c.mixed {
		chains[m.path] = append(chains[m.path], i)
	}
	drop := map[int]bool{}
	for p, chain := range chains {
		t := c.names[p]
		file := idOf(&t.now.Sig)
		is := func(h *held) bool {
			return h.Kind == journal.File && idOf(&h.Sig) == file && h.Sig.Born > 0 && h.Sig.Born+int64(tick) < c.first
		}
		was, came, n := t.was, false, len(chain)
		for ; n > 0; n-- {
			m := c.mixed[chain[n-1]]
			left := m.found.Kind == journal.Absent && is(m.before)
			if m.found != was || !left && (m.before.Kind != journal.Absent || !is(m.found)) {
				break
			}
			was, came = m.before, came || left
		}
		if t.now.Kind != journal.File || !came {
			continue
		}
		for _, i := range chain[n:] {
			drop[i] = true
		}
		t.was, t.foreign, t.gone = was, true, false
		t.kind, t.mode, t.links, t.file = was.Kind, was.Mode, was.Links, idOf(&was.Sig)
	}
	i := -1
	c.mixed = slices.DeleteFunc(c.mixed, func(mixed) bool { i++; return drop[i] })
}

// tick is more than the steps in which Linux stamps times: those of CONFIG_HZ=100, twice.
const tick = 20 * time.Millisecond

// gap notes a file of which not all is known.
func (c *collector) gap(path, why string) {
	c.gaps = append(c.gaps, ledger.Gap{Path: ledger.Path(path), Why: why})
}

// doubtArrivals takes it for unproven that a file came to a name from another one, unless it is
// proven that it left that: else to undo the one alone would destroy what the file holds, and
// others may have written that.
func (c *collector) doubtArrivals(s *sorter) {
	homes := map[fileID][]string{}
	add := func(p string, kind uint8, file fileID) {
		if kind == journal.File && !slices.Contains(homes[file], p) {
			homes[file] = append(homes[file], p)
		}
	}
	for _, p := range c.order {
		add(p, c.names[p].kind, c.names[p].file)
	}
	for _, m := range c.mixed {
		add(m.path, m.before.Kind, idOf(&m.before.Sig))
		add(m.path, m.found.Kind, idOf(&m.found.Sig))
	}
	var rest delta.Set
	for _, ch := range s.proven.Set {
		t := c.names[ch.Path]
		if ch.Post == nil || t == nil || t.now.Kind != journal.File || !c.cameInDoubt(ch.Path, idOf(&t.now.Sig), homes, s) {
			rest = append(rest, ch)
		} else {
			s.unproven.Set = append(s.unproven.Set, ch)
		}
	}
	s.proven.Set = rest
}

// cameInDoubt reports whether a file that is at a name now was at another one before, and it is
// not known how it left that.
func (c *collector) cameInDoubt(p string, file fileID, homes map[fileID][]string, s *sorter) bool {
	if t := c.names[p]; t.kind == journal.File && t.file == file {
		return false
	}
	return slices.ContainsFunc(homes[file], func(home string) bool {
		t := c.names[home]
		stayed := t.now.Kind == journal.File && idOf(&t.now.Sig) == file
		left := t.kind == journal.File && t.file == file && !s.doubted[home]
		return home == p || !stayed && !left
	})
}
