package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

// menu is the list of completions below the composer.
type menu struct {
	mark  byte   // what is completed: '/', '@' or '$'
	word  string // what stands behind the mark
	start int    // where the mark is
	items []choice
	at    int
	off   string // the word for which the user closed it
}

// choice is one completion.
type choice struct{ text, detail string }

func (u *menu) open() bool { return len(u.items) > 0 }

// filesMsg brings the files found for a query.
type filesMsg struct {
	word  string
	files []string
}

const maxChoices = 8

// refreshMenu looks at the word at the caret after an edit.
func (m *Model) refreshMenu() cmd {
	mark, word, start, ok := m.comp.Word("/@$")
	if ok && mark == '/' && start != 0 {
		ok = false
	}
	if !ok || string(mark)+word == m.menu.off {
		m.menu = menu{off: m.menu.off}
		return nil
	}
	at := 0
	m.menu = menu{mark: mark, word: word, start: start, at: at, items: m.menu.items}
	switch mark {
	case '/':
		m.menu.items = m.commandChoices(word)
	case '$':
		m.menu.items = m.skillChoices(word)
	case '@':
		return m.findFiles(word)
	}
	return nil
}

func (m *Model) findFiles(word string) cmd {
	m.menu.items = nil
	if m.o.Desk == nil {
		return nil
	}
	if m.finding { // one at a time; the newest word follows
		return nil
	}
	m.finding = true
	desk, cwd := m.o.Desk, m.settings.Cwd
	return do(func(ctx context.Context) tea.Msg {
		files, err := desk.Files(ctx, cwd, word, maxChoices)
		return runMsg{func(m *Model) cmd {
			m.finding = false
			if m.menu.mark == '@' && m.menu.word != word {
				return m.findFiles(m.menu.word)
			}
			if err == nil {
				m.gotFiles(filesMsg{word, files})
			}
			return nil
		}}
	})
}

func (m *Model) gotFiles(msg filesMsg) {
	if m.menu.mark != '@' || m.menu.word != msg.word {
		return
	}
	m.menu.items = nil
	for _, f := range msg.files {
		m.menu.items = append(m.menu.items, choice{text: f})
	}
}

func (m *Model) commandChoices(word string) []choice {
	var first, rest []choice
	add := func(name, detail string) {
		switch {
		case strings.HasPrefix(name, word):
			first = append(first, choice{name, detail})
		case strings.Contains(name, word):
			rest = append(rest, choice{name, detail})
		}
	}
	for _, c := range slashTable() {
		add(c.name, c.help)
	}
	for _, p := range m.prompts() {
		if !p.Skill {
			add(p.Name, p.Description)
		}
	}
	return append(first, rest...)
}

func (m *Model) skillChoices(word string) []choice {
	var out []choice
	for _, p := range m.prompts() {
		if p.Skill && strings.Contains(strings.ToLower(p.Name), strings.ToLower(word)) {
			out = append(out, choice{p.Name, p.Description})
		}
	}
	return out
}

// prompts are the user's commands and skills, as they were when the session
// opened.
func (m *Model) prompts() []protocol.Prompt { return m.known }

// menuKey takes a key while the menu is open, and says whether it was one of its.
func (m *Model) menuKey(name string) (cmd, bool) {
	u := &m.menu
	switch name {
	case "up", "ctrl+p":
		u.at = (u.at + len(u.items) - 1) % len(u.items)
	case "down", "ctrl+n":
		u.at = (u.at + 1) % len(u.items)
	case "tab":
		return m.pick(), true
	case "enter":
		whole := u.mark == '/' && slices.ContainsFunc(u.items, func(c choice) bool { return c.text == u.word })
		if u.mark == '/' && !whole {
			name := u.items[u.at].text
			c := m.pick()
			if needsWords(name) {
				return c, true
			}
			return tea.Batch(c, m.enter(false)), true
		}
		if u.mark == '/' {
			return nil, false
		}
		return m.pick(), true
	case "esc":
		m.menu = menu{off: string(u.mark) + u.word}
	default:
		return nil, false
	}
	return nil, true
}

// pick puts the chosen completion into the text.
func (m *Model) pick() cmd {
	u := m.menu
	text := u.items[u.at].text
	if strings.ContainsAny(text, " \t") {
		text = `"` + text + `"`
	}
	m.comp.Replace(u.start, m.comp.Caret(), string(u.mark)+text+" ")
	m.menu = menu{}
	return nil
}

// openMenu shows the files when nothing else is completed.
func (m *Model) openMenu() cmd {
	m.menu.off = ""
	return m.refreshMenu()
}

// menuRows draws the menu around its choice.
func (m *Model) menuRows(w, height int) []ink.Line {
	u := m.menu
	if !u.open() || height <= 0 {
		return nil
	}
	top := max(0, min(u.at-height/2, len(u.items)-height))
	name := 0
	for _, c := range u.items {
		name = max(name, min(ink.Width(c.text), w*2/3))
	}
	var rows []ink.Line
	for i := top; i < len(u.items) && len(rows) < height; i++ {
		c := u.items[i]
		role, mark := ink.Plain, "  "
		if i == u.at {
			role, mark = ink.Accent, "▸ "
		}
		l := ink.Line{ink.S(role, mark), ink.S(role, string(u.mark)+ink.Prose(c.text))}.Cut(name + 3)
		l = append(l.Pad(name+5, ink.As(ink.Plain)), ink.S(ink.Dim, oneLine(c.detail)))
		rows = append(rows, l.Cut(w))
	}
	return rows
}
