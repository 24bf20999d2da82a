package commands

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
)

// Way is a way to begin where the chosen provider has no key.
type Way struct {
	Name, About string
	// Command is a program with its arguments that has the terminal until it ends.
	Command []string
	// Use is done beside the loop where there is no Command; nil does nothing.
	Use func(ctx context.Context) error
}

// Begin asks how to begin: the provider has no key, which problem says. After a way was
// gone the session is opened again. Leaving the question leaves Kerf.
func (c *Commands) Begin(problem string, ways func(context.Context) []Way) tea.Cmd {
	find := func(ctx context.Context) ([]Way, error) { return ways(ctx), nil }
	return fetch(c, find, func(found []Way) tea.Cmd {
		var entries []entry
		for _, w := range found {
			entries = append(entries, entry{w.Name, w.About, func(c *Commands) tea.Cmd { return c.begin(w) }})
		}
		leave := func(c *Commands) tea.Cmd { return c.ui.Quit() }
		question := menu("How do you want to begin?", append(entries, entry{"Leave", "", leave}))
		question.asks = true
		question.preview = func(_ *Commands, _ panels.Item, width int) []style.Line {
			return style.WrapText(style.Warn, "No model can be asked yet: "+problem, width)
		}
		question.left, question.leave = func(c *Commands) { c.ui.Leave() }, "leaves Kerf"
		return c.choose(question)
	})
}

// begin goes a way, then opens the session.
func (c *Commands) begin(w Way) tea.Cmd {
	if len(w.Command) > 0 {
		return c.ui.Program(w.Command, c.ui.Start)
	}
	return c.ui.Beside(func(ctx context.Context) func() tea.Cmd {
		var err error
		if w.Use != nil {
			err = w.Use(ctx)
		}
		return func() tea.Cmd {
			if err != nil {
				c.ui.Notice(style.Bad, err.Error())
			}
			return c.ui.Start()
		}
	})
}
