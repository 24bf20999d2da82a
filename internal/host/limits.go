package host

import (
	"path/filepath"
	"time"

	"kerf/internal/agent/history"
	"kerf/internal/agent/rollout"
	"kerf/internal/agent/turn"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// limits are the context window of a model and the size at which the history is
// compacted. What the configuration says counts, then what is known of the model.
func (h *Host) limits(name string) (window, limit int) {
	window, limit = h.Config.ModelContextWindow, h.Config.AutoCompactLimit
	if window == 0 {
		facts, _ := h.Facts(name)
		window = facts.Window
	}
	if most := window / 10 * 9; most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	return window, limit
}

// cost is the price of a response in dollars, 0 where no price is known.
func (h *Host) cost(name string, u protocol.Usage) float64 {
	facts, _ := h.Facts(name)
	dollars, _ := facts.Prices.Cost(model.Usage(u))
	return dollars
}

// budget bounds what a run may use.
func (h *Host) budget() turn.Budget {
	b := h.Config.Budget
	return turn.Budget{Rounds: b.MaxTurns, Tokens: b.MaxTokens, Cost: b.MaxCost, Wall: time.Duration(b.MaxSeconds) * time.Second}
}

// restoreImages puts the images back that the records in dir only name.
func restoreImages(st *history.State, dir string) {
	history.RestoreImages(st.Items, func(name string) ([]byte, error) { return rollout.LoadBlob(dir, name) })
}

// copyBlobs copies what a session keeps beside its records.
func copyBlobs(from, to string) error {
	return copyDiffs(filepath.Join(from, "blobs"), filepath.Join(to, "blobs"))
}
