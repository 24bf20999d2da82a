package changes

import (
	"time"

	"kerf/internal/work/ledger"
)

// Turn is the net diff of one turn of a session that did not begin before since,
// less what was undone of it since.
func (r Reader) Turn(session, turn string, since time.Time) ([]byte, error) {
	return r.diff(func(e *ledger.Entry) (use, stop bool) {
		return e.Session == session && e.Turn == turn, e.Time.Before(since)
	})
}
