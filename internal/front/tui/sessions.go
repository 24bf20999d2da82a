package tui

import (
	"cmp"
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/status"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// pastTurns is how many turns of an earlier session are read when it is opened.
const pastTurns = 50

// openFirst opens the session, or the list to choose one from.
func (m *Model) openFirst() tea.Cmd {
	if m.o.Pick {
		return m.commands.ListSessions()
	}
	return m.open(m.o.Open, true)
}

// open opens a session beside the loop.
func (m *Model) open(o protocol.OpenOptions, first bool) tea.Cmd {
	sessions, store := m.o.Sessions, m.o.Store
	return do(func(ctx context.Context) tea.Msg {
		msg := openedMsg{first: first}
		msg.sess, msg.err = sessions.Open(ctx, o)
		if msg.err != nil || store == nil || (o.Resume == "" && o.Fork == "" && !o.Last) {
			return msg
		}
		name := string(msg.sess.ID())
		past, err := store.Transcript(ctx, name, pastTurns)
		if err == nil {
			msg.past = protocol.Before(msg.sess, past)
		}
		return msg
	})
}

// swap opens another session; the one there is closed once that worked.
func (m *Model) swap(o protocol.OpenOptions) tea.Cmd {
	if m.shown.Running {
		m.notice(style.Warn, "a turn is running; esc interrupts it first")
		return nil
	}
	if o.Resume != "" && protocol.SessionID(o.Resume) == m.session.ID {
		m.notice(style.Dim, "this session is open already")
		return nil
	}
	return m.open(o, false)
}

// opened takes the session that was opened, or says why there is none.
func (m *Model) opened(msg openedMsg) tea.Cmd {
	if msg.err != nil {
		if msg.first {
			m.err, m.exit.code = msg.err, 1
			if missing := (*protocol.CredentialsError)(nil); m.o.Ways != nil && errors.As(msg.err, &missing) {
				return m.commands.Begin(style.OneLine(msg.err.Error()), m.o.Ways)
			}
			return tea.Quit
		}
		m.notice(style.Bad, msg.err.Error())
		return nil
	}
	m.err, m.exit.code = nil, 0
	cmds := []tea.Cmd{closeSession(m.sess)}
	m.reset(msg.sess)
	m.shown.Replay(msg.past)
	cmds = append(cmds, m.listen(), m.learn())
	if msg.first && len(m.o.Prompt) > 0 {
		cmds = append(cmds, m.submit(protocol.UserInput{Items: m.o.Prompt}))
	}
	for _, e := range m.early {
		cmds = append(cmds, m.carryOut(e.text, e.images, false))
	}
	m.early = nil
	return tea.Batch(cmds...)
}

// closeSession closes a session that nobody listens to any more.
func closeSession(s protocol.Session) tea.Cmd {
	if s == nil {
		return nil
	}
	return do(func(context.Context) tea.Msg {
		drain := make(chan struct{})
		go func() { // ends with the session, which closes its events
			defer close(drain)
			for range s.Events() {
			}
		}()
		err := s.Close()
		<-drain
		if err != nil {
			return noticeMsg{style.Warn, err.Error()}
		}
		return nil
	})
}

// reset forgets what belongs to the session before.
func (m *Model) reset(s protocol.Session) {
	m.look("")
	m.sess, m.gen = s, m.gen+1
	was := m.session
	m.session = status.Session{ID: s.ID(), Settings: was.Settings, Branch: was.Branch, Resumed: was.Resumed,
		Price: was.Price, Home: was.Home, Try: was.Try, Items: was.Items}
	m.shown = m.shown.Restart()
	m.input.Use(&m.shown.Composer)
	m.conversations = map[protocol.SessionID]*conversation.Conversation{"": m.shown}
	m.questions, m.over, m.panels = nil, nil, nil
	m.commands.Forget()
	m.outbox, m.sending, m.clocking = nil, false, false
}

// learn asks for the user's commands and skills.
func (m *Model) learn() tea.Cmd {
	if m.o.Workspace == nil {
		return nil
	}
	query, cwd, gen := m.o.Workspace, m.o.Cwd, m.gen
	return do(func(ctx context.Context) tea.Msg {
		list, err := query.Prompts(ctx, cwd)
		return runMsg{func() tea.Cmd {
			if gen != m.gen {
				return nil
			}
			m.input.Prompts = list
			if err != nil {
				m.notice(style.Warn, err.Error())
			}
			return nil
		}}
	})
}

// quit leaves in order: the session is closed first, once more is at once.
func (m *Model) quit() tea.Cmd {
	if m.exit.closing || m.sess == nil {
		return tea.Quit
	}
	sess := m.sess
	m.panels, m.over, m.questions = nil, nil, nil
	m.commands.Forget()
	m.lastFrame()
	return do(func(context.Context) tea.Msg {
		err := sess.Close()
		return runMsg{func() tea.Cmd { m.exit.closed, m.err = true, err; return tea.Quit }}
	})
}

// lastFrame draws what stays when Kerf is left: only what is finished.
func (m *Model) lastFrame() {
	m.look("")
	m.shown.CloseLive(protocol.Failed)
	if len(m.shown.Turns) > 0 && !m.o.Open.Ephemeral && !m.commands.Moves() {
		m.shown.Note(style.Dim, "", cmp.Or(m.o.Again, "kerf resume")+" "+string(m.session.ID)+
			" goes on with this session")
	}
	m.exit.closing = true
	if m.scr == nil {
		return
	}
	f := m.frame()
	f.Rows, f.Y, f.Full = nil, -1, false
	_ = m.scr.Draw(f)
}
