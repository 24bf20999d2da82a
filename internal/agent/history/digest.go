package history

import (
	"encoding/json"
	"fmt"

	"kerf/internal/protocol"
)

// digest is what must be known of the records before a compaction. The items are
// not in it: a compaction replaces them.
type digest struct {
	Meta     SessionMeta            `json:"meta"`
	Settings protocol.Settings      `json:"settings"`
	Facts    map[string]string      `json:"facts,omitempty"`
	Total    protocol.Usage         `json:"total"`
	Turns    int                    `json:"turns"`
	Rounds   int                    `json:"rounds"`
	Seen     map[string]Observation `json:"seen,omitempty"`
	First    string                 `json:"first,omitempty"`
	LastDiff string                 `json:"last_diff,omitempty"`
	Skipped  int                    `json:"skipped,omitempty"`
	Notes    *Notes                 `json:"notes,omitempty"`
	Order    []protocol.TurnID      `json:"order,omitempty"`
}

// Digest condenses lines that a Compacted record follows. Prior is the digest of
// the lines before them, nil if there are none.
func Digest(prior []byte, lines []Line) ([]byte, error) {
	st, err := RebuildFrom(prior, lines)
	if err != nil {
		return nil, err
	}
	return json.Marshal(digest{Meta: st.Meta, Settings: st.Settings, Facts: st.Facts, Total: st.Total, Turns: st.Turns,
		Rounds: st.Rounds, Seen: st.Seen, First: st.First, LastDiff: st.LastDiff, Skipped: st.Skipped, Notes: st.Notes,
		Order: st.Order})
}

// RebuildFrom is Rebuild for the lines that follow a digest, the first of which
// is a Compacted record. With no digest it is Rebuild.
func RebuildFrom(prior []byte, lines []Line) (*State, error) {
	if len(prior) == 0 {
		return Rebuild(lines), nil
	}
	var d digest
	if err := json.Unmarshal(prior, &d); err != nil {
		return nil, fmt.Errorf("digest of a session: %w", err)
	}
	b := newBuilder()
	b.Meta, b.Settings, b.Total, b.Turns, b.Rounds, b.First = d.Meta, d.Settings, d.Total, d.Turns, d.Rounds, d.First
	b.LastDiff, b.Skipped, b.Order = d.LastDiff, d.Skipped, d.Order
	if d.Facts != nil {
		b.Facts = d.Facts
	}
	if d.Seen != nil {
		b.Seen = d.Seen
	}
	if d.Notes != nil {
		b.Notes = d.Notes
	}
	return b.all(lines), nil
}
