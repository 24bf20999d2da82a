package commands

import (
	"cmp"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/conversation"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

const sessionsFoot = "enter open · ctrl+f fork · ctrl+r rename · ctrl+a all directories"

// ListSessions loads the list of sessions and shows those of this directory.
func (c *Commands) ListSessions() tea.Cmd {
	store := c.ui.Store
	if store == nil {
		return c.missing("the list of sessions")
	}
	return fetch(c, func(ctx context.Context) ([]protocol.SessionInfo, error) {
		return store.List(ctx, protocol.Filter{Limit: 5000})
	}, func(all []protocol.SessionInfo) tea.Cmd {
		c.listed = all
		return pick("sessions")(c, "")
	})
}

// sessionsHere are the sessions of this directory. When there are none, the only item
// leads to those of all directories.
func sessionsHere(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
	cwd := cmp.Or(c.ui.Session.Settings.Cwd, c.ui.Cwd)
	items := sessionItems(c, func(s protocol.SessionInfo) (string, bool) { return "", s.Cwd == cwd })
	if len(items) == 0 {
		items = []panels.Item{{Label: "all directories", Detail: "no session of this directory; ctrl+a shows all"}}
	}
	return then(items)
}

// allSessions are the sessions of all directories.
func allSessions(c *Commands, then func([]panels.Item) tea.Cmd) tea.Cmd {
	return then(sessionItems(c, func(s protocol.SessionInfo) (string, bool) {
		return "  " + c.ui.Session.ShortHome(s.Cwd), true
	}))
}

// sessionItems are the sessions that where accepts; it also says where they are.
func sessionItems(c *Commands, where func(protocol.SessionInfo) (string, bool)) []panels.Item {
	var items []panels.Item
	for _, s := range c.listed {
		place, ok := where(s)
		if !ok || s.Turns == 0 && s.ID != c.ui.Session.ID && s.Damage == "" {
			continue
		}
		ago := humanize.Ago(c.ui.Now().Sub(s.Updated))
		detail := fmt.Sprintf("%s  %s  %s", ago, humanize.Count(s.Turns, "turn"), s.Branch) + place
		if s.Damage != "" {
			detail += "  damaged: " + s.Damage
		}
		items = append(items, panels.Item{Label: cmp.Or(s.Title, string(s.ID)), Detail: detail, Value: s,
			Current: s.ID == c.ui.Session.ID})
	}
	return items
}

// openSession opens a session, or its fork when that was asked for at the start.
func openSession(c *Commands, it panels.Item) (tea.Cmd, bool) {
	s, ok := it.Value.(protocol.SessionInfo)
	switch {
	case !ok:
		return c.choose(pickers()["all sessions"]), false
	case c.ui.Forks && !c.ui.Opened():
		return fork(c, string(s.ID)), false
	}
	return resume(c, string(s.ID)), false
}

// sessionKeys are the keys on a session; other is the list that ctrl+a shows.
func sessionKeys(other string) map[string]act {
	return map[string]act{
		"ctrl+f": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			s, ok := it.Value.(protocol.SessionInfo)
			if !ok {
				return nil, true
			}
			return fork(c, string(s.ID)), false
		},
		"ctrl+r": func(c *Commands, it panels.Item) (tea.Cmd, bool) {
			if s, ok := it.Value.(protocol.SessionInfo); ok {
				renameSession(c, s)
			}
			return nil, true
		},
		"ctrl+a": func(c *Commands, _ panels.Item) (tea.Cmd, bool) { return c.choose(pickers()[other]), false },
	}
}

// leaveUnopened leaves Kerf when no session was chosen at the start.
func leaveUnopened(c *Commands) {
	if !c.ui.Opened() {
		c.ui.Leave()
	}
}

// renameSession asks for the new title of a session that is not open.
func renameSession(c *Commands, s protocol.SessionInfo) {
	store := c.ui.Store
	if store == nil {
		c.missing("renaming other sessions")
		return
	}
	c.ui.Push(&panels.Input{Title: "New title of " + s.Title, Text: s.Title, Done: func(text string) tea.Cmd {
		return fetch(c, func(ctx context.Context) (bool, error) { return true, store.Rename(ctx, string(s.ID), text) },
			func(bool) tea.Cmd {
				c.ui.Notice(style.Good, "renamed to "+text)
				return nil
			})
	}})
}

// maxPreviews bounds the previews that are kept.
const maxPreviews = 50

// Preview reads the end of the session that a picker marks, if it marks one.
func (c *Commands) Preview(p *panels.Picker) tea.Cmd {
	it, _ := p.Marked()
	s, ok := it.Value.(protocol.SessionInfo)
	if _, read := c.previews[s.ID]; !ok || read || p.Preview == nil || c.ui.Store == nil {
		return nil
	}
	store, id := c.ui.Store, s.ID
	return c.ui.Beside(func(ctx context.Context) func() tea.Cmd {
		past, err := store.Transcript(ctx, string(id), 2)
		return func() tea.Cmd {
			if err != nil {
				past = nil
			}
			if c.previews == nil || len(c.previews) > maxPreviews {
				c.previews = map[protocol.SessionID][]protocol.PastTurn{}
			}
			c.previews[id] = past
			return nil
		}
	})
}

// previewSession draws the end of a session.
func previewSession(c *Commands, it panels.Item, width int) []style.Line {
	s, ok := it.Value.(protocol.SessionInfo)
	if !ok {
		return nil
	}
	past, ok := c.previews[s.ID]
	if !ok && c.ui.Store != nil {
		return []style.Line{style.L(style.Dim, "reading…")}
	}
	f := conversation.Format{Width: width, Cwd: s.Cwd}
	var rows []style.Line
	for _, t := range past {
		for _, it := range t.Items {
			switch it.Body.(type) {
			case protocol.UserMessage, protocol.AgentMessage:
				rows = append(rows, f.Item(it)...)
			}
		}
	}
	if len(rows) == 0 {
		return []style.Line{style.L(style.Dim, string(s.ID)+"  "+s.Model)}
	}
	return rows
}
