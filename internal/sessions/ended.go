package sessions

import (
	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/transcript"
)

// endMost is how far the end of a turn is looked for: little stands behind that of the last one.
const endMost = 4 << 20

// Ended is how the last turn of a session ended, as in protocol.PastTurn; empty when it
// runs, or when its record breaks off.
func (s *Store) Ended(id protocol.SessionID) string {
	o := rollout.Back{Want: records.Types(history.EventRecord{}, history.TurnContext{}), Most: endMost}
	for r, err := range records.BackwardOf(s.DirOf(id), o) {
		if err != nil {
			return ""
		}
		switch rec := r.Record.(type) {
		case history.TurnContext:
			return ""
		case history.EventRecord:
			if rec.EndsTurn() {
				return transcript.Endings[rec.What]
			}
		}
	}
	return ""
}
