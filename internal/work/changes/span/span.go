// Package span takes the net change of a part of the history that the user names.
package span

import (
	"kerf/internal/work/changes"
	"kerf/internal/work/changes/named"
	"kerf/internal/work/ledger"
)

// Span is a part of the history: what a target names, or, when Ranged, what comes after the
// entry After up to the entry Upto; 0 is no end.
type Span struct {
	Target      named.Target
	Ranged      bool
	After, Upto int64
	Paths       []string // absolute; only these, and what is below them
	Unproven    bool     // with what is unproven
}

// Net is the net of what Kerf did in the span, as it was then: what was done after it does
// not count.
func Net(r changes.Reader, s Span) (changes.Net, error) {
	first := s.Target.First
	if s.Ranged {
		first = s.After + 1
	}
	return r.Net(changes.NetOptions{Then: true, Unproven: s.Unproven, Paths: s.Paths,
		Pick: func(e *ledger.Entry) (use, stop bool) { return s.has(e), e.Seq < first }})
}

func (s Span) has(e *ledger.Entry) bool {
	if s.Ranged {
		return e.Seq > s.After && (s.Upto == 0 || e.Seq <= s.Upto)
	}
	t := s.Target
	return e.Session == t.Session && (t.Turn == "" || e.Turn == t.Turn) && (t.Call == "" || e.Call == t.Call)
}
