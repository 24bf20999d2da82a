package command

import (
	"net"
	"strconv"
	"sync"

	"kerf/internal/agent/tool"
	"kerf/internal/protocol"
)

// hosts are the answers that hold for the rest of the session: those of the user,
// and no where nobody could be asked.
type hosts struct {
	mu    sync.Mutex // guards what follows; held while a question is open
	known map[string]bool
}

// mayReach asks whether a command may reach a host that no rule names. One
// question is open at a time, so that an answer for the session serves all.
func (h *hosts) mayReach(a tool.Command, o RunOptions, host string, port int) bool {
	if o.Questions == nil || o.Confined || o.Settings.Mode().Approval() == protocol.PolicyNever {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := net.JoinHostPort(host, strconv.Itoa(port))
	if may, known := h.known[key]; known {
		return may
	}
	got := o.Questions.Ask(protocol.Approval{Call: o.Call, Reason: "a command wants to reach a host that no rule names",
		Network: &protocol.NetworkApproval{Host: host, Port: port, Command: a.Line}})
	may, d := got.Answer.Decision.Allows(), got.Answer.Decision
	if may && d != protocol.Once || got.By == protocol.ByNobody {
		if h.known == nil {
			h.known = map[string]bool{}
		}
		h.known[key] = may
	}
	return may
}
