package commands

import (
	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/changes"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// Changes shows the page of what changed; in plain mode the list of it.
func (c *Commands) Changes() tea.Cmd {
	switch {
	case c.ui.Lines:
		return pick("changes")(c, "")
	case c.ui.Workspace == nil:
		return c.missing("the list of changes")
	case c.view != nil:
		return nil
	}
	return fetch(c, c.changes(), func(list []protocol.ChangeEntry) tea.Cmd {
		if c.view != nil { // the key came twice
			return nil
		}
		if c.kept == nil {
			c.kept = map[string]bool{}
		}
		c.view = changes.New(changes.Options{
			Undo: c.askUndo,
			Open: c.ui.Editor,
			Diff: func(title, diff string) { c.ui.Push(panels.DiffPager(style.OneLine(title), diff)) },
			Name: func(path string) string { return c.ui.Format().Path(path) },
			Now:  c.ui.Now,
			Kept: c.kept,
			Left: func() { c.view = nil },
		}, list)
		c.ui.Push(c.view)
		return nil
	})
}

// Forget forgets the page of changes: another session is shown, or its panels are closed.
func (c *Commands) Forget() { c.view, c.kept = nil, nil }

// Changed reads the changes again when the page of them is open.
func (c *Commands) Changed() tea.Cmd {
	if c.view == nil {
		return nil
	}
	return fetch(c, c.changes(), func(list []protocol.ChangeEntry) tea.Cmd {
		if c.view != nil {
			c.view.Set(list)
		}
		return nil
	})
}
