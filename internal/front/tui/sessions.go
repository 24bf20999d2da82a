package tui

import (
	"context"
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// pastTurns is how many turns of an earlier session are read when it is opened;
// pastItems is how many items of them are printed.
const (
	pastTurns = 50
	pastItems = 40
)

func number(n int) string { return strconv.Itoa(n) }

// open opens a session beside the loop.
func (m *Model) open(o protocol.OpenOptions, first bool) cmd {
	sessions, library := m.o.Sessions, m.o.Library
	return do(func(ctx context.Context) tea.Msg {
		msg := openedMsg{first: first}
		msg.sess, msg.err = sessions.Open(ctx, o)
		if msg.err != nil || library == nil || (o.Resume == "" && o.Fork == "" && !o.Last) {
			return msg
		}
		name := string(msg.sess.ID())
		past, err := library.Transcript(ctx, name, pastTurns)
		if err == nil {
			msg.past = past
		}
		return msg
	})
}

// swap opens another session; the one there is closed once that worked.
func (m *Model) swap(o protocol.OpenOptions) cmd {
	if m.busy() {
		m.notice(ink.Warn, "a turn is running; esc interrupts it first")
		return nil
	}
	if o.Resume != "" && protocol.SessionID(o.Resume) == m.id {
		m.notice(ink.Dim, "this session is open already")
		return nil
	}
	return m.open(o, false)
}

// opened takes the session that was opened, or says why there is none.
func (m *Model) opened(msg openedMsg) cmd {
	if msg.err != nil {
		if msg.first {
			m.err, m.exit.code = msg.err, 1
			return tea.Quit
		}
		m.notice(ink.Bad, msg.err.Error())
		return nil
	}
	var closing cmd
	if old := m.sess; old != nil {
		closing = do(func(context.Context) tea.Msg {
			drain := make(chan struct{})
			go func() { // ends with the session, which closes its events
				defer close(drain)
				for range old.Events() {
				}
			}()
			err := old.Close()
			<-drain
			if err != nil {
				return noticeMsg{ink.Warn, err.Error()}
			}
			return nil
		})
	}
	m.reset(msg.sess)
	m.replay(msg.past)
	cmds := []cmd{closing, m.listen(), m.learn()}
	if msg.first && len(m.o.Prompt) > 0 {
		cmds = append(cmds, m.submit(protocol.UserInput{Items: m.o.Prompt}))
	}
	for _, e := range m.early {
		cmds = append(cmds, m.carryOut(e.text, e.images, false))
	}
	m.early = nil
	return tea.Batch(cmds...)
}

// reset forgets what belongs to the session before.
func (m *Model) reset(s protocol.Session) {
	m.sess, m.gen, m.id = s, m.gen+1, s.ID()
	m.look("")
	m.lane = lane{comp: m.comp, above: m.above, gap: m.gap}
	m.lanes = map[protocol.SessionID]*lane{}
	m.asking, m.overlays, m.limits = nil, nil, nil
	m.procs, m.agents, m.mcp, m.title = nil, nil, nil, ""
	m.outbox, m.sending, m.clocking = nil, false, false
}

// replay prints the end of what was said before.
func (m *Model) replay(past []protocol.PastTurn) {
	total := 0
	for _, t := range past {
		for _, it := range t.Items {
			m.store.add(it)
			total++
			if u, ok := it.Body.(protocol.UserMessage); ok {
				m.turns = append(m.turns, turnMark{t.ID, inputText(u.Input), t.Began})
			}
		}
	}
	skip := max(0, total-pastItems)
	if skip > 0 {
		m.emit(ink.L(ink.Dim, fmt.Sprintf("… %d earlier items (ctrl+t shows them)", skip)))
	}
	for _, t := range past {
		for _, it := range t.Items {
			if skip > 0 {
				skip--
				continue
			}
			m.emit(m.draw().item(it)...)
		}
		if skip == 0 && t.Ended != "" && t.Ended != "completed" {
			m.emit(ink.L(ink.Dim, "─ "+t.Ended))
		}
	}
}

// learn asks the desk for what completion needs.
func (m *Model) learn() cmd {
	if m.o.Desk == nil {
		return nil
	}
	desk, cwd, gen := m.o.Desk, m.o.Cwd, m.gen
	return do(func(ctx context.Context) tea.Msg {
		list, err := desk.Prompts(ctx, cwd)
		return runMsg{func(m *Model) cmd {
			if gen != m.gen {
				return nil
			}
			m.known = list
			if err != nil {
				m.notice(ink.Warn, err.Error())
			}
			return nil
		}}
	})
}

// quit leaves in order: the session is closed first, once more is at once.
func (m *Model) quit() cmd {
	if m.exit.closing {
		return tea.Quit
	}
	if m.sess == nil {
		return tea.Quit
	}
	sess := m.sess
	m.overlays, m.asking = nil, nil
	return tea.Batch(m.quitNow(), do(func(context.Context) tea.Msg {
		err := sess.Close()
		return runMsg{func(m *Model) cmd { m.exit.closed, m.err = true, err; return tea.Quit }}
	}))
}

// quitNow draws the last frame: only what is finished stays.
func (m *Model) quitNow() cmd {
	m.look("")
	m.flushLive(protocol.Failed)
	if len(m.turns) > 0 && !m.o.Open.Ephemeral {
		m.emit(ink.L(ink.Dim, "kerf resume "+string(m.id)+" goes on with this session"))
	}
	m.exit.closing = true
	if m.scr == nil {
		return nil
	}
	f := m.frame()
	f.Rows, f.Y, f.Full = nil, -1, false
	_ = m.scr.Draw(f)
	return nil
}
