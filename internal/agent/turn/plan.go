package turn

import (
	"strings"

	"kerf/internal/agent/proposal"
	"kerf/internal/protocol"
)

// plans are the plans in a message that is streaming in plan mode.
type plans struct {
	parser proposal.Parser
	lead   string          // white space before the first words that are said
	item   protocol.ItemID // the plan that is open, or empty
	body   strings.Builder
	shown  int // plans that were completed
}

// grownPlan shows the parts of a message that the parser has decided on.
func (r *round) grownPlan(t *text, parts []proposal.Part) {
	p := t.plans
	for _, part := range parts {
		switch {
		case part.Begin:
			p.item = r.out.show(protocol.ProposedPlan{})
			p.body.Reset()
		case part.End:
			r.endPlan(p, p.body.String())
		case part.Plan:
			p.body.WriteString(part.Text)
			r.out.tell(protocol.ItemDelta{Item: p.item, Text: part.Text})
		case t.item == "" && strings.TrimSpace(part.Text) == "":
			p.lead += part.Text
		default:
			if t.item == "" {
				r.begun(t)
			}
			r.out.tell(protocol.ItemDelta{Item: t.item, Text: p.lead + part.Text})
			p.lead = ""
		}
	}
}

// endPlan completes the open plan, or drops it when there is nothing in it.
func (r *round) endPlan(p *plans, body string) {
	if body == "" {
		r.out.tell(protocol.ItemDropped{Item: p.item})
	} else {
		r.out.complete(p.item, protocol.Completed, protocol.ProposedPlan{Text: body})
		p.shown++
	}
	p.item = ""
}

// closePlans shows the plans of a whole message that were not shown yet. It returns
// the text outside the plans, and the plans. Only the whole text counts; what was
// streamed before was for display.
func (r *round) closePlans(index int, whole string) (said, plan string) {
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
			p.item = r.out.show(protocol.ProposedPlan{})
		}
		r.endPlan(p, body)
	}
	if p.item != "" {
		r.endPlan(p, "")
	}
	return said, strings.Join(all, "\n\n")
}

// withdraw takes back what a broken stream began.
func (r *round) withdraw(t *text) {
	if t.item != "" {
		r.out.tell(protocol.ItemDropped{Item: t.item})
	}
	if t.plans != nil && t.plans.item != "" {
		r.out.tell(protocol.ItemDropped{Item: t.plans.item})
	}
}
