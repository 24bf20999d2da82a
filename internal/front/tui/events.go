package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/input"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// batch bounds how many events are taken at once.
const batch = 512

// listen waits for events and takes those that are there.
func (m *Model) listen() tea.Cmd {
	if m.sess == nil || !m.listening {
		return nil
	}
	ch, gen := m.sess.Events(), m.gen
	return do(func(context.Context) tea.Msg {
		e, ok := <-ch
		if !ok {
			return eventsMsg{gen: gen, closed: true}
		}
		msg := eventsMsg{gen: gen, events: []protocol.Event{e}}
		for len(msg.events) < batch {
			select {
			case e, ok := <-ch:
				if !ok {
					msg.closed = true
					return msg
				}
				msg.events = append(msg.events, e)
			default:
				return msg
			}
		}
		return msg
	})
}

func (m *Model) events(msg eventsMsg) tea.Cmd {
	if msg.gen != m.gen {
		return nil
	}
	var cmds []tea.Cmd
	for _, e := range msg.events {
		cmds = append(cmds, m.event(e))
	}
	if msg.closed {
		if m.exit.closing {
			return tea.Quit
		}
		return tea.Batch(cmds...)
	}
	return tea.Batch(append(cmds, m.listen())...)
}

// event takes one event. Those of a sub-agent go to its conversation; only its
// questions show at once.
func (m *Model) event(e protocol.Event) tea.Cmd {
	c := m.conversation(e.Agent)
	switch b := e.Msg.(type) {
	case protocol.ApprovalRequested:
		from := ""
		if e.Agent != "" {
			from = m.session.AgentName(e.Agent)
		}
		return m.ask(b.Approval, from)
	case protocol.ApprovalResolved:
		m.answered(b.Approval)
		return nil
	case protocol.Undone:
		b.Report.What = m.conversation("").Words(b.Report.What)
		cmd, asks := m.commands.Undone(b.Report)
		if !asks {
			m.conversation("").Undone(b.Report)
			m.exit.amiss = m.exit.amiss || b.Report.Problem != "" && len(b.Report.Files) > 0
		}
		return cmd
	case protocol.Warning:
		m.warnOnce(c, b.Message, b.Message)
	default:
		proposed := c.Proposed
		if !c.Event(e) && e.Agent == "" {
			m.sessionEvent(e.Msg)
		}
		return tea.Batch(m.turnEvent(e, proposed), changed(m, e.Msg), statusCommand(m, e))
	}
	return nil
}

// statusCommand asks the user's own command for the status line when a session or a turn of
// it begins or ends, and when its settings change.
func statusCommand(m *Model, e protocol.Event) tea.Cmd {
	if m.o.StatusCommand == nil || e.Agent != "" {
		return nil
	}
	switch e.Msg.(type) {
	case protocol.SessionStarted, protocol.SettingsChanged, protocol.TurnCompleted, protocol.TurnFailed,
		protocol.TurnAborted:
	default:
		return nil
	}
	s, tokens := m.session, m.conversation("").Tokens
	return func() tea.Msg {
		said := m.o.StatusCommand(s.ID, s.Settings, tokens)
		return runMsg{func() tea.Cmd {
			m.session.Said = said
			return nil
		}}
	}
}

// changed has an open page of changes read them again when there are new ones.
func changed(m *Model, msg protocol.Msg) tea.Cmd {
	if done, ok := msg.(protocol.ItemCompleted); ok {
		switch done.Item.Body.(type) {
		case protocol.FileChange, protocol.Command:
			return m.commands.Changed()
		}
	}
	return nil
}

// sessionEvent takes an event about the session.
func (m *Model) sessionEvent(msg protocol.Msg) {
	m.session.Event(msg)
	c := m.conversation("")
	switch b := msg.(type) {
	case protocol.SessionStarted:
		m.session.Branch = branchOf(m.session.Settings.Cwd)
		s := m.session
		c.Write(func(f conversation.Format) []style.Line { return s.Banner(m.o.Version, m.o.Banner, f.Width) })
	case protocol.Processes:
		for _, x := range b.Over {
			if x.ID == b.Ended {
				c.Ended(x)
				m.notify("Kerf: a background command ended", x.Command+": "+x.Outcome)
			}
		}
	case protocol.Servers:
		m.input.Remote, m.input.Resources = nil, nil
		for _, s := range b.Servers {
			for _, uri := range s.Resources {
				m.input.Resources = append(m.input.Resources, s.Name+":"+uri)
			}
			for _, name := range s.Prompts {
				m.input.Remote = append(m.input.Remote, input.Choice{Text: s.Name + ":" + name, Detail: "of the MCP server " + s.Name})
			}
			if s.State == "failed" {
				m.warnOnce(c, "mcp "+s.Name+s.Error, "MCP server "+s.Name+": "+s.Error)
			}
		}
	}
}

// warnOnce warns in a conversation, once in a run for each key.
func (m *Model) warnOnce(c *conversation.Conversation, key, text string) {
	if !m.warned[key] {
		m.warned[key] = true
		c.Note(style.Warn, "! ", text)
	}
}

// turnEvent does what the beginning and the end of a turn ask for beside its
// conversation. Proposed says that the turn proposed a plan.
func (m *Model) turnEvent(e protocol.Event, proposed bool) tea.Cmd {
	how, words := "", ""
	switch b := e.Msg.(type) {
	case protocol.TurnStarted:
		return m.startClock()
	case protocol.TurnCompleted:
		how, words = "done", b.LastMessage
		if proposed && e.Agent == "" && m.session.Settings.Approval == protocol.PolicyPlan {
			m.commands.CarryOutPlan()
		}
	case protocol.TurnFailed:
		how, words = "failed", b.Error.Message
	case protocol.TurnAborted:
		how, words = "interrupted", conversation.AbortText(b.Reason)
	}
	if how == "" || e.Agent != "" { // the session tells how its agents did
		return nil
	}
	m.exit.amiss = m.exit.amiss || how != "done"
	m.session.Branch = branchOf(m.session.Settings.Cwd)
	m.notify("Kerf: "+how, words)
	return rest(m)
}

// ask shows a question.
func (m *Model) ask(a protocol.Approval, from string) tea.Cmd {
	m.conversation(a.Agent).Ask(a.Call, a.ID)
	if len(m.questions) == 0 {
		m.waits = m.now()
		if q, asks := panels.Asks(m.top()); asks {
			q.Typing() // what answers this one must not answer that
		}
	}
	m.questions = append(m.questions, approval.New(a, from, approval.Actions{
		Reply: m.reply, Open: func(p panels.Panel) { m.over = append(m.over, p) }, Edit: m.edit, Notice: m.notice, Now: m.now,
		Path:    func(p string) string { return m.format().Path(p) },
		Waiting: func() int { return len(m.questions) }}))
	m.notify("Kerf asks", approval.Headline(a))
	return nil
}

// answered takes away a question that is no longer open.
func (m *Model) answered(id protocol.ApprovalID) {
	for _, c := range m.conversations {
		c.Answered(id)
	}
	for i, q := range m.questions {
		if q.Approval.ID == id {
			if i == 0 {
				m.over = nil
			}
			m.questions = append(m.questions[:i:i], m.questions[i+1:]...)
			return
		}
	}
}

// reply sends the answer to a question.
func (m *Model) reply(q *approval.Question, a protocol.Answer) tea.Cmd {
	m.answered(a.Approval)
	told := q.Outcome(a)
	if !m.o.Plain && q.Approval.Call != "" && a.Words == "" &&
		(a.Decision == protocol.Once || a.Decision == protocol.Deny) {
		return m.submit(a) // its item tells
	}
	m.shown.Write(func(f conversation.Format) []style.Line { return []style.Line{told.Cut(f.Width)} })
	return m.submit(a)
}

// push shows a panel above the others.
func (m *Model) push(p panels.Panel) {
	m.panels = append(m.panels, p)
	if len(m.questions) > 0 {
		m.notice(style.Warn, "this opens when you have answered")
	}
}
