package host

import (
	"slices"
	"sync"

	"kerf/internal/agent/rollout"
)

// redactor takes secrets out of what is recorded: those of the environment, and
// the keys in use. It is made anew when there are more keys.
type redactor struct {
	mu   sync.Mutex
	made *rollout.Redactor // guarded by mu
	of   []string          // what made was made of
}

func (h *Host) redact(b []byte) []byte {
	keys := h.secrets.env()
	h.redactor.mu.Lock()
	if h.redactor.made == nil || !slices.Equal(keys, h.redactor.of) {
		h.redactor.made, h.redactor.of = rollout.NewRedactor(append(slices.Clone(h.Env), keys...)), keys
	}
	r := h.redactor.made
	h.redactor.mu.Unlock()
	return r.Bytes(b)
}

// Redact takes secrets out of words that a face keeps beyond a session.
func (h *Host) Redact(words string) string { return string(h.redact([]byte(words))) }
