package witness

import (
	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// between tells what became of names between two touches of the command. What was there
// before is one thing, what it found then another: who made the one into the other nobody
// knows.
func (c *collector) between() (set delta.Set) {
	for _, m := range c.mixed {
		before, ok := c.before(m.before)
		found, known := c.before(m.found)
		switch {
		case !ok:
			c.gap(m.path, m.before.lost)
		case known && !before.Same(found):
			set = append(set, delta.Change{Path: m.path, Pre: before, Post: found})
		}
	}
	return set
}

// gap notes a file of which not all is known.
func (c *collector) gap(path, why string) {
	c.gaps = append(c.gaps, ledger.Gap{Path: ledger.Path(path), Why: why})
}
