package tui

import (
	"cmp"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/panels"
	"kerf/internal/protocol"
)

const sessionsFoot = "enter open · ctrl+f fork · ctrl+r rename · ctrl+a all or this directory"

// listSessions loads the list of sessions and shows those of this directory.
func listSessions(m *Model, _ string) tea.Cmd {
	sessions := m.o.Sessions
	return fetch(m, func(ctx context.Context) ([]protocol.SessionInfo, error) {
		return sessions.List(ctx, protocol.Filter{Limit: 5000})
	}, func(all []protocol.SessionInfo) tea.Cmd {
		m.listed = all
		return pick("sessions")(m, "")
	})
}

// sessionsHere are the sessions of this directory. When there are none, the only item
// leads to those of all directories.
func sessionsHere(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd {
	cwd := cmp.Or(m.session.Settings.Cwd, m.o.Cwd)
	items := sessionItems(m, func(s protocol.SessionInfo) (string, bool) { return "", s.Cwd == cwd })
	if len(items) == 0 {
		items = []panels.Item{{Label: "all directories", Detail: "no session of this directory; ctrl+a shows all"}}
	}
	return then(items)
}

// allSessions are the sessions of all directories.
func allSessions(m *Model, then func([]panels.Item) tea.Cmd) tea.Cmd {
	return then(sessionItems(m, func(s protocol.SessionInfo) (string, bool) { return "  " + m.session.ShortHome(s.Cwd), true }))
}

// sessionItems are the sessions that where accepts; it also says where they are.
func sessionItems(m *Model, where func(protocol.SessionInfo) (string, bool)) []panels.Item {
	var items []panels.Item
	for _, s := range m.listed {
		place, ok := where(s)
		if !ok || s.Turns == 0 && s.ID != m.session.ID && s.Damage == "" {
			continue
		}
		detail := fmt.Sprintf("%s  %s  %s", humanize.Ago(m.now().Sub(s.Updated)), humanize.Count(s.Turns, "turn"), s.Branch) + place
		if s.Damage != "" {
			detail += "  damaged: " + s.Damage
		}
		items = append(items, panels.Item{Label: cmp.Or(s.Title, string(s.ID)), Detail: detail, Value: s, Current: s.ID == m.session.ID})
	}
	return items
}

// openSession opens a session, or its fork when that was asked for at the start.
func openSession(m *Model, it panels.Item) (tea.Cmd, bool) {
	s, ok := it.Value.(protocol.SessionInfo)
	switch {
	case !ok:
		return m.choose(pickers()["all sessions"]), false
	case m.o.PickFork && m.sess == nil:
		return fork(m, string(s.ID)), false
	}
	return resume(m, string(s.ID)), false
}

// sessionKeys are the keys on a session; other is the list that ctrl+a shows.
func sessionKeys(other string) map[string]act {
	return map[string]act{
		"ctrl+f": func(m *Model, it panels.Item) (tea.Cmd, bool) {
			s, ok := it.Value.(protocol.SessionInfo)
			if !ok {
				return nil, true
			}
			return fork(m, string(s.ID)), false
		},
		"ctrl+r": func(m *Model, it panels.Item) (tea.Cmd, bool) {
			if s, ok := it.Value.(protocol.SessionInfo); ok {
				renameSession(m, s)
			}
			return nil, true
		},
		"ctrl+a": func(m *Model, _ panels.Item) (tea.Cmd, bool) { return m.choose(pickers()[other]), false },
	}
}

// leaveUnopened leaves Kerf when no session was chosen at the start.
func leaveUnopened(m *Model) {
	if m.sess == nil {
		m.exit.closing = true
	}
}

// renameSession asks for the new title of a session that is not open.
func renameSession(m *Model, s protocol.SessionInfo) {
	lib := m.o.Library
	if lib == nil {
		m.missing("renaming other sessions")
		return
	}
	m.push(&panels.Input{Title: "New title of " + s.Title, Text: s.Title, Done: func(text string) tea.Cmd {
		return do(func(ctx context.Context) tea.Msg {
			if err := lib.Rename(ctx, string(s.ID), text); err != nil {
				return noticeMsg{ink.Bad, err.Error()}
			}
			return noticeMsg{ink.Good, "renamed to " + text}
		})
	}})
}

// maxPreviews bounds the previews that are kept.
const maxPreviews = 50

// preview reads the end of the session that the picker marks.
func (m *Model) preview() tea.Cmd {
	p, ok := m.top().(*panels.Picker)
	if !ok || p.Preview == nil || m.o.Library == nil {
		return nil
	}
	it, _ := p.Marked()
	s, ok := it.Value.(protocol.SessionInfo)
	if _, read := m.previews[s.ID]; !ok || read {
		return nil
	}
	lib, id := m.o.Library, s.ID
	return do(func(ctx context.Context) tea.Msg {
		past, err := lib.Transcript(ctx, string(id), 2)
		return runMsg{func() tea.Cmd {
			if err != nil {
				past = nil
			}
			if m.previews == nil || len(m.previews) > maxPreviews {
				m.previews = map[protocol.SessionID][]protocol.PastTurn{}
			}
			m.previews[id] = past
			return nil
		}}
	})
}

// previewSession draws the end of a session.
func previewSession(m *Model, it panels.Item, width int) []ink.Line {
	s, ok := it.Value.(protocol.SessionInfo)
	if !ok {
		return nil
	}
	past, ok := m.previews[s.ID]
	if !ok && m.o.Library != nil {
		return []ink.Line{ink.L(ink.Dim, "reading…")}
	}
	f := conversation.Format{Width: width, Cwd: s.Cwd}
	var rows []ink.Line
	for _, t := range past {
		for _, it := range t.Items {
			switch it.Body.(type) {
			case protocol.UserMessage, protocol.AgentMessage:
				rows = append(rows, f.Item(it)...)
			}
		}
	}
	if len(rows) == 0 {
		return []ink.Line{ink.L(ink.Dim, string(s.ID)+"  "+s.Model)}
	}
	return rows
}
