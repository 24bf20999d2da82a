package turn

import (
	"fmt"
	"time"

	"kerf/internal/protocol"
)

// Budget bounds what a run may use; 0 is no bound. Rounds and Wall are for one
// turn, Tokens and Cost for all turns since the core was made.
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

func (c *Core) spend(u protocol.Usage) {
	c.spent.tokens += u.Total()
	if c.o.Cost != nil {
		c.spent.cost += c.o.Cost(c.model, u)
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

// usedUp says which budget leaves no room for another request, or nothing.
func (c *Core) usedUp() string {
	b := c.o.Budget
	switch {
	case b.Rounds > 0 && c.turn.sampled >= b.Rounds:
		return fmt.Sprintf("its budget of %d model requests (max_turns) is used up", b.Rounds)
	case b.Tokens > 0 && c.spent.tokens >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens (max_tokens) is used up", b.Tokens)
	case b.Cost > 0 && c.spent.cost >= b.Cost:
		return fmt.Sprintf("the budget of $%.2f (max_cost) is used up", b.Cost)
	}
	return ""
}
