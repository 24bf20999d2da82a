package tui

import (
	"fmt"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// lane is one conversation as it is shown: the session's own, or that of a
// sub-agent. The model is looking at one of them; the others go on beside it.
type lane struct {
	comp     composer.Composer
	live     []*cell
	above    []ink.Line // finished rows, drawn and waiting to be written
	gap      bool       // the last row written was not empty
	looked   bool       // the last item was a call that only looked
	store    transcript
	turn     turnState
	turns    []turnMark
	queued   [][]protocol.Input
	tokens   protocol.TokensUsed
	diff     protocol.TurnDiff
	retry    string
	proposed bool // this turn proposed a plan
}

// maxAside bounds the rows that wait in a lane that is not looked at.
const maxAside = 2000

// within does something in the lane of an agent, the session's own when id is
// empty, whichever is looked at.
func (m *Model) within(id protocol.SessionID, fn func() cmd) cmd {
	if id == m.viewing {
		return fn()
	}
	l := m.aside(id)
	m.lane, *l = *l, m.lane
	was := m.viewing
	m.viewing = id
	c := fn()
	m.viewing = was
	m.lane, *l = *l, m.lane
	if n := len(l.above); n > maxAside+maxAside/4 {
		note := ink.L(ink.Dim, "… earlier rows are not kept here (ctrl+t shows them)")
		l.above = append([]ink.Line{note}, l.above[n-maxAside:]...)
	}
	return c
}

// aside is a lane that is not looked at.
func (m *Model) aside(id protocol.SessionID) *lane {
	l := m.lanes[id]
	if l == nil {
		l = &lane{}
		m.lanes[id] = l
	}
	return l
}

// look turns to another lane: what happened in it since is written first.
func (m *Model) look(id protocol.SessionID) {
	if id == m.viewing {
		return
	}
	to := m.aside(id)
	delete(m.lanes, id)
	before := m.lane
	m.lanes[m.viewing] = &before
	waiting := before.above // not on the terminal yet
	before.above = nil
	m.lane, m.viewing, m.menu = *to, id, menu{}
	for _, c := range m.live {
		c.resize(m.draw().width)
	}
	missed := m.above
	m.above, m.gap = waiting, before.gap
	name := "back to the session"
	if id != "" {
		name = "agent " + m.agentLabel(id)
	}
	m.emit(ink.Line{ink.S(ink.Border, "── "), ink.Styled(ink.Strong(ink.Heading), name), ink.S(ink.Border, " ──")}.Cut(m.draw().width))
	if len(missed) > 0 && len(missed[0]) > 0 {
		m.above = append(m.above, nil)
	}
	for _, l := range missed {
		if l.Width() > m.draw().width {
			m.above = append(m.above, ink.Wrap(l, m.draw().width)...)
			continue
		}
		m.above = append(m.above, l)
	}
}

// nextAgent looks at the next sub-agent, after the last at the session itself.
func (m *Model) nextAgent() {
	at := -1
	for i, a := range m.agents {
		if a.ID == m.viewing {
			at = i
		}
	}
	switch {
	case len(m.agents) == 0:
		m.notice(ink.Dim, "there are no sub-agents in this session")
	case at+1 < len(m.agents):
		m.look(m.agents[at+1].ID)
	default:
		m.look("")
	}
}

// anyBusy reports whether a turn runs in any lane.
func (m *Model) anyBusy() bool {
	if m.busy() {
		return true
	}
	for _, l := range m.lanes {
		if l.turn.running {
			return true
		}
	}
	return false
}

// toAgent hands an Op to the agent that is looked at, or to the session.
func (m *Model) toAgent(op protocol.Op) cmd {
	if m.viewing == "" {
		return m.submit(op)
	}
	return m.submit(protocol.Address{Agent: m.viewing, Op: op})
}

// inAgentView are the commands that mean something while an agent is looked at.
func inAgentView(name string) bool {
	switch name {
	case "agents", "back", "help", "keymap", "transcript", "copy", "status", "usage", "theme", "clear", "quit", "exit", "ps", "diff", "changes":
		return true
	}
	return false
}

// agentsPanel lists the sub-agents and turns to the chosen one.
func (m *Model) agentsPanel() cmd {
	p := &picker{title: "Agents", empty: "no sub-agents in this session", foot: "enter look at it · t transcript · i interrupt"}
	if len(m.agents) > 0 {
		p.items = append(p.items, pick{label: "this session", detail: "what you talk to", value: protocol.Agent{}, current: m.viewing == ""})
	}
	for i, a := range m.agents {
		if a.ID == m.viewing {
			p.at = i + 1
		} else if m.viewing == "" {
			p.at = 1
		}
		p.items = append(p.items, pick{label: agentName(a) + "  " + a.State, role: stateRole(a.State), value: a, current: a.ID == m.viewing,
			detail: fmt.Sprintf("%s  %s tokens  %s", a.Role, tokensText(a.Tokens), a.Message)})
	}
	p.chosen = func(m *Model, it pick) (cmd, bool) {
		m.look(it.value.(protocol.Agent).ID)
		return nil, false
	}
	p.acts = map[string]func(*Model, pick) (cmd, bool){
		"t": func(m *Model, it pick) (cmd, bool) {
			a := it.value.(protocol.Agent)
			if a.ID == m.viewing {
				m.push(m.transcriptPager())
				return nil, true
			}
			items := m.aside(a.ID).store
			m.push(&pager{title: "Agent " + agentName(a), bottom: true, draw: func(width int, _ bool) []ink.Line {
				return items.rows(drawing{width: width, cwd: m.settings.Cwd, whole: true})
			}})
			return nil, true
		},
		"i": func(m *Model, it pick) (cmd, bool) {
			if a := it.value.(protocol.Agent); a.ID != "" {
				return m.submit(protocol.Address{Agent: a.ID, Op: protocol.Interrupt{}}), false
			}
			return m.submit(protocol.Interrupt{}), false
		},
	}
	m.push(p)
	return nil
}
