package turn

import (
	"fmt"
	"time"

	"kerf/internal/protocol"
)

// Budget limits what a run may use; 0 means no limit. Rounds and Wall limit one
// turn, Tokens and Cost all turns since the core was made.
type Budget struct {
	Rounds int
	Tokens int
	Cost   float64 // dollars
	Wall   time.Duration
}

// spent is what was used since the core was made.
type spent struct {
	tokens int
	cost   float64
}

// add counts what a response of a model used.
func (s *spent) add(o *Options, name string, u protocol.Usage) {
	s.tokens += u.Total()
	if o.Cost != nil {
		s.cost += o.Cost(name, u)
	}
}

// startClock bounds the time of the turn that begins.
func (c *Core) startClock() {
	if c.o.Budget.Wall > 0 {
		c.timers++
		c.turn.wall = c.timers
		c.do(Wait{Timer: c.timers, Delay: c.o.Budget.Wall})
	}
}

// usedUp names the budget that is used up, or returns "".
func (s *spent) usedUp(b Budget, requests int) string {
	switch {
	case b.Rounds > 0 && requests >= b.Rounds:
		return fmt.Sprintf("its budget of %d model requests (max_turns) is used up", b.Rounds)
	case b.Tokens > 0 && s.tokens >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens (max_tokens) is used up", b.Tokens)
	case b.Cost > 0 && s.cost >= b.Cost:
		return fmt.Sprintf("the budget of $%.2f (max_cost) is used up", b.Cost)
	}
	return ""
}
