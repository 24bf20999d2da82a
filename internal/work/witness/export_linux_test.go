package witness

import "kerf/internal/work/witness/journal"

// At lets f be called at the moments of each collection.
func (x *Watch) At(f func(Moment)) { x.c.moment = f }

// Collected reports what a journal with records tells, that nobody writes any more.
func Collected(dir string, roots []string, s Store, records []journal.Record) Report {
	c := newCollector(dir, roots, s)
	defer c.close()
	for i := range records {
		c.take(&records[i])
	}
	return c.report(func() {})
}
