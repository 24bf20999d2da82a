package turn

import (
	"strings"

	"kerf/internal/agent/proposal"
	"kerf/internal/model"
	"kerf/internal/protocol"
)

// plans are the plans in a message that is streaming in plan mode.
type plans struct {
	parser proposal.Parser
	lead   string          // white space before the first words that are said
	item   protocol.ItemID // the plan that is open, or empty
	body   string
	shown  int // plans that were completed
}

// grownPlan shows what became certain of a message.
func (c *Core) grownPlan(t *text, parts []proposal.Part) {
	p := t.plans
	for _, part := range parts {
		switch {
		case part.Begin:
			c.itemSeq++
			p.item, p.body = itemID(c.itemSeq), ""
			c.tell(protocol.ItemStarted{Item: protocol.Item{ID: p.item, Status: protocol.InProgress, Body: protocol.ProposedPlan{}}})
		case part.End:
			c.endPlan(p, p.body)
		case part.Plan:
			p.body += part.Text
			c.tell(protocol.ItemDelta{Item: p.item, Text: part.Text})
		case t.item == "" && strings.TrimSpace(part.Text) == "":
			p.lead += part.Text
		default:
			if t.item == "" {
				c.begun(t)
			}
			c.tell(protocol.ItemDelta{Item: t.item, Text: p.lead + part.Text})
			p.lead = ""
		}
	}
}

// endPlan completes the open plan, or drops it when there is nothing in it.
func (c *Core) endPlan(p *plans, body string) {
	if body == "" {
		c.tell(protocol.ItemDropped{Item: p.item})
	} else {
		c.tell(protocol.ItemCompleted{Item: protocol.Item{ID: p.item, Status: protocol.Completed, Body: protocol.ProposedPlan{Text: body}}})
		p.shown++
	}
	p.item = ""
}

// closePlans shows the plans of a whole message that were not shown yet, and
// returns what is said beside them, and the plans. The whole text decides: what
// was streamed before is for show.
func (c *Core) closePlans(r *round, index int, whole string) (said, plan string) {
	said, all := proposal.Split(whole)
	p := &plans{}
	if t := r.texts[index]; t != nil && t.plans != nil {
		p = t.plans
	}
	for i, body := range all {
		if i < p.shown {
			continue
		}
		if p.item == "" {
			c.itemSeq++
			p.item = itemID(c.itemSeq)
			c.tell(protocol.ItemStarted{Item: protocol.Item{ID: p.item, Status: protocol.InProgress, Body: protocol.ProposedPlan{}}})
		}
		c.endPlan(p, body)
	}
	if p.item != "" {
		c.endPlan(p, "")
	}
	plan = strings.Join(all, "\n\n")
	if plan != "" {
		c.plan = plan
	}
	return said, plan
}

// withdraw takes back what a broken stream began.
func (c *Core) withdraw(t *text) {
	if t.item != "" {
		c.tell(protocol.ItemDropped{Item: t.item})
	}
	if t.plans != nil && t.plans.item != "" {
		c.tell(protocol.ItemDropped{Item: t.plans.item})
	}
}

// approvedPlan tells the model that its plan was approved: plan mode is over and
// the user wants something.
func (c *Core) approvedPlan() *model.Item {
	if c.plan == "" || c.turn.settings.Approval == protocol.PolicyPlan {
		return nil
	}
	text := "<approved_plan>\nPlan mode is over and files may be changed. This is the plan you proposed. Unless the user now says otherwise, carry it out:\n\n" +
		strings.ReplaceAll(c.plan, "</approved_plan", "<\\/approved_plan") + "\n</approved_plan>"
	c.plan = ""
	return model.UserText(text)
}
