package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/approval"
	"kerf/internal/front/tui/commands"
	"kerf/internal/front/tui/panels"
	"kerf/internal/front/tui/style"
	"kerf/internal/protocol"
)

const (
	// twice is how soon a second ctrl+c or esc has to follow the first.
	twice = time.Second
	// maxPaste bounds what is taken of one paste.
	maxPaste = 16 << 20
	// brokenTime is how long keys are ignored after what looks like the head of a
	// terminal's answer that came apart.
	brokenTime = 150 * time.Millisecond
)

// key takes a key press.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name, text := keyName(k)
	now := m.now()
	last := m.lastKey
	m.lastKey = now
	if broken(name) {
		m.quiet = now.Add(brokenTime)
		return nil
	}
	if now.Before(m.quiet) && (text != "" || name == "ctrl+g") { // BEL ends an answer
		m.quiet = now.Add(brokenTime / 3)
		return nil
	}
	if _, asks := m.top().(*approval.Question); asks && (name == "ctrl+t" || name == "ctrl+o") {
		m.alone = alone{}
		m.over = append(m.over, m.commands.Look(name)) // what was said so far helps to answer
		return nil
	}
	if p := m.top(); p != nil {
		k := panels.Key{Name: name, Text: text, At: now, Last: last}
		c, mine := asked(m, p, k)
		if mine {
			return c
		}
		if !m.writes(p, k) {
			return pressed(m, p, k)
		}
	}
	c, kept := held(m, name, text, now.Sub(last))
	if kept {
		return c
	}
	if name = m.o.Keymap.Means(name); name == "" {
		return c
	}
	return tea.Batch(c, written(m, name, text))
}

// written takes a key while a message is written.
func written(m *Model, name, text string) tea.Cmd {
	if m.armed.key != "" && (m.armed.key != name || m.now().After(m.armed.until)) {
		m.armed = armed{}
	}
	switch done, send := m.input.CompletionKey(name); {
	case send:
		return m.enter(false)
	case done:
		return nil
	}
	return m.writingKey(name, text)
}

// pressed gives a panel a key.
func pressed(m *Model, p panels.Panel, k panels.Key) tea.Cmd {
	c, stay := p.Key(k)
	if !stay {
		m.closePanel(p)
		if _, page := p.(panels.Page); page {
			c = tea.Batch(c, rest(m))
		}
	}
	if m.exit.closing {
		return tea.Quit
	}
	if p, ok := m.top().(*panels.Picker); ok {
		c = tea.Batch(c, m.commands.Preview(p))
	}
	return c
}

// alone is a key that answers a question if no other one follows it.
type alone struct {
	panel panels.Panel // nil for none
	key   panels.Key
	n     int // counts such keys
}

// aloneMsg looks whether key n stood alone.
type aloneMsg struct{ n int }

// asked holds back a key that types something and would answer, until it is known whether it
// is the beginning of a word; mine reports that there is no more to do with it. A key that was
// held back goes into the message when more is typed.
func asked(m *Model, p panels.Panel, k panels.Key) (c tea.Cmd, mine bool) {
	q, asks := panels.Asks(p)
	held := m.alone
	if held.panel != nil && held.panel == p {
		switch {
		case k.Name == "enter":
			return nil, true // it counts by itself
		case k.Text != "":
			m.alone.panel = nil
			q.Typing()
			m.shown.Composer.Insert(held.key.Text)
			return nil, false
		}
	}
	m.alone.panel = nil
	if !asks || k.Text == "" || k.Name == "space" || !m.shown.Composer.Empty() || !q.Takes(k) {
		return nil, false
	}
	m.alone = alone{p, k, held.n + 1}
	return m.later(panels.Rest, aloneMsg{held.n + 1}), true
}

// stoodAlone has a key answer that nothing followed.
func stoodAlone(m *Model, n int) tea.Cmd {
	held := m.alone
	if held.n != n || held.panel == nil || held.panel != m.top() {
		return nil
	}
	m.alone.panel = nil
	return pressed(m, held.panel, held.key)
}

// writes reports whether a key belongs to a message though a question is up: typing
// never answers. It does when a message is begun, and when it types what the question
// does not take.
func (m *Model) writes(p panels.Panel, k panels.Key) bool {
	q, asks := panels.Asks(p)
	if !asks || k.Name == "pgup" || k.Name == "pgdown" ||
		m.shown.Composer.Empty() && (k.Text == "" || q.Takes(k)) {
		return false
	}
	if first := q.Typing(); first != "" && k.Text != "" {
		m.shown.Composer.Insert(first)
	}
	return true
}

// closePanel closes a panel; questions leave by being answered.
func (m *Model) closePanel(p panels.Panel) {
	for _, stack := range []*[]panels.Panel{&m.over, &m.panels} {
		if i := slices.Index(*stack, p); i >= 0 {
			*stack = slices.Delete(*stack, i, i+1)
			return
		}
	}
}

// keyName names a key and the text it types, if any.
func keyName(k tea.KeyPressMsg) (name, text string) {
	name = k.Keystroke()
	if k.Text != "" && k.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock) == 0 {
		text = k.Text
	}
	switch name {
	case "ctrl+[":
		name = "esc"
	case "ctrl+m":
		name = "enter"
	case "ctrl+i":
		name = "tab"
	case "ctrl+h":
		name = "backspace"
	case "kpenter":
		name, text = "enter", ""
	}
	return name, text
}

// broken reports whether a key looks like the head of an escape sequence that
// was not recognised: ESC [, ESC ], ESC P and so on arrive as alt keys.
func broken(name string) bool {
	switch name {
	case "alt+[", "alt+]", "alt+shift+p", "alt+P", "alt+_", "alt+^", "alt+shift+o", "alt+O", "alt+\\":
		return true
	}
	return false
}

// writingKey takes a key while a message is written: it acts, edits, or types.
func (m *Model) writingKey(name, text string) tea.Cmd {
	if taken, edited := m.input.ViKey(name, text); taken {
		if edited {
			return m.input.Complete()
		}
		return nil
	}
	if c, ok := m.actionKey(name); ok {
		return c
	}
	switch {
	case m.input.EditKey(name):
	case text != "":
		m.shown.Composer.Insert(text)
	default:
		return nil
	}
	return m.input.Complete()
}

// actionKey handles the keys that do something beside editing.
func (m *Model) actionKey(name string) (c tea.Cmd, ok bool) {
	switch name {
	case "enter":
		return m.enter(false), true
	case "tab":
		if m.shown.Running {
			return m.enter(true), true
		}
		return m.input.OpenCompletions(), true
	case "esc":
		return m.escape(), true
	case "ctrl+c":
		return m.clear(), true
	case "ctrl+d":
		if m.shown.Composer.Empty() {
			return m.quit(), true
		}
		m.shown.Composer.Delete()
	case "ctrl+l":
		return func() tea.Msg { return repaintMsg{} }, true
	case "ctrl+r":
		m.push(m.input.Search())
	case "ctrl+g":
		return m.editMessage(), true
	case "ctrl+t", "ctrl+o":
		m.push(m.commands.Look(name))
	case "ctrl+v", "alt+v":
		return m.pasteImage(), true
	case "shift+tab":
		return m.commands.TogglePlan(), true
	case "ctrl+z":
		m.release(true)
		return tea.Suspend, true
	case "f1":
		m.push(commands.HelpPage(m.input.Prompts))
	case "alt+a":
		m.nextAgent()
	case "alt+c":
		return m.commands.Changes(), true
	case "alt+up":
		if len(m.shown.Queued)+len(m.shown.Joining) > 0 {
			return m.toAgent(protocol.Unqueue{}), true
		}
	case "pgup":
		m.scroll(max(m.height/2, 1))
	case "pgdown":
		m.scroll(-max(m.height/2, 1))
	default:
		return nil, false
	}
	return nil, true
}

// enter submits what is written; queue makes it wait for the turn to end.
func (m *Model) enter(queue bool) tea.Cmd {
	c := &m.shown.Composer
	if strings.TrimSpace(c.Value()) == "" && len(c.Images()) == 0 || !queue && m.input.Continues() {
		return nil
	}
	text, images := m.input.Take()
	if m.sess == nil && !strings.HasPrefix(text, "/quit") {
		m.early = append(m.early, early{text, images})
		return nil
	}
	return m.carryOut(text, images, queue)
}

// early is a message that was sent before the session was open.
type early struct {
	text   string
	images []string
}

// carryOut does what was written: a command, a shell command, or a message.
func (m *Model) carryOut(text string, images []string, queue bool) tea.Cmd {
	switch {
	case strings.HasPrefix(text, "/") && len(images) == 0:
		if c, ok := m.commands.Run(text); ok {
			return c
		}
	case strings.HasPrefix(text, "!") && strings.TrimSpace(text[1:]) != "" && m.viewing == "":
		return m.submit(protocol.Shell{Command: strings.TrimSpace(text[1:])})
	}
	return m.say(text, images, queue)
}

// say sends a message.
func (m *Model) say(text string, images []string, queue bool) tea.Cmd {
	items := []protocol.Input{}
	if strings.TrimSpace(text) != "" {
		items = append(items, protocol.Input{Text: text})
	}
	for _, url := range images {
		items = append(items, protocol.Input{ImageURL: url})
	}
	return m.toAgent(protocol.UserInput{Items: items, Queue: queue && m.shown.Running})
}

// escape interrupts a turn, or, twice, opens the list of earlier messages.
func (m *Model) escape() tea.Cmd {
	switch {
	case m.shown.Running:
		m.armed = armed{}
		return m.toAgent(protocol.Interrupt{})
	case !m.shown.Composer.Empty() || !m.again("esc"):
		return nil
	case m.viewing != "":
		m.look("")
		return nil
	}
	return m.commands.Rewind()
}

// again reports whether a key came twice; the first time it arms it.
func (m *Model) again(key string) bool {
	now := m.now()
	if m.armed.key == key && now.Before(m.armed.until) {
		m.armed = armed{}
		return true
	}
	m.armed = armed{key, now.Add(twice)}
	return false
}

// clear empties the composer, interrupts, or, twice, leaves.
func (m *Model) clear() tea.Cmd {
	switch {
	case !m.shown.Composer.Empty():
		m.input.Clear()
	case m.again("ctrl+c"):
		return m.quit()
	case m.shown.Running:
		return tea.Batch(m.toAgent(protocol.Interrupt{}), m.later(twice, frameMsg{}))
	default:
		return m.later(twice, frameMsg{})
	}
	return nil
}

// paste takes pasted text: to the panel if it wants text, else into the message.
func (m *Model) paste(text string) tea.Cmd {
	if len(text) > maxPaste {
		m.notice(style.Warn, fmt.Sprintf("only the first %d bytes of the paste were taken", maxPaste))
		text = text[:maxPaste]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	m.lastKey = m.now()
	if q, asks := panels.Asks(m.top()); asks {
		if m.alone.panel != nil {
			m.alone.panel = nil
			m.shown.Composer.Insert(m.alone.key.Text)
		}
		m.shown.Composer.Insert(q.Typing()) // it goes into a message: a paste answers nothing
	} else if top := m.top(); top != nil {
		if p, ok := top.(interface{ Paste(text string) }); ok {
			p.Paste(text)
		}
		return nil
	}
	if m.input.AttachFile(text, m.session.Settings.Cwd) {
		return nil
	}
	return m.input.Paste(text)
}
