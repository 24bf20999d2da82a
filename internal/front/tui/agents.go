package tui

import (
	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// conversation is that of an agent, the session's own when id is empty.
func (m *Model) conversation(id protocol.SessionID) *conversation.Conversation {
	c := m.conversations[id]
	if c == nil {
		c = m.conversations[""].Sibling()
		m.conversations[id] = c
	}
	return c
}

// look turns to another conversation: what happened in it since is written first.
func (m *Model) look(id protocol.SessionID) {
	if id == m.viewing {
		return
	}
	name := "back to the session"
	if id != "" {
		name = "agent " + m.session.AgentName(id)
	}
	before := m.shown
	m.shown, m.viewing = m.conversation(id), id
	m.shown.Follow(before, name)
	m.input.Use(&m.shown.Composer)
	m.input.CloseCompletions()
}

// nextAgent looks at the next sub-agent, after the last at the session itself.
func (m *Model) nextAgent() {
	list := m.session.Agents
	at := -1
	for i, a := range list {
		if a.ID == m.viewing {
			at = i
		}
	}
	switch {
	case len(list) == 0:
		m.notice(style.Dim, "there are no sub-agents in this session")
	case at+1 < len(list):
		m.look(list[at+1].ID)
	default:
		m.look("")
	}
}

// anyRunning reports whether a turn runs in any conversation.
func anyRunning(all map[protocol.SessionID]*conversation.Conversation) bool {
	for _, c := range all {
		if c.Running {
			return true
		}
	}
	return false
}

// toAgent hands an Op to the agent that is looked at, or to the session.
func (m *Model) toAgent(op protocol.Op) tea.Cmd {
	if m.viewing == "" {
		return m.submit(op)
	}
	return m.submit(protocol.Address{Agent: m.viewing, Op: op})
}
