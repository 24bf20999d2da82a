// Package verdicts puts what checks found between the changes of a log.
package verdicts

import (
	"slices"

	"kerf/internal/work/changes/row"
	"kerf/internal/work/ledger"
)

// Split takes the verdicts of checks out of the entries of a ledger.
func Split(entries []ledger.Entry) (changes, checked []ledger.Entry) {
	changes = slices.DeleteFunc(entries, func(e ledger.Entry) bool {
		if e.Cause == ledger.CauseChecked {
			checked = append(checked, e)
		}
		return e.Cause == ledger.CauseChecked
	})
	return changes, checked
}

// List are the verdicts that a log has not told yet, oldest first.
type List struct {
	Left  []ledger.Entry
	stale bool // something was changed after what is left
}

// Above are the verdicts that are newer than an entry, the newest first, as far as they fit.
// They hold no more when something was changed since. What was found before a change is no
// verdict about it, and left out.
func (l *List) Above(e *ledger.Entry, fits func(row.Entry) bool) (rows []row.Entry) {
	for n := len(l.Left); n > 0 && l.Left[n-1].Seq > e.Seq; n-- {
		x := &l.Left[n-1]
		l.Left = l.Left[:n-1]
		if x.Check == nil || x.Check.When == "" {
			continue
		}
		r := row.Of(x)
		if r.Check.Stale = l.stale; fits == nil || fits(r) {
			rows = append(rows, r)
		}
	}
	l.stale = l.stale || len(e.Changes)+len(e.Dirs)+len(e.Gone)+len(e.Modes) > 0
	return rows
}
