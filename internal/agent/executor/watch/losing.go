package watch

import (
	"fmt"
	"sync"

	"kerf/internal/protocol"
	"kerf/internal/work/witness"
)

// Losing decides about what a command is about to change or remove, and whose content
// cannot be kept. It is asked by the witness, which holds the command meanwhile. The first
// answer holds for the whole command. It may be used by several goroutines.
type Losing struct {
	Call    protocol.CallID
	Command protocol.CommandApproval
	// Allowed lets everything go, by the user's own word.
	Allowed bool
	// Ask asks the user; nil stands for no.
	Ask func(protocol.Approval) bool

	once    sync.Once
	allowed bool
	mu      sync.Mutex // guards what follows
	refused []string   // not told yet
}

// may reports whether something may be lost.
func (l *Losing) may(x witness.Loss) bool {
	l.once.Do(func() {
		l.allowed = l.Allowed || l.Ask != nil && l.Ask(protocol.Approval{Call: l.Call, Command: &l.Command,
			Reason: fmt.Sprintf("The command is about to change or remove %s (%d bytes), and its content cannot be kept: %s. "+
				"Neither it nor what follows in this command could be brought back.", x.Path, x.Size, x.Why)})
	})
	if !l.allowed {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused = append(l.refused, fmt.Sprintf("%s was not changed or removed, since its content cannot be kept: %s; "+
			"make room there, or add --unrecorded to let it go for good", x.Path, x.Why))
	}
	return l.allowed
}

// mostRefused bounds what is told of one call.
const mostRefused = 5

// Refused tells once what the command was kept from.
func (c *Command) Refused() []string {
	c.losing.mu.Lock()
	defer c.losing.mu.Unlock()
	list := c.losing.refused
	c.losing.refused = nil
	if more := len(list) - mostRefused; more > 0 {
		list = append(list[:mostRefused], fmt.Sprintf("and %d more for the same reason", more))
	}
	return list
}
