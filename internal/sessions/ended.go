package sessions

import (
	"kerf/internal/agent/history"
	"kerf/internal/protocol"
	"kerf/internal/sessions/records"
	"kerf/internal/sessions/transcript"
)

// Ended is how the last turn of a session ended, as in protocol.PastTurn; empty when it
// runs, or when its record breaks off.
func (s *Store) Ended(id protocol.SessionID) string {
	for r, err := range records.Backward(s.DirOf(id), history.EventRecord{}, history.TurnContext{}) {
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
