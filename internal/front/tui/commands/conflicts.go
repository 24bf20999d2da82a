package commands

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

// inConflict counts the files of an undo that were changed since in the same place.
func inConflict(r protocol.UndoReport) (n int) {
	for _, f := range r.Files {
		if f.Outcome == "conflict" {
			n++
		}
	}
	return n
}

// settle asks what becomes of files in conflict; the first answer touches nothing.
func (c *Commands) settle(op protocol.Undo, r protocol.UndoReport, files int) list {
	way := func(name string) func(*Commands) tea.Cmd {
		return func(c *Commands) tea.Cmd {
			op := op
			op.Conflicts = name
			return c.ui.Submit(op)
		}
	}
	question := menu(fmt.Sprintf("Changed since in the same place: %s", humanize.Count(files, "file")), []entry{
		{"Leave all as it is", "nothing is touched", nothing},
		{"Merge", "both, between the markers of git", way("merge")},
		{"Keep those lines", "as they are now; all else is taken back", way("ours")},
		{"Take them back, too", map[bool]string{false: "/redo brings them again", true: "/undo brings them again"}[r.Redo],
			way("theirs")},
		{"Leave out these files", "all others are taken back", way("skip")},
	})
	question.asks = true
	question.preview = func(c *Commands, _ panels.Item, width int) []style.Line {
		f := c.ui.Format()
		f.Width = width
		r.Problem = "" // the list says it
		return f.Undone(r)
	}
	return question
}
