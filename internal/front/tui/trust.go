package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/ink"
	"kerf/internal/front/tui/panels"
)

// Trust is the question whether the files of a project may set what Kerf does there.
type Trust struct {
	Root string
	// Found are the files that would count, by path; Changed says that others were
	// trusted before.
	Found   []string
	Changed bool
	// Decide keeps the answer and applies it.
	Decide func(yes bool) error
}

// askTrust asks before anything is opened. Leaving the question leaves Kerf.
func (m *Model) askTrust(t *Trust) tea.Cmd {
	decide := func(yes bool) func(*Model) tea.Cmd {
		return func(m *Model) tea.Cmd {
			return fetch(m, func(context.Context) (bool, error) { return yes, t.Decide(yes) }, func(bool) tea.Cmd { return m.openFirst() })
		}
	}
	question := menu("Do you trust the files in "+m.session.ShortHome(t.Root)+"?", []entry{
		{"Yes", "Kerf may work in it: change files, run commands in the sandbox", decide(true)},
		{"Not now", "Kerf reads and asks; the question comes again", (*Model).openFirst},
		{"No", "the same, and the question does not come again", decide(false)},
	})
	question.at = func(*Model, []panels.Item) int { return 1 }
	question.calm = approval.Settle
	question.preview = func(_ *Model, _ panels.Item, width int) []ink.Line { return t.rows(width) }
	question.left = func(m *Model) { m.exit.closing = true }
	return m.choose(question)
}

// rows says what trust means and names the files.
func (t *Trust) rows(width int) []ink.Line {
	about := "Text in a project can lead a model astray. Trust what you wrote or know."
	if t.Changed {
		about = "You trusted other settings here than there are now. Look at what changed before you trust them."
	}
	rows := ink.WrapText(ink.Plain, about, width)
	if len(t.Found) == 0 {
		return rows
	}
	rows = append(rows, ink.WrapText(ink.Warn, "Once trusted, these set what Kerf does here, and may run programs:", width)...)
	for i, f := range t.Found {
		if i == 5 && len(t.Found) > 6 {
			return append(rows, ink.L(ink.Dim, "  and "+humanize.Count(len(t.Found)-i, "more file")))
		}
		rows = append(rows, ink.Line{{Text: "  " + ink.Exact(strings.TrimPrefix(f, t.Root+"/")), Style: ink.As(ink.Plain)}}.Cut(width))
	}
	return rows
}
