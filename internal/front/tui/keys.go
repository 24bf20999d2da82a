package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kerf/internal/front/tui/composer"
	"kerf/internal/front/tui/ink"
	"kerf/internal/protocol"
)

type cmd = tea.Cmd

const (
	// twice is how soon a second ctrl+c or esc has to follow the first.
	twice = time.Second
	// chipSize and chipLines say from where on pasted text is shown as a chip.
	chipSize  = 1000
	chipLines = 10
	// maxPaste bounds what is taken of one paste.
	maxPaste = 16 << 20
	// brokenTime is how long keys are ignored after what looks like the head of a
	// terminal's answer that came apart.
	brokenTime = 150 * time.Millisecond
)

// key takes a key press.
func (m *Model) key(k tea.KeyPressMsg) cmd {
	name, text := keyName(k)
	now := m.now()
	if broken(name) {
		m.quiet = now.Add(brokenTime)
		return nil
	}
	if now.Before(m.quiet) && (text != "" || name == "ctrl+g") { // BEL ends an answer
		m.quiet = now.Add(brokenTime / 3)
		return nil
	}
	defer func() { m.lastKey = now }()
	if o := m.top(); o != nil {
		c, stay := o.key(m, name, text)
		if !stay {
			m.closeOverlay(o)
		}
		if m.exit.closing {
			return tea.Quit
		}
		if p, ok := m.top().(*picker); ok && p.preview != nil {
			c = tea.Batch(c, m.preview(p))
		}
		return c
	}
	if name = m.o.Keymap.means(name); name == "" {
		return nil
	}
	if m.armed.key != "" && (m.armed.key != name || now.After(m.armed.until)) {
		m.armed = armed{}
	}
	if m.menu.open() {
		if c, done := m.menuKey(name); done {
			return c
		}
	}
	c, edited := m.composerKey(name, text)
	if edited {
		c = tea.Batch(c, m.refreshMenu())
	}
	return c
}

// closeOverlay closes an overlay; approvals leave by being answered.
func (m *Model) closeOverlay(o overlay) {
	for i := len(m.overlays) - 1; i >= 0; i-- {
		if m.overlays[i] == o {
			m.overlays = append(m.overlays[:i:i], m.overlays[i+1:]...)
			return
		}
	}
}

func (m *Model) push(o overlay) { m.overlays = append(m.overlays, o) }

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

// composerKey edits, or acts on what is written.
func (m *Model) composerKey(name, text string) (c cmd, edited bool) {
	if m.o.Vi && m.viKey(name, text) {
		return nil, !m.vi.Normal
	}
	if c, ok := m.deedKey(name); ok {
		return c, false
	}
	if m.editKey(name) {
		return nil, true
	}
	if text != "" {
		m.comp.Insert(text)
		return nil, true
	}
	return nil, false
}

// viKey gives a key to vi. The marks of commands begin a command also in normal
// mode, where an empty composer has nothing to move in, and esc beyond normal mode
// is Kerf's.
func (m *Model) viKey(name, text string) bool {
	if m.vi.Normal && m.comp.Empty() && strings.ContainsAny(text, "/@!") && text != "" {
		m.vi = composer.Vi{}
		return false
	}
	if m.vi.Normal && (text == "j" || text == "k") {
		m.vertical(map[string]int{"j": 1, "k": -1}[text])
		return true
	}
	return m.vi.Key(&m.comp, name, text)
}

// deedKey handles the keys that do something beside editing.
func (m *Model) deedKey(name string) (c cmd, ok bool) {
	switch name {
	case "enter":
		return m.enter(false), true
	case "tab":
		if m.busy() {
			return m.enter(true), true
		}
		return m.openMenu(), true
	case "esc":
		return m.escape(), true
	case "ctrl+c":
		return m.clear(), true
	case "ctrl+d":
		if m.comp.Empty() {
			return m.quit(), true
		}
		m.comp.Delete()
	case "ctrl+l":
		return func() tea.Msg { return repaintMsg{} }, true
	case "ctrl+r":
		m.push(m.searchHistory())
	case "ctrl+g":
		return m.editExternally(), true
	case "ctrl+t":
		m.push(m.transcriptPager())
	case "ctrl+o":
		m.push(m.lastPager())
	case "ctrl+v", "alt+v":
		return m.pasteImage(), true
	case "shift+tab":
		return m.togglePlan(), true
	case "ctrl+z":
		m.release(true)
		return tea.Suspend, true
	case "f1":
		m.push(m.helpPager())
	case "alt+a":
		m.nextAgent()
	case "pgup", "pgdown":
		m.turnPage(name)
	default:
		return nil, false
	}
	return nil, true
}

// editKey handles the keys that edit.
func (m *Model) editKey(name string) bool {
	c := &m.comp
	switch name {
	case "backspace", "shift+backspace":
		c.Backspace()
	case "delete":
		c.Delete()
	case "left", "ctrl+b":
		c.Left()
	case "right", "ctrl+f":
		c.Right()
	case "alt+left", "ctrl+left", "alt+b":
		c.WordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		c.WordRight()
	case "home", "ctrl+a":
		c.Home()
	case "end", "ctrl+e":
		c.End()
	case "up", "ctrl+p":
		m.vertical(-1)
	case "down", "ctrl+n":
		m.vertical(1)
	case "ctrl+k":
		c.KillLine(true)
	case "ctrl+u":
		c.KillLine(false)
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		c.KillWord(false)
	case "alt+d", "ctrl+delete":
		c.KillWord(true)
	case "ctrl+y":
		c.Yank()
	case "ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-":
		c.Undo()
	case "alt+/", "ctrl+shift+z":
		c.Redo()
	case "shift+enter", "alt+enter", "ctrl+j", "ctrl+enter":
		c.Insert("\n")
	default:
		return false
	}
	return true
}

// vertical moves the caret, or at the edge goes through what was said before.
func (m *Model) vertical(by int) {
	if m.comp.Vertical(by, max(m.width-4, 2)) {
		return
	}
	to := m.pastAt + by
	if to < 0 || to > len(m.past) {
		return
	}
	if m.pastAt == len(m.past) {
		m.draft = m.comp.Text()
	}
	m.pastAt = to
	if to == len(m.past) {
		m.comp.Set(m.draft)
		return
	}
	m.comp.Set(m.past[to])
}

// enter submits what is written; queue makes it wait for the turn to end.
func (m *Model) enter(queue bool) cmd {
	text := m.comp.Value()
	images := m.comp.Images()
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		return nil
	}
	if strings.HasSuffix(m.comp.Text(), `\`) && !queue && m.comp.Caret() == len(m.comp.Text()) {
		m.comp.Backspace()
		m.comp.Insert("\n")
		return nil
	}
	m.remember(text)
	m.comp.Clear()
	m.menu, m.vi = menu{}, composer.Vi{}
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
func (m *Model) carryOut(text string, images []string, queue bool) cmd {
	switch {
	case strings.HasPrefix(text, "/") && len(images) == 0:
		if c, ok := m.slash(text); ok {
			return c
		}
	case strings.HasPrefix(text, "!") && strings.TrimSpace(text[1:]) != "" && m.viewing == "":
		return m.submit(protocol.Shell{Command: strings.TrimSpace(text[1:])})
	}
	return m.say(text, images, queue)
}

// say sends a message.
func (m *Model) say(text string, images []string, queue bool) cmd {
	items := []protocol.Input{}
	if strings.TrimSpace(text) != "" {
		items = append(items, protocol.Input{Text: text})
	}
	for _, url := range images {
		items = append(items, protocol.Input{ImageURL: url})
	}
	return m.toAgent(protocol.UserInput{Items: items, Queue: queue && m.busy()})
}

// remember keeps a message in the history.
func (m *Model) remember(text string) {
	if n := len(m.past); text != "" && len(text) <= chipSize*20 && (n == 0 || m.past[n-1] != text) {
		m.past = append(m.past, text)
		if m.o.History != nil {
			m.o.History.Add(text)
		}
	}
	m.pastAt, m.draft = len(m.past), ""
}

// escape interrupts a turn, or, twice, opens the rewind picker.
func (m *Model) escape() cmd {
	if m.busy() {
		m.armed = armed{}
		return m.toAgent(protocol.Interrupt{})
	}
	if !m.comp.Empty() {
		return nil
	}
	if m.again("esc") {
		if m.viewing != "" {
			m.look("")
			return nil
		}
		return m.rewindPanel()
	}
	return nil
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
func (m *Model) clear() cmd {
	switch {
	case !m.comp.Empty():
		m.remember(m.comp.Value())
		m.comp.Clear()
		m.menu = menu{}
	case m.again("ctrl+c"):
		return m.quit()
	case m.busy():
		return tea.Batch(m.toAgent(protocol.Interrupt{}), m.later(twice, frameMsg{}))
	default:
		return m.later(twice, frameMsg{})
	}
	return nil
}

// paste takes pasted text: to the overlay if it wants text, else as text or chip.
func (m *Model) paste(text string) cmd {
	if len(text) > maxPaste {
		m.notice(ink.Warn, fmt.Sprintf("only the first %d bytes of the paste were taken", maxPaste))
		text = text[:maxPaste]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\uFFFD")
	if o := m.top(); o != nil {
		if p, ok := o.(interface{ paste(text string) }); ok {
			p.paste(text)
		}
		return nil
	}
	if c, ok := m.dropped(text); ok {
		return c
	}
	lines := strings.Count(text, "\n") + 1
	if len(text) >= chipSize || lines > chipLines {
		m.comp.InsertChip(composer.Chip{Label: fmt.Sprintf("Pasted #%d: %s, %s", m.comp.Chips()+1, plural(lines, "line"), sizeText(len(text))), Text: text})
		return nil
	}
	m.comp.Insert(text)
	return m.refreshMenu()
}

func sizeText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
