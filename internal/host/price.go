package host

import (
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// Price is what tokens of a model cost in US dollars, and whether that is known.
func (h *Host) Price(name string, u protocol.Usage) (float64, bool) {
	facts, _ := h.Facts(name)
	return facts.Prices.Cost(model.Usage(u))
}
