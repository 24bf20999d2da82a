package commands

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/humanize"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
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

// AskTrust asks before anything is opened. Leaving the question leaves Kerf.
func (c *Commands) AskTrust(t *Trust) tea.Cmd {
	decide := func(yes bool) func(*Commands) tea.Cmd {
		return func(c *Commands) tea.Cmd {
			return fetch(c, func(context.Context) (bool, error) { return yes, t.Decide(yes) },
				func(bool) tea.Cmd { return c.ui.Start() })
		}
	}
	question := menu("Do you trust the files in "+c.ui.Session.ShortHome(t.Root)+"?", []entry{
		{"Yes", "Kerf may work in it: change files, run commands in the sandbox", decide(true)},
		{"Not now", "Kerf reads and asks; it asks about trust again next time", func(c *Commands) tea.Cmd { return c.ui.Start() }},
		{"No", "the same, and it does not ask about trust again", decide(false)},
	})
	question.at = func(*Commands, []panels.Item) int { return 1 }
	question.asks, question.lasting = true, "Yes"
	question.preview = func(_ *Commands, _ panels.Item, width int) []style.Line { return t.rows(width) }
	question.left, question.leave = func(c *Commands) { c.ui.Leave() }, "leaves Kerf"
	return c.choose(question)
}

// rows says what trust means and names the files.
func (t *Trust) rows(width int) []style.Line {
	about := "Text in a project can mislead a model. Trust only what you wrote or know."
	if t.Changed {
		about = "The settings here changed since you trusted them. Look at the changes before you trust them again."
	}
	rows := style.WrapText(style.Plain, about, width)
	if len(t.Found) == 0 {
		return rows
	}
	what := "If you trust them, these files control what Kerf does here, and may run programs:"
	rows = append(rows, style.WrapText(style.Warn, what, width)...)
	for i, f := range t.Found {
		if i == 5 && len(t.Found) > 6 {
			return append(rows, style.L(style.Dim, "  and "+humanize.Count(len(t.Found)-i, "more file")))
		}
		rows = append(rows, style.Line{{Text: "  " + style.Exact(strings.TrimPrefix(f, t.Root+"/")),
			Style: style.As(style.Plain)}}.Cut(width))
	}
	return rows
}
