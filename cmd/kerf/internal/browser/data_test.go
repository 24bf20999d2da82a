package browser

import (
	"slices"
	"testing"
	"time"

	"kerf/internal/work/changes/row"
)

// TestTheClockWasSetBack begins a session at nine, and then the clock is set back: what the
// session did is shown with what came between, also where it seems to have been before.
func TestTheClockWasSetBack(t *testing.T) {
	entry := func(seq int64, session string, hour int) row.Entry {
		return row.Entry{Seq: seq, Session: session, Time: time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)}
	}
	for name, c := range map[string]struct {
		rows []row.Entry // the newest first
		want []int64
	}{
		"nothing":              {},
		"as it should be":      {[]row.Entry{entry(4, "a", 10), entry(3, "", 9), entry(2, "b", 8), entry(1, "b", 7)}, []int64{4, 3}},
		"set back behind it":   {[]row.Entry{entry(4, "a", 7), entry(3, "", 6), entry(2, "a", 9), entry(1, "b", 8)}, []int64{4, 3, 2}},
		"set back before it":   {[]row.Entry{entry(4, "", 7), entry(3, "a", 7), entry(2, "b", 8)}, []int64{4, 3}},
		"others ahead of time": {[]row.Entry{entry(4, "a", 10), entry(3, "b", 8), entry(2, "b", 12)}, []int64{4}},
		"not its own":          {[]row.Entry{entry(4, "b", 10), entry(3, "b", 8)}, []int64{4}},
	} {
		var got []int64
		for _, e := range since(c.rows, "a", time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)) {
			got = append(got, e.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
