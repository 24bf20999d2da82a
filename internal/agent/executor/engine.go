package executor

import "kerf/internal/agent/history"

// Resolve makes path absolute and checks that it lies in the workspace.
func (h *Executor) Resolve(path string) (string, error) { return h.files.Resolve(path) }

// Shown notes that whoever calls the tools has seen files, as the answers of a session do.
func (h *Executor) Shown(observed []history.Observation) {
	for _, s := range observed {
		h.files.Observe(string(s.Path), s.Image)
	}
}

// Move returns an executor that works on other roots. What was seen and which versions
// were told stays. Nothing may run meanwhile.
func (h *Executor) Move(o Options) *Executor {
	h.Close()
	o.View, o.Versions = h.o.View, h.o.Versions
	return New(o)
}
