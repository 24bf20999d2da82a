// Package retention says how long the contents that undo needs are kept, and
// removes from the stores what nothing refers to any more.
package retention

import (
	"time"

	"kerf/internal/text/delta"
	"kerf/internal/work/ledger"
)

// Policy says how long what undo needs is kept.
type Policy struct {
	PerFile int           // versions of a file that are kept beyond Least
	Least   time.Duration // younger entries keep all
	Most    time.Duration // older ones keep nothing, except for the last turn and its undo
}

// retained returns the contents that a ledger keeps. Those that may not even go
// when there is no room are true: what is younger than Least, the last turn that changed
// something, and what was taken back or brought back since.
func (p Policy) retained(l *ledger.Ledger, now time.Time) (map[delta.Sum]bool, error) {
	kept := map[delta.Sum]bool{}
	versions := map[string]int{}
	var last *ledger.Entry
	for e, err := range l.Backward() {
		if err != nil {
			return nil, err
		}
		if last == nil && len(e.Changes) > 0 && (e.Cause == ledger.CauseTool || e.Cause == ledger.CauseCommand) {
			last = &e
		}
		age := now.Sub(e.Time)
		firm := age <= p.Least || last == nil && len(e.Undoes) > 0 ||
			last != nil && e.Session == last.Session && e.Turn == last.Turn
		for _, c := range e.Changes {
			versions[c.Path]++
			if !firm && (age > p.Most || versions[c.Path] > p.PerFile) {
				continue
			}
			for _, v := range []*ledger.Version{c.Pre, c.Post} {
				if v != nil {
					kept[delta.Sum(v.Sum)] = kept[delta.Sum(v.Sum)] || firm
				}
			}
		}
	}
	return kept, nil
}

// sumsIn calls found with what looks like the sum of a content in text: any 64 hex
// digits in lower case. It may find too much, never too little.
func sumsIn(text []byte, found func(delta.Sum)) {
	run := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isHex(text[i]) {
			run++
			continue
		}
		// Longer runs hold no sum that stands alone, but cost nothing to keep.
		for at := i - run; at+64 <= i; at += 64 {
			var s ledger.Sum
			if s.UnmarshalText(text[at:at+64]) == nil {
				found(delta.Sum(s))
			}
		}
		run = 0
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
