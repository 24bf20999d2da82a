package tui

import (
	"context"
	"strings"

	"kerf/internal/front/tui/ink"
)

// Trust is the question whether a project may have a say.
type Trust struct {
	Root string
	// Found are the files that would count, by path; Changed says that others were
	// trusted before.
	Found   []string
	Changed bool
	// Decide keeps the answer and lets it hold.
	Decide func(yes bool) error
}

// openFirst opens the session, or the list to choose one from.
func (m *Model) openFirst() cmd {
	if m.o.Pick {
		return m.sessionsPanel()
	}
	return m.open(m.o.Open, true)
}

// askTrust asks before anything is opened. Leaving the question leaves Kerf.
func (m *Model) askTrust(t *Trust) cmd {
	decide := func(yes bool) func(*Model) cmd {
		return func(m *Model) cmd {
			return fetch(m, func(context.Context) (bool, error) { return yes, t.Decide(yes) }, func(m *Model, _ bool) cmd { return m.openFirst() })
		}
	}
	p := menuOf("Do you trust the files in "+m.home(t.Root)+"?", []entry{
		{"Yes", "Kerf may work in it: change files, run commands in the sandbox", decide(true)},
		{"Not now", "Kerf reads and asks; the question comes again", func(m *Model) cmd { return m.openFirst() }},
		{"No", "the same, and the question does not come again", decide(false)},
	})
	p.at, p.calm = 1, m.now().Add(settle)
	p.preview = func(_ pick, width int) []ink.Line {
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
				rows = append(rows, ink.L(ink.Dim, "  and "+plural(len(t.Found)-i, "more file")))
				break
			}
			rows = append(rows, ink.Line{{Text: "  " + ink.Exact(strings.TrimPrefix(f, t.Root+"/")), Style: ink.As(ink.Plain)}}.Cut(width))
		}
		return rows
	}
	p.left = func(m *Model) { m.exit.closing = true }
	m.push(p)
	return nil
}
