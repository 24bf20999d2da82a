package executor

import (
	"context"

	"kerf/internal/agent/tool"
)

// Shown notes that whoever calls the tools has seen files in the states of
// sights, as the answers of a session do.
func (h *Executor) Shown(sights []tool.Sight) {
	for _, s := range sights {
		h.saw(s.Path, s.Image)
	}
}

// Move makes the hands work on other roots. What was seen and which versions were
// told stays. Nothing may run meanwhile.
func (h *Executor) Move(_ context.Context, o Options) {
	h.o = o
	h.mu.Lock()
	h.snap = nil
	h.mu.Unlock()
}
